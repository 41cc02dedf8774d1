"""Eigenvalues and eigenvectors of a symmetric matrix, as statements of the kernel IR.

Reflections make the matrix tridiagonal, those of a strip together (Dongarra, Sorensen and Hammarling, 1989):
each needs a product of the matrix and a vector, and once a strip is done, what it changes in the rest is a
product of matrices, A - V W^T - W V^T. One thread does that: columns follow each other too quickly to share
one out.

Then QR iterations make it diagonal (`implicit_shifts.py`). The eigenvectors are the product of all
reflections, whose columns are then rotated as the iterations say.
"""

from __future__ import annotations

from staticgraph.compiler.graph.dtypes import DType
from staticgraph.compiler.kernel import scalar
from staticgraph.compiler.kernel.expr import Expr, Index, Load
from staticgraph.compiler.kernel.stmt import If, Let, Loop, LoopKind, Store, Update
from staticgraph.compiler.ops.linear_algebra.algorithms.accumulated_rotations import rotated, rotations
from staticgraph.compiler.ops.linear_algebra.algorithms.block_reflectors import (
    BlockReflectors,
    in_field,
    reflections_of,
)
from staticgraph.compiler.ops.linear_algebra.algorithms.implicit_shifts import Sweeps
from staticgraph.compiler.ops.linear_algebra.algorithms.panels import Panel
from staticgraph.compiler.ops.linear_algebra.algorithms.scaling import parts
from staticgraph.compiler.ops.linear_algebra.algorithms.spectra import PutValue, Reduced
from staticgraph.compiler.ops.statements.strips import Body, Element, Put, Scratch, Strips, whole


def symmetric_eigenvalues(
    n: int, matrix: Element, put_value: PutValue, put_vector: Put | None, local: bool, dtype: DType
) -> tuple[Body, Scratch]:
    """Find the eigenvalues of a self-adjoint matrix in rising order, and its eigenvectors.

    Args:
        n: The number of rows.
        matrix: The numbers of the matrix, asked for up to the diagonal.
        put_value: Stores an eigenvalue.
        put_vector: Stores a number of the matrix whose columns are eigenvectors; None: they are not wanted.
        local: True if one thread does all of it.
        dtype: That of the numbers.

    Returns:
        The statements, and their scratch memory. All results are NaN if a number of the matrix is not finite.
    """
    def lower(i: Expr, j: Expr) -> Expr:
        x = matrix(scalar.maximum(i, j), scalar.minimum(i, j))
        if not dtype.is_complex:
            return x
        beside = scalar.select(i < j, -scalar.imag(x), scalar.imag(x))
        return scalar.complex(scalar.real(x), scalar.select(scalar.eq(i, j), 0.0, beside))

    made = Reduced(n, lower, _Reduction, 0 if put_vector is None else 1, False, local, dtype)
    if put_vector is None:
        return made.values(put_value)
    sweeps, spectrum, v = made.sweeps, made.spectrum, made.reduction.v
    _, count = sweeps.padded(made.a.count)
    q = Strips("q", n, n, dtype, made.fresh, count=count)
    strip = made.fresh.index("strip", count)
    unit = v.unit_reflected(q, strip, strip, adjoint=True)
    return (
        *made.body,
        *sweeps.finished([Loop(strip, unit, LoopKind.PARALLEL)], lambda: rotated(sweeps, q, 1)),
        *spectrum.ordered(put_value),
        spectrum.signs(q),
        spectrum.vectors(q, put_vector, signed=False),
    ), made.scratch | {"q": q.buffer(local)} | v.buffers("last") | rotations(sweeps)


