"""Rows of which all elements are put in order, or most of them: short ones by counting, others by digits.

In a short row, each element goes to the place that is the number of better ones. If the length of rows is
open, a run does one or the other; few rows have scratch memory at a time, since its size is open, too.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

from staticgraph.compiler.graph.dtypes import UNSIGNED, int32, int64
from staticgraph.compiler.graph.sizes import AnySize, Size, at_most, same
from staticgraph.compiler.kernel import scalar
from staticgraph.compiler.kernel.expr import Const, Expr, Index, Load, Local, number
from staticgraph.compiler.kernel.stmt import Buffer, If, Let, Loop, LoopKind, Share, Stmt, Store, Update
from staticgraph.compiler.ops.arrays.movement import unraveled
from staticgraph.compiler.ops.kinds import Described, Out, View
from staticgraph.compiler.ops.ordering.digits import RadixSort
from staticgraph.compiler.ops.ordering.rank_keys import descending, of_descending
from staticgraph.compiler.ops.statements.loops import nested
from staticgraph.compiler.ops.statements.strips import Body
from staticgraph.compiler.support.dataclass import dataclass

COUNTED = 64  # elements of a row in which each is compared with all others
_LANES = 16  # elements that are worth vector lanes, and scratch memory for keys and places
_PARTS = 16  # of the rows, which have scratch memory of an open size at a time
Row = tuple[Expr, ...]  # the position of a row


def in_parts(batch: tuple[AnySize, ...], body: Callable[[Row], Body]) -> Body:
    """`body(row)` for all rows of a batch, in a few parts: only these have scratch memory of their own."""
    if not batch:
        return nested((Index("once", 1),), body(()), LoopKind.PARALLEL)
    rows = math.prod(batch)
    part, line = Index("part", at_most(rows, _PARTS)), Index("line", rows)
    lines = Loop(line, body(unraveled(line, batch)), share=Share(part, part.extent))
    return nested((part,), (lines,), LoopKind.PARALLEL)


@dataclass(frozen=True, slots=True)
class WholeRows:
    """The rows of `input`; the results are the first `count` elements of each in order, and their places."""

    values: Out
    places: Out
    input: View
    count: AnySize

    @property
    def length(self) -> AnySize:
        """The number of elements of a row."""
        return self.input.shape[-1]

    def by_counting(self, row: tuple[Index, ...]) -> Described:
        """The statements for rows that are known to be short."""
        made = self._counted(row, self.length)
        return Described(nested(row, made.body, LoopKind.PARALLEL), scratch=made.scratch)

    def by_digits(self, row: tuple[Index, ...]) -> Described:
        """The statements for other rows of known length."""
        return self._sort(row, row).described()

    def of_open_length(self) -> Described:
        """The statements for rows of open length."""
        short: dict[str, Buffer] = {}

        def one(row: Row) -> Body:
            counted, sort = self._counted(row, at_most(self.length, COUNTED)), self._sort((), row)
            short.update(counted.scratch or {})
            length = number(self.length, int64)
            return If(length <= COUNTED, counted.body), If(length > COUNTED, sort.one_by_one())

        body = in_parts(self.input.shape[:-1], one)
        sort = self._sort((), ())
        return Described(body, scratch={**short, **sort.scratch((), sort.passes, shared=False)})

    def put_first(self, row: Row, place: Expr, key: Expr, column: Expr) -> Body:
        """Statements that write an item to its place if that is one of the first `count`."""
        value, dtype = Local("value", self.input.dtype), self.input.dtype
        body: tuple[Stmt, ...] = (Let(value, of_descending(key, dtype)),)
        if dtype.is_floating:  # a key has no sign of zero, and NaN has that of minus infinity
            several = [float(zero) for zero in (0.0, -math.inf)]
            twins = [scalar.eq(key, descending(Const(x, dtype))) for x in several]
            own = self.input[(*row, scalar.cast(column, int64))]
            body += (If(twins[0] | twins[1], (Update(value, own),)),)
        body += self._stores((*row, place), value, column)
        return self._if_wanted(place, body)

    def _stores(self, at: Row, value: Expr, column: Expr) -> Body:
        return Store(self.values.buffer, at, value), Store(self.places.buffer, at, column)

    def _if_wanted(self, place: Expr, body: Body) -> Body:
        return body if same(self.count, self.length) else (If(place < self.count, body),)

    def _sort(self, loops: tuple[Index, ...], row: Row) -> RadixSort:
        """The sort of the rows at all values of `loops`."""
        unsigned = UNSIGNED[self.input.dtype.size]

        def key(column: Expr) -> Expr:
            return descending(self.input[(*row, column)])

        bits = 8 * unsigned.size
        return RadixSort(loops, self.length, unsigned, bits, key, partial(self.put_first, row))

    def _counted(self, row: Row, n: AnySize) -> Described:
        """The statements that put each of `n` items of a row to a place: the number of better ones."""
        unsigned = UNSIGNED[self.input.dtype.size]
        i, other, item = Index("i", n), Index("other", n), Index("item", n)
        key, place = Local("key", unsigned), Local("place", int32)

        def count(key_of: Callable[[Expr], Expr]) -> Body:
            rival = key_of(other)
            earlier = scalar.cast(other, int32) < scalar.cast(i, int32)
            better = (rival < key) | (scalar.eq(rival, key) & earlier)
            step = Update(place, place + scalar.cast(better, int32), "add")
            return Let(key, key_of(i)), Let(place, Const(0, int32)), Loop(other, (step,))

        def put(item: Index, place: Expr) -> Body:
            at, column = (*row, scalar.cast(place, int64)), scalar.cast(item, int32)
            return self._if_wanted(place, self._stores(at, self.input[(*row, item)], column))

        def own_key(at: Expr) -> Expr:
            return descending(self.input[(*row, at)])

        is_open = isinstance(n, Size)
        if not is_open and n < _LANES:
            return Described((Loop(i, (*count(own_key), *put(i, place))),))
        body = (
            Loop(other, (Store("rank_keys", (other,), own_key(other)),)),
            Loop(
                i,
                (
                    *count(lambda at: Load("rank_keys", (at,), unsigned)),
                    Store("rank_places", (i,), place),
                ),
                LoopKind.SIMD,
            ),
            Loop(item, put(item, Load("rank_places", (item,), int32))),
        )
        room = COUNTED if is_open else n
        dtypes = {"rank_keys": unsigned, "rank_places": int32}
        scratch = {name: Buffer(dtype, (room,), written=True, local=True) for name, dtype in dtypes.items()}
        return Described(body, scratch=scratch)
