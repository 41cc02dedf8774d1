"""Schur forms of complex matrices and what follows from them, as statements of the kernel IR.

    A = P^H T P,   P unitary, T upper triangular

Rotations of neighbouring rows make a matrix upper Hessenberg, and QR iterations with Wilkinson's shift make
it triangular (Francis, 1961; Kublanovskaya, 1961). A rotation of rows is one of the same columns, so that the
matrix stays similar to what it was. The functions of a triangle are found column by column.
"""

from __future__ import annotations

import operator

from staticgraph.compiler.graph.dtypes import bool_, complex128, float64, int64
from staticgraph.compiler.graph.sizes import proven
from staticgraph.compiler.kernel import scalar
from staticgraph.compiler.kernel.expr import Const, Expr, Index, Load, Local
from staticgraph.compiler.kernel.stmt import Buffer, If, Let, Loop, Store, Update, While
from staticgraph.compiler.ops.statements.strips import (
    Body,
    Element,
    Fresh,
    Put,
    Scratch,
    clamped,
    size_of_pivot,
    whole,
)

_PER_NUMBER = 40  # sweeps for each eigenvalue at most; two are usual
_EXCEPTIONAL = 10  # sweeps without success, after which another shift is tried
_EPSILON = 2.0**-52


def square_root(n: int, matrix: Element, put: Put) -> tuple[Body, Scratch]:
    """Find the Y with Y Y = A whose eigenvalues have no negative real part (Bjorck and Hammarling, 1983)."""
    fresh = Fresh()
    form = SchurForm("schur", n, fresh)
    root, product = Square("root", n, n, fresh), Square("product", n, n, fresh)
    zero = Const(0.0, complex128)

    def column(j: Index) -> Body:
        def row(number: Index) -> Body:
            i = j - 1 - number
            rest, value = fresh.local("rest", complex128), fresh.local("value", complex128)
            quotient = rest / (root[i, i] + root[j, j])
            none = scalar.eq(scalar.real(rest), 0.0) & scalar.eq(scalar.imag(rest), 0.0)
            return (
                Let(rest, form.t[i, j]),
                fresh.between(i + 1, j, n, lambda k: (Update(rest, rest - root[i, k] * root[k, j]),), "k"),
                Let(value, scalar.select(none, zero, quotient)),  # there may be no root
                root.put(i, j, value),
            )

        return (
            root.put(j, j, scalar.sqrt(form.t[j, j])),
            fresh.between(0, j, n, row, "row"),
            fresh.between(j + 1, whole(n), n, lambda i: (root.put(i, j, zero),), "below"),
        )

    body = (
        *form.made(matrix),
        fresh.each(n, column, "column"),
        *product.product(root.at, form.p.at, n),
        form.adjoint_times(product, put),
    )
    return body, {**form.scratch, **root.scratch, **product.scratch}


def sylvester_solution(m: int, n: int, a: Element, b: Element, c: Element, put: Put) -> tuple[Body, Scratch]:
    """Find the X with A X + X B = C, where A has `m` rows and B has `n` (Bartels and Stewart, 1972).

    If an eigenvalue of A and one of -B are the same up to rounding, what both decide is zero.
    """
    fresh = Fresh()
    left, right = SchurForm("left", m, fresh), SchurForm("right", n, fresh)
    half, y = Square("half", m, n, fresh), Square("solution", m, n, fresh)
    zero = Const(0.0, complex128)
    least = fresh.local("least", float64)

    def column(j: Index) -> Body:
        def row(number: Index) -> Body:
            i = m - 1 - number
            rest, divisor = fresh.local("rest", complex128), fresh.local("divisor", complex128)
            small = size_of_pivot(divisor) <= least
            usable = scalar.select(small, Const(1.0, complex128), divisor)
            return (
                Let(rest, y[i, j]),
                Let(divisor, left.t[i, i] + right.t[j, j]),
                fresh.between(0, j, n, lambda k: (Update(rest, rest - y[i, k] * right.t[k, j]),), "k"),
                fresh.between(
                    i + 1, whole(m), m, lambda k: (Update(rest, rest - left.t[i, k] * y[k, j]),), "k"
                ),
                y.put(i, j, scalar.select(small, zero, rest / usable)),
            )

        return (fresh.each(m, row, "row"),)

    body = (
        *left.made(a),
        *right.made(b),
        *half.product(left.p.at, c, m),
        *y.product(half.at, lambda k, j: scalar.conjugate(right.p[j, k]), n),
        Let(least, (left.norm + right.norm) * _EPSILON),
        fresh.each(n, column, "column"),
        *half.product(y.at, right.p.at, n),
        left.adjoint_times(half, put),
    )
    return body, {**left.scratch, **right.scratch, **half.scratch, **y.scratch}