class _Reduction:
    """The reflections that make a matrix tridiagonal, one for each column."""

    def __init__(self, a: Strips, sweeps: Sweeps, local: bool) -> None:
        self.a, self.fresh, self.dtype, self.block = a, a.fresh, a.dtype, a.width
        self.sweeps, self.n = sweeps, a.rows
        self.v = BlockReflectors(a, reflections_of(a.rows), local)
        self.panel = Panel(a, local)

    def buffers(self) -> Scratch:
        """The scratch memory."""
        return self.panel.buffers() | self.v.buffers()

    def step(self, j: Index) -> Body:
        """Reduce column `j`. It is row `j` as well, whose numbers lie side by side."""
        strip, c = j // self.block, j % self.block
        stop = scalar.select(scalar.eq(c, self.block - 1), whole(self.a.count), whole(0))
        following = (
            *self._reflection(j, strip, c),
            self.panel.multiplied(strip, lambda i: self.panel.right(2 * c + 1, i)),
            *self._update(j, strip, c),
        )
        return (
            If(scalar.eq(c, 0) & (j < self.v.count), (self.v.cleared(strip),)),
            self._row(j, strip, c),
            self.sweeps.put("diagonal", j, scalar.cast(parts(self.panel.line(j))[0], self.sweeps.wide)),
            If(j < self.n - 1, following),
            self.panel.taken_off(strip, stop),
        )

    def _row(self, j: Index, strip: Expr, c: Expr) -> Loop:
        """Column `j` as it is by now, from the diagonal on: it is the adjoint of a row."""
        panel = self.panel
        return panel.less(
            strip, 2 * c, lambda i, t, lane: self.a.at(t, j, lane),
            lambda i, k: panel.left(j, k) * panel.right(k, i),
            lambda i, total: Store("line", (i,), scalar.conjugate(total)),
        )

    def _reflection(self, j: Index, strip: Expr, c: Expr) -> Body:
        """Make v, and keep it in L, R and the column of the matrix."""
        panel, block = self.panel, self.block
        made, body = panel.reflection(
            j + 1, strip, self.sweeps.wide, lambda i, x: panel.put_right(2 * c + 1, i, scalar.conjugate(x))
        )

        def keep(i: Index) -> Body:
            value = self.fresh.local("v", self.dtype)
            return (
                Let(value, self._v(c, i)),
                panel.put_left(i, 2 * c, value),
                self.a.put(strip, i, c, value),
            )

        return (
            *body,
            self.sweeps.put("beside", j + 1, scalar.cast(made.beta, self.sweeps.wide)),
            self.fresh.between(strip * block, whole(self.a.height), self.a.height, keep, "i"),
            self.v.top_column(strip, c, lambda i: self._v(c, i)),
        )

    def _v(self, c: Expr, i: Expr) -> Expr:
        """A number of a vector v, which R holds as a row: conjugated."""
        return scalar.conjugate(self.panel.right(2 * c + 1, i))

    def _update(self, j: Index, strip: Expr, c: Expr) -> Body:
        """Make w of the product of the matrix and v. What R holds of both is conjugated."""
        fresh, panel, block, dtype = self.fresh, self.panel, self.block, self.dtype
        tau, half, inner = (fresh.local(name, dtype) for name in ("tau", "half", "inner"))

        def conjugate_v(i: Expr) -> Load:
            return panel.right(2 * c + 1, i)

        def along(i: Expr, t: Index, lane: Index) -> Body:
            return (Update(inner, inner + panel.product(i) * self._v(c, i), "add"),)

        def w(i: Expr, t: Index, lane: Index) -> Body:
            return (panel.put_right(2 * c, i, panel.product(i) - half * conjugate_v(i)),)

        def keep(i: Index) -> Body:
            return (panel.put_left(i, 2 * c + 1, scalar.conjugate(panel.right(2 * c, i))),)

        return (
            Let(tau, panel.tau),
            panel.dots(strip, conjugate_v),
            panel.less(
                strip, 2 * c, lambda i, t, lane: panel.product(i),
                # What stands for V in L is W in R, and the other way round.
                lambda i, k: panel.right(k, i) * panel.dot(k),
                lambda i, total: Store(
                    "product", (i,), scalar.select(i > j, total * scalar.conjugate(tau), panel.zero)
                ),
            ),
            Let(inner, panel.zero),
            panel.along(strip, along),
            Let(half, in_field(parts(tau * inner)[0] * 0.5, dtype)),
            panel.along(strip, w),
            fresh.between(strip * block, whole(self.a.height), self.a.height, keep, "i"),
            *self.v.triangle_column(strip, c, tau, lambda r: scalar.conjugate(panel.dot(2 * r))),
        )
