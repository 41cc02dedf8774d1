"""Long rows in order of keys: digit after digit of the key, from the lowest, each time in a stable way.

Each block counts how often each digit is in its tile. A scan over the counts, of all tiles for each digit,
tells where the items of a tile belong; where several of a warp have the same digit, the ballots of its bits
tell how many of them come before.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from staticgraph.compiler.codegen.cuda.expr import CudaWriter
from staticgraph.compiler.codegen.cuda.function import C_TYPES, FunctionCall, KernelWork
from staticgraph.compiler.codegen.cuda.limits import THREADS, WARP
from staticgraph.compiler.codegen.cuda.scans.along import by_warp
from staticgraph.compiler.codegen.cuda.scans.line import Line
from staticgraph.compiler.codegen.cuda.scans.ranking import Ranking
from staticgraph.compiler.graph.dtypes import DType, int32, uint32, uint64
from staticgraph.compiler.kernel.expr import Index, Load, Local
from staticgraph.compiler.kernel.form import Scan
from staticgraph.compiler.kernel.stmt import Buffer
from staticgraph.compiler.support.dataclass import dataclass

_BITS = 8  # of a digit
_DIGITS = 1 << _BITS
_ITEMS = 16  # of a thread
_AT_ONCE = 4  # of these: more of them would not fit registers
TILE = _ITEMS * THREADS  # items of a block
_WARPS = THREADS // WARP
_COUNTS, _STARTS = "digit_counts", "digit_starts"


@dataclass(frozen=True, slots=True)
class Pass:
    """The `number`-th digit of so many: it decides over the order that those before have made."""

    ranking: Ranking
    number: int
    passes: int

    @property
    def tiles(self) -> int:
        """The number of tiles of a row."""
        return -(-self.ranking.length // TILE)

    @property
    def shift(self) -> int:
        """The number of the digit's lowest bit."""
        return self.number * _BITS

    @property
    def key(self) -> DType:
        """Type of keys in registers and in scratch memory."""
        return uint64 if self.ranking.wide else uint32

    @property
    def buffers(self) -> dict[str, Buffer]:
        """All memory, scratch memory included."""
        rows, length = self.ranking.selection.rows, self.ranking.length
        counts = Buffer(int32, (rows * _DIGITS, self.tiles), written=True)
        own = {_COUNTS: counts, _STARTS: counts}
        for side in range(min(2, self.passes - 1)):
            keys, columns = _names(side)
            own[keys] = Buffer(self.key, (rows * length,), written=True)
            own[columns] = Buffer(int32, (rows * length,), written=True)
        return {**self.ranking.buffers, **own}

    @property
    def scratch(self) -> dict[str, int]:
        """Bytes of scratch memory by name."""
        own = {n: b for n, b in self.buffers.items() if n not in self.ranking.buffers}
        return {n: b.size * b.dtype.size for n, b in own.items()}

    def call(self, kind: str, writer: CudaWriter, written: Sequence[str]) -> FunctionCall:
        """The function that was written: a block for each tile."""
        return self.ranking.call(kind, writer, written, self.ranking.selection.rows * self.tiles, THREADS)


def _names(side: int) -> tuple[str, str]:
    """Return the names of the buffers that hold keys and columns between two passes."""
    return f"radix_keys{side % 2}", f"radix_columns{side % 2}"


