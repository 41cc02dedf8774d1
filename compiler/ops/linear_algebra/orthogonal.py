"""Orthogonal factors of matrices: generated code, in `algorithms/reflections.py`."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from staticgraph.compiler.graph.opdef import ops
from staticgraph.compiler.graph.shapes import TensorType
from staticgraph.compiler.graph.sizes import Size, proven
from staticgraph.compiler.kernel import scalar
from staticgraph.compiler.kernel.expr import Const
from staticgraph.compiler.kernel.stmt import Store
from staticgraph.compiler.ops.kinds import Described, Out, View, routine
from staticgraph.compiler.ops.linear_algebra.algorithms import unrolled
from staticgraph.compiler.ops.linear_algebra.algorithms.reflections import orthogonal_factors
from staticgraph.compiler.ops.linear_algebra.factors import Batch, is_empty, of_each
from staticgraph.compiler.ops.linear_algebra.lapack import (
    FIELDS,
    adjoint,
    block,
    in_field,
    least,
    matrices,
    product,
    real_part,
    widened,
)
from staticgraph.compiler.ops.samples import Sample, real
from staticgraph.compiler.ops.statements.loops import counters, nested
from staticgraph.compiler.ops.statements.strips import Body, Element, Put, is_long


def _qr_type(input: TensorType, full_matrices: bool) -> tuple[TensorType, TensorType]:
    shape = matrices(input, square=False)
    if shape is None:
        return input, input
    rows, columns = shape[-2:]
    inner = rows if full_matrices else least(rows, columns)
    return TensorType(input.dtype, (*shape[:-1], inner)), TensorType(
        input.dtype, (*shape[:-2], inner, columns)
    )


def _triangular_part(x: Any, y: Any) -> Any:
    """X R^-H for upper triangular R = `y`."""
    return adjoint(ops.matrix_triangular_solve(y, adjoint(x), lower=False))


def _qr_grad(g: Any, y: Any, x: Any, full_matrices: bool) -> tuple[Any]:
    """(G_Q + Q copyltu(R G_R^H - G_Q^H Q)) R^-H for a square R (Seeger et al., 2017).

    The further columns of a wide matrix are Q times those of R. The further columns of a square Q, of a tall
    matrix, follow the first ones: they stay orthogonal to them.
    """
    rows, columns = x.shape[-2:]
    if is_empty(x.shape):
        return (ops.zeros_like(x),)
    q, r = y
    by_q, by_r = (ops.zeros_like(each) if part is None else part for part, each in zip(g, y, strict=True))
    n = min(rows, columns)
    if columns > rows:
        by_rest = block(by_r, columns=(n, None))
        by_q = by_q + product(block(x, columns=(n, None)), by_rest, adj_b=True)
    elif full_matrices:
        (q, rest), (by_q, by_rest) = (
            (block(each, columns=(0, n)), block(each, columns=(n, None))) for each in (q, by_q)
        )
        by_q = by_q - product(rest, product(by_rest, q, adj_a=True))
    r, by_r = (block(each, (0, n), (0, n)) for each in (r, by_r))
    turned = product(r, by_r, adj_b=True) - product(by_q, q, adj_a=True)
    if isinstance(n, Size):
        lower = ops.matrix_band_part(turned, num_lower=-1, num_upper=0)
        lower = ops.matrix_set_diag(lower, ops.zeros_like(ops.matrix_diag_part(lower)))
    else:
        lower = turned * np.tril(np.ones((n, n)), -1).astype(x.dtype.numpy)
    diagonal = in_field(real_part(ops.matrix_diag_part(turned)), x.dtype)
    by_x = _triangular_part(by_q + product(q, lower + adjoint(lower) + ops.matrix_diag(diagonal)), r)
    return (ops.concat([by_x, product(q, by_rest)], axis=x.rank - 1) if columns > rows else by_x,)


@routine(
    tf="Qr", type=_qr_type, dtypes=FIELDS, grad=_qr_grad, long=is_long,
    numpy=widened(lambda x, full_matrices: np.linalg.qr(x, "complete" if full_matrices else "reduced")),
    samples=[Sample(real(3, 2)), Sample(real(2, 2, 3), full_matrices=True), Sample(real(1, 4)),
             Sample(real(2, 4, 2), full_matrices=True), Sample(real(0, 2)), Sample(real(20, 17))],
)
def qr(outs: tuple[Out, ...], input: View, *, full_matrices: bool = False) -> Described | tuple[()]:
    """Matrices Q with orthonormal columns and upper triangular R with Q R = input.

    With `full_matrices` Q is square, else it has as many columns as there can be.
    """
    q, r = outs
    if is_empty(input.shape[:-2]):
        return ()
    (rows, columns), width = input.shape[-2:], q.shape[-1]
    if is_empty((rows, columns)):
        return _unit(q)

    def of(batch: Batch) -> tuple[Element, Put, Put]:
        return (
            lambda i, j: input[(*batch, i, j)],
            lambda i, j, x: Store(q.buffer, (*batch, i, j), x),
            lambda i, j, x: Store(r.buffer, (*batch, i, j), x),
        )

    def small(batch: Batch, alone: bool) -> Body:
        return unrolled.orthogonal_factors(rows, columns, width, *of(batch), q.dtype)

    return of_each(
        q,
        rows,
        small if all(proven(operator.le, n, unrolled.SMALL) for n in (rows, columns, width)) else None,
        lambda batch, alone: orthogonal_factors(rows, columns, width, *of(batch), not alone, q.dtype),
    )


def _unit(q: Out) -> Described:
    """The statements that make unit matrices of Q, which a matrix without columns has."""
    at = counters(q.shape)
    one = scalar.select(scalar.eq(at[-1], at[-2]), Const(1.0, q.dtype), Const(0.0, q.dtype))
    return Described(nested(at, (Store(q.buffer, at, one),)))
