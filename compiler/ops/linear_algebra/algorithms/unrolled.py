"""Factorisations of small matrices, written out: every number of a matrix is a local of its own.

Done for one matrix they have no loops; done for a batch, each lane of a vector has a matrix.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from staticgraph.compiler.graph.dtypes import DType, float64, int32, int64
from staticgraph.compiler.graph.sizes import Size
from staticgraph.compiler.kernel import scalar
from staticgraph.compiler.kernel.expr import Const, Expr, Index, Local
from staticgraph.compiler.kernel.stmt import Let, Loop, LoopKind, Stmt
from staticgraph.compiler.ops.linear_algebra.algorithms.block_reflectors import (
    Householder,
    in_field,
    square_of_size,
    wide_dtype,
)
from staticgraph.compiler.ops.linear_algebra.algorithms.elimination import PutOrder
from staticgraph.compiler.ops.linear_algebra.algorithms.scaling import parts, scale_of, unscale_of
from staticgraph.compiler.ops.statements.strips import Body, Element, Fresh, Put, root_of_real, size_of_pivot

SMALL = 6  # rows of a matrix that is written out
FEW = 4  # rows of one whose cofactors are
_LANES = 4  # matrices of a batch that are worth a vector


class _Written:
    """Statements that define one local after the other."""

    def __init__(self, dtype: DType) -> None:
        self.fresh, self.dtype = Fresh(), dtype
        self.body: list[Stmt] = []

    def let(self, value: Expr) -> Local:
        """A local with this value."""
        local = self.fresh.local("n", value.dtype)
        self.body.append(Let(local, value))
        return local

    def number(self, value: float) -> Const:
        return Const(value, self.dtype)

    def largest(self, values: Iterable[Expr]) -> Expr:
        """The size of the largest real or imaginary part."""
        found: Expr = Const(0.0, self.dtype.real_dtype)
        for value in values:
            for part in parts(value):
                size = self.let(scalar.abs(part))
                found = self.let(scalar.select(size > found, size, found))
        return found

    def squares(self, values: Iterable[Expr]) -> Local:
        """The sum of the squares of the sizes, in double precision."""
        wide = wide_dtype(self.dtype)
        total = self.let(Const(0.0, wide))
        for value in values:
            total = self.let(total + square_of_size(value, wide))
        return total

    def reflect(self, a: dict[tuple[int, int], Expr], v: Sequence[Expr], tau: Expr, column: int) -> None:
        """Take tau v v^H from one in front of a column of `a`, which is as long as v from below on."""
        top = max(i for i, _ in a) + 1 - len(v)
        dot: Expr = self.number(0.0)
        for i, x in enumerate(v, top):
            dot = self.let(dot + scalar.conjugate(x) * a[i, column])
        factor = self.let(tau * dot)
        for i, x in enumerate(v, top):
            a[i, column] = self.let(a[i, column] - x * factor)


def batch_loops(batch: tuple[Index, ...], body: Body) -> Body:
    """`body` for each matrix of a batch, vectors of them if the last axis has enough."""
    for axis, index in reversed([*enumerate(batch)]):
        last = axis == len(batch) - 1 and (isinstance(index.extent, Size) or index.extent >= _LANES)
        body = (Loop(index, body, LoopKind.SIMD if last else LoopKind.PARALLEL),)
    return body


def cholesky_factor(n: int, matrix: Element, put: Put, dtype: DType) -> Body:
    """Factorise a positive definite matrix: see `factorizations.cholesky_factor`."""
    w = _Written(dtype)
    lower: dict[tuple[int, int], Local] = {}
    for j in range(n):
        rest = {i: w.let(_element(matrix, i, j)) for i in range(j, n)}
        for k in range(j):
            other = scalar.conjugate(lower[j, k])
            rest = {i: w.let(value - lower[i, k] * other) for i, value in rest.items()}
        lower[j, j] = w.let(root_of_real(rest[j]))
        scale = w.let(w.number(1.0) / lower[j, j])
        lower |= {(i, j): w.let(rest[i] * scale) for i in range(j + 1, n)}
    stores = [put(_at(i), _at(j), lower.get((i, j), w.number(0.0))) for i in range(n) for j in range(n)]
    return (*w.body, *stores)


def triangular_solution(
    n: int, columns: int, matrix: Element, rhs: Element, put: Put, unit: bool, lanes: bool, dtype: DType
) -> Body:
    """Solve L X = B: see `factorizations.triangular_solution`. `lanes`: columns of B are taken in vectors."""
    w = _Written(dtype)
    lower = {(i, k): w.let(_element(matrix, i, k)) for i in range(n) for k in range(i)}
    scales = [None if unit else w.let(w.number(1.0) / _element(matrix, i, i)) for i in range(n)]
    column = w.fresh.index("column", columns)
    each = _Written(dtype)
    each.fresh = w.fresh
    found: list[Local] = []
    for i, scale in enumerate(scales):
        value = each.let(rhs(_at(i), column))
        for k, before in enumerate(found):
            value = each.let(value - lower[i, k] * before)
        found.append(value if scale is None else each.let(value * scale))
    stores = [put(_at(i), column, value) for i, value in enumerate(found)]
    kind = LoopKind.SIMD if lanes and columns >= _LANES else LoopKind.SERIAL
    return (*w.body, Loop(column, (*each.body, *stores), kind))


def lu_factors(n: int, matrix: Element, put: Put, put_order: PutOrder, dtype: DType) -> Body:
    """Factorise a matrix with exchanges of rows: see `elimination.lu_factors`."""
    w = _Written(dtype)
    rows: list[list[Expr]] = [[w.let(_element(matrix, i, j)) for j in range(n)] for i in range(n)]
    order: list[Expr] = [Const(i, int32) for i in range(n)]
    for k in range(n):
        best = w.let(size_of_pivot(rows[k][k]))
        at: Expr = Const(k, int32)
        for i in range(k + 1, n):
            size = w.let(size_of_pivot(rows[i][k]))
            larger = w.let(size > best)
            best = w.let(scalar.select(larger, size, best))
            at = w.let(scalar.select(larger, Const(i, int32), at))
        chosen, number = rows[k], order[k]
        for i in range(k + 1, n):
            here = w.let(scalar.eq(at, Const(i, int32)))
            chosen = [w.let(scalar.select(here, x, y)) for x, y in zip(rows[i], chosen, strict=True)]
            rows[i] = [w.let(scalar.select(here, x, y)) for x, y in zip(rows[k], rows[i], strict=True)]
            number, order[i] = (
                w.let(scalar.select(here, x, y)) for x, y in ((order[i], number), (order[k], order[i]))
            )
        rows[k], order[k] = chosen, number
        zero, one = w.number(0.0), w.number(1.0)
        scale = w.let(one / scalar.select(scalar.eq(rows[k][k], zero), one, rows[k][k]))
        for i in range(k + 1, n):
            factor = w.let(rows[i][k] * scale)
            rest = [w.let(x - factor * y) for x, y in zip(rows[i][k + 1 :], rows[k][k + 1 :], strict=True)]
            rows[i] = [*rows[i][:k], factor, *rest]
    stores = [put(_at(i), _at(j), x) for i, row in enumerate(rows) for j, x in enumerate(row)]
    return (*w.body, *stores, *(put_order(_at(i), number) for i, number in enumerate(order)))


def orthogonal_factors(
    rows: int, columns: int, width: int, matrix: Element, put_q: Put, put_r: Put, dtype: DType
) -> Body:
    """Factorise a matrix into Q and R by Householder's reflections: see `reflections.orthogonal_factors`."""
    w = _Written(dtype)
    a: dict[tuple[int, int], Expr] = {
        (i, j): w.let(_element(matrix, i, j)) for i in range(rows) for j in range(columns)
    }
    largest = w.largest(a.values()) if dtype.real_dtype is float64 else None
    if largest is not None:
        scale = in_field(w.let(scale_of(largest, float64)), dtype)
        a = {at: w.let(x * scale) for at, x in a.items()}
    reflections: list[tuple[list[Expr], Expr]] = []  # v from its first number on, and tau
    for k in range(min(rows, columns)):
        made = Householder(w.fresh, w.let(a[k, k]), w.squares([a[i, k] for i in range(k + 1, rows)]))
        w.body += made.lets
        v = [w.number(1.0), *(w.let(a[i, k] * made.scale) for i in range(k + 1, rows))]
        for j in range(k + 1, columns):
            w.reflect(a, v, scalar.conjugate(made.tau), j)
        a[k, k] = w.let(in_field(made.beta, dtype))
        reflections.append((v, made.tau))
    q: dict[tuple[int, int], Expr] = {
        (i, j): w.number(float(i == j)) for i in range(rows) for j in range(width)
    }
    for v, tau in reversed(reflections):
        for j in range(rows - len(v), width):
            w.reflect(q, v, tau, j)
    upper = {(i, j): x for (i, j), x in a.items() if i <= j and i < width}
    if largest is not None:
        unscale = in_field(w.let(unscale_of(largest, float64, float64)), dtype)
        upper = {at: w.let(x * unscale) for at, x in upper.items()}
    zero = w.number(0.0)
    r = [put_r(_at(i), _at(j), upper.get((i, j), zero)) for i in range(width) for j in range(columns)]
    return (*w.body, *(put_q(_at(i), _at(j), x) for (i, j), x in q.items()), *r)


