"""A bucket of keys in order, by one thread, while they are in a near cache.

    keys in binary  1001 0110 1000 0100     by the high digits  01.. 01.. 10.. 10..     the rest by insertion

The highest digits tell most keys apart; those that they do not are next to each other by then, and are
inserted where they belong. If that takes too many moves, as with keys that differ in low digits alone, all
digits are sorted by. Few keys need insertions alone.

Keys go back and forth between two sides of scratch memory.
"""

from __future__ import annotations

from collections.abc import Callable

from staticgraph.compiler.graph.dtypes import bool_, int64, uint32
from staticgraph.compiler.kernel import scalar
from staticgraph.compiler.kernel.expr import Const, Expr, Index, Load, Local
from staticgraph.compiler.kernel.stmt import Buffer, If, Let, Stmt, Store, Update, While
from staticgraph.compiler.ops.statements.strips import Body, Fresh, Scratch

_NEAR = 1 << 12  # keys that fit into the nearest cache
_DIGIT, _WIDE_DIGIT = 8, 11  # bits of digits of so many keys, and of more
_DIGITS = 2  # that tell most keys apart
_TINY = 24  # keys that are sorted by insertion
_MOVES, _MORE_MOVES = 16, 512  # of insertions, for each key and in all: more than `_TINY` keys can take
_LANES = 64  # keys that are written, or counts that are cleared, at a time
_COUNTS = "digit_counts"