class Square:
    """Numbers in `rows` and `columns` of scratch memory."""

    def __init__(self, name: str, rows: int, columns: int, fresh: Fresh) -> None:
        self.name, self.rows, self.columns, self.fresh = name, rows, columns, fresh

    @property
    def scratch(self) -> Scratch:
        """The scratch memory."""
        shape = clamped(self.rows), clamped(self.columns)
        return {self.name: Buffer(complex128, shape, written=True, local=True)}

    def __getitem__(self, at: tuple[Expr | int, Expr | int]) -> Load:
        return Load(self.name, (whole(at[0]), whole(at[1])), complex128)

    def at(self, i: Expr, j: Expr) -> Expr:
        """A number."""
        return self[i, j]

    def put(self, i: Expr | int, j: Expr | int, value: Expr) -> Store:
        """The statement that stores a number."""
        return Store(self.name, (whole(i), whole(j)), value)

    def product(self, left: Element, right: Element, terms: int) -> Body:
        """Become the product of two matrices, a row of which is a sum of rows."""

        def row(i: Index) -> Body:
            def clear(j: Index) -> Body:
                return (self.put(i, j, Const(0.0, complex128)),)

            def term(k: Index) -> Body:
                factor = self.fresh.local("factor", complex128)

                def add(j: Index) -> Body:
                    return (self.put(i, j, self[i, j] + factor * right(k, j)),)

                return Let(factor, left(i, k)), self.fresh.each(self.columns, add, "j")

            return self.fresh.each(self.columns, clear, "j"), self.fresh.each(terms, term, "k")

        return (self.fresh.each(self.rows, row, "i"),)


