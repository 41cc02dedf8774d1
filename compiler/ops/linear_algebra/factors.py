"""Factors of matrices, and solutions of triangular systems.

The algorithms are in `algorithms`: `factorizations.py`, `substitution.py` and `elimination.py`, those for
small matrices in `unrolled.py`. The matrices of a batch are done at the same time, each by one thread; one
alone is done by all threads.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from staticgraph.compiler.graph.dtypes import DType, float32, float64, int32, int64
from staticgraph.compiler.graph.errors import require
from staticgraph.compiler.graph.opdef import ops
from staticgraph.compiler.graph.shapes import TensorType
from staticgraph.compiler.graph.sizes import AnySize, Size, at_most, proven, same
from staticgraph.compiler.kernel import scalar
from staticgraph.compiler.kernel.expr import Const, Expr, Index, substitute
from staticgraph.compiler.kernel.stmt import If, Loop, LoopKind, Store, rewrite
from staticgraph.compiler.ops.arrays.movement import check_index
from staticgraph.compiler.ops.kinds import Described, Out, View, composite, routine
from staticgraph.compiler.ops.linear_algebra.algorithms import (
    elimination,
    factorizations,
    substitution,
    unrolled,
)
from staticgraph.compiler.ops.linear_algebra.lapack import (
    FIELDS,
    SQUARE,
    SYSTEMS,
    adjoint,
    cofactors_by_values,
    matrices,
    product,
    solution_type,
    solved,
    square_type,
    unless_singular,
    widened,
)
from staticgraph.compiler.ops.linear_algebra.products import summed_over_batches
from staticgraph.compiler.ops.samples import Sample, real
from staticgraph.compiler.ops.statements.loops import counters, nested
from staticgraph.compiler.ops.statements.strips import Body, Scratch, is_long

_GROUPS = 32  # of matrices of an open size that are done at the same time

Batch = tuple[Index, ...]


def of_each(
    out: Out | View,
    size: AnySize,
    small: Callable[[Batch, bool], Body] | None,
    large: Callable[[Batch, bool], tuple[Body, Scratch]],
) -> Described:
    """Return the statements for each matrix of a batch, such as `out` is, of `size` rows.

    `small` and `large` are given the loops of the batch, and if there is only one matrix. Without `small` all
    matrices count as large.
    """
    batch = counters(out.shape[:-2], "batch")
    alone = all(same(index.extent, 1) for index in batch)
    if small is not None and proven(operator.le, size, unrolled.SMALL):
        body = small(batch, alone)
        return Described(_first(batch, body) if alone else unrolled.batch_loops(batch, body))
    body, scratch = large(batch, alone)
    if alone:
        return Described(_first(batch, body), scratch=scratch)
    if isinstance(size, Size):
        return Described(_in_groups(batch, body), scratch=scratch)
    return Described(nested(batch, body, LoopKind.PARALLEL), scratch=scratch)


def _in_groups(batch: Batch, body: Body) -> Body:
    """`body` for each matrix of a batch, in a few groups that may run at the same time.

    The matrices of a group share scratch memory, which has room in the arena for each group.
    """
    first, *others = batch
    count = at_most(first.extent, _GROUPS)
    group, turn = Index("group", count), Index("turn", -(-first.extent // _GROUPS))
    number = turn * _GROUPS + group
    inside = rewrite(nested(others, body), lambda e: substitute(e, {first: number}))
    return (Loop(group, (Loop(turn, (If(number < first.extent, inside),)),), LoopKind.PARALLEL),)


def _first(batch: Batch, body: Body) -> Body:
    """`body` for the only matrix of a batch."""
    first: dict[Expr, Expr] = {index: Const(0, int64) for index in batch}
    return rewrite(body, lambda e: substitute(e, first))


def is_empty(*shapes: Any) -> bool:
    """Return True if a size is zero whatever the others are."""
    return any(same(n, 0) for shape in shapes for n in shape)


def triangular_part(matrix: Any, lower: bool) -> Any:
    """Matrices without what is above the diagonal, or below it."""
    return ops.matrix_band_part(matrix, num_lower=-1 if lower else 0, num_upper=0 if lower else -1)


def _cholesky_grad(g: Any, y: Any, x: Any) -> tuple[Any]:
    """(M + M^H) / 2 with M = L^-H P L^-1, P the lower half of L^H g, its diagonal halved (Murray, 2016)."""
    whole = product(y, g, adj_a=True)
    half = ops.matrix_set_diag(triangular_part(whole, lower=True), ops.matrix_diag_part(whole) * 0.5)
    left = matrix_triangular_solve(y, half, adjoint=True)
    inner = adjoint(matrix_triangular_solve(y, adjoint(left), adjoint=True))
    return ((inner + adjoint(inner)) * 0.5,)


@routine(
    tf="Cholesky", type=square_type, long=is_long, dtypes=FIELDS, samples=SQUARE,
    grad=_cholesky_grad, grad_takes=(), numpy=widened(unless_singular(np.linalg.cholesky)),
    requires=lambda input: (
        [] if is_empty(input.shape) else [ops.factor_positive(ops.cholesky(input), of="cholesky")]
    ),
)
def cholesky(outs: tuple[Out, ...], input: View) -> Described | tuple[()]:
    """Lower triangular matrices L with L L^H = input, for positive definite matrices.

    Only the lower half is read.
    """
    (out,) = outs
    if is_empty(out.shape):
        return ()
    n = out.shape[-1]

    def of(batch: Batch) -> tuple[Any, Any]:
        return lambda i, j: input[(*batch, i, j)], lambda i, j, x: Store(out.buffer, (*batch, i, j), x)

    return of_each(
        out,
        n,
        lambda batch, alone: unrolled.cholesky_factor(n, *of(batch), out.dtype),
        lambda batch, alone: factorizations.cholesky_factor(n, *of(batch), not alone, out.dtype),
    )


def _triangle(x: np.ndarray, lower: bool, unit: bool) -> np.ndarray:
    x = np.tril(x) if lower else np.triu(x)
    n = x.shape[-1]
    return np.where(np.eye(n, dtype=bool), np.ones((), x.dtype), x) if unit else x


def _triangular_solution(
    matrix: np.ndarray, rhs: np.ndarray, lower: bool, adjoint: bool, unit: bool = False
) -> np.ndarray:
    return solved(_triangle(matrix, lower, unit), rhs, adjoint)


@routine(
    type=solution_type, numpy=_triangular_solution, dtypes=FIELDS, differentiable=False, long=is_long,
    samples=[*(Sample(*s.draws, lower=True, adjoint=False, unit=False) for s in SYSTEMS),
             Sample(real(3, 3, low=1.0, high=2.0), real(3, 2), lower=False, adjoint=False, unit=True),
             Sample(real(9, 9, low=1.0, high=1.1), real(9, 2), lower=False, adjoint=True, unit=False)],
)
def triangular_solution(
    outs: tuple[Out, ...], matrix: View, rhs: View, *, lower: bool, adjoint: bool, unit: bool
) -> Described | tuple[()]:
    """X with T X = rhs, or with the adjoint of T: the `lower` triangle of the matrix, or else the upper one.

    If `unit`, its diagonal counts as ones. A zero on the diagonal makes infinite numbers and NaN.
    """
    (out,) = outs
    if is_empty(matrix.shape, out.shape):
        return ()
    n, columns = rhs.shape[-2:]
    backwards = lower == adjoint

    def row(i: Expr) -> Expr:
        return n - 1 - i if backwards else i

    def of(batch: Batch) -> tuple[Any, Any, Any]:
        def element(i: Expr, k: Expr) -> Expr:
            at = (row(k), row(i)) if adjoint else (row(i), row(k))
            found = matrix.broadcast((*batch, *at))
            return scalar.conjugate(found) if adjoint else found

        return (
            element,
            lambda i, j: rhs.broadcast((*batch, row(i), j)),
            lambda i, j, x: Store(out.buffer, (*batch, row(i), j), x),
        )

    def large(batch: Batch, alone: bool) -> tuple[Body, Scratch]:
        def of_triangle(i: Expr, j: Expr) -> Expr:
            found = matrix.broadcast((*batch, i, j))
            return scalar.conjugate(found) if adjoint else found

        if not substitution.are_few(n, columns):
            return factorizations.triangular_solution(n, columns, *of(batch), unit, not alone, out.dtype)
        return substitution.solution_of_few(
            n,
            columns,
            of_triangle,
            lambda i, j: rhs.broadcast((*batch, i, j)),
            lambda i, j, x: Store(out.buffer, (*batch, i, j), x),
            lower,
            adjoint,
            unit,
            out.dtype,
        )

    return of_each(
        out,
        n,
        lambda batch, alone: unrolled.triangular_solution(n, columns, *of(batch), unit, alone, out.dtype),
        large,
    )


@routine(
    type=square_type, long=is_long, dtypes=FIELDS, differentiable=False,
    numpy=lambda x: solved(_triangle(x, True, True), np.eye(x.shape[-1], dtype=x.dtype) + 0 * x, False),
    samples=[Sample(real(3, 3)), Sample(real(2, 1, 1)), Sample(real(0, 2, 2)),
             Sample(real(2, 20, 20, low=-0.1, high=0.1))],
)  # fmt: skip
def unit_lower_inverse(outs: tuple[Out, ...], input: View) -> Described | tuple[()]:
    """The inverses of lower triangles, whose diagonals count as ones; zeros above."""
    (out,) = outs
    if is_empty(out.shape):
        return ()
    n = out.shape[-1]

    def of(batch: Batch) -> tuple[Any, Any, Any]:
        def unit(i: Expr, j: Expr) -> Expr:
            return scalar.select(scalar.eq(i, j), Const(1.0, out.dtype), Const(0.0, out.dtype))

        return lambda i, k: input[(*batch, i, k)], unit, lambda i, j, x: Store(out.buffer, (*batch, i, j), x)

    return of_each(
        out,
        n,
        lambda batch, alone: unrolled.triangular_solution(n, n, *of(batch), True, alone, out.dtype),
        lambda batch, alone: factorizations.triangular_solution(
            n, n, *of(batch), True, not alone, out.dtype, lower_rhs=True
        ),
    )


def _triangular_grad(g: Any, y: Any, matrix: Any, rhs: Any, lower: bool, adjoint: bool) -> tuple[Any, Any]:
    by_rhs = matrix_triangular_solve(matrix, g, lower=lower, adjoint=not adjoint)
    by_matrix = product(y, by_rhs, adj_b=True) if adjoint else product(by_rhs, y, adj_b=True)
    return summed_over_batches(-triangular_part(by_matrix, lower), by_rhs, matrix, rhs)


def _nonzero_diagonal(matrix: Any, *_: Any, **__: Any) -> list[Any]:
    return [] if is_empty(matrix.shape) else [ops.factor_nonzero(matrix, of="matrix_triangular_solve")]


@composite(
    tf="MatrixTriangularSolve", type=solution_type, numpy=_triangular_solution, dtypes=FIELDS,
    samples=[*SYSTEMS, Sample(real(3, 3, low=1.0, high=2.0), real(3, 2), lower=False)],
    grad=_triangular_grad, grad_takes=(), requires=_nonzero_diagonal,
)
def matrix_triangular_solve(matrix: Any, rhs: Any, *, lower: bool = True, adjoint: bool = False) -> Any:
    """X with matrix X = rhs, where only the `lower` triangle of the matrix counts, or else the upper one.

    With `adjoint` the adjoint of the triangle counts.
    """
    return ops.triangular_solution(matrix, rhs, lower=lower, adjoint=adjoint, unit=False)


def _lu_types(input: TensorType, output_idx_type: DType = int32) -> tuple[TensorType, TensorType]:
    check_index("output_idx_type", output_idx_type)
    matrices(input)
    rows = None if input.shape is None else input.shape[:-1]
    return input, TensorType(output_idx_type, rows)


def _lu(input: np.ndarray, output_idx_type: DType = int32) -> tuple[np.ndarray, np.ndarray]:
    """Elimination with the largest element of each column as pivot, of all matrices at once."""
    wide: Any = input.astype(np.complex128 if input.dtype.kind == "c" else np.float64)
    x = wide.reshape(math.prod(input.shape[:-2]), *input.shape[-2:])
    batch, n = np.arange(x.shape[0]), input.shape[-1]
    order = np.tile(np.arange(n), (len(batch), 1))
    for k in range(n):
        pivot = k + np.abs(x[:, k:, k]).argmax(axis=1)
        for table in (x, order):
            table[batch, k], table[batch, pivot] = table[batch, pivot].copy(), table[batch, k].copy()
        divisor = x[:, k, k]
        divisor = np.where(divisor == 0, 1, divisor)
        x[:, k + 1 :, k] /= divisor[:, None]
        x[:, k + 1 :, k + 1 :] -= x[:, k + 1 :, k, None] * x[:, None, k, k + 1 :]
    numbers = order.astype(output_idx_type.numpy)
    return x.reshape(input.shape).astype(input.dtype), numbers.reshape(input.shape[:-1])


@routine(
    tf="Lu", type=_lu_types, long=is_long, numpy=_lu, dtypes=FIELDS,
    samples=[Sample(real(3, 3)), Sample(real(2, 1, 1)), Sample(real(2, 3, 4, 4, low=-0.4, high=0.4)),
             Sample(real(20, 20))],
    differentiable=False, no_gradient_known=True,
)
def lu(outs: tuple[Out, ...], input: View, *, output_idx_type: DType = int32) -> Described | tuple[()]:
    """L below the diagonal, which is of ones, and U on and above it: L U has the rows of `input` in an order.

    The second result is this order, of `output_idx_type`: row i of L U is row order[i] of the input.
    """
    out, order = outs
    if is_empty(out.shape):
        return ()
    n = out.shape[-1]

    def of(batch: Batch) -> tuple[Any, Any, Any]:
        return (
            lambda i, j: input[(*batch, i, j)],
            lambda i, j, x: Store(out.buffer, (*batch, i, j), x),
            lambda i, number: Store(order.buffer, (*batch, i), scalar.cast(number, order.dtype)),
        )

    return of_each(
        out,
        n,
        lambda batch, alone: unrolled.lu_factors(n, *of(batch), out.dtype),
        lambda batch, alone: elimination.lu_factors(n, *of(batch), not alone, out.dtype),
    )


def _few_type(input: TensorType) -> TensorType:
    shape = matrices(input)
    few = shape is None or shape[-1] is None or proven(operator.le, shape[-1], unrolled.FEW)
    require(few, f"the matrices must have at most {unrolled.FEW} rows")
    return input


@routine(
    type=_few_type, numpy=widened(cofactors_by_values), dtypes=frozenset({float32, float64}),
    differentiable=False, samples=[Sample(real(3, 3)), Sample(real(2, 4, 4)), Sample(real(0, 2, 2))],
)
def small_cofactors(outs: tuple[Out, ...], input: View) -> Described | tuple[()]:
    """Derivatives of the determinants of matrices of at most four rows, by their elements."""
    (out,) = outs
    if is_empty(out.shape):
        return ()
    n = out.shape[-1]

    def written(batch: Batch, alone: bool) -> Body:
        return unrolled.cofactors(
            n,
            lambda i, j: input[(*batch, i, j)],
            lambda i, j, x: Store(out.buffer, (*batch, i, j), x),
            out.dtype,
        )

    return of_each(out, n, written, lambda batch, alone: (written(batch, alone), {}))
