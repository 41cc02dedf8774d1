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

from staticgraph.compiler.graph.dtypes import bool_, int32
from staticgraph.compiler.kernel import scalar
from staticgraph.compiler.kernel.expr import Const, Expr, Index, Load, free_indices, substitute, walk
from staticgraph.compiler.kernel.indices.affine import Affine
from staticgraph.compiler.kernel.indices.index import offset, simplify_index
from staticgraph.compiler.kernel.schedule_gpu.elements.spread import Body, SpreadNest
from staticgraph.compiler.kernel.schedule_gpu.function import Extents, FunctionSchedule
from staticgraph.compiler.kernel.schedule_gpu.target import THREADS, WARP
from staticgraph.compiler.kernel.stmt import Buffer, If, Let, Loop, LoopKind, Store
from staticgraph.compiler.support.dataclass import dataclass

KEYS = "scatter_keys"  # scratch: the notes
_LEAST = 32  # updates: fewer are done one after the other
_MANY = 1 << 30  # updates: more of them would leave `int`
_MOST = 1 << 34  # notes that are looked at in all
COLUMNS = 256  # of a row that one warp takes, eight in each thread


@dataclass(frozen=True, slots=True, eq=False)
class Scatter:
    """For each value of `update`, if `condition` holds: `store`, for all columns of `row`."""

    update: Index
    condition: Expr
    row: Expr
    column: Index
    store: Store
    rows: int
    buffers: Mapping[str, Buffer]

    @property
    def element(self) -> Load:
        """The element of the result that an update changes."""
        return Load(self.store.buffer, self.store.at, self.store.value.dtype)


@dataclass(frozen=True, slots=True, eq=False)
class NoteSchedule(FunctionSchedule):
    """Notes of the row of each update, or -1 where it does nothing: a thread for each."""

    scatter: Scatter

    kind = "scatter_notes"
    meets = False
    about = "an update for each thread"

    @property
    def grid(self) -> Extents:
        return -(-self.scatter.update.extent // THREADS), 1, 1

    @property
    def note(self) -> Expr:
        """The note of an update."""
        found = self.scatter
        return scalar.select(found.condition, scalar.cast(found.row, int32), Const(-1, int32))

    @property
    def uses(self) -> set[str]:
        """The buffers that it reads or writes."""
        return {KEYS, *(e.buffer for e in walk(self.note) if isinstance(e, Load))}


@dataclass(frozen=True, slots=True, eq=False)
class ScatterSchedule(FunctionSchedule):
    """All updates of a row by one warp, which has a part of its columns in registers."""

    scatter: Scatter

    kind = "scatter"

    @property
    def about(self) -> str:
        """The warps."""
        return f"a warp for each of {self.warps} {'rows' if self.by_row else 'updates'}"

    @property
    def by_row(self) -> bool:
        """True if each row has a warp, rather than each update."""
        return self.scatter.rows <= self.scatter.update.extent

    @property
    def warps(self) -> int:
        """Warps that do all columns of a part."""
        return min(self.scatter.rows, self.scatter.update.extent)

    @property
    def grid(self) -> Extents:
        return -(-self.warps * WARP // THREADS), -(-self.scatter.column.extent // COLUMNS), 1

    @property
    def uses(self) -> set[str]:
        """The buffers that it reads or writes."""
        store, element = self.scatter.store, self.scatter.element
        kept = substitute(store.value, {element: Const(0, element.dtype)})
        return {store.buffer, KEYS, *(e.buffer for e in walk(kept) if isinstance(e, Load))}


def scatter(body: Body, buffers: Mapping[str, Buffer]) -> Scatter | None:
    """A phase of a kernel as updates of rows, or None if it is something else."""
    nest = SpreadNest.of(body[0])
    loops = [s for s in nest.around if isinstance(s, Loop)]
    columns = [s.index for s in loops if s.kind is LoopKind.PARALLEL]
    rounds = [s.index for s in loops if s.kind is not LoopKind.PARALLEL]
    if not rounds or len(body) > 1 or any(s.share for s in loops) or len(columns) > 1 or not nest.is_movable:
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
                keys = Buffer(int32, (update.extent,), written=True)
                every = {**buffers, KEYS: keys}
                return Scatter(update, meant.condition, row, column, Store(buffer, (at,), value), rows, every)
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
    looked_at = updates * min(updates, rows) * -(-columns // COLUMNS)
    return _LEAST <= updates <= _MANY and looked_at <= _MOST
