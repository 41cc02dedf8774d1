"""Singular values and vectors of a square matrix, as statements of the kernel IR.

Reflections of columns and of rows, in turns, make the matrix bidiagonal, those of a strip together
(Dongarra, Sorensen and Hammarling, 1989): each needs a product of the matrix and a vector, and once a strip
is done, what it changes in the rest is a product of matrices, A - V Y^T - X U^T. One thread does that.

Then QR iterations make it diagonal (`implicit_shifts.py`). The singular vectors are the products of all
reflections of a kind, whose columns are then rotated as the iterations say.
"""

from __future__ import annotations

from typing import Any

from staticgraph.compiler.graph.dtypes import DType, int64
from staticgraph.compiler.kernel import scalar
from staticgraph.compiler.kernel.expr import Const, Expr, Index, Load
from staticgraph.compiler.kernel.stmt import Buffer, If, Let, Loop, LoopKind, Store, Update
from staticgraph.compiler.ops.linear_algebra.algorithms.accumulated_rotations import rotated, rotations
from staticgraph.compiler.ops.linear_algebra.algorithms.block_reflectors import BlockReflectors
from staticgraph.compiler.ops.linear_algebra.algorithms.implicit_shifts import Sweeps
from staticgraph.compiler.ops.linear_algebra.algorithms.panels import Panel
from staticgraph.compiler.ops.linear_algebra.algorithms.spectra import PutValue, Reduced
from staticgraph.compiler.ops.statements.strips import Body, Element, Put, Scratch, Strips, whole