def cofactors(n: int, matrix: Element, put: Put, dtype: DType) -> Body:
    """The derivatives of a determinant: sums of products, so that a singular matrix has some, too."""
    w = _Written(dtype)
    numbers = [[w.let(_element(matrix, i, j)) for j in range(n)] for i in range(n)]
    known: dict[tuple[tuple[int, ...], tuple[int, ...]], Expr] = {((), ()): w.number(1.0)}

    def minor(rows: tuple[int, ...], columns: tuple[int, ...]) -> Expr:
        """The determinant of some rows and columns, by those of all rows but the first."""
        if (rows, columns) not in known:
            total: Expr = w.number(0.0)
            for k, column in enumerate(columns):
                rest = minor(rows[1:], columns[:k] + columns[k + 1 :])
                term = numbers[rows[0]][column] * rest
                total = w.let(term if k == 0 else total - term if k % 2 else total + term)
            known[rows, columns] = total
        return known[rows, columns]

    def without(i: int) -> tuple[int, ...]:
        return tuple(k for k in range(n) if k != i)

    made = {(i, j): minor(without(i), without(j)) for i in range(n) for j in range(n)}
    stores = [put(_at(i), _at(j), -x if (i + j) % 2 else x) for (i, j), x in made.items()]
    return (*w.body, *stores)


def _at(i: int) -> Const:
    return Const(i, int64)


def _element(matrix: Element, i: int, j: int) -> Expr:
    return matrix(_at(i), _at(j))