class SchurForm:
    """The triangle `t` and the unitary `p` of a matrix, in scratch memory."""

    def __init__(self, name: str, n: int, fresh: Fresh) -> None:
        self.n, self.fresh = n, fresh
        self.t, self.p = Square(f"{name}_t", n, n, fresh), Square(f"{name}_p", n, n, fresh)
        self.norm = fresh.local("norm", float64)

    @property
    def scratch(self) -> Scratch:
        """The scratch memory."""
        return {**self.t.scratch, **self.p.scratch}

    def adjoint_times(self, x: Square, put: Put) -> Loop:
        """Store the adjoint of `p` times a matrix."""

        def row(i: Index) -> Body:
            def store(j: Index) -> Body:
                total = self.fresh.local("sum", complex128)

                def term(k: Index) -> Body:
                    return (Update(total, total + scalar.conjugate(self.p[k, i]) * x[k, j]),)

                zero = Const(0.0, complex128)
                return Let(total, zero), self.fresh.each(self.n, term, "k"), put(i, j, total)

            return (self.fresh.each(x.columns, store, "j"),)

        return self.fresh.each(self.n, row, "i")

    def made(self, matrix: Element) -> Body:
        """Make the form of a matrix. NaN makes NaN."""
        fresh, n = self.fresh, self.n

        def begin(i: Index) -> Body:
            def each(j: Index) -> Body:
                unit = scalar.select(scalar.eq(i, j), Const(1.0, complex128), Const(0.0, complex128))
                size = size_of_pivot(self.t[i, j])
                return (
                    self.t.put(i, j, matrix(i, j)),
                    self.p.put(i, j, unit),
                    Update(self.norm, scalar.maximum(self.norm, size)),
                )

            return (fresh.each(n, each, "j"),)

        def column(k: Index) -> Body:
            def entry(number: Index) -> Body:
                i = n - 2 - number  # zero what stands below it
                return self._rotation(i, self.t[i, k], self.t[i + 1, k], k, whole(n))

            return (fresh.between(0, n - 2 - k, n, entry, "entry"),)

        def clear(i: Index) -> Body:
            def each(j: Index) -> Body:
                return (self.t.put(i, j, Const(0.0, complex128)),)

            return (fresh.between(0, i, n, each, "j"),)

        steps: Body = ()
        if not proven(operator.le, n, 2):
            steps = (fresh.each(n - 2, column, "column"),)
        if not proven(operator.le, n, 1):
            steps += (*self._iterated(), fresh.each(n, clear, "row"))
        return Let(self.norm, Const(0.0, float64)), fresh.each(n, begin, "i"), *steps

    def _rotation(self, k: Expr, x: Expr, y: Expr, first: Expr, last: Expr) -> Body:
        """Rotate rows `k` and the next one so that (x, y) becomes (r, 0), and the same columns.

        Rows are rotated from column `first` on, columns down to the row before `last`.
        """
        fresh = self.fresh
        a, b, c, s, size, norm = (
            fresh.local(name, dtype)
            for name, dtype in (
                ("a", complex128), ("b", complex128), ("c", float64), ("s", complex128), ("size", float64),
                ("norm", float64),
            )
        )  # fmt: skip
        one, zero = Const(1.0, float64), Const(0.0, float64)
        other = size_of_pivot(b)
        usable = scalar.select(norm > zero, norm, one)
        divisor = scalar.complex(scalar.select(size > zero, size, one), zero)
        phase = scalar.select(size > zero, a / divisor, scalar.complex(one, zero))
        cosine = scalar.complex(c, zero)

        def rows(of: Square, j: Expr) -> Body:
            u, v = fresh.local("u", complex128), fresh.local("v", complex128)
            return (
                Let(u, of[k, j]),
                Let(v, of[k + 1, j]),
                of.put(k, j, cosine * u + s * v),
                of.put(k + 1, j, cosine * v - scalar.conjugate(s) * u),
            )

        def columns(i: Index) -> Body:
            u, v = fresh.local("u", complex128), fresh.local("v", complex128)
            return (
                Let(u, self.t[i, k]),
                Let(v, self.t[i, k + 1]),
                self.t.put(i, k, cosine * u + scalar.conjugate(s) * v),
                self.t.put(i, k + 1, cosine * v - s * u),
            )

        return (
            Let(a, x),
            Let(b, y),
            Let(size, size_of_pivot(a)),
            Let(norm, scalar.sqrt(size * size + other * other)),
            Let(c, scalar.select(norm > zero, size / usable, one)),
            Let(s, phase * scalar.conjugate(b) / scalar.complex(usable, zero)),
            fresh.between(first, whole(self.n), self.n, lambda j: rows(self.t, j), "j"),
            fresh.between(0, last, self.n, columns, "i"),
            fresh.lanes(self.n, lambda j: rows(self.p, j)),
        )

    def _iterated(self) -> Body:
        """Sweep until the matrix is triangular."""
        fresh, n, t = self.fresh, self.n, self.t
        last, first, since, budget = (
            fresh.local(name, int64) for name in ("last", "first", "since", "budget")
        )
        shift = fresh.local("shift", complex128)
        x, y = fresh.local("x", complex128), fresh.local("y", complex128)
        before = scalar.maximum(first - 1, 0)
        neighbours = size_of_pivot(t[first, first]) + size_of_pivot(t[before, before])
        small = (neighbours + self.norm * _EPSILON) * _EPSILON
        coupled = (first > 0) & (size_of_pivot(t[first, before]) > small)

        def chase(k: Index) -> Body:
            begins = scalar.eq(k, first)
            behind = scalar.maximum(k - 1, 0)
            start = scalar.select(begins, x, t[k, behind])
            following = scalar.select(begins, y, t[k + 1, behind])
            end = scalar.minimum(k + 3, last + 1)
            return self._rotation(k, start, following, scalar.maximum(k - 1, first), end)

        sweep = (
            *self._shift(shift, last, since),
            Let(x, t[first, first] - shift),
            Let(y, t[first + 1, first]),
            fresh.between(first, last, n, chase, "k"),
            Update(since, since + 1),
            Update(budget, budget - 1),
        )
        alone = fresh.local("alone", bool_)
        return (
            Let(last, whole(n - 1)),
            Let(since, whole(0)),
            Let(budget, whole(_PER_NUMBER * n)),
            While(
                (last > 0) & (budget > 0),
                (
                    Let(first, last),
                    While(coupled, (Update(first, first - 1),)),
                    If(first > 0, (t.put(first, before, Const(0.0, complex128)),)),
                    Let(alone, scalar.eq(first, last)),
                    If(alone, (Update(last, last - 1), Update(since, whole(0)))),
                    If(~alone, sweep),
                ),
            ),
        )

    def _shift(self, shift: Local, last: Expr, since: Expr) -> Body:
        """The eigenvalue of the last two rows that is nearer to the last number, or another now and then."""
        fresh, t = self.fresh, self.t
        half, root, corner, end, below = (
            fresh.local(name, complex128) for name in ("half", "root", "corner", "end", "below")
        )
        more, less = half + root, half - root
        divisor = fresh.local("divisor", complex128)
        zero = Const(0.0, float64)
        none = ~(size_of_pivot(divisor) > zero)
        usable = scalar.select(none, Const(1.0, complex128), divisor)
        exceptional = scalar.eq(since % _EXCEPTIONAL, _EXCEPTIONAL - 1)
        away = end + scalar.complex(size_of_pivot(below), zero)
        wilkinson = scalar.select(none, end, end - corner / usable)
        return (
            Let(end, t[last, last]),
            Let(below, t[last, last - 1]),
            Let(half, (t[last - 1, last - 1] - end) * Const(0.5, complex128)),
            Let(corner, t[last - 1, last] * below),
            Let(root, scalar.sqrt(half * half + corner)),
            Let(divisor, scalar.select(size_of_pivot(more) < size_of_pivot(less), less, more)),
            Let(shift, scalar.select(exceptional, away, wilkinson)),
        )
