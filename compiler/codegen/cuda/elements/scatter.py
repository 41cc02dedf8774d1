"""Rows of a result to which rows of updates are added, or the like, at places that are found in memory.

    for item in 0..64 parallel:
      for u in 0..500:
        row: int64 = int64(rows[u])
        if row < 10:
          y[row * 64 + item] = y[row * 64 + item] + x[u * 64 + item]

Several updates may meet in one row, and have to be done in order. First, the row of each update is noted.
Then a warp does all updates of a row: it looks through the notes, 32 at a time, for those that concern it.
There is a warp for each row or, if these are fewer, for each update, of which the first in its row does the
work.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import nullcontext

from staticgraph.compiler.codegen.cuda.elements.spread import Body, SpreadNest
from staticgraph.compiler.codegen.cuda.expr import CudaWriter
from staticgraph.compiler.codegen.cuda.function import FunctionCall, Parameter, call
from staticgraph.compiler.codegen.cuda.limits import THREADS
from staticgraph.compiler.codegen.cuda.prelude import register_type
from staticgraph.compiler.codegen.cuda.scalar import constant, loaded, stored
from staticgraph.compiler.graph.dtypes import bool_, int32
from staticgraph.compiler.kernel import scalar
from staticgraph.compiler.kernel.expr import Const, Expr, Index, Load, free_indices, substitute, walk
from staticgraph.compiler.kernel.index import Affine, offset, simplify_index
from staticgraph.compiler.kernel.stmt import Buffer, If, Let, Loop, LoopKind, Store
from staticgraph.compiler.support.dataclass import dataclass

KEYS = "scatter_keys"
_LEAST = 32  # updates: fewer are done one after the other
_MANY = 1 << 30  # updates: more of them would leave `int`
_MOST = 1 << 34  # notes that are looked at in all
_COLUMNS = 256  # of a row that one warp takes, eight in each thread


@dataclass(frozen=True, slots=True)
class Scatter:
    """For each value of `update`, if `condition` holds: `store`, for all columns of `row`."""

    update: Index
    condition: Expr
    row: Expr
    column: Index
    store: Store
    rows: int

    @property
    def element(self) -> Load:
        """The element of the result that an update changes."""
        return Load(self.store.buffer, self.store.at, self.store.value.dtype)


def scatter(body: Body, buffers: Mapping[str, Buffer]) -> Scatter | None:
    """A phase of a kernel as updates of rows, or None if it is something else."""
    nest = SpreadNest.of(body[0])
    loops = [s for s in nest.around if isinstance(s, Loop)]
    columns = [s.index for s in loops if s.kind is LoopKind.PARALLEL]
    rounds = [s.index for s in loops if s.kind is not LoopKind.PARALLEL]
    if len(body) > 1 or any(s.share for s in loops) or len(columns) > 1 or not nest.is_movable:
        return None
    match nest.inside:
        case (Store(buffer, (_,), _) as store,):
            column = columns[0] if columns else Index("column", 1)
            update = Index("update", math.prod(i.extent for i in rounds))
            meant = _Inlined(update, rounds, nest)
            at, value = meant(store.at[0]), meant(store.value)
            row = _row(offset(buffers[buffer], (at,)), column)
            rows = buffers[buffer].size // max(column.extent, 1)
            depends = column in free_indices(meant.condition)
            if row is None or depends or not _is_worth(update.extent, rows, column.extent):
                return None
            if all(e.at == (at,) for e in walk(value) if isinstance(e, Load) and e.buffer == buffer):
                return Scatter(update, meant.condition, row, column, Store(buffer, (at,), value), rows)
    return None


class _Inlined:
    """Expressions inside a nest in terms of the number of the update and the column alone."""

    def __init__(self, update: Index, rounds: Sequence[Index], nest: SpreadNest) -> None:
        self.table: dict[Expr, Expr] = {}
        self.condition: Expr = Const(True, bool_)
        stride = 1
        for index in reversed(rounds):
            self.table[index] = simplify_index(update // stride % max(index.extent, 1))
            stride *= max(index.extent, 1)
        for stmt in nest.around:
            match stmt:
                case Let(local, value):
                    self.table[local] = self(value)
                case If(condition, _):
                    self.condition = simplify_index(self.condition & self(condition))

    def __call__(self, expr: Expr) -> Expr:
        return simplify_index(substitute(expr, self.table))


def _row(form: Affine, column: Index) -> Expr | None:
    """The row of a place, where it counts rows of as many elements as there are columns, and then columns."""
    width = column.extent
    rest = form if width == 1 else form + Affine({column: -1})
    parts = [*rest.terms.values(), rest.constant]
    if width == 0 or any(f % width for f in parts) or any(column in free_indices(t) for t in rest.terms):
        return None
    return Affine({t: f // width for t, f in rest.terms.items()}, rest.constant // width).expr


def _is_worth(updates: int, rows: int, columns: int) -> bool:
    looked_at = updates * min(updates, rows) * -(-columns // _COLUMNS)
    return _LEAST <= updates <= _MANY and looked_at <= _MOST


def scatter_calls(found: Scatter, buffers: Mapping[str, Buffer]) -> tuple[list[FunctionCall], int]:
    """The calls that do the updates, and how much memory they need for the notes: `KEYS`, in bytes."""
    keys = Buffer(int32, (found.update.extent,), written=True)
    return [_notes(found, {**buffers, KEYS: keys}), _updates(found, {**buffers, KEYS: keys})], keys.size * 4


def _notes(found: Scatter, buffers: Mapping[str, Buffer]) -> FunctionCall:
    """Notes the row of each update, or -1 where it does nothing."""
    writer, count = CudaWriter(buffers), found.update.extent
    row = scalar.select(found.condition, scalar.cast(found.row, int32), Const(-1, int32))
    writer.line(f"const int thread = blockIdx.x * {THREADS} + threadIdx.x;")
    with writer.block(f"if (thread < {count})"):
        writer.bind_index(found.update, "thread")
        writer.store(KEYS, (found.update,), row)
    used = {e.buffer for e in walk(row) if isinstance(e, Load)}
    parameters = [
        Parameter(name, b.dtype, name == KEYS) for name, b in buffers.items() if name in {*used, KEYS}
    ]
    return call("scatter_notes", parameters, writer.text, (-(-count // THREADS), 1, 1), (THREADS, 1, 1))


def _updates(found: Scatter, buffers: Mapping[str, Buffer]) -> FunctionCall:
    """All updates of a row by one warp, which has a part of its columns in registers."""
    store, count, width = found.store, found.update.extent, found.column.extent
    by_row = found.rows <= count
    warps = min(found.rows, count)
    writer = CudaWriter(buffers)
    writer.line(f"const int warp = (blockIdx.x * {THREADS} + threadIdx.x) / 32, lane = threadIdx.x % 32;")
    writer.line(f"if (warp >= {warps}) return;")
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
    kept = substitute(store.value, {found.element: Const(0, store.value.dtype)})
    used = {e.buffer for e in walk(kept) if isinstance(e, Load)} | {store.buffer, KEYS}
    parameters = [Parameter(n, b.dtype, n == store.buffer) for n, b in buffers.items() if n in used]
    grid = (-(-warps * 32 // THREADS), -(-width // _COLUMNS), 1)
    return call("scatter", parameters, writer.text, grid, (THREADS, 1, 1), meets=True)


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
        count = -(-min(width, _COLUMNS) // 32)
        self.is_whole = width % (32 * count) == 0
        self.width = width
        self.parts = []
        writer.bind_index(key, "key")
        for n in range(count):
            column = Index(f"column{n}", width)
            number, value = writer.name("column"), writer.name("row")
            start = [f"blockIdx.y * {_COLUMNS}"] * (width > _COLUMNS) + [f"{n * 32}"] * (n > 0)
            writer.line(f"const int {number} = {' + '.join([*start, 'lane'])};")
            writer.bind_index(column, number)
            done = _replaced(found.store, {found.column: column})
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
        """Do the present update."""
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


def _replaced(store: Store, table: dict[Expr, Expr]) -> Store:
    at = tuple(simplify_index(substitute(a, table)) for a in store.at)
    return Store(store.buffer, at, simplify_index(substitute(store.value, table)))