def singular_values(
    n: int,
    matrix: Element,
    put_value: PutValue,
    put_vectors: tuple[Put, Put] | None,
    local: bool,
    dtype: DType,
) -> tuple[Body, Scratch]:
    """Find the singular values of a square matrix in falling order, and its singular vectors.

    Args:
        n: The number of rows.
        matrix: The numbers of the matrix.
        put_value: Stores a singular value.
        put_vectors: Store a number of the matrices whose columns are left and right singular vectors; None:
            they are not wanted.
        local: True if one thread does all of it.
        dtype: That of the numbers.

    Returns:
        The statements, and their scratch memory. All results are NaN if a number of the matrix is not finite.
    """
    made = Reduced(n, matrix, _Reduction, 0 if put_vectors is None else 2, True, local, dtype)
    if put_vectors is None:
        return made.values(put_value)
    fresh, sweeps, spectrum, scratch = made.fresh, made.sweeps, made.spectrum, made.scratch
    _, count = sweeps.padded(made.a.count)
    both = Strips("vectors", n, n, dtype, fresh, count=2 * count)  # rotated by one code
    right, left = (both.part(side * count, count) for side in range(2))
    scratch |= {both.name: both.buffer(local)} | made.reduction.v.buffers("last")
    strip = fresh.index("strip", 2 * count)
    reflectors = made.reduction.reflectors(strip // count)
    unit = reflectors.unit_reflected(both, strip, strip % count, adjoint=True)
    put_left, put_right = put_vectors
    return (
        *made.body,
        *sweeps.finished([Loop(strip, unit, LoopKind.PARALLEL)], lambda: rotated(sweeps, both, 2)),
        *spectrum.ordered(put_value),
        spectrum.signs(right),
        spectrum.vectors(left, put_left, signed=True),
        spectrum.vectors(right, put_right, signed=False),
    ), scratch | rotations(sweeps)


class _Reduction:
    """The reflections that make a matrix bidiagonal: `v` of columns, and `u` of rows."""

    def __init__(self, a: Strips, sweeps: Sweeps, local: bool) -> None:
        self.a, self.fresh, self.dtype, self.block = a, a.fresh, a.dtype, a.width
        self.sweeps, self.local, self.n = sweeps, local, a.rows
        self.both = Strips("reflectors", a.rows, a.columns, a.dtype, a.fresh, count=2 * a.count)
        self.u, self.v = map(self.reflectors, (whole(0), whole(1)))
        self.panel = Panel(a, local)

    def reflectors(self, side: Expr) -> BlockReflectors:
        """Reflectors of rows, side 0, or of columns. Rows have one less: the last one changes nothing."""
        return BlockReflectors(self.both.part(side * self.a.count, self.a.count), self.n, self.local)

    def buffers(self) -> Scratch:
        """The scratch memory."""
        place: dict[str, Any] = {"written": True, "local": self.local, "shared": True}
        return {
            "reflectors": self.both.buffer(self.local),
            "down": Buffer(self.dtype, (2 * self.block, self.a.height), **place),
            "row_dots": Buffer(self.dtype, (2 * self.block,), **place),
            "lane_sums": Buffer(self.dtype, (2 * self.block, self.block), **place),
            **self.panel.buffers(),
            **self.v.buffers(),
            **self.u.buffers(),
        }

    def down(self, k: Expr, i: Expr) -> Load:
        """A number of L, whose columns are kept as rows, too."""
        return Load("down", (k, i), self.dtype)

    def step(self, j: Index) -> Body:
        """Reduce column `j`, and then row `j`."""
        strip, c = j // self.block, j % self.block
        stop = scalar.select(scalar.eq(c, self.block - 1), whole(self.a.count), whole(0))
        of_row = (
            self._row(j, strip, c),
            *self._reflect_row(j, strip, c),
            self._multiplied_by_row(strip, c),
            *self._update_by_row(j, strip, c),
        )
        return (
            If(scalar.eq(c, 0), (self.u.cleared(strip), self.v.cleared(strip))),
            self._column(j, strip, c),
            *self._reflect_column(j, strip, c),
            self.panel.multiplied(strip, lambda i: scalar.conjugate(self.down(2 * c, i))),
            *self._update_by_column(j, strip, c),
            If(j < self.n - 1, of_row),
            self.panel.taken_off(strip, stop),
        )

    def _from(self, strip: Expr, body: Any) -> Loop:
        """Do `body(i)` for the places of a line from the first one of a strip on."""
        end = whole(self.a.height)
        return self.fresh.between(strip * self.block, end, self.a.height, body, "i")

    # A column, and what it is multiplied with.

    def _column(self, j: Index, strip: Expr, c: Expr) -> Loop:
        """Column `j` as it is by now, from the diagonal on."""
        return self.panel.less(
            strip, 2 * c, lambda i, t, lane: self.a.at(strip, i, c),
            lambda i, k: self.down(k, i) * self.panel.right(k, j),
            lambda i, total: Store("line", (i,), total),
        )

    def _reflect_column(self, j: Index, strip: Expr, c: Expr) -> Body:
        """Make v, and keep it in L and a column of the strips of `v`."""
        made, body = self.panel.reflection(
            j, strip, self.sweeps.wide, lambda i, x: Store("down", (2 * c, i), x)
        )

        def keep(i: Index) -> Body:
            value = self.fresh.local("v", self.dtype)
            return (
                Let(value, self.down(2 * c, i)),
                self.panel.put_left(i, 2 * c, value),
                self.v.a.put(strip, i, c, value),
            )

        return (
            *body,
            self.sweeps.put("diagonal", j, scalar.cast(made.beta, self.sweeps.wide)),
            self._from(strip, keep),
            self.v.top_column(strip, c, lambda i: self.down(2 * c, i)),
        )

    def _update_by_column(self, j: Index, strip: Expr, c: Expr) -> Body:
        """Make a row of Y of the product of v and the matrix."""
        panel = self.panel
        tau = self.fresh.local("tau", self.dtype)

        def put(i: Expr, total: Expr) -> Store:
            value = scalar.select(i > j, total * scalar.conjugate(tau), panel.zero)
            return panel.put_right(2 * c, i, value)

        return (
            Let(tau, panel.tau),
            panel.dots(strip, lambda i: scalar.conjugate(self.down(2 * c, i))),
            panel.less(
                strip, 2 * c, lambda i, t, lane: panel.product(i),
                lambda i, k: panel.right(k, i) * panel.dot(k),
                put,
            ),
            *self.v.triangle_column(strip, c, tau, lambda r: scalar.conjugate(panel.dot(2 * r))),
        )

    # A row, and what it is multiplied with.

    def _row(self, j: Index, strip: Expr, c: Expr) -> Loop:
        """The adjoint of row `j` as it is by now, behind the diagonal."""
        panel = self.panel
        return panel.less(
            strip, 2 * c + 1, lambda i, t, lane: self.a.at(t, j, lane),
            lambda i, k: panel.left(j, k) * panel.right(k, i),
            lambda i, total: Store("line", (i,), scalar.conjugate(total)),
        )

    def _reflect_row(self, j: Index, strip: Expr, c: Expr) -> Body:
        """Make u, and keep it in R and a column of the strips of `u`."""
        panel = self.panel
        made, body = panel.reflection(
            j + 1, strip, self.sweeps.wide, lambda i, x: panel.put_right(2 * c + 1, i, scalar.conjugate(x))
        )
        return (
            *body,
            self.sweeps.put("beside", j + 1, scalar.cast(made.beta, self.sweeps.wide)),
            self._from(strip, lambda i: (self.u.a.put(strip, i, c, self._u(c, i)),)),
            self.u.top_column(strip, c, lambda i: self._u(c, i)),
        )

    def _u(self, c: Expr, i: Expr) -> Expr:
        """A number of a vector u, which R holds as a row: conjugated."""
        return scalar.conjugate(self.panel.right(2 * c + 1, i))

    def _multiplied_by_row(self, strip: Expr, c: Expr) -> Loop:
        """Multiply the rows from those of `strip` on, as they were before it, by u."""
        a, fresh, panel, block, some = self.a, self.fresh, self.panel, self.block, self.panel.sums

        def group(number: Index) -> Body:
            def lanes(lane: Index) -> Body:
                sums = [fresh.local("sum", self.dtype) for _ in range(some)]

                def terms(t: Index) -> Body:
                    u = fresh.local("u", self.dtype)
                    return (
                        Let(u, self._u(c, t * block + lane)),
                        *(Update(x, x + a.at(t, number * some + r, lane) * u) for r, x in enumerate(sums)),
                    )

                stores = (Store("lane_sums", (Const(r, int64), lane), x) for r, x in enumerate(sums))
                return (
                    *(Let(x, panel.zero) for x in sums),
                    panel.strips_from(strip, a.count, terms),
                    *stores,
                )

            rows = fresh.each(some, lambda r: self._summed(r, "product", number * some + r), "row")
            return a.lanes(lanes), rows

        count = a.height // some
        return fresh.between(strip * (block // some), whole(count), count, group, "group")

    def _summed(self, row: Expr, buffer: str, place: Expr) -> Body:
        """Store the sum of what lanes have kept in a row of `lane_sums`."""
        total = self.fresh.local("total", self.dtype)

        def add(lane: Index) -> Body:
            return (Update(total, total + Load("lane_sums", (row, lane), self.dtype), "add"),)

        return Let(total, self.panel.zero), self.a.lanes(add), Store(buffer, (place,), total)

    def _update_by_row(self, j: Index, strip: Expr, c: Expr) -> Body:
        """Make a column of X of the product of the matrix and u."""
        fresh, panel, block = self.fresh, self.panel, self.block
        tau = fresh.local("tau", self.dtype)

        def dot(k: Expr) -> Load:
            return Load("row_dots", (k,), self.dtype)

        def dots(k: Index) -> Body:
            def lanes(lane: Index) -> Body:
                total = fresh.local("total", self.dtype)

                def terms(t: Index) -> Body:
                    i = t * block + lane
                    return (Update(total, total + panel.right(k, i) * self._u(c, i)),)

                loop = panel.strips_from(strip, self.a.count, terms)
                return Let(total, panel.zero), loop, Store("lane_sums", (k, lane), total)

            return (self.a.lanes(lanes), *self._summed(k, "row_dots", k))

        return (
            Let(tau, panel.tau),
            panel.terms(2 * c + 1, dots),
            panel.less(
                strip, 2 * c + 1, lambda i, t, lane: panel.product(i),
                lambda i, k: self.down(k, i) * dot(k),
                lambda i, total: Store("down", (2 * c + 1, i), scalar.select(i > j, total * tau, panel.zero)),
            ),
            self._from(strip, lambda i: (panel.put_left(i, 2 * c + 1, self.down(2 * c + 1, i)),)),
            *self.u.triangle_column(strip, c, tau, lambda r: dot(2 * r + 1)),
        )
