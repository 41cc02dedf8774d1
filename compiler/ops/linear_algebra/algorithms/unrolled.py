"""Factorisations of small matrices, written out: every number of a matrix is a local of its own.

Done for one matrix they have no loops; done for a batch, each lane of a vector has a matrix.
"""

from __future__ import annotations

from staticgraph.compiler.graph.dtypes import DType, int32, int64
from staticgraph.compiler.graph.sizes import Size
from staticgraph.compiler.kernel import scalar
from staticgraph.compiler.kernel.expr import Const, Expr, Index, Local
from staticgraph.compiler.kernel.stmt import Let, Loop, LoopKind, Stmt
from staticgraph.compiler.ops.linear_algebra.algorithms.elimination import PutOrder
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
