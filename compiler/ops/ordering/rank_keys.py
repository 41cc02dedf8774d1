"""Unsigned numbers in the place of elements: the lower the number, the better is the element.

NaN counts as the lowest value and zeros have no sign, as in `top_k`. So a key may stand for elements of
different bits; where only keys are brought in order, these are put right afterwards.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from staticgraph.compiler.graph.dtypes import UNSIGNED, DType, bool_, int64
from staticgraph.compiler.graph.sizes import AnySize, same
from staticgraph.compiler.kernel import scalar
from staticgraph.compiler.kernel.expr import Const, Expr, Index, Local
from staticgraph.compiler.kernel.stmt import If, Let, Loop, LoopKind, Stmt, Store, Update

Put = Callable[[Expr, Expr], Store]  # of an element, at a place in a row of the result
Row = tuple[Callable[[Expr], Expr], AnySize, DType]  # an element by its column, their number and their dtype


def of_descending(key: Expr, dtype: DType) -> Expr:
    """The element with such a `descending` number; of elements that are equal, any."""
    top = Const(key.dtype.max >> 1, key.dtype)
    if dtype.is_unsigned:
        return Const(key.dtype.max, key.dtype) ^ key
    if not dtype.is_floating:
        return scalar.bitcast(key ^ top, dtype)
    return scalar.bitcast(scalar.select(key > top, key, key ^ top), dtype)


def descending(x: Expr) -> Expr:
    """An unsigned number for each element: the lower it is, the better is the element."""
    unsigned = UNSIGNED[x.dtype.size]
    top = Const(unsigned.max >> 1, unsigned)
    if x.dtype.is_unsigned:
        return Const(unsigned.max, unsigned) ^ x
    if not x.dtype.is_floating:
        return scalar.bitcast(x, unsigned) ^ top
    x = lowest_if_nan(x)
    bits = scalar.bitcast(scalar.select(scalar.eq(x, 0), Const(0, x.dtype), x), unsigned)  # no negative zero
    return scalar.select(bits > top, bits, bits ^ top)  # more bits are farther from 0


def lowest_if_nan(x: Expr) -> Expr:
    """`x`, or minus infinity in the place of NaN."""
    return scalar.select(scalar.eq(x, x), x, Const(-math.inf, x.dtype)) if x.dtype.is_floating else x


def twins(dtype: DType) -> tuple[Expr, ...]:
    """The keys that elements of different bits have: those of the zeros, and of minus infinity."""
    return tuple(descending(Const(x, dtype)) for x in (0.0, -math.inf)) if dtype.is_floating else ()


def is_twin(x: Expr) -> Expr:
    """A condition: the key of an element has lost bits that `of_descending` does not give back.

    That is so for a negative zero and for NaN; most rows have none.
    """
    if not x.dtype.is_floating:
        return Const(False, bool_)
    unsigned = UNSIGNED[x.dtype.size]
    sign = Const((unsigned.max >> 1) + 1, unsigned)
    return scalar.ne(x, x) | scalar.eq(scalar.bitcast(x, unsigned), sign)


def twins_restored(
    row: Row, count: AnySize, put: Put, key: Callable[[Expr], Expr], found: Expr | None
) -> tuple[Stmt, ...]:
    """Write elements whose keys have lost bits to their places among the first `count`, in order of columns.

    The others are in order. `found` is a condition: the row has such elements; None: it is looked through.
    """
    item_of, length, dtype = row
    if not dtype.is_floating:
        return ()
    i, other, item = (Index(name, length) for name in ("tested", "ranked", "restored"))
    special, unsigned = Local("special", bool_), UNSIGNED[dtype.size]
    places = [Local(f"twin_place{n}", int64) for n in range(2)]
    rank, number = Local("rank", unsigned), Local("twin_key", unsigned)
    counts: list[Stmt] = [Let(rank, key(other))]
    moves: list[Stmt] = [Let(number, key(item))]
    for place, wanted in zip(places, twins(dtype), strict=True):
        counts.append(Update(place, place + scalar.cast(rank < wanted, int64)))
        write: Stmt = put(place, item_of(item))
        if not same(count, length):
            write = If(place < count, (write,))
        moves.append(If(scalar.eq(number, wanted), (write, Update(place, place + 1))))
    begin = tuple(Let(place, Const(0, int64)) for place in places)
    restore: tuple[Stmt, ...] = (*begin, Loop(other, tuple(counts)), Loop(item, tuple(moves)))
    if found is not None:
        return (If(found, restore),)
    test = Loop(i, (Update(special, special | is_twin(item_of(i)), "or"),), LoopKind.SIMD)
    return Let(special, Const(False, bool_)), test, If(special, restore)
