"""Functions that count digits of keys, and bring items to their places by these.

Where several items of a warp have the same digit, the ballots of its bits tell how many of them come before.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from staticgraph.compiler.codegen.cuda.expr import CudaWriter
from staticgraph.compiler.codegen.cuda.function import C_TYPES, FunctionCall, call_of, parameters
from staticgraph.compiler.codegen.cuda.scans.items import key, store_item
from staticgraph.compiler.kernel.schedule_gpu.scans.radix import (
    BITS,
    COUNTS,
    DIGITS,
    ITEMS,
    STARTS,
    TILE,
    RadixSchedule,
)
from staticgraph.compiler.kernel.schedule_gpu.scans.scan import WARPS
from staticgraph.compiler.kernel.schedule_gpu.target import THREADS, WARP

_AT_ONCE = 4  # items of a thread: more of them would not fit registers


def radix(made: RadixSchedule) -> FunctionCall:
    """The function of a schedule."""
    writer = CudaWriter(made.buffers)
    _begin(writer, made)
    (_place if made.places else _count)(writer, made)
    return call_of(made, parameters(writer.buffers, {*made.results}, writer.text), writer.text)


def _count(writer: CudaWriter, made: RadixSchedule) -> None:
    """Count how often each digit occurs in each tile."""
    with _items(writer, made):
        writer.line(f"if (inside && !(peers & below)) {_MINE} += __popc(peers);")
        writer.line("__syncwarp();")
    writer.line("__syncthreads();\nint count = 0;")
    writer.line("#pragma unroll")
    writer.line(f"for (int w = 0; w < {WARPS}; ++w) count += counts[w * {DIGITS} + threadIdx.x];")
    writer.line(f"{COUNTS}[of_digit + tile] = count;")


def _place(writer: CudaWriter, made: RadixSchedule) -> None:
    """Bring each item to its place: after those of lower digits, and of those with its own digit that it
    comes after.
    """
    writer.line(f"SG_SHARED(uint16_t, ranks, {TILE});  // among those of the warp that have the same digit")
    with _items(writer, made):
        writer.line(f"ranks[threadIdx.x + v * {THREADS}] = uint16_t({_MINE} + __popc(peers & below));")
        writer.line("__syncwarp();")
        writer.line(f"if (inside && !(peers & below)) {_MINE} += __popc(peers);")
        writer.line("__syncwarp();")
    writer.line(_BEFORE.format(starts=STARTS, tiles=made.tiles))
    writer.line(f"#pragma unroll {_AT_ONCE}")
    with writer.block(f"for (int v = 0; v < {ITEMS}; ++v)"):
        writer.line(f"const int at = first + v * {WARP};\nif (at >= {made.ranking.length}) break;")
        writer.line(f"const {C_TYPES[made.ranking.word.name]} key = {_key(writer, made)};")
        writer.line(f"const int digit = int(key >> {made.shift} & {DIGITS - 1});")
        writer.line(f"const int to = {_MINE} + ranks[threadIdx.x + v * {THREADS}];")
        column = "at" if made.number == 0 else f"{made.before[1]}[base + at]"
        writer.line(f"const int column = {column};")
        if made.is_last:
            store_item(writer, made.ranking, "to")
        else:
            for name, value in zip(made.results, ("key", "column"), strict=True):
                writer.line(f"{name}[base + to] = {value};")


_MINE = f"counts[warp * {DIGITS} + digit]"
_BEGIN = """\
SG_SHARED(int, counts, {all});
const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
const unsigned below = (1u << lane) - 1;
const int row = blockIdx.x / {tiles}, tile = blockIdx.x % {tiles};
const int64_t base = int64_t(row) * {length};
const int64_t of_digit = (int64_t(row) * {digits} + threadIdx.x) * {tiles};
const int first = tile * {tile} + warp * {strip} + lane;
for (int i = threadIdx.x; i < {all}; i += {threads}) counts[i] = 0;
__syncthreads();"""
_PEERS = """\
const int digit = int(key >> {shift} & {most});
unsigned peers = __ballot_sync(SG_FULL, inside);  // those in the warp with the same digit
#pragma unroll
for (int bit = 0; bit < {bits}; ++bit) {{
  const unsigned set = __ballot_sync(SG_FULL, digit >> bit & 1);
  peers &= digit >> bit & 1 ? set : ~set;
}}"""
_BEFORE = f"""\
SG_SHARED(int, warps, {WARPS});
const int all = {{starts}}[of_digit + {{tiles}} - 1];  // in this row with digit number threadIdx.x
int start = all;
#pragma unroll
for (int distance = 1; distance < 32; distance *= 2) {{{{
  const int other = __shfl_up_sync(SG_FULL, start, distance);
  if (lane >= distance) start += other;
}}}}
if (lane == 31) warps[warp] = start;
__syncthreads();
start -= all;
for (int w = 0; w < warp; ++w) start += warps[w];
if (tile > 0) start += {{starts}}[of_digit + tile - 1];
#pragma unroll
for (int w = 0; w < {WARPS}; ++w) {{{{
  const int count = counts[w * {DIGITS} + threadIdx.x];
  counts[w * {DIGITS} + threadIdx.x] = start;
  start += count;
}}}}
__syncthreads();"""


def _begin(writer: CudaWriter, made: RadixSchedule) -> None:
    """Write the start of a block: its row, its tile, and counts of digits that are all 0.

    Thread `n` also handles digit `n`.
    """
    text = _BEGIN.format(
        all=WARPS * DIGITS,
        digits=DIGITS,
        tiles=made.tiles,
        tile=TILE,
        strip=ITEMS * WARP,
        length=made.ranking.length,
        threads=THREADS,
    )
    writer.line(text)
    writer.bind_index(made.ranking.row, "row")


def _key(writer: CudaWriter, made: RadixSchedule) -> str:
    """The key of the item number `at`."""
    return f"{made.before[0]}[base + at]" if made.number else key(writer, made.ranking)


@contextmanager
def _items(writer: CudaWriter, made: RadixSchedule) -> Iterator[None]:
    """For each item of a thread: its `key` and `digit`, and who has the same one."""
    writer.line(f"#pragma unroll {_AT_ONCE}")
    with writer.block(f"for (int v = 0; v < {ITEMS}; ++v)"):
        writer.line(f"const int at = first + v * {WARP};")
        writer.line(f"const bool inside = at < {made.ranking.length};")
        writer.line(f"{C_TYPES[made.ranking.word.name]} key = 0;")
        with writer.block("if (inside)"):
            writer.line(f"key = {_key(writer, made)};")
        writer.line(_PEERS.format(shift=made.shift, bits=BITS, most=DIGITS - 1))
        yield
