"""Functions that note the rows of updates, and do all updates of a row by one warp."""

from __future__ import annotations

from contextlib import nullcontext

from staticgraph.compiler.codegen.cuda.expr import CudaWriter
from staticgraph.compiler.codegen.cuda.function import FunctionCall, call_of, parameters
from staticgraph.compiler.codegen.cuda.prelude import register_type
from staticgraph.compiler.codegen.cuda.scalar import constant, loaded, stored
from staticgraph.compiler.kernel.expr import Expr, Index, Load, walk
from staticgraph.compiler.kernel.indices.index import simplify_index
from staticgraph.compiler.kernel.schedule_gpu.elements.scatter import (
    COLUMNS,
    KEYS,
    NoteSchedule,
    Scatter,
    ScatterSchedule,
)
from staticgraph.compiler.kernel.schedule_gpu.strides import replaced
from staticgraph.compiler.kernel.schedule_gpu.target import THREADS
from staticgraph.compiler.kernel.stmt import Store
from staticgraph.compiler.support.dataclass import dataclass


def notes(made: NoteSchedule) -> FunctionCall:
    """The function that notes the row of each update."""
    found = made.scatter
    writer = CudaWriter(found.buffers)
    writer.line(f"const int thread = blockIdx.x * {THREADS} + threadIdx.x;")
    with writer.block(f"if (thread < {found.update.extent})"):
        writer.bind_index(found.update, "thread")
        writer.store(KEYS, (found.update,), made.note)
    return call_of(made, parameters(found.buffers, {KEYS}, made.uses), writer.text)


def scatter(made: ScatterSchedule) -> FunctionCall:
    """The function that does the updates."""
    found, by_row = made.scatter, made.by_row
    store, count = found.store, found.update.extent
    writer = CudaWriter(found.buffers)
    writer.line(f"const int warp = (blockIdx.x * {THREADS} + threadIdx.x) / 32, lane = threadIdx.x % 32;")
    writer.line(f"if (warp >= {made.warps}) return;")
    if by_row:
        writer.line("const int key = warp;")
    else:
        writer.line(f"const int key = {KEYS}[warp];\nif (key < 0) return;")
        writer.line(_FIRST.format(keys=KEYS))
    row = _Row(writer, found, Index("key", found.rows))
    row.begin()
    with writer.block(
        f"for (int first = {'0' if by_row else 'warp / 128 * 128'}; first < {count}; first += 128)"
    ):
        writer.line(_SKIP.format(keys=KEYS, count=count))
        with writer.block("for (int part = first; part < first + 128; part += 32)"):
            writer.line(_FOUND.format(keys=KEYS, count=count))
            with writer.block("while (found)"):
                writer.line("const int update = part + __ffs(int(found)) - 1;\nfound &= found - 1;")
                writer.bind_index(found.update, "update")
                row.update()
    row.end()
    return call_of(made, parameters(found.buffers, {store.buffer}, made.uses), writer.text)


_FIRST = """\
for (int first = 0; first < warp; first += 32) {{
  if (__any_sync(SG_FULL, first + lane < warp && {keys}[first + lane] == key)) return;
}}"""
_SKIP = """\
bool near = false;
#pragma unroll
for (int at = first + lane; at < first + 128; at += 32) near |= at < {count} && {keys}[at] == key;
if (!__any_sync(SG_FULL, near)) continue;"""
_FOUND = """\
unsigned found = __ballot_sync(SG_FULL, part + lane < {count} && {keys}[part + lane] == key);"""


class _Row:
    """The columns of a row that a thread has in registers."""

    def __init__(self, writer: CudaWriter, found: Scatter, key: Index) -> None:
        self.writer, self.store, self.element = writer, found.store, found.element
        width = found.column.extent
        count = -(-min(width, COLUMNS) // 32)
        self.is_whole = width % (32 * count) == 0
        self.width = width
        self.parts = []
        writer.bind_index(key, "key")
        for n in range(count):
            column = Index(f"column{n}", width)
            number, value = writer.name("column"), writer.name("row")
            start = [f"blockIdx.y * {COLUMNS}"] * (width > COLUMNS) + [f"{n * 32}"] * (n > 0)
            writer.line(f"const int {number} = {' + '.join([*start, 'lane'])};")
            writer.bind_index(column, number)
            done = replaced(found.store, {found.column: column})
            place = (simplify_index(key * width + column),)
            self.parts.append(_Part(f"if ({number} < {width})", value, done, place))

    def begin(self) -> None:
        """Declare them, with what the row holds if that is used."""
        buffer, writer = self.store.buffer, self.writer
        is_read = self.element in walk(self.store.value)
        dtype = self.store.value.dtype
        writer.line("bool any = false;")
        for part in self.parts:
            writer.line(f"{register_type(dtype)} {part.value} = {constant(0, dtype)};")
            if is_read:
                place = writer.place(buffer, part.place)
                guard = "" if self.is_whole else f"{part.guard} "
                writer.line(f"{guard}{part.value} = {loaded(dtype, f'{buffer}[{place}]')};")

    def update(self) -> None:
        """Print the update of a target by the element at hand."""
        self.writer.line("any = true;")
        for part in self.parts:
            element = Load(part.store.buffer, part.store.at, part.store.value.dtype)
            with nullcontext() if self.is_whole else self.writer.block(part.guard):
                self.writer.bind(element, part.value)
                self.writer.line(f"{part.value} = {self.writer.wide(part.store.value)};")

    def end(self) -> None:
        """Store them."""
        buffer, dtype = self.store.buffer, self.store.value.dtype
        self.writer.line("if (!any) return;")
        for part in self.parts:
            place = self.writer.place(buffer, part.place)
            guard = "" if self.is_whole else f"{part.guard} "
            self.writer.line(f"{guard}{buffer}[{place}] = {stored(dtype, part.value)};")


@dataclass(frozen=True, slots=True)
class _Part:
    """One column of a thread: when there is such a column, its value, what is done, and its place."""

    guard: str
    value: str
    store: Store
    place: tuple[Expr, ...]
