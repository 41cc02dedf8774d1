"""Orthogonal decompositions of matrices: QR, singular values, eigenvalues.

LAPACK computes singular values and eigenvalues on the host. QR is generated code: `ops/reflections.py`.

The derivatives divide by singular values, and by differences of eigenvalues or of squared singular values. If
such a number is 0 up to rounding, its reciprocal counts as 0. The first derivative is then right for a loss
that does not depend on which vectors LAPACK chose for equal values, for example a sum of functions of the
values, or a projector. Other losses have no derivative there.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from staticgraph.compiler.graph.dtypes import float32, float64
from staticgraph.compiler.graph.opdef import ops
from staticgraph.compiler.graph.shapes import TensorType, broadcast
from staticgraph.compiler.kernel import scalar
from staticgraph.compiler.kernel.expr import Const
from staticgraph.compiler.kernel.stmt import Store
from staticgraph.compiler.ops.factors import Batch, is_empty, of_each
from staticgraph.compiler.ops.kinds import Described, Out, View, composite, on_host, routine
from staticgraph.compiler.ops.lapack import FIELDS, adjoint, matrices, product, telling, widened
from staticgraph.compiler.ops.loops import counters, nested
from staticgraph.compiler.ops.reflections import orthogonal_factors
from staticgraph.compiler.ops.samples import Sample, real
from staticgraph.compiler.ops.strips import Body, Scratch


def _real(x: Any) -> Any:
    return ops.real(x) if x.dtype.is_complex else x


def _as(x: Any, dtype: Any) -> Any:
    """Real numbers as numbers of `dtype`."""
    return ops.complex(x, 0.0) if dtype.is_complex else x


def _reciprocal(x: Any, scale: Any) -> Any:
    """1 / x, and 0 where x is 0 up to the rounding of numbers of the size of `scale`."""
    rounding = scale * (x.shape[-1] * float(np.finfo(x.dtype.numpy).eps))
    counts = ops.greater(ops.abs(x), rounding)
    return ops.select(counts, 1.0 / ops.select(counts, x, 1.0), 0.0)


def _largest(values: Any) -> Any:
    """The largest absolute value of each row, as a column of one element."""
    return ops.reduce_max(ops.abs(values), axis=-1, keepdims=True)


def _column(x: Any) -> Any:
    return ops.expand_dims(x, axis=-1)


def _row(x: Any) -> Any:
    return ops.expand_dims(x, axis=-2)


def _skew(x: Any) -> Any:
    return x - adjoint(x)


def _least(a: int | None, b: int | None) -> int | None:
    return None if a is None or b is None else min(a, b)


def _qr_type(input: TensorType, full_matrices: bool) -> tuple[TensorType, TensorType]:
    shape = matrices(input, square=False)
    if shape is None:
        return input, input
    rows, columns = shape[-2:]
    inner = rows if full_matrices else _least(rows, columns)
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
    if 0 in x.shape:
        return (ops.zeros_like(x),)
    q, r = y
    by_q, by_r = (ops.zeros_like(each) if part is None else part for part, each in zip(g, y, strict=True))
    n = min(rows, columns)
    if columns > rows:
        by_rest = by_r[..., n:]
        by_q = by_q + product(x[..., n:], by_rest, adj_b=True)
    elif full_matrices:
        rest, by_rest = q[..., n:], by_q[..., n:]
        q, by_q = q[..., :n], by_q[..., :n]
        by_q = by_q - product(rest, product(by_rest, q, adj_a=True))
    r, by_r = r[..., :n, :n], by_r[..., :n, :n]
    turned = product(r, by_r, adj_b=True) - product(by_q, q, adj_a=True)
    lower = turned * np.tril(np.ones((n, n)), -1).astype(x.dtype.numpy)
    diagonal = _as(_real(ops.matrix_diag_part(turned)), x.dtype)
    by_x = _triangular_part(by_q + product(q, lower + adjoint(lower) + ops.matrix_diag(diagonal)), r)
    return (ops.concat([by_x, product(q, by_rest)], axis=x.rank - 1) if columns > rows else by_x,)


@routine(
    tf="Qr", type=_qr_type, dtypes=FIELDS, grad=_qr_grad, long=lambda input: True,
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
    (rows, columns), width = map(operator.index, input.shape[-2:]), operator.index(q.shape[-1])
    if 0 in (rows, columns):
        return _unit(q)

    def factors(batch: Batch, alone: bool) -> tuple[Body, Scratch]:
        return orthogonal_factors(
            rows, columns, width,
            lambda i, j: input[(*batch, i, j)],
            lambda i, j, x: Store(q.buffer, (*batch, i, j), x),
            lambda i, j, x: Store(r.buffer, (*batch, i, j), x),
            not alone, q.dtype,
        )

    return of_each(q, rows, None, factors)


def _unit(q: Out) -> Described:
    """The statements that make unit matrices of Q, which a matrix without columns has."""
    at = counters(q.shape)
    one = scalar.select(scalar.eq(at[-1], at[-2]), Const(1.0, q.dtype), Const(0.0, q.dtype))
    return Described(nested(at, (Store(q.buffer, at, one),)))


def _svd_type(input: TensorType, compute_uv: bool, full_matrices: bool) -> tuple[TensorType, ...]:
    shape = matrices(input, square=False)
    dtype = input.dtype.real_dtype
    if shape is None:
        return TensorType(dtype, None), input, input
    rows, columns = shape[-2:]
    inner = _least(rows, columns)
    values = TensorType(dtype, (*shape[:-2], inner))
    if not compute_uv:
        return values, TensorType(input.dtype, (0,)), TensorType(input.dtype, (0,))
    left = TensorType(input.dtype, (*shape[:-1], rows if full_matrices else inner))
    return values, left, TensorType(input.dtype, (*shape[:-2], columns, columns if full_matrices else inner))


def _svd(x: np.ndarray, compute_uv: bool, full_matrices: bool) -> tuple[np.ndarray, ...]:
    wide = x.astype(np.complex128 if x.dtype.kind == "c" else np.float64)
    real_dtype = x.real.dtype
    if not compute_uv:
        values = np.linalg.svd(wide, compute_uv=False).astype(real_dtype)
        return values, np.zeros(0, x.dtype), np.zeros(0, x.dtype)
    u, s, vh = np.linalg.svd(wide, full_matrices=full_matrices)
    return s.astype(real_dtype), u.astype(x.dtype), np.swapaxes(vh, -1, -2).conj().astype(x.dtype)


def _svd_grad(g: Any, y: Any, x: Any, compute_uv: bool, full_matrices: bool) -> tuple[Any]:
    """U (F * skew(U^H G_U) S + S F * skew(V^H G_V) + diag(G_s)) V^H with F = 1 / (s_j^2 - s_i^2).

    What the vectors gain outside of their own span comes on top. The further columns of square U and V follow
    the first ones. A complex loss must not depend on the common phase of a column of U and of V.
    """
    if 0 in x.shape:
        return (ops.zeros_like(x),)
    by_values, by_left, by_right = g
    if not compute_uv:
        y, by_left, by_right = svd(x), None, None
    values, left, right = y
    dtype, k = x.dtype, min(x.shape[-2:])
    (left, by_left), (right, by_right) = _first(left, by_left, k), _first(right, by_right, k)
    squares, reciprocal = values * values, _as(_reciprocal(values, _largest(values)), dtype)
    gaps = _as(_reciprocal(_row(squares) - _column(squares), _row(_largest(squares))), dtype)
    s = _as(values, dtype)
    inner = 0.0 if by_values is None else ops.matrix_diag(_as(by_values, dtype))
    if by_left is not None:
        turns = _skew(product(left, by_left, adj_a=True))
        inner = inner + turns * gaps * _row(s)
        if dtype.is_complex:
            inner = inner + ops.matrix_diag(ops.matrix_diag_part(turns) * reciprocal * 0.5)
    if by_right is not None:
        inner = inner + _column(s) * gaps * _skew(product(right, by_right, adj_a=True))
    by_x = product(product(left, inner), right, adj_b=True)
    if by_left is not None:
        by_x = by_x + product(_outside(left, by_left * _row(reciprocal)), right, adj_b=True)
    if by_right is not None:
        by_x = by_x + product(left, _outside(right, by_right * _row(reciprocal)), adj_b=True)
    return (by_x,)


def _first(vectors: Any, g: Any, k: int) -> tuple[Any, Any]:
    """The first k columns, and their cotangent: the others are orthogonal to them whatever they are."""
    first, rest = vectors[..., :k], vectors[..., k:]
    if g is None or vectors.shape[-1] == k:
        return first, g
    return first, g[..., :k] - product(rest, product(g[..., k:], first, adj_a=True))


def _outside(vectors: Any, g: Any) -> Any:
    """The part of the columns of `g` that is orthogonal to all `vectors`."""
    return g - product(vectors, product(vectors, g, adj_a=True))


@on_host(
    tf="Svd",
    type=_svd_type,
    numpy=telling("The singular value decomposition was not successful. The input might not be valid.", _svd),
    dtypes=FIELDS,
    grad=_svd_grad,
    samples=[
        Sample(real(3, 2)),
        Sample(real(2, 2, 3), full_matrices=True),
        Sample(real(2, 3), compute_uv=False),
    ],
)
def svd(input: Any, *, compute_uv: bool = True, full_matrices: bool = False) -> Any:
    """Singular values s, and U and V with U diag(s) V^H = input.

    With `full_matrices` U and V are square. Without `compute_uv` they are empty.
    """


def _eig_type(input: TensorType, compute_v: bool) -> tuple[TensorType, TensorType]:
    shape = matrices(input)
    if shape is None:
        return TensorType(input.dtype, None), input
    values = TensorType(input.dtype, shape[:-1])
    return values, input if compute_v else TensorType(input.dtype, (0,))


def _eig(x: np.ndarray, compute_v: bool) -> tuple[np.ndarray, np.ndarray]:
    wide = x.astype(np.complex128 if x.dtype.kind == "c" else np.float64)
    if not compute_v:
        return np.linalg.eigvalsh(wide).astype(x.dtype), np.zeros(0, x.dtype)
    values, vectors = np.linalg.eigh(wide)
    return values.astype(x.dtype), vectors.astype(x.dtype)


def _eig_grad(g: Any, y: Any, x: Any, compute_v: bool) -> tuple[Any]:
    """V (diag(G_e) + F * V^H G_V) V^H with F = 1 / (e_j - e_i).

    It is folded into the lower half of the matrix, since only that half is read.
    """
    if 0 in x.shape:
        return (ops.zeros_like(x),)
    by_values, by_vectors = g
    values, vectors = y if compute_v else self_adjoint_eig(x)
    values, dtype = _real(values), x.dtype
    inner = 0.0 if by_values is None else ops.matrix_diag(_as(_real(by_values), dtype))
    if compute_v and by_vectors is not None:
        gaps = _as(_reciprocal(_row(values) - _column(values), _row(_largest(values))), dtype)
        inner = inner + product(vectors, by_vectors, adj_a=True) * gaps
    by_x = product(product(vectors, inner), vectors, adj_b=True)
    lower = ops.matrix_band_part(by_x + adjoint(by_x), num_lower=-1, num_upper=0)
    return (ops.matrix_set_diag(lower, _as(_real(ops.matrix_diag_part(by_x)), dtype)),)


@on_host(
    tf="SelfAdjointEigV2", type=_eig_type, dtypes=FIELDS, grad=_eig_grad,
    numpy=telling(
        "Self-adjoint eigen decomposition was not successful. The input might not be valid.", _eig
    ),
    samples=[Sample(real(3, 3)), Sample(real(2, 2, 2), compute_v=False), Sample(real(2, 1, 1))],
)
def self_adjoint_eig(input: Any, *, compute_v: bool = True) -> Any:
    """Eigenvalues in rising order, and eigenvectors as columns, of self-adjoint matrices.

    Without `compute_v` the second result is empty.
    """


def _pseudo_inverse_type(input: TensorType, rcond: TensorType) -> TensorType:
    shape = matrices(input, square=False)
    if shape is None or rcond.shape is None:
        return TensorType(input.dtype, None)
    batch = broadcast(shape[:-2], rcond.shape)
    return TensorType(input.dtype, None if batch is None else (*batch, shape[-1], shape[-2]))


def _pseudo_inverse(x: np.ndarray, rcond: np.ndarray) -> np.ndarray:
    left, values, right = np.linalg.svd(x.astype(np.complex128 if x.dtype.kind == "c" else np.float64), False)
    least = rcond[..., None] * values.max(axis=-1, keepdims=True, initial=0)
    counts = values > least
    inverted = np.where(counts, 1 / np.where(counts, values, 1), 0)
    made = (np.swapaxes(right, -1, -2).conj() * inverted[..., None, :]) @ np.swapaxes(left, -1, -2).conj()
    return made.astype(x.dtype)


def _pseudo_inverse_grad(g: Any, y: Any, x: Any, rcond: Any) -> tuple[Any, None]:
    """-P^H G P^H, and what the row and the column space gain (Golub and Pereyra, 1973); the rank stays."""
    to_rows = product(g, product(y, y, adj_b=True), adj_a=True)
    to_columns = product(product(y, y, adj_a=True), g, adj_b=True)
    inner = product(product(y, g, adj_a=True), y, adj_b=True)
    by_x = to_rows - product(x, product(y, to_rows)) + to_columns - product(product(to_columns, y), x) - inner
    return by_x, None


@composite(
    type=_pseudo_inverse_type, numpy=_pseudo_inverse, grad=_pseudo_inverse_grad, differentiable=(0,),
    vars={"rcond": "R"}, dtypes={"T": FIELDS, "R": frozenset({float32, float64})},
    samples=[
        Sample(real(3, 2), real(low=0.0, high=0.0)),
        Sample(real(2, 2, 3), real(2, low=0.0, high=0.1)),
        Sample(real(0, 2, 2), real(low=0.0, high=0.0)),
    ],
)
def pseudo_inverse(input: Any, rcond: Any) -> Any:
    """The Moore-Penrose inverses of matrices.

    Singular values up to `rcond` times the greatest one count as zero. There is no gradient by `rcond`.
    """
    values, left, right = svd(input)
    counts = values > _column(ops.cast(rcond, dtype=values.dtype)) * _largest(values)
    inverted = ops.select(counts, 1.0 / ops.select(counts, values, 1.0), 0.0)
    return product(right * _as(_row(inverted), input.dtype), left, adj_b=True)
