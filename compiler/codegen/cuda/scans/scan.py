"""Functions for scans: along memory, by warps, each thread of which takes every 32nd item, or across it.

    items 0..31, 32..63, ... of a warp:  each 32 of them in five steps of shuffles,
                                         then each after the total of those before it

The totals of the warps of a block go through shared memory, those of the parts of a row through another
function, which has run before. Where neighbours in memory belong to others, a thread does a part of a row.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from staticgraph.compiler.codegen.cuda.expr import CudaWriter, counter, index_type
from staticgraph.compiler.codegen.cuda.function import FunctionCall, call_of, parameters
from staticgraph.compiler.codegen.cuda.prelude import register_type
from staticgraph.compiler.codegen.cuda.scalar import constant, loaded, stored
from staticgraph.compiler.kernel.schedule_gpu.scans.line import PARTIAL, Line
from staticgraph.compiler.kernel.schedule_gpu.scans.scan import ITEMS, STRIP, TILE, WARPS, ScanSchedule, Team
from staticgraph.compiler.kernel.schedule_gpu.target import THREADS, WARP


def scan(made: ScanSchedule) -> FunctionCall:
    """The function of a scan, by its team."""
    if made.team is Team.BLOCK and made.totals:
        return totals(made)
    return {Team.THREAD: across, Team.WARP: by_warp, Team.BLOCK: by_block}[made.team](made)


def begun(line: Line) -> CudaWriter:
    """Return a writer that begins with how two items are combined: `Combine::of(left, right)`."""
    number = register_type(line.dtype)
    inside = CudaWriter({})
    inside.bind(line.scan.left, "left")
    inside.bind(line.scan.right, "right")
    result = inside.wide(line.scan.combine)
    writer = CudaWriter(line.all_buffers)
    writer.line("struct Combine {")
    writer.line(f"  typedef {number} R;")
    writer.line("  static SG_MEMBER R of(R left, R right) {")
    writer.line("\n".join(f"    {text}" for text in [*inside.text.splitlines(), f"return {result};"]))
    writer.line("  }\n};")
    return writer


def beyond(line: Line, more: int) -> str:
    """The type of the number of an item, or of one so far beyond the last."""
    return counter(line.scan.length + more)


def ended(made: ScanSchedule, writer: CudaWriter) -> FunctionCall:
    """The call of the function that was written."""
    return call_of(made, parameters(writer.buffers, {made.written}, writer.text), writer.text)


def by_warp(made: ScanSchedule) -> FunctionCall:
    """A warp for each row."""
    line, rows = made.line, made.line.scan.rows
    writer = begun(line)
    writer.line(f"const int lane = threadIdx.x % {WARP};")
    _row(writer, line, f"(int64_t(blockIdx.x) * {THREADS} + threadIdx.x) / {WARP}")
    writer.line(f"if (row >= {rows}) return;")
    _begin(writer, line)
    count = line.scan.length
    with writer.block(f"for ({beyond(line, STRIP)} first = 0; first < {count}; first += {STRIP})"):
        _load(writer, line, "first + lane")
        _shuffle(writer, line)
        writer.line("if (begun)")
        writer.line("#pragma unroll")
        writer.line(f"for (int v = 0; v < {ITEMS}; ++v) x[v] = Combine::of(carry, x[v]);")
        writer.line(f"carry = {_from_lane(line, f'x[{ITEMS - 1}]', str(WARP - 1))};\nbegun = true;")
        _store(writer, line, "first + lane")
    return ended(made, writer)


def by_block(made: ScanSchedule) -> FunctionCall:
    """A block for each part of each row."""
    line = made.line
    writer = begun(line)
    _team(writer, line, line.parts)
    _begin(writer, line)
    if line.parts > 1:
        writer.line("if (part > 0) {")
        writer.line("\n".join(f"  {each}" for each in _before(line)))
        writer.line("}")
    number = register_type(line.dtype)
    writer.line(f"SG_SHARED({number}, totals, {WARPS});")
    mine = f"first + warp * {STRIP} + lane"
    with writer.block(_tiles(line)):
        _load(writer, line, mine)
        _shuffle(writer, line)
        writer.line("__syncthreads();  // those before may still read `totals`")
        writer.line(f"if (lane == {WARP - 1}) totals[warp] = x[{ITEMS - 1}];\n__syncthreads();")
        writer.line(f"{number} before = carry;\nbool any = begun;")
        writer.line("#pragma unroll")
        with writer.block(f"for (int w = 0; w < {WARPS}; ++w)"):
            writer.line("if (w == warp) before = carry, any = begun;")
            writer.line("carry = begun ? Combine::of(carry, totals[w]) : totals[w];\nbegun = true;")
        writer.line("if (any)")
        writer.line("#pragma unroll")
        writer.line(f"for (int v = 0; v < {ITEMS}; ++v) x[v] = Combine::of(before, x[v]);")
        _store(writer, line, mine)
    return ended(made, writer)


def totals(made: ScanSchedule) -> FunctionCall:
    """Return the function that writes the total of each part except the last, whose total is not needed.

    Each of these parts has a block of its own.
    """
    line, number = made.line, register_type(made.line.dtype)
    writer = begun(line)
    _team(writer, line, made.parts)
    kind = beyond(line, TILE)
    writer.line(f"{number} total = {constant(0, line.dtype)};")
    writer.line("#pragma unroll 8")
    with writer.block(f"for (int i = 0; i < {line.length}; i += {THREADS})"):
        writer.line(f"const {kind} k = {kind}(part) * {line.length} + i + int(threadIdx.x);")
        writer.bind_index(line.k, "k")
        value = writer.wide(line.item())
        writer.line(f"total = i ? Combine::of(total, {value}) : {value};")
    writer.line(f"SG_SHARED({number}, warps, {WARPS});")
    writer.line(f"total = block_reduce<Combine, {THREADS}>(total, warps);")
    place = f"{PARTIAL}[row * {line.parts} + part]"
    writer.line(f"if (threadIdx.x == 0) {place} = {stored(line.dtype, 'total')};")
    return ended(made, writer)


def _team(writer: CudaWriter, line: Line, parts: int) -> None:
    """The row and the part of a block, of so many parts."""
    writer.line(f"const int lane = threadIdx.x % {WARP}, warp = threadIdx.x / {WARP};")
    _row(writer, line, f"blockIdx.x / {parts}" if parts > 1 else "blockIdx.x")
    if line.parts > 1:
        writer.line(f"const int part = blockIdx.x % {parts};" if parts > 1 else "const int part = 0;")


def _row(writer: CudaWriter, line: Line, text: str) -> None:
    writer.line(f"const {index_type(line.row)} row = {text};")
    writer.bind_index(line.row, "row")


def _begin(writer: CudaWriter, line: Line) -> None:
    writer.line(f"{register_type(line.dtype)} carry = {constant(0, line.dtype)};  // all before")
    writer.line("bool begun = false;")


def _before(line: Line) -> list[str]:
    """Return the statements that combine the totals of all earlier parts of the row into `carry`.

    Each lane of a warp combines every 32nd total. Then the values of the lanes are combined, from the first
    lane.
    """
    number, dtype = register_type(line.dtype), line.dtype
    first, later = (
        loaded(dtype, f"{PARTIAL}[row * {line.parts} + {p}]") for p in ("min(lane, part - 1)", "p")
    )
    return [
        f"{number} some = {first};",
        f"for (int p = lane + {WARP}; p < part; p += {WARP}) some = Combine::of(some, {later});",
        f"carry = {_from_lane(line, 'some', '0')};",
        f"for (int other = 1; other < min({WARP}, part); ++other)",
        f"  carry = Combine::of(carry, {_from_lane(line, 'some', 'other')});",
        "begun = true;",
    ]


def _tiles(line: Line) -> str:
    """The head of the loop over the tiles of a part."""
    kind, count = beyond(line, max(TILE, line.length)), line.scan.length
    if line.parts == 1:
        return f"for ({kind} first = 0; first < {count}; first += {TILE})"
    start = f"{kind} first = {kind}(part) * {line.length}"
    end = f"end = min({kind}({count}), {kind}(part + 1) * {line.length})"
    return f"for ({start}, {end}; first < end; first += {TILE})"


def _load(writer: CudaWriter, line: Line, first: str) -> None:
    number, kind = register_type(line.dtype), beyond(line, TILE)
    writer.line(f"{number} x[{ITEMS}];")
    writer.line("#pragma unroll")
    with writer.block(f"for (int v = 0; v < {ITEMS}; ++v)"):
        writer.line(f"const {kind} k = {first} + v * {WARP};")
        writer.line(f"x[v] = {constant(0, line.dtype)};")
        with writer.block(f"if (k < {line.scan.length})"):
            writer.bind_index(line.k, "k")
            writer.line(f"x[v] = {writer.wide(line.item())};")


def _store(writer: CudaWriter, line: Line, first: str) -> None:
    kind = beyond(line, TILE)
    writer.line("#pragma unroll")
    with writer.block(f"for (int v = 0; v < {ITEMS}; ++v)"):
        writer.line(f"const {kind} k = {first} + v * {WARP};")
        with writer.block(f"if (k < {line.scan.length})"):
            writer.bind_index(line.k, "k")
            place = writer.place(line.scan.target, line.result())
            writer.line(f"{line.scan.target}[{place}] = {stored(line.dtype, 'x[v]')};")


def _shuffle(writer: CudaWriter, line: Line) -> None:
    """The totals of a strip: of each 32 items, then of these after those before them."""
    number = register_type(line.dtype)
    writer.line("#pragma unroll")
    with writer.block(f"for (int distance = 1; distance < {WARP}; distance *= 2)"):
        writer.line("#pragma unroll")
        with writer.block(f"for (int v = 0; v < {ITEMS}; ++v)"):
            shuffled = f"__shfl_up_sync(SG_FULL, Shuffled<{number}>::type(x[v]), distance)"
            writer.line(f"const {number} y = {number}({shuffled});")
            writer.line("if (lane >= distance) x[v] = Combine::of(y, x[v]);")
    writer.line("#pragma unroll")
    before = _from_lane(line, "x[v - 1]", str(WARP - 1))
    writer.line(f"for (int v = 1; v < {ITEMS}; ++v) x[v] = Combine::of({before}, x[v]);")


def _from_lane(line: Line, value: str, lane: str) -> str:
    number = register_type(line.dtype)
    return f"{number}(__shfl_sync(SG_FULL, Shuffled<{number}>::type({value}), {lane}))"


def across(made: ScanSchedule) -> FunctionCall:
    """The totals of all items of a part, or that of the part."""
    line = made.line
    writer, number = begun(line), register_type(line.dtype)
    _thread(writer, line, made.parts)
    writer.line(f"{number} total = {constant(0, line.dtype)};\nbool begun = false;")
    if line.parts > 1 and not made.totals:
        partial = loaded(line.dtype, f"{PARTIAL}[p * {line.scan.rows} + row]")
        writer.line("#pragma unroll 8")
        with writer.block("for (int p = 0; p < part; ++p)"):
            writer.line(f"const {number} before = {partial};")
            writer.line("total = begun ? Combine::of(total, before) : before;\nbegun = true;")
    with _items(writer, line):
        value = writer.wide(line.item())
        writer.line(f"total = begun ? Combine::of(total, {value}) : {value};\nbegun = true;")
        if not made.totals:
            place = writer.place(line.scan.target, line.result())
            writer.line(f"{line.scan.target}[{place}] = {stored(line.dtype, 'total')};")
    if made.totals:
        writer.line(f"{PARTIAL}[part * {line.scan.rows} + row] = {stored(line.dtype, 'total')};")
    return ended(made, writer)


def _thread(writer: CudaWriter, line: Line, parts: int) -> None:
    """The row and the part of a thread."""
    rows, kind = line.scan.rows, counter(line.scan.rows * parts + THREADS)
    writer.line(f"const {kind} thread = {kind}(blockIdx.x) * {THREADS} + threadIdx.x;")
    writer.line(f"if (thread >= {rows * parts}) return;")
    writer.line(f"const int part = thread / {rows};")
    writer.line(f"const {index_type(line.row)} row = thread - {index_type(line.row)}(part) * {rows};")
    writer.bind_index(line.row, "row")


@contextmanager
def _items(writer: CudaWriter, line: Line) -> Iterator[None]:
    """For each item of the thread's part."""
    count = line.scan.length
    kind = beyond(line, line.length)
    first, end = "0", str(count)
    if line.parts > 1:
        writer.line(f"const {kind} first = {kind}(part) * {line.length};")
        writer.line(f"const {kind} end = min({kind}({count}), {kind}(first + {line.length}));")
        first, end = "first", "end"
    writer.line("#pragma unroll 8")
    with writer.block(f"for ({kind} k = {first}; k < {end}; ++k)"):
        writer.bind_index(line.k, "k")
        yield