def radix(ranking: Ranking) -> KernelWork:
    """The calls that bring whole rows in order."""
    passes = -(-ranking.selection.key_bits // _BITS)
    calls: list[FunctionCall] = []
    sizes: dict[str, int] = {}
    for number in range(passes):
        each = Pass(ranking, number, passes)
        calls += [_count(each), _starts(each), _place(each)]
        sizes |= each.scratch
    return KernelWork(tuple(calls), tuple(sizes.items()))


def _count(each: Pass) -> FunctionCall:
    """Return the function that counts how often each digit occurs in each tile."""
    writer = CudaWriter(each.buffers)
    _begin(writer, each)
    with _items(writer, each):
        writer.line(f"if (inside && !(peers & below)) {_MINE} += __popc(peers);")
        writer.line("__syncwarp();")
    writer.line("__syncthreads();\nint count = 0;")
    writer.line("#pragma unroll")
    writer.line(f"for (int w = 0; w < {_WARPS}; ++w) count += counts[w * {_DIGITS} + threadIdx.x];")
    writer.line(f"{_COUNTS}[of_digit + tile] = count;")
    return each.call("radix_count", writer, [_COUNTS])


def _starts(each: Pass) -> FunctionCall:
    """Return the function that counts the items of a row, by digit, up to the end of each tile."""
    counts = each.buffers[_COUNTS]
    at = tuple(Index(name, n) for name, n in zip(("digit", "tile"), counts.shape, strict=True))
    left, right = Local("left", int32), Local("right", int32)
    sums = Scan(_STARTS, at, 1, Load(_COUNTS, at, int32), left, right, left + right)
    return by_warp(Line(sums, each.buffers))


def _place(each: Pass) -> FunctionCall:
    """Bring each item to its place: after those of lower digits, and of those with its own digit that it
    comes after.
    """
    ranking, last = each.ranking, each.number == each.passes - 1
    writer = CudaWriter(each.buffers)
    _begin(writer, each)
    writer.line(f"SG_SHARED(uint16_t, ranks, {TILE});  // among those of the warp that have the same digit")
    with _items(writer, each):
        writer.line(f"ranks[threadIdx.x + v * {THREADS}] = uint16_t({_MINE} + __popc(peers & below));")
        writer.line("__syncwarp();")
        writer.line(f"if (inside && !(peers & below)) {_MINE} += __popc(peers);")
        writer.line("__syncwarp();")
    writer.line(_BEFORE.format(starts=_STARTS, tiles=each.tiles))
    writer.line(f"#pragma unroll {_AT_ONCE}")
    with writer.block(f"for (int v = 0; v < {_ITEMS}; ++v)"):
        writer.line(f"const int at = first + v * {WARP};\nif (at >= {ranking.length}) break;")
        writer.line(f"const {C_TYPES[each.key.name]} key = {_key(writer, each)};")
        writer.line(f"const int digit = int(key >> {each.shift} & {_DIGITS - 1});")
        writer.line(f"const int to = {_MINE} + ranks[threadIdx.x + v * {THREADS}];")
        column = "at" if each.number == 0 else f"{_names(each.number - 1)[1]}[base + at]"
        writer.line(f"const int column = {column};")
        if last:
            ranking.store(writer, "to", "column")
        else:
            for name, value in zip(_names(each.number), ("key", "column"), strict=True):
                writer.line(f"{name}[base + to] = {value};")
    results = (ranking.selection.values, ranking.selection.places) if last else _names(each.number)
    return each.call("radix", writer, results)


_MINE = f"counts[warp * {_DIGITS} + digit]"
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
SG_SHARED(int, warps, {_WARPS});
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
for (int w = 0; w < {_WARPS}; ++w) {{{{
  const int count = counts[w * {_DIGITS} + threadIdx.x];
  counts[w * {_DIGITS} + threadIdx.x] = start;
  start += count;
}}}}
__syncthreads();"""


def _begin(writer: CudaWriter, each: Pass) -> None:
    """Write the start of a block: its row, its tile, and counts of digits that are all 0.

    Thread `n` also handles digit `n`.
    """
    text = _BEGIN.format(
        all=_WARPS * _DIGITS, digits=_DIGITS, tiles=each.tiles, tile=TILE, strip=_ITEMS * WARP,
        length=each.ranking.length, threads=THREADS,
    )  # fmt: skip
    writer.line(text)
    writer.bind_index(each.ranking.row, "row")


def _key(writer: CudaWriter, each: Pass) -> str:
    """The key of the item number `at`."""
    return f"{_names(each.number - 1)[0]}[base + at]" if each.number else each.ranking.key(writer, "at")


@contextmanager
def _items(writer: CudaWriter, each: Pass) -> Iterator[None]:
    """For each item of a thread: its `key` and `digit`, and who has the same one."""
    writer.line(f"#pragma unroll {_AT_ONCE}")
    with writer.block(f"for (int v = 0; v < {_ITEMS}; ++v)"):
        writer.line(f"const int at = first + v * {WARP};")
        writer.line(f"const bool inside = at < {each.ranking.length};")
        writer.line(f"{C_TYPES[each.key.name]} key = 0;")
        with writer.block("if (inside)"):
            writer.line(f"key = {_key(writer, each)};")
        writer.line(_PEERS.format(shift=each.shift, bits=_BITS, most=_DIGITS - 1))
        yield
