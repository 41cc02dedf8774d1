"""Rows in order by the digits of their keys, from the lowest digit on: a radix sort.

    keys     31 12 11 32        by the last digit     31 11 12 32        by the first one     11 12 31 32

For each digit, numbers are counted; the counts tell where those with each digit begin, and every number goes
to the next place of its own. Numbers with equal digits keep their order, so the sort is stable. The first
digit reads the input, and the last one writes the result.

A row is done by one thread, unless there are few long ones: then it is cut into chunks, each with counts of
its own. A chunk begins where all those before it end, so the result is the same for any number of threads.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable

from staticgraph.compiler.graph.dtypes import DType, int32, int64, uint32, uint64
from staticgraph.compiler.graph.sizes import AnySize, Size, is_open
from staticgraph.compiler.kernel import scalar
from staticgraph.compiler.kernel.expr import Const, Expr, Index, Load, Local
from staticgraph.compiler.kernel.stmt import Buffer, Let, Loop, LoopKind, Share, Span, Store, Update
from staticgraph.compiler.ops.kinds import Described
from staticgraph.compiler.ops.statements.strips import Body, clamped
from staticgraph.compiler.support.dataclass import dataclass

_DIGIT = 8  # bits: as many places are written to at a time as the nearest cache has lines
_WIDE_DIGIT = 11  # bits: a third of 32
_WIDE = range(1 << 11, 1 << 16)  # keys of a row without columns that are worth wide digits
_FEW_ROWS = 4  # that are cut into chunks
_CHUNK, _CHUNKS = 1 << 13, 32  # numbers of a chunk at least, and chunks of a row at most
_COLUMN = 32  # bits of an item that hold its column, below its key if that leaves room


@dataclass(frozen=True, slots=True)
class RadixSort:
    """`length` items of each row, by the lowest `bits` of the unsigned number `key(row, column)`.

    `put(row, place, key, column)` are the statements that write an item of the result.
    """

    rows: tuple[Index, ...]
    length: AnySize
    dtype: DType  # of keys
    bits: int
    key: Callable[[Expr], Expr]
    put: Callable[[Expr, Expr, Expr], Body]
    present: Expr | None = None  # number of the items that there are, if fewer than `length`
    columns: bool = True  # False: keys alone are sorted, and `put` gets no columns that mean anything

    def described(self) -> Described:
        """The statements, with their scratch memory."""
        rows = [index.extent for index in self.rows]
        chunks = self.chunks(math.prod(rows))
        if chunks == 1:
            body = self.one_by_one()
            for index in reversed(self.rows):
                body = (Loop(index, body, LoopKind.PARALLEL),)
            return Described(body, scratch=self.scratch((), self.passes, shared=False))
        return Described(self.by_chunks(chunks), scratch=self.scratch(tuple(rows), chunks, shared=True))

    @property
    def digit_bits(self) -> int:
        """The bits of a digit."""
        if self.columns or self.bits < 32 or isinstance(self.length, Size):
            return _DIGIT
        return _WIDE_DIGIT if self.length in _WIDE else _DIGIT

    @property
    def places(self) -> int:
        """The number of values of a digit."""
        return 1 << self.digit_bits

    @property
    def items(self) -> DType:
        """The dtype of an item in scratch memory."""
        return uint64 if self.columns else self.dtype

    @property
    def passes(self) -> int:
        """The number of digits."""
        return -(-self.bits // self.digit_bits)

    @property
    def packed(self) -> bool:
        """True if an item is one number in scratch memory: a key and its column, or a key alone."""
        return not self.columns or self.bits + _COLUMN <= 8 * uint64.size

    @property
    def room(self) -> AnySize:
        """Items in scratch memory: a power of two, as a place cut to its bits is sure to lie in there. To an
        open number of items, places are clamped.
        """
        if isinstance(self.length, Size):
            return clamped(self.length)
        return 1 << max(self.length - 1, 1).bit_length()

    def inside(self, place: Expr) -> Expr:
        """The place, which is sure to lie in scratch memory."""
        if isinstance(self.length, Size):
            return scalar.minimum(place, self.room - 1)
        return place & (self.room - 1)

    def chunks(self, rows: AnySize) -> int:
        """The number of chunks that a row is cut into. It depends on sizes only, as bits of results may not
        depend on threads.
        """
        if self.present is not None or is_open((rows, self.length)) or rows >= _FEW_ROWS:
            return 1
        return max(1, min(_CHUNKS, self.length // _CHUNK))

    def scratch(self, rows: tuple[AnySize, ...], counts: int, shared: bool) -> dict[str, Buffer]:
        """Two sides for items, between which they go back and forth, and the counts."""
        shapes = {"radix_counts": (counts, self.places)}
        dtypes = {"radix_counts": uint32, "radix_items": self.items, "radix_columns": int32}
        if self.passes > 1:
            shapes["radix_items"] = (2, self.room)
            if not self.packed:
                shapes["radix_columns"] = (2, self.room)
        return {
            name: Buffer(dtypes[name], (*rows, *shape), written=True, local=not shared, shared=shared)
            for name, shape in shapes.items()
        }

    def one_by_one(self) -> Body:
        """Statements for a row by one thread: the counts of all digits come first."""
        i, digit, zero = Index("i", self.length), Index("digit", self.places), Index("zero", self.places)
        each, number = Index("each", self.passes), Local("number", self.dtype)
        clear = Loop(each, (Loop(zero, (self.counted((), each, zero, Const(0, uint32)),)),))
        ones = []
        for p in range(self.passes):
            place = self.digit(number, p)
            ones.append(self.counted((), p, place, self.count((), p, place) + 1))
        total, here = Local("total", uint32), Local("here", uint32)
        there = None if self.present is None else Span(Const(0, int64), self.present)
        starts = (
            Let(total, Const(0, uint32)),
            Loop(
                digit,
                (
                    Let(here, self.count((), each, digit)),
                    self.counted((), each, digit, total),
                    Update(total, total + here),
                ),
            ),
        )
        return (
            clear,
            Loop(i, (Let(number, self.key(i)), *ones), share=there),
            Loop(each, starts),
            *self.each_digit(lambda p, first, last: (self.moved((), i, p, p, first, last, there),)),
        )

    def by_chunks(self, chunks: int) -> Body:
        """Statements for rows in chunks, all of them digit by digit."""
        i, chunk, part = Index("i", self.length), Index("chunk", chunks), Index("part", chunks)
        digit, zero, rows = Index("digit", self.places), Index("zero", self.places), self.rows
        share = Share(chunk, chunks)
        number, place = Local("number", self.dtype), Local("place", int64)
        total, here = Local("total", uint32), Local("here", uint32)

        def everywhere(body: Body) -> Loop:
            for index in (chunk, *reversed(rows)):
                body = (Loop(index, body, LoopKind.PARALLEL),)
            (loop,) = body
            assert isinstance(loop, Loop)
            return loop

        def one(p: Expr | int, first: bool, last: bool) -> Body:
            lets, key, _ = self.item(rows, i, p, first, number)
            count = (
                *lets,
                Let(place, self.digit(key, p)),
                self.counted(rows, chunk, place, self.count(rows, chunk, place) + 1),
            )
            starts: Body = (
                Let(total, Const(0, uint32)),
                Loop(
                    digit,
                    (
                        Loop(
                            part,
                            (
                                Let(here, self.count(rows, part, digit)),
                                self.counted(rows, part, digit, total),
                                Update(total, total + here),
                            ),
                        ),
                    ),
                ),
            )
            for index in reversed(rows):
                starts = (Loop(index, starts),)
            if not rows:
                starts = (Loop(Index("once", 1), starts),)
            move = self.moved(rows, i, chunk, p, first, last, share)
            return (
                everywhere(
                    (
                        Loop(zero, (self.counted(rows, chunk, zero, Const(0, uint32)),)),
                        Loop(i, count, share=share),
                    )
                ),
                *starts,
                everywhere((move,)),
            )

        return self.each_digit(one)

    def each_digit(self, one: Callable[[Expr | int, bool, bool], Body]) -> Body:
        """`one(digit, first, last)` for all digits, from the lowest one on."""
        end = self.passes - 1
        if end == 0:
            return one(0, True, True)
        between = Index("between", end - 1) if end > 1 else None
        middle = () if between is None else (Loop(between, one(between + 1, False, False)),)
        return (*one(0, True, False), *middle, *one(end, False, True))

    def moved(
        self,
        rows: tuple[Index, ...],
        i: Index,
        counts: Expr | int,
        p: Expr | int,
        first: bool,
        last: bool,
        share: Share | Span | None = None,
    ) -> Loop:
        """The loop that brings the items of a row, or of a share of it, in order of digit `p`."""
        number, digit, place = Local("number", self.dtype), Local("digit", int64), Local("place", int64)
        lets, key, column = self.item(rows, i, p, first, number)
        side, inside = _whole(p) % 2, self.inside(place)
        if last:
            put = self.put(place, key, column)
        elif self.packed:
            if not self.columns:
                item = key
            elif first:
                item = (scalar.cast(key, uint64) << _COLUMN) | scalar.cast(i, uint64)
            else:
                item = self.load("radix_items", rows, 1 - side, i, uint64)
            put = (Store("radix_items", (*rows, side, inside), item),)
        else:
            put = (
                Store("radix_items", (*rows, side, inside), scalar.cast(key, uint64)),
                Store("radix_columns", (*rows, side, inside), column),
            )
        body = (
            *lets,
            Let(digit, self.digit(key, p)),
            Let(place, scalar.cast(self.count(rows, counts, digit), int64)),
            self.counted(rows, counts, digit, scalar.cast(place + 1, uint32)),
            *put,
        )
        return Loop(i, body, share=share)

    def item(
        self, rows: tuple[Index, ...], i: Index, p: Expr | int, first: bool, number: Local
    ) -> tuple[Body, Expr, Expr]:
        """Definitions for item `i` in the order before digit `p`, its key, and its column."""
        if first:
            return (Let(number, self.key(i)),), number, scalar.cast(i, int32)
        side = 1 - _whole(p) % 2
        item = self.load("radix_items", rows, side, i, self.items)
        if not self.columns:
            return (Let(number, item),), number, scalar.cast(i, int32)
        if not self.packed:
            column = self.load("radix_columns", rows, side, i, int32)
            return (Let(number, scalar.cast(item, self.dtype)),), number, column
        held = Local("held", uint64)
        key = scalar.cast(held >> _COLUMN, self.dtype)
        column = scalar.cast(held & Const((1 << _COLUMN) - 1, uint64), int32)
        return (Let(held, item), Let(number, key)), number, column

    def load(self, name: str, rows: tuple[Index, ...], side: Expr, i: Expr, dtype: DType) -> Load:
        return Load(name, (*rows, side, i), dtype)

    def digit(self, key: Expr, p: Expr | int) -> Expr:
        """Digit number `p` of a key."""
        shift = scalar.cast(_whole(p) * self.digit_bits, self.dtype)
        return scalar.cast((key >> shift) & Const(self.places - 1, self.dtype), int64)

    def count(self, rows: tuple[Index, ...], of: Expr | int, digit: Expr) -> Load:
        return Load("radix_counts", (*rows, _whole(of), digit), uint32)

    def counted(self, rows: tuple[Index, ...], of: Expr | int, digit: Expr, value: Expr) -> Store:
        return Store("radix_counts", (*rows, _whole(of), digit), value)


def _whole(value: Expr | int) -> Expr:
    return value if isinstance(value, Expr) else Const(operator.index(value), int64)
