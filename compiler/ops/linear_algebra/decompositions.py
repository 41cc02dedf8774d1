"""Spectral decompositions of matrices: singular values and eigenvalues, with their vectors.

Small matrices are decomposed by rotations, vectors of matrices at a time (`algorithms/jacobi.py`), larger
ones by reflections and QR iterations (`algorithms/tridiagonal.py`, `algorithms/bidiagonal.py`).

The derivatives divide by singular values, and by differences of eigenvalues or of squared singular values. If
such a number is 0 up to rounding, its reciprocal counts as 0. The first derivative is then right for a loss
that does not depend on which vectors were chosen for equal values, for example a sum of functions of the
values, or a projector. Other losses have no derivative there.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from staticgraph.compiler.graph.dtypes import float32, float64
from staticgraph.compiler.graph.opdef import ops
from staticgraph.compiler.graph.shapes import TensorType, broadcast
from staticgraph.compiler.graph.sizes import AnySize, Size, proven, same
from staticgraph.compiler.kernel.expr import Expr
from staticgraph.compiler.kernel.stmt import Store
from staticgraph.compiler.ops.kinds import Described, Out, View, composite, routine
from staticgraph.compiler.ops.linear_algebra.algorithms import bidiagonal, jacobi, tridiagonal
from staticgraph.compiler.ops.linear_algebra.algorithms.block_reflectors import in_field as in_field_of
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
    telling,
)
from staticgraph.compiler.ops.samples import Sample, real
from staticgraph.compiler.ops.statements.strips import Body, Scratch, is_long

Place = tuple[Expr, ...]  # of a matrix in a batch

_NO_VALUES = "The singular value decomposition was not successful. The input might not be valid."
_NO_EIGENVALUES = "Self-adjoint eigen decomposition was not successful. The input might not be valid."

_SMALL = 8  # rows of a matrix that rotations alone decompose
_SMALL_OF_MANY = 24  # the same, if it is one of a batch


def _reciprocal(x: Any, scale: Any) -> Any:
    """1 / x, and 0 where x is 0 up to the rounding of numbers of the size of `scale`."""
    n, eps = x.shape[-1], float(np.finfo(x.dtype.numpy).eps)
    rounding = scale * eps * n if isinstance(n, Size) else scale * (n * eps)
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


def _svd_type(input: TensorType, compute_uv: bool, full_matrices: bool) -> tuple[TensorType, ...]:
    shape = matrices(input, square=False)
    dtype = input.dtype.real_dtype
    if shape is None:
        return TensorType(dtype, None), input, input
    rows, columns = shape[-2:]
    inner = least(rows, columns)
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
    if x.shape[-2] < x.shape[-1]:
        values, right, left = _svd(np.swapaxes(x, -1, -2).conj(), compute_uv, full_matrices)
        return values, left, right
    q, r = np.linalg.qr(wide, "complete" if full_matrices else "reduced")
    k = x.shape[-1]
    u, s, vh = np.linalg.svd(r[..., :k, :])
    v = np.swapaxes(vh, -1, -2).conj()
    factor = _signs(v)
    u = np.concatenate([q[..., :k] @ (u * factor), q[..., k:]], axis=-1)
    return s.astype(real_dtype), u.astype(x.dtype), (v * factor).astype(x.dtype)


def _signs(vectors: np.ndarray) -> Any:
    """Factors of columns that make the first number of each that is not small positive."""
    if not vectors.size:
        return 1.0
    sizes = np.abs(vectors)
    first = (sizes >= 0.3 * sizes.max(axis=-2, keepdims=True)).argmax(axis=-2)
    numbers = np.take_along_axis(vectors, first[..., None, :], -2)
    return numbers.conj() / np.abs(numbers)


def _svd_grad(g: Any, y: Any, x: Any, compute_uv: bool, full_matrices: bool) -> tuple[Any]:
    """U (F * skew(U^H G_U) S + S F * skew(V^H G_V) + diag(G_s)) V^H with F = 1 / (s_j^2 - s_i^2).

    What the vectors gain outside of their own span comes on top. The further columns of square U and V follow
    the first ones. A complex loss must not depend on the common phase of a column of U and of V.
    """
    if is_empty(x.shape):
        return (ops.zeros_like(x),)
    by_values, by_left, by_right = g
    if not compute_uv:
        y, by_left, by_right = svd(x), None, None
    values, left, right = y
    dtype, k = x.dtype, min(x.shape[-2:])
    (left, by_left), (right, by_right) = _first(left, by_left, k), _first(right, by_right, k)
    squares, reciprocal = values * values, in_field(_reciprocal(values, _largest(values)), dtype)
    gaps = in_field(_reciprocal(_row(squares) - _column(squares), _row(_largest(squares))), dtype)
    s = in_field(values, dtype)
    inner = 0.0 if by_values is None else ops.matrix_diag(in_field(by_values, dtype))
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
    if same(vectors.shape[-1], k):
        return vectors[..., :k] if isinstance(k, int) else vectors, g
    first, rest = block(vectors, columns=(0, k)), block(vectors, columns=(k, None))
    if g is None:
        return first, g
    return first, block(g, columns=(0, k)) - product(
        rest, product(block(g, columns=(k, None)), first, adj_a=True)
    )


def _outside(vectors: Any, g: Any) -> Any:
    """The part of the columns of `g` that is orthogonal to all `vectors`."""
    return g - product(vectors, product(vectors, g, adj_a=True))


def _element(input: View) -> Callable[..., Expr]:
    """A function of the place of a matrix in its batch and a place in it: the number there."""
    return lambda at, i, j: input[(*at, i, j)]


def _put(out: Out) -> Callable[..., Store]:
    """A function of the place of a matrix in its batch, a place in its result, and the number for it."""

    def put(at: Place, *place_and_number: Expr) -> Store:
        *place, number = place_and_number
        return Store(out.buffer, (*at, *place), number)

    return put


def _square_type(input: TensorType, compute_uv: bool) -> tuple[TensorType, ...]:
    matrices(input)
    return _svd_type(input, compute_uv, False)


@routine(
    type=_square_type, dtypes=FIELDS, differentiable=False, closed_on_gpu=2, long=is_long,
    numpy=telling(_NO_VALUES, lambda x, compute_uv: _svd(x, compute_uv, False)),
    samples=[
        Sample(real(3, 3), compute_uv=True), Sample(real(2, 2, 2), compute_uv=False),
        Sample(real(0, 2, 2), compute_uv=True), Sample(real(35, 35), compute_uv=True),
        Sample(real(3, 2, 9, 9), compute_uv=True),
    ],
)  # fmt: skip
def square_svd(outs: tuple[Out, ...], input: View, *, compute_uv: bool) -> Described | tuple[()]:
    """Singular values of square matrices in falling order, and left and right singular vectors as columns.

    Without `compute_uv` there are no vectors.
    """
    values, left, right = outs
    if is_empty(input.shape):
        return ()
    n, batch = input.shape[-1], input.shape[:-2]
    element, put_value = _element(input), _put(values)
    put_left, put_right = (_put(left), _put(right)) if compute_uv else (None, None)
    if is_small(n, batch) and not input.dtype.is_complex:
        return jacobi.decomposed(
            n, batch, element, put_value, put_left, put_right, symmetric=False, dtype=input.dtype
        )

    def of(at: Batch, alone: bool) -> tuple[Body, Scratch]:
        puts = (partial(put_left, at), partial(put_right, at)) if put_left and put_right else None
        return bidiagonal.singular_values(
            n, partial(element, at), partial(put_value, at), puts, not alone, input.dtype
        )

    return of_each(input, n, None, of)


@composite(
    tf="Svd", type=_svd_type, closed_on_gpu=2, numpy=telling(_NO_VALUES, _svd), dtypes=FIELDS, grad=_svd_grad,
    requires=lambda input, **_: [ops.decomposable(input, of="svd")],
    samples=[Sample(real(3, 2)), Sample(real(2, 2, 3), full_matrices=True),
             Sample(real(2, 3), compute_uv=False), Sample(real(3, 0, 2)),
             Sample(real(2, 0), full_matrices=True), Sample(real(5, 4, 2), full_matrices=True)],
)
def svd(input: Any, *, compute_uv: bool = True, full_matrices: bool = False) -> Any:
    """Singular values s, and U and V with U diag(s) V^H = input.

    With `full_matrices` U and V are square. Without `compute_uv` they are empty.
    """
    rows, columns = input.shape[-2:]
    if rows < columns:
        s, u, v = svd(adjoint(input), compute_uv=compute_uv, full_matrices=full_matrices)
        return s, v, u
    if rows == columns:
        return ops.square_svd(input, compute_uv=compute_uv)
    q, r = ops.qr(input, full_matrices=full_matrices)
    s, u, v = ops.square_svd(block(r, rows=(0, columns)), compute_uv=compute_uv)
    if not compute_uv:
        return s, u, v
    u = product(block(q, columns=(0, columns)), u)
    if full_matrices:
        u = ops.concat([u, block(q, columns=(columns, None))], axis=input.rank - 1)
    return s, u, v


def is_small(n: AnySize, batch: Any) -> bool:
    """Return True if rotations alone are the fastest way to decompose matrices of `n` rows."""
    alone = all(same(size, 1) for size in batch)
    return proven(operator.le, n, _SMALL if alone else _SMALL_OF_MANY)


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
    return values.astype(x.dtype), (vectors * _signs(vectors)).astype(x.dtype)


def _eig_grad(g: Any, y: Any, x: Any, compute_v: bool) -> tuple[Any]:
    """V (diag(G_e) + F * V^H G_V) V^H with F = 1 / (e_j - e_i).

    It is folded into the lower half of the matrix, since only that half is read.
    """
    if is_empty(x.shape):
        return (ops.zeros_like(x),)
    by_values, by_vectors = g
    values, vectors = y if compute_v else self_adjoint_eig(x)
    values, dtype = real_part(values), x.dtype
    inner = 0.0 if by_values is None else ops.matrix_diag(in_field(real_part(by_values), dtype))
    if compute_v and by_vectors is not None:
        gaps = in_field(_reciprocal(_row(values) - _column(values), _row(_largest(values))), dtype)
        inner = inner + product(vectors, by_vectors, adj_a=True) * gaps
    by_x = product(product(vectors, inner), vectors, adj_b=True)
    lower = ops.matrix_band_part(by_x + adjoint(by_x), num_lower=-1, num_upper=0)
    return (ops.matrix_set_diag(lower, in_field(real_part(ops.matrix_diag_part(by_x)), dtype)),)


@routine(
    tf="SelfAdjointEigV2", type=_eig_type, closed_on_gpu=2, dtypes=FIELDS, grad=_eig_grad, long=is_long,
    numpy=telling(_NO_EIGENVALUES, _eig),
    requires=lambda input, **_: [
        ops.decomposable(ops.matrix_band_part(input, num_lower=-1, num_upper=0), of="self_adjoint_eig")
    ],
    samples=[Sample(real(3, 3)), Sample(real(2, 2, 2), compute_v=False), Sample(real(2, 1, 1)),
             Sample(real(0, 2, 2)), Sample(real(35, 35)), Sample(real(3, 2, 9, 9))],
)
def self_adjoint_eig(outs: tuple[Out, ...], input: View, *, compute_v: bool = True) -> Described | tuple[()]:
    """Eigenvalues in rising order, and eigenvectors as columns, of self-adjoint matrices.

    Only the lower half is read. Without `compute_v` the second result is empty.
    """
    values, vectors = outs
    if is_empty(input.shape):
        return ()
    n, batch = input.shape[-1], input.shape[:-2]
    element, put_value = _element(input), _put(values)
    put_vector = _put(vectors) if compute_v else None
    if is_small(n, batch) and not input.dtype.is_complex:
        return jacobi.decomposed(
            n, batch, element, put_value, None, put_vector, symmetric=True, dtype=input.dtype
        )

    def of(at: Batch, alone: bool) -> tuple[Body, Scratch]:
        put = put_vector and partial(put_vector, at)
        return tridiagonal.symmetric_eigenvalues(
            n,
            partial(element, at),
            lambda i, value: put_value(at, i, in_field_of(value, input.dtype)),
            put,
            not alone,
            input.dtype,
        )

    return of_each(input, n, None, of)


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
    type=_pseudo_inverse_type, closed_on_gpu=2, numpy=telling(_NO_VALUES, _pseudo_inverse),
    requires=lambda input, rcond: [ops.decomposable(input, of="pseudo_inverse")], grad=_pseudo_inverse_grad,
    differentiable=(0,), vars={"rcond": "R"}, dtypes={"T": FIELDS, "R": frozenset({float32, float64})},
    samples=[Sample(real(3, 2), real(low=0.0, high=0.0)), Sample(real(2, 2, 3), real(2, low=0.0, high=0.1)),
             Sample(real(0, 2, 2), real(low=0.0, high=0.0))],
)
def pseudo_inverse(input: Any, rcond: Any) -> Any:
    """The Moore-Penrose inverses of matrices.

    Singular values up to `rcond` times the greatest one count as zero. There is no gradient by `rcond`.
    """
    values, left, right = svd(input)
    counts = values > _column(ops.cast(rcond, dtype=values.dtype)) * _largest(values)
    inverted = ops.select(counts, 1.0 / ops.select(counts, values, 1.0), 0.0)
    return product(right * in_field(_row(inverted), input.dtype), left, adj_b=True)
