"""A partial selection sort: the best element of a row, then the best of those that are left, and so on.

    keys 7 3 9 3 4, the best 3        the lowest key is 3, first at place 1
                                      left are 7 . 9 3 4:  3 again, at place 3
                                      left are 7 . 9 . 4:  4, at place 4

Each takes two loops in vector lanes: one finds the lowest key, the other the first place that has it. For few
of the best that is quicker than to find out where all others belong.
"""

from __future__ import annotations

from staticgraph.compiler.graph.dtypes import UNSIGNED, int32, int64
from staticgraph.compiler.kernel import scalar
from staticgraph.compiler.kernel.expr import Const, Expr, Index, Load, Local, number
from staticgraph.compiler.kernel.stmt import Buffer, Let, Loop, LoopKind, Stmt, Store, Update
from staticgraph.compiler.ops.kinds import Described, Out, View
from staticgraph.compiler.ops.ordering.rank_keys import descending
from staticgraph.compiler.ops.statements.loops import nested


def first_of_best(outs: tuple[Out, ...], input: View, row: tuple[Index, ...]) -> Described:
    """The statements that find the best element of each row."""
    column, best, place = Index("column", input.shape[-1]), _best(input), Local("place", int32)
    key = descending(input[(*row, column)])
    body = (
        *_lowest(best, column, key),
        *_first(place, column, scalar.eq(key, best)),
        *_written(outs, input, row, Const(0, int64), place),
    )
    return Described(nested(row, body, LoopKind.PARALLEL))


def by_selection(outs: tuple[Out, ...], input: View, row: tuple[Index, ...], k: int) -> Described:
    """The statements that find the `k` best elements of each row, one by one.

    Those that are left have a key above the `last` one that was found, or have that key `after` its place.
    """
    column, rank, best = Index("column", input.shape[-1]), Index("rank", k), _best(input)
    place, after, start = Local("place", int32), Local("after", int32), Const(-1, int32)
    last, key = Local("last", best.dtype), Load("rank_keys", (column,), best.dtype)
    later = after < scalar.cast(column, int32)
    is_left = (last < key) | (scalar.eq(key, last) & later)
    step = (
        *_lowest(best, column, scalar.select(is_left, key, Const(best.dtype.max, best.dtype))),
        Update(after, scalar.select(scalar.eq(best, last), after, start)),
        *_first(place, column, scalar.eq(key, best) & later),
        *_written(outs, input, row, rank, place),
        Update(last, best),
        Update(after, place),
    )
    body = (
        Loop(column, (Store("rank_keys", (column,), descending(input[(*row, column)])),)),
        Let(last, Const(0, best.dtype)),
        Let(after, start),
        Loop(rank, step),
    )
    scratch = {"rank_keys": Buffer(best.dtype, (input.shape[-1],), written=True, local=True)}
    return Described(nested(row, body, LoopKind.PARALLEL), scratch=scratch)


def _best(input: View) -> Local:
    return Local("best", UNSIGNED[input.dtype.size])


def _lowest(best: Local, column: Index, key: Expr) -> tuple[Stmt, ...]:
    """Statements that define `best`, the lowest key of all columns."""
    step = Update(best, scalar.minimum(best, key), "minimum")
    return Let(best, Const(best.dtype.max, best.dtype)), Loop(column, (step,))


def _first(place: Local, column: Index, is_one: Expr) -> tuple[Stmt, ...]:
    """Statements that define `place`, the first column of those for which `is_one` holds."""
    end = scalar.cast(number(column.extent - 1, int64), int32)
    here = scalar.select(is_one, scalar.cast(column, int32), end)
    return Let(place, end), Loop(column, (Update(place, scalar.minimum(place, here), "minimum"),))


def _written(
    outs: tuple[Out, ...], input: View, row: tuple[Index, ...], rank: Expr, place: Local
) -> tuple[Stmt, ...]:
    """Statements that write the element at a place, which is number `rank` of the best."""
    values, places = outs
    element = input[(*row, scalar.cast(place, int64))]
    return Store(values.buffer, (*row, rank), element), Store(places.buffer, (*row, rank), place)
