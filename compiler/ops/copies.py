"""Updates at places that are data, as a few threads do them: each part of them in a copy of the result.

    place    1 3 1 0 2 0        of the first three    . 4 . 2        result    10 4 5 2
    value    1 2 3 4 5 6        of the others        10 . 5 .

A copy begins with numbers that change nothing. In the end, those of all copies are put together, always in
the same order. How many copies there are follows from sizes, so bits do not depend on the number of threads.
Updates of one place that come one after the other, such as those of sorted places, are put together in a
register.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from staticgraph.compiler.graph.dtypes import int64
from staticgraph.compiler.kernel import scalar
from staticgraph.compiler.kernel.expr import Const, Expr, Index, Load, Local
from staticgraph.compiler.kernel.form import Copies
from staticgraph.compiler.kernel.stmt import Buffer, If, Let, Loop, LoopKind, Share, Stmt, Store, Update
from staticgraph.compiler.ops.changes import Change
from staticgraph.compiler.ops.kinds import Out
from staticgraph.compiler.ops.loops import nested
from staticgraph.compiler.ops.movement import raveled

_LEAST = 1 << 14  # numbers that updates bring: fewer are not worth several threads
_MOST = 16  # copies
_PER_PLACE = 4  # updates of a copy for each of its places: a copy takes time, too
_BYTES = 1 << 26  # of all copies
_WIDE = 64  # columns: so many are cut into blocks, each of which goes through all updates (`ops/scatter.py`)


def in_copies(
    out: Out,
    shape: Sequence[int],
    update: Index,
    key: Expr,
    columns: Sequence[Index],
    change: Change,
    value: Expr,
) -> Copies | None:
    """The statements for all of `update`, by copies of `out`, which has numbers to start from.

    `key` is the place of an update in `shape`, counted in elements, or the number of places if it is none. An
    update has `columns`. None if copies are no help.
    """
    count, places = update.extent, math.prod(shape)
    width = math.prod(index.extent for index in columns)
    each = (places + 1) * width * out.dtype.size
    copies = min(_MOST, count // (_PER_PLACE * places), _BYTES // each)
    if change.op is None or copies < 2 or count * width < _LEAST:
        return None
    if columns and columns[-1].extent >= _WIDE:
        return None
    name, copy, neutral = "update_copies", Index("copy", copies), change.neutral()
    row, next_row = Local("copied_row", int64), Local("next_row", int64)
    total = Local("copied", out.dtype)

    def held(of: Expr, place: Expr, at: Sequence[Expr]) -> Load:
        return Load(name, (of, place, *at), out.dtype)

    def put(place: Expr, at: Sequence[Expr], new: Expr) -> Store:
        return Store(name, (copy, place, *at), change.together(held(copy, place, at), new))

    share, place = Share(copy, copies), Index("place", places + 1)
    clear = nested((place, *columns), (Store(name, (copy, place, *columns), neutral),))
    if columns:
        body: tuple[Stmt, ...] = (Let(row, key), *nested(columns, (put(row, columns, value),)))
        work: tuple[Stmt, ...] = (Loop(update, body, share=share),)
    else:
        flush = put(row, (), total)
        step = (
            Let(next_row, key),
            If(scalar.ne(next_row, row), (flush, Update(row, next_row), Update(total, neutral))),
            Update(total, change.together(total, value)),
        )
        work = (
            Let(row, Const(places, int64)),
            Let(total, neutral),
            Loop(update, step, share=share),
            flush,
        )
    at = tuple(Index(f"result{d}", n) for d, n in enumerate(shape))
    flat, sums = raveled(at, shape), held(Const(0, int64), raveled(at, shape), columns)
    made: Expr = sums
    for n in range(1, copies):
        made = change.together(made, held(Const(n, int64), flat, columns))
    target = (*at, *columns)
    together = nested(target, (Store(out.buffer, target, change.applied(out[target], made)),))
    scratch = Buffer(out.dtype, (copies, places + 1, *(i.extent for i in columns)), written=True, shared=True)
    return Copies((Loop(copy, (*clear, *work), LoopKind.PARALLEL), *together), {name: scratch})