class Bucket:
    """The keys from place `first` to the one before `last` of `length`, which differ in their lowest `bits`.

    `key(side, place)` loads one, and `put(side, place, key)` stores one. They begin on side 0.
    """

    def __init__(
        self,
        first: Local,
        last: Local,
        bits: Local,
        length: int,
        key: Callable[[Expr, Expr], Load],
        put: Callable[[Expr, Expr, Expr], Store],
        fresh: Fresh,
    ) -> None:
        self.first, self.last, self.bits, self.length = first, last, bits, length
        self._key, self._put, self.fresh, self.dtype = key, put, fresh, bits.dtype
        self.room = 1 << (length - 1).bit_length()
        self.side = fresh.local("side", int64)

    @staticmethod
    def scratch() -> Scratch:
        """The memory for counts."""
        return {_COUNTS: Buffer(uint32, (1 << _WIDE_DIGIT,), written=True, local=True)}

    def sorted(self) -> Body:
        """Statements that bring the keys in order, on the side `self.side`, which they define."""
        size, width = self.fresh.local("size", int64), self._local("width")
        start, shift, high = self._local("start"), self._local("shift"), self._local("high")
        again, moves = self.fresh.local("again", bool_), self.fresh.local("moves", int64)
        zero, few = Const(0, self.dtype), size <= _TINY
        digits = [Const(bits, self.dtype) for bits in (_DIGIT, _WIDE_DIGIT)]
        told = width * Const(_DIGITS, self.dtype)
        return (
            Let(self.side, Const(0, int64)),
            Let(size, self.last - self.first),
            Let(width, scalar.select(size <= _NEAR, *digits)),
            Let(high, scalar.select(self.bits > told, self.bits - told, zero)),
            Let(start, scalar.select(few, self.bits, high)),
            Let(again, Const(True, bool_)),
            Let(shift, zero),
            Let(moves, Const(0, int64)),
            While(
                again,
                (
                    Update(shift, start),
                    While(shift < self.bits, (*self._by_digit(shift, width), Update(shift, shift + width))),
                    Update(moves, size * _MOVES + _MORE_MOVES),
                    If(start > zero, self._inserted(moves)),
                    Update(again, (start > zero) & (moves <= 0)),
                    Update(start, zero),
                ),
            ),
        )

    def written(self, count: int, put: Callable[[Expr, Expr], Store]) -> Body:
        """Statements that do `put(place, key)` for those keys whose place is one of the first `count`."""
        end, whole = self.fresh.local("end", int64), self.fresh.local("whole", int64)

        def strip(number: Index) -> Body:
            place = self.first + number * _LANES
            read, write = scalar.minimum(place, self.room - _LANES), scalar.minimum(place, count - _LANES)
            return (self.fresh.lanes(_LANES, lambda i: (put(write + i, self._at(read + i)),)),)

        def one(place: Index) -> Body:
            return (put(place, self._at(place)),)

        return (
            Let(end, scalar.minimum(self.last, count)),
            Let(whole, (end - self.first) // _LANES),
            self.fresh.between(0, whole, count // _LANES, strip, "strip"),
            self.fresh.between(self.first + whole * _LANES, end, count, one, "place"),
        )

    def _by_digit(self, shift: Local, width: Local) -> Body:
        """Bring the keys in order of the digit at `shift`, on the other side."""
        mask, total, here = self._local("mask"), self.fresh.local("total", uint32), self._count_local("here")
        key, digit, place = self._local("key"), self.fresh.local("digit", int64), self._count_local("place")
        other = self.fresh.local("other", int64)
        one, places = Const(1, self.dtype), 1 << _WIDE_DIGIT
        wide = scalar.minimum(width, self.bits - shift)

        below = Const(8 * self.dtype.size - 1, self.dtype)  # no test in the loop if a shift is sure to be so

        def find(i: Expr) -> Body:
            value = (key >> (shift & below)) & mask
            return Let(key, self._at(i)), Let(digit, scalar.cast(value, int64) & (places - 1))

        def clear(number: Index) -> Body:
            def one(i: Index) -> Body:
                return (self._counted(number * _LANES + i, Const(0, uint32)),)

            return (self.fresh.lanes(_LANES, one),)

        def count(i: Index) -> Body:
            return (*find(i), self._counted(digit, self._count(digit) + 1))

        def begin(d: Index) -> Body:
            return Let(here, self._count(d)), self._counted(d, total), Update(total, total + here)

        def move(i: Index) -> Body:
            return (
                *find(i),
                Let(place, self._count(digit)),
                self._counted(digit, place + 1),
                self._put(other & 1, scalar.cast(place, int64) & (self.room - 1), key),
            )

        used = scalar.cast(mask, int64) + 1
        return (
            Let(mask, (one << wide) - one),
            Let(other, 1 - self.side),
            self.fresh.between(0, (used + (_LANES - 1)) // _LANES, places // _LANES, clear, "clear"),
            self._each(count),
            Let(total, scalar.cast(self.first, uint32)),
            self.fresh.between(0, used, places, begin, "begin"),
            self._each(move),
            Update(self.side, other),
        )

    def _inserted(self, moves: Local) -> Body:
        """Put each key before those in front of it that are greater, while any of so many `moves` is left."""
        key, before, hole = self._local("key"), self._local("before"), self.fresh.local("hole", int64)

        def at(place: Expr) -> Load:
            return self._at(place & (self.room - 1))

        sink = (
            self._put(self.side & 1, hole & (self.room - 1), at(hole - 1)),
            Update(hole, hole - 1),
            Update(moves, moves - 1),
        )

        def one(i: Index) -> Body:
            insert: Body = (
                Let(hole, i + 1),
                While((hole > self.first) & (at(hole - 1) > key), sink),
                self._put(self.side & 1, hole & (self.room - 1), key),
            )
            return (
                Let(key, self._at(i + 1)),
                Let(before, self._at(i)),
                If((before > key) & (moves > 0), insert),
            )

        return (self.fresh.between(self.first, self.last - 1, self.length - 1, one, "i"),)

    def _each(self, body: Callable[[Index], Body]) -> Stmt:
        return self.fresh.between(self.first, self.last, self.length, body, "i")

    def _at(self, place: Expr) -> Load:
        return self._key(self.side & 1, place)

    def _local(self, name: str) -> Local:
        return self.fresh.local(name, self.dtype)

    def _count_local(self, name: str) -> Local:
        return self.fresh.local(name, uint32)

    def _count(self, digit: Expr) -> Load:
        return Load(_COUNTS, (digit,), uint32)

    def _counted(self, digit: Expr, value: Expr) -> Store:
        return Store(_COUNTS, (digit,), value)
