"""Matrices in strips, as algorithms of linear algebra take them, and the tile that does most of their work.

A strip is as many columns as fit into a cache line, stored row after row, so that one row of it is a vector.
Rows beyond a matrix are there, so that no loop has a rest; what they hold never reaches a result. The tile

    a[r] = a[r] - sum over k of left[r, k] * strip[k, :]        for four rows r

keeps four rows of a strip in registers while `k` runs. It reads numbers of `left` one by one and rows of the
strip as they lie, whatever the order of `k`, so sums have the same order in any number of threads.
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import replace

from staticgraph.compiler.graph.dtypes import DType, int64
from staticgraph.compiler.graph.shapes import TensorType
from staticgraph.compiler.graph.sizes import AnySize, Size, proven, same
from staticgraph.compiler.kernel import scalar
from staticgraph.compiler.kernel.complex_numbers.formulas import modulus
from staticgraph.compiler.kernel.expr import Const, Expr, Index, Load, Local, number
from staticgraph.compiler.kernel.stmt import (
    ALIGNMENT,
    Buffer,
    If,
    Let,
    Loop,
    LoopKind,
    Span,
    Stmt,
    Store,
    Update,
)

Body = tuple[Stmt, ...]
Element = Callable[[Expr, Expr], Expr]  # of a matrix, by row and column
Put = Callable[[Expr, Expr, Expr], Store]  # the store of a number at a row and a column
Scratch = dict[str, Buffer]

TILE = 4  # rows
_MOST_ROWS = 1024  # for a block: as an estimate, a processor takes as long, the way there and back included
_TOGETHER = 32  # terms that are summed before a row is touched: a row that is large rounds more than they do


def is_long(matrix: TensorType, *_: TensorType) -> bool:
    """Return True if one block of a GPU has too much to do with a matrix, or if that is not known."""
    sizes = (None,) if matrix.shape is None else matrix.shape[-2:]
    return any(n is None or not proven(operator.le, n, _MOST_ROWS) for n in sizes)


class Fresh:
    """Names that no other loop or local of a kernel has."""

    def __init__(self) -> None:
        self._numbers = itertools.count()

    def index(self, name: str, extent: AnySize) -> Index:
        """A loop variable."""
        return Index(f"{name}{next(self._numbers)}", extent)

    def local(self, name: str, dtype: DType) -> Local:
        """A local."""
        return Local(f"{name}{next(self._numbers)}", dtype)

    def each(self, extent: AnySize, body: Callable[[Index], Body], name: str = "i") -> Loop:
        """A loop over `extent` iterations, one after the other."""
        index = self.index(name, extent)
        return Loop(index, body(index))

    def between(
        self, start: Expr | int, stop: Expr, extent: AnySize, body: Callable[[Index], Body], name: str
    ) -> Loop:
        """A loop from `start` to the one before `stop`, both of which are in `extent` iterations."""
        index = self.index(name, extent)
        return Loop(index, body(index), share=Span(whole(start), stop))

    def lanes(self, extent: AnySize, body: Callable[[Index], Body]) -> Loop:
        """A loop in vector lanes."""
        index = self.index("lane", extent)
        return Loop(index, body(index), LoopKind.SIMD)


class Strips:
    """Numbers in `rows` and `columns`, in strips in scratch memory: all strips, or just `count` of them.

    A strip has the columns of so many cache `lines`. These begin at the strip `first` of the `total` ones in
    the same memory.
    """

    first: Expr | int = 0

    def __init__(
        self,
        name: str,
        rows: int,
        columns: int,
        dtype: DType,
        fresh: Fresh,
        count: int | None = None,
        lines: int = 1,
    ) -> None:
        self.name, self.dtype, self.fresh = name, dtype, fresh
        self.rows, self.columns = rows, columns
        line = ALIGNMENT // dtype.size
        self.width = lines * line
        self.count = self.total = -(-columns // self.width) if count is None else count
        self.height = -(-rows // line) * line

    def part(self, first: Expr | int, count: int) -> Strips:
        """So many of the strips, from one on, as strips of their own."""
        made = copy(self)
        made.first, made.count = first, count
        return made

    def buffer(self, local: bool) -> Buffer:
        """The scratch memory, which all threads that work on a matrix have in common."""
        return replace(self.own_buffer(), local=local, shared=True)

    def own_buffer(self) -> Buffer:
        """The scratch memory of each thread."""
        return Buffer(self.dtype, (self.total, self.height, self.width), written=True, local=True)

    def at(self, strip: Expr | int, row: Expr | int, lane: Expr | int) -> Load:
        """A number."""
        return Load(self.name, (self.place(strip), whole(row), whole(lane)), self.dtype)

    def put(self, strip: Expr | int, row: Expr | int, lane: Expr | int, value: Expr) -> Store:
        """The statement that stores a number."""
        return Store(self.name, (self.place(strip), whole(row), whole(lane)), value)

    def place(self, strip: Expr | int) -> Expr:
        """The place of a strip in the memory."""
        at_begin = not isinstance(self.first, Expr) and same(self.first, 0)
        return whole(strip) if at_begin else whole(strip) + self.first

    def lanes(self, body: Callable[[Index], Body]) -> Loop:
        """A loop over the lanes of a strip."""
        return self.fresh.lanes(self.width, body)

    def zeros(self, strip: Expr | int, first: Expr | AnySize = 0) -> Loop:
        """Clear the rows of a strip from `first` on."""

        def row(i: Index) -> Body:
            return (self.lanes(lambda lane: (self.put(strip, i, lane, Const(0.0, self.dtype)),)),)

        return self.fresh.between(whole(first), whole(self.height), self.height, row, "i")

    def each_strip(self, body: Callable[[Index], Body]) -> Loop:
        """A loop over strips that do not depend on each other."""
        strip = self.fresh.index("strip", self.count)
        return Loop(strip, body(strip), LoopKind.PARALLEL)

    def strips_after(self, strip: Expr, body: Callable[[Index], Body]) -> Loop:
        """A loop over the strips behind one, which do not depend on each other."""
        index = self.fresh.index("strip", self.count)
        return Loop(index, body(index), LoopKind.PARALLEL, Span(strip + 1, whole(self.count)))

    def columns_of(self, strip: Index, store: Callable[[Expr, Index, Expr], Store]) -> Body:
        """Do `store(row, lane, column)` for all that a strip has of the rows and columns of the matrix."""

        def lines(here: Expr, width: AnySize) -> Body:
            def row(i: Index) -> Body:
                first = here * self.width
                return (self.fresh.lanes(width, lambda lane: (store(i, lane, first + lane),)),)

            return (self.fresh.each(self.rows, row),)

        return by_strips(strip, self.columns, self.width, lines)

    def tile(
        self,
        start: Sequence[Expr],
        terms: Expr | int,
        left: Callable[[int, Expr], Expr],
        right: Callable[[Expr], Expr],
        most: AnySize,
        first: Expr | int = 0,
    ) -> tuple[list[Local], Body]:
        """The rows `start[r] - sum of left(r, k) * right(k)` for `k` from `first` to the one before `terms`.

        Both are multiples of four, and `most` is the greatest number of terms. For the inside of a loop over
        lanes.
        """
        rows = [self.fresh.local("row", self.dtype) for _ in start]
        begin = (Let(row, value) for row, value in zip(rows, start, strict=True))
        low, high = whole(first), whole(terms)

        def taken_off(low: Expr, high: Expr) -> Body:
            totals = [self.fresh.local("total", self.dtype) for _ in start]

            def term(k: Index) -> Body:
                return tuple(Update(t, t + left(r, k) * right(k)) for r, t in enumerate(totals))

            return (
                *(Let(total, Const(0.0, self.dtype)) for total in totals),
                self.fresh.between(low, high, -(-most // TILE) * TILE, term, "k"),
                *(Update(row, row - total) for row, total in zip(rows, totals, strict=True)),
            )

        if proven(operator.le, most, _TOGETHER):
            return rows, (*begin, *taken_off(low, high))

        def part(number: Index) -> Body:
            here = number * _TOGETHER
            return taken_off(scalar.maximum(low, here), scalar.minimum(high, here + _TOGETHER))

        parts = self.fresh.between(
            low // _TOGETHER, (high + (_TOGETHER - 1)) // _TOGETHER, -(-most // _TOGETHER), part, "part"
        )
        return rows, (*begin, parts)

    def substituted(
        self,
        rows: Sequence[Local],
        left: Callable[[int, int], Expr],
        scale: Callable[[int], Expr],
    ) -> tuple[list[Local], Body]:
        """Solve the triangle of four rows: each less `left(r, q)` times those before it, times its scale."""
        found: list[Local] = []
        body = []
        for r, row in enumerate(rows):
            value: Expr = row
            for q, before in enumerate(found):
                value = value - left(r, q) * before
            found.append(self.fresh.local("x", self.dtype))
            body.append(Let(found[-1], value * scale(r)))
        return found, tuple(body)


def by_strips(strip: Expr, columns: AnySize, width: int, body: Callable[[Expr, AnySize], Body]) -> Body:
    """Do `body(strip, columns)` for a strip: it has `width` of the columns, the last one may have less."""
    full, rest = columns // width, columns % width
    if same(rest, 0):
        return body(strip, width)
    if same(full, 0):
        return body(strip, rest)
    last = number(full, int64) if isinstance(full, Size) else strip
    return If(strip < full, body(strip, width)), If(scalar.eq(strip, full), body(last, rest))


def size_of_pivot(x: Expr) -> Expr:
    """The absolute value, which pivots are compared by."""
    if not x.dtype.is_complex:
        return scalar.abs(x)
    return modulus((scalar.real(x), scalar.imag(x)))


def root_of_real(x: Expr) -> Expr:
    """The square root of a number whose imaginary part, if it has one, is only rounding."""
    if not x.dtype.is_complex:
        return scalar.sqrt(x)
    return scalar.complex(scalar.sqrt(scalar.real(x)), 0.0)


def clamped(extent: AnySize) -> AnySize:
    """The extent of scratch memory in which places that data tell are clamped: there must be an element."""
    return extent + 1 if isinstance(extent, Size) else extent


def whole(value: Expr | AnySize) -> Expr:
    """A position as an expression."""
    return value if isinstance(value, Expr) else number(value, int64)
