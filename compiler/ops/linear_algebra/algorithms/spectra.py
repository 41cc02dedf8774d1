"""Eigenvalues and singular values in order, with their vectors, as statements of the kernel IR."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Generic, Protocol, TypeVar

from staticgraph.compiler.graph.dtypes import DType, int64
from staticgraph.compiler.graph.sizes import same
from staticgraph.compiler.kernel import scalar
from staticgraph.compiler.kernel.expr import Const, Expr, Index, Load, Local
from staticgraph.compiler.kernel.stmt import Buffer, Let, Loop, LoopKind, Store, Update, While
from staticgraph.compiler.ops.linear_algebra.algorithms.block_reflectors import in_field
from staticgraph.compiler.ops.linear_algebra.algorithms.implicit_shifts import Sweeps
from staticgraph.compiler.ops.linear_algebra.algorithms.scaling import Measured, scaled_by
from staticgraph.compiler.ops.statements.strips import (
    Body,
    Element,
    Fresh,
    Put,
    Scratch,
    Strips,
    size_of_pivot,
    whole,
)

PutValue = Callable[[Expr, Expr], Store]  # the store of a number at a place


class Reduction(Protocol):
    """The reflections that make a matrix tridiagonal or bidiagonal."""

    def buffers(self) -> Scratch:
        """The scratch memory."""
        ...

    def step(self, j: Index) -> Body:
        """Reduce column `j`."""
        ...


R = TypeVar("R", bound=Reduction)


_NOT_SMALL = 0.3  # beside the largest number of a vector


def sign_of(
    fresh: Fresh, n: int, number: Callable[[Expr], Expr], largest: Expr, dtype: DType
) -> tuple[Local, Body]:
    """Find the factor of size 1 that makes the first number of a vector that is not small positive.

    `number` gives the adjoint of the vector. A vector has a sign then that does not depend on how it was
    found, unless numbers of it are rounding.
    """
    at, sign = fresh.local("at", int64), fresh.local("sign", dtype)
    small = size_of_pivot(number(at)) < largest * _NOT_SMALL
    one = Const(1.0, dtype)
    factor = scalar.select(number(at) < 0.0, -one, one) if not dtype.is_complex else _phase(number(at))
    return sign, (
        Let(at, Const(0, int64)),
        While((at < n - 1) & small, (Update(at, at + 1),)),
        Let(sign, factor),
    )


def _phase(x: Expr) -> Expr:
    """A complex number over its absolute value."""
    size = size_of_pivot(x)
    return scaled_by(1.0 / scalar.select(size > 0.0, size, Const(1.0, size.dtype)), x)


class Spectrum:
    """A diagonal as the result of an op: eigenvalues in rising order, singular values in falling one.

    Args:
        sweeps: What the diagonal belongs to.
        measured: The matrix that it was made of.
    """

    def __init__(self, sweeps: Sweeps, measured: Measured) -> None:
        self.sweeps, self.measured, self.fresh = sweeps, measured, sweeps.fresh
        self.n, self.dtype, self.singular = sweeps.n, sweeps.real, sweeps.bidiagonal

    def buffers(self) -> Scratch:
        """The scratch memory."""
        local = self.sweeps.local
        place: dict[str, Any] = {"written": True, "local": local, "shared": True}
        return {
            "values": Buffer(self.dtype, (self.n,), **place),
            "ranks": Buffer(int64, (self.n,), **place),
            "signs": Buffer(self.sweeps.dtype, (self.n,), **place),
        }

    def ordered(self, put_value: PutValue) -> Body:
        """Store the values in order."""
        sweeps, nan = self.sweeps, Const(math.nan, self.dtype)

        def value(i: Index) -> Body:
            x = sweeps.diagonal(i)
            size = self.measured.unscaled(scalar.abs(x) if self.singular else x) + self.measured.poison
            return (Store("values", (i,), scalar.select(sweeps.unfinished, nan, size)),)

        def put(i: Index) -> Body:
            return (put_value(Load("ranks", (i,), int64), Load("values", (i,), self.dtype)),)

        return (
            self.fresh.each(self.n, value),
            self.fresh.each(
                self.n,
                lambda i: ranked(
                    self.fresh, i, self.n, lambda k: Load("values", (k,), self.dtype), self.singular,
                    lambda rank: Store("ranks", (i,), rank),
                ),
            ),
            self.fresh.each(self.n, put),
        )  # fmt: skip

    def signs(self, q: Strips) -> Loop:
        """Find the factors of vectors, the adjoints of rows of `q`, and of those that belong to them."""

        def of(i: Index) -> Body:
            largest = self.fresh.local("largest", self.dtype)

            def lanes(strip: Index) -> Body:
                def larger(lane: Index) -> Body:
                    size = size_of_pivot(q.at(strip, i, lane))
                    return (Update(largest, scalar.maximum(largest, size), "maximum"),)

                return (q.lanes(larger),)

            def number(row: Expr) -> Expr:
                return q.at(row // q.width, i, row % q.width)

            sign, found = sign_of(self.fresh, self.n, number, largest, q.dtype)
            whole_strips = self.fresh.each(-(-self.n // q.width), lanes, "strip")
            return (Let(largest, Const(0.0, self.dtype)), whole_strips, *found, Store("signs", (i,), sign))

        return self.fresh.each(self.n, of)

    def vectors(self, q: Strips, put: Put, signed: bool) -> Loop:
        """Store vectors, the adjoints of rows of `q`, as columns; `signed`: with the signs of values, too."""
        zero = Const(0.0, self.sweeps.wide)
        rest = self.n % q.width

        def rows(strip: Index) -> Body:
            def row_of(lane: Index) -> Body:
                def column(i: Index) -> Body:
                    x: Expr = scalar.conjugate(q.at(strip, i, lane)) * Load("signs", (i,), q.dtype)
                    x = x + in_field(self.measured.poison, q.dtype)
                    if signed:
                        x = scalar.select(self.sweeps.diagonal(i) < zero, -x, x)
                    return (put(strip * q.width + lane, Load("ranks", (i,), int64), x),)

                return (self.fresh.each(self.n, column),)

            some = scalar.minimum(self.n - strip * q.width, q.width)
            count = whole(q.width) if same(rest, 0) else some
            return (self.fresh.between(0, count, q.width, row_of, "lane"),)

        strip = self.fresh.index("strip", -(-self.n // q.width))
        return Loop(strip, rows(strip), LoopKind.PARALLEL)


class Reduced(Generic[R]):
    """A matrix that reflections have made tridiagonal or bidiagonal.

    Args:
        n: The number of rows.
        matrix: The numbers of the matrix.
        reduction: Makes the reflections. It is given the strips of the matrix, the sweeps that follow, and
            `local`.
        sides: How many sets of vectors are wanted.
        bidiagonal: True if the matrix becomes bidiagonal.
        local: True if one thread does all of it.
        dtype: That of the numbers.

    Attributes:
        body: The statements up to there.
        scratch: The scratch memory, without that of vectors.
    """

    def __init__(
        self, n: int, matrix: Element, reduction: Callable[[Strips, Sweeps, bool], R], sides: int,
        bidiagonal: bool, local: bool, dtype: DType,
    ) -> None:  # fmt: skip
        self.fresh = Fresh()
        self.a = Strips("a", n, n, dtype, self.fresh)
        measured = Measured(self.a, local)
        self.sweeps = Sweeps(self.fresh, n, dtype, sides, bidiagonal, local)
        self.spectrum, self.reduction = Spectrum(self.sweeps, measured), reduction(self.a, self.sweeps, local)
        parts = measured, self.sweeps, self.spectrum, self.reduction
        self.scratch = {name: buffer for part in parts for name, buffer in part.buffers().items()}
        columns = self.fresh.each(n, self.reduction.step, "column")
        self.body: Body = (*measured.read(matrix), *self.sweeps.begun(), columns)

    def values(self, put_value: PutValue) -> tuple[Body, Scratch]:
        """The statements that find the values alone, and all scratch memory."""
        return (*self.body, *self.sweeps.iterated(), *self.spectrum.ordered(put_value)), self.scratch


def ranked(
    fresh: Fresh, i: Index, n: int, value: Callable[[Expr], Load], falling: bool, put: Callable[[Expr], Store]
) -> Body:
    """Find the place of one of `n` values in their order, which is as it is if one of them is NaN."""
    rank = fresh.local("rank", int64)
    mine = fresh.local("mine", value(i).dtype)
    one, none = Const(1, int64), Const(0, int64)

    def other(k: Index) -> Body:
        x = value(k)
        earlier = (x > mine) if falling else (x < mine)
        counts = earlier | (scalar.eq(x, mine) & (k < i))
        return (Update(rank, rank + scalar.select(counts, one, none)),)

    known = scalar.eq(mine, mine)
    return (
        Let(mine, value(i)),
        Let(rank, none),
        fresh.each(n, other, "k"),
        put(scalar.select(known, rank, i)),
    )
