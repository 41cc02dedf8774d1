"""Updates at places that are data, as many threads can do them: in order of places.

    update   0 1 2 3 4        place    3 3 3 7 7
    place    7 3 3 7 3        update   1 2 4 0 3       of equal places, in order of updates

Runs of equal places may be long, so each thread takes a chunk of the order. What it has of a run that goes on
in other chunks is put aside, and added up in the end by the thread in whose chunk the run begins.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from staticgraph.compiler.graph.dtypes import bool_, int32, int64, uint32
from staticgraph.compiler.graph.sizes import is_open
from staticgraph.compiler.kernel import scalar
from staticgraph.compiler.kernel.expr import Const, Expr, Index, Local, substitute
from staticgraph.compiler.kernel.form import Selection, StagedForm, Updates
from staticgraph.compiler.kernel.stmt import Buffer, If, Let, Loop, LoopKind, Stmt, Store, Update, While
from staticgraph.compiler.ops.arrays.changes import Change
from staticgraph.compiler.ops.arrays.copies import in_copies
from staticgraph.compiler.ops.arrays.movement import raveled, unraveled
from staticgraph.compiler.ops.kinds import Out
from staticgraph.compiler.support.dataclass import dataclass

_LEAST_CHUNK = 32  # updates


def in_order(
    out: Out,
    begin: tuple[Stmt, ...],
    outer: Sequence[Index],
    inside: Expr,
    columns: Sequence[Index],
    write: Store,
) -> Updates | None:
    """`begin`, then `write` for all values of `outer` for which `inside` holds, and of `columns`.

    What is written has `columns` as its last axes. None if there is nothing to write, more than int32 can
    count, or no way to put updates together.
    """
    count = math.prod(index.extent for index in outer)
    shape = out.shape[: len(out.shape) - len(columns)]
    rows = math.prod(shape)
    if is_open((count, *out.shape)):
        return None
    if not 0 < count < int32.max or not 0 < rows < int32.max or 0 in out.shape:
        return None
    change = Change.of(out[write.at], write.value)
    if change is None:
        return None
    update = Index("update", count)
    table: dict[Expr, Expr] = dict(zip(outer, unraveled(update, [i.extent for i in outer]), strict=True))
    key = substitute(scalar.select(inside, raveled(write.at[: len(shape)], shape), Const(rows, int64)), table)
    places, order = Out("update_rows", (count,), int32), Out("update_order", (count,), int32)
    sort = Selection(
        places.buffer,
        order.buffer,
        (),
        update,
        scalar.cast(key, int32),
        scalar.cast(key, uint32),
        count,
        rows.bit_length(),
    )
    chunk = max(_LEAST_CHUNK, math.isqrt(count) // 16)
    chunks = Index("chunk", -(-count // chunk))
    sizes = tuple(index.extent for index in columns)
    parts = tuple(Out(name, (chunks.extent, *sizes), out.dtype) for name in ("update_heads", "update_tails"))
    value = substitute(substitute(change.value, table), {update: scalar.cast(order[_AT], int64)})
    runs = _Runs(out, shape, tuple(columns), places, change, value, chunk, chunks, *parts)
    scratch = {each.buffer: Buffer(each.dtype, each.shape, written=True) for each in (places, order, *parts)}
    staged = StagedForm((begin, sort, runs.chunk_by_chunk(), runs.across_chunks()), scratch)
    changed = substitute(change.value, table)
    return Updates(staged, count, rows, in_copies(out, shape, update, key, columns, change, changed))


_AT = Local("at", int64)  # the number of an update in the order


@dataclass(frozen=True, slots=True)
class _Runs:
    """Runs of equal `places`, in chunks; `value` is that of the update number `_AT`.

    `heads` are the totals of what chunks begin with where the run has begun before, `tails` of what they end
    with where it goes on.
    """

    out: Out
    shape: tuple[int, ...]
    columns: tuple[Index, ...]
    places: Out
    change: Change
    value: Expr
    chunk: int
    chunks: Index
    heads: Out
    tails: Out

    @property
    def count(self) -> int:
        return self.places.shape[0]

    def place(self, at: Expr) -> Expr:
        """The place of an update, or of one near it if there is no such update."""
        return self.places[scalar.minimum(scalar.maximum(at, 0), self.count - 1)]

    def begins(self, at: Expr) -> Expr:
        """Return the condition that a run begins at `at`: another place comes before, or none."""
        return scalar.eq(at, 0) | scalar.ne(self.place(at - 1), self.place(at))

    def ends(self, after: Expr) -> Expr:
        """Return the condition that a run ends just before `after`: another place comes next, or none."""
        return (after >= self.count) | scalar.ne(self.place(after - 1), self.place(after))

    def applied(self, row: Expr, total: Expr) -> Stmt:
        """Change what is at a place, if there is such a place."""
        target = (*unraveled(scalar.cast(row, int64), self.shape), *self.columns)
        store = Store(self.out.buffer, target, self.change.applied(self.out[target], total))
        return If(row < math.prod(self.shape), (store,))

    def chunk_by_chunk(self) -> tuple[Stmt, ...]:
        """Runs that lie in one chunk are done, others put aside."""
        start, total, row = Local("start", int64), Local("total", self.out.dtype), Local("row", int32)
        whole, goes_on = Local("whole", bool_), Local("goes_on", bool_)
        end = scalar.minimum((self.chunks + 1) * self.chunk, self.count)
        is_new = scalar.ne(self.place(_AT), row)
        aside = (self.chunks, *self.columns)
        step = (
            If(
                is_new,
                (
                    If(whole, (self.applied(row, total),)),
                    If(~whole, (Store(self.heads.buffer, aside, total),)),
                    Update(row, self.place(_AT)),
                    Update(whole, Const(True, bool_)),
                    Update(start, _AT),
                ),
            ),
            Update(
                total,
                scalar.select(scalar.eq(start, _AT), self.value, self.change.together(total, self.value)),
            ),
            Update(_AT, _AT + 1),
        )
        body = (
            Let(_AT, self.chunks * self.chunk),
            Let(start, _AT),
            Let(row, self.place(_AT)),
            Let(whole, self.begins(_AT)),
            Let(total, Const(0, self.out.dtype)),
            While(end > _AT, step),
            Let(goes_on, ~self.ends(_AT)),
            If(whole & ~goes_on, (self.applied(row, total),)),
            If(whole & goes_on, (Store(self.tails.buffer, aside, total),)),
            If(~whole, (Store(self.heads.buffer, aside, total),)),
        )
        return self.everywhere(body)

    def across_chunks(self) -> tuple[Stmt, ...]:
        """Return statements that finish the runs that begin in one chunk and end in another one."""
        total, row, further = Local("total", self.out.dtype), Local("row", int32), Local("further", int64)
        end = scalar.minimum((self.chunks + 1) * self.chunk, self.count)
        first = self.chunks * self.chunk
        begins_here = self.begins(first) | scalar.ne(self.place(first), self.place(end - 1))
        head = self.heads[(scalar.minimum(further, self.chunks.extent - 1), *self.columns)]
        follow = While(
            (further * self.chunk < self.count) & scalar.eq(self.place(further * self.chunk), row),
            (Update(total, self.change.together(total, head)), Update(further, further + 1)),
        )
        body = (
            If(
                begins_here & ~self.ends(end),
                (
                    Let(row, self.place(end - 1)),
                    Let(total, self.tails[(self.chunks, *self.columns)]),
                    Let(further, self.chunks + 1),
                    follow,
                    self.applied(row, total),
                ),
            ),
        )
        return self.everywhere(body)

    def everywhere(self, body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        """`body` for each chunk and column."""
        for index in (*reversed(self.columns), self.chunks):
            body = (Loop(index, body, LoopKind.PARALLEL),)
        return body
