"""Updates at places that are data, as a few threads do them: each part of them in a copy of the result.

    place    1 3 1 0 2 0        of the first three    . 4 . 2        result    10 4 5 2
    value    1 2 3 4 5 6        of the others        10 . 5 .

A copy begins with numbers that change nothing. In the end, those of all copies are put together, always in
the same order. How many copies there are follows from sizes, so bits do not depend on the number of threads.
Updates of one place that come one after the other, such as those of sorted places, are put together in a
register. If there are few places, a copy has several tables instead, which its updates take in turns: then
those need not wait for each other. Places are computed in vector lanes, and so are numbers for runs, a
strip of updates at a time.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence

from staticgraph.compiler.graph.dtypes import DType, int32, int64
from staticgraph.compiler.kernel import scalar
from staticgraph.compiler.kernel.expr import Const, Expr, Index, Load, Local, substitute
from staticgraph.compiler.kernel.form import Copies
from staticgraph.compiler.kernel.stmt import Buffer, If, Let, Loop, LoopKind, Share, Stmt, Store, Update
from staticgraph.compiler.ops.arrays.changes import Change
from staticgraph.compiler.ops.arrays.movement import raveled
from staticgraph.compiler.ops.kinds import Out
from staticgraph.compiler.ops.statements.loops import nested

_LEAST = 1 << 14  # numbers that updates bring: fewer are not worth several threads
_MOST = 16  # copies
_PER_PLACE = 4  # updates of a copy for each of its places: a copy takes time, too
_BYTES = 1 << 26  # of all copies
_TABLES, _SMALL = 4, 1 << 14  # tables of a copy, and bytes of one: all of them stay in the near caches
_STRIP = 512  # updates whose places are computed together
_UNROLLED = 4  # updates of a strip in one iteration: each has a branch of its own, which is predicted better
_ROW = Local("copied_row", int64)  # the place that the last updates were for
_WIDE = 64  # columns: so many are cut into blocks, each of which goes through all updates (`scatter.py`)


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
    if not columns and each <= _SMALL and count >= 2 * _PER_PLACE * _TABLES * places:
        return _in_tables(out, shape, update, key, change, value)
    name, copy, neutral = "update_copies", Index("copy", copies), change.neutral()
    local: dict[str, DType] = {}

    def held(of: Expr, place: Expr, at: Sequence[Expr]) -> Load:
        return Load(name, (of, place, *at), out.dtype)

    def put(place: Expr, new: Expr, at: Sequence[Expr]) -> Store:
        return Store(name, (copy, place, *at), change.together(held(copy, place, at), new))

    share, place = Share(copy, copies), Index("place", places + 1)
    clear = nested((place, *columns), (Store(name, (copy, place, *columns), neutral),))
    if columns:
        body: tuple[Stmt, ...] = (Let(_ROW, key), *nested(columns, (put(_ROW, value, columns),)))
        work: tuple[Stmt, ...] = (Loop(update, body, share=share),)
    else:
        work = _in_strips(out, places, update, key, change, value, share, functools.partial(put, at=()))
        local = {"update_places": int32, "update_values": out.dtype}
    at = tuple(Index(f"result{d}", n) for d, n in enumerate(shape))
    flat = raveled(at, shape)
    made = _all(change, [held(Const(n, int64), flat, columns) for n in range(copies)])
    target = (*at, *columns)
    together = nested(target, (Store(out.buffer, target, change.applied(out[target], made)),))
    scratch = {name: Buffer(dtype, (_STRIP,), written=True, local=True) for name, dtype in local.items()}
    sizes = (copies, places + 1, *(i.extent for i in columns))
    scratch[name] = Buffer(out.dtype, sizes, written=True, shared=True)
    return Copies((Loop(copy, (*clear, *work), LoopKind.PARALLEL), *together), scratch)


def _in_strips(
    out: Out,
    places: int,
    update: Index,
    key: Expr,
    change: Change,
    value: Expr,
    share: Share,
    put: Callable[[Expr, Expr], Store],
) -> tuple[Stmt, ...]:
    """The updates of single numbers of one copy: those of one place, one after the other, are put there once.

    The places and values of a strip of updates are computed first, in vector lanes.
    """
    count, next_row, total = update.extent, Local("next_row", int64), Local("copied", out.dtype)
    neutral, flush = change.neutral(), put(_ROW, total)

    def step(place: Expr, value: Expr) -> tuple[Stmt, ...]:
        return (
            Let(next_row, place),
            If(scalar.ne(next_row, _ROW), (flush, Update(_ROW, next_row), Update(total, neutral))),
            Update(total, change.together(total, value)),
        )

    strip, near = Index("strip", count // _STRIP), Index("near", _STRIP)
    last, begin = Index("last", count % _STRIP), count // _STRIP * _STRIP
    stores = (
        Store("update_places", (near,), scalar.cast(_of(key, update, strip * _STRIP + near), int32)),
        Store("update_values", (near,), _of(value, update, strip * _STRIP + near)),
    )
    several = Index("several", _STRIP // _UNROLLED)
    steps: list[Stmt] = []
    for at in (several * _UNROLLED + n for n in range(_UNROLLED)):
        held_row = scalar.cast(Load("update_places", (at,), int32), int64)
        steps += step(held_row, Load("update_values", (at,), out.dtype))
    left = Loop(last, step(_of(key, update, last + begin), _of(value, update, last + begin)))
    strips = Loop(strip, (Loop(near, stores, LoopKind.SIMD), Loop(several, tuple(steps))), share=share)
    return (
        Let(_ROW, Const(places, int64)),
        Let(total, neutral),
        strips,
        *((If(scalar.eq(share.part, share.count - 1), (left,)),) if last.extent else ()),
        flush,
    )


def _in_tables(
    out: Out, shape: Sequence[int], update: Index, key: Expr, change: Change, value: Expr
) -> Copies:
    """The same for updates without columns of few places, with several tables in each copy."""
    count, places, neutral = update.extent, math.prod(shape), change.neutral()
    copies = min(_MOST, count // (_PER_PLACE * _TABLES * places))
    strips, rest = divmod(count, _STRIP)
    room = 1 << (_TABLES * (places + 1) - 1).bit_length()  # a place cut to its bits is sure to lie in there
    copy, strip, near = Index("copy", copies), Index("strip", strips), Index("near", _STRIP)
    clear, place = Index("clear", room), Index("place", places)

    def held(of: Expr, at: Expr) -> Load:
        return Load("update_copies", (of, at), out.dtype)

    def put(at: Expr, new: Expr) -> Store:
        at = at & (room - 1)
        return Store("update_copies", (copy, at), change.together(held(copy, at), new))

    number = strip * _STRIP + near
    where = scalar.cast(_of(key, update, number) + near % _TABLES * (places + 1), int32)
    four = Index("four", _STRIP // _TABLES)
    turns: list[Stmt] = []
    for n in range(_TABLES):
        at_strip = four * _TABLES + n
        place_of = scalar.cast(Load("update_places", (at_strip,), int32), int64)
        turns.append(put(place_of, _of(value, update, strip * _STRIP + at_strip)))
    last = Index("last", rest)
    number = last + strips * _STRIP
    left = Loop(last, (put(_of(key, update, number), _of(value, update, number)),))
    tables = [held(copy, place + n * (places + 1)) for n in range(_TABLES)]
    work: tuple[Stmt, ...] = (
        Loop(clear, (Store("update_copies", (copy, clear), neutral),)),
        Loop(
            strip,
            (Loop(near, (Store("update_places", (near,), where),), LoopKind.SIMD), Loop(four, tuple(turns))),
            share=Share(copy, copies),
        ),
        *((If(scalar.eq(copy, copies - 1), (left,)),) if rest else ()),
        Loop(place, (Store("update_copies", (copy, place), _all(change, tables)),)),
    )
    at = tuple(Index(f"result{d}", n) for d, n in enumerate(shape))
    made = _all(change, [held(Const(n, int64), raveled(at, shape)) for n in range(copies)])
    together = nested(at, (Store(out.buffer, at, change.applied(out[at], made)),))
    scratch = {
        "update_copies": Buffer(out.dtype, (copies, room), written=True, shared=True),
        "update_places": Buffer(int32, (_STRIP,), written=True, local=True),
    }
    return Copies((Loop(copy, work, LoopKind.PARALLEL), *together), scratch)


def _of(expr: Expr, update: Index, number: Expr) -> Expr:
    """`expr` for the update of that number."""
    return substitute(expr, {update: number})


def _all(change: Change, parts: Sequence[Expr]) -> Expr:
    """Several changes of one place, in order."""
    return functools.reduce(change.together, parts)
