"""Decompositions, inverses and solutions of square systems.
NumPy, and LAPACK below it, computes them on the host.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from staticgraph.compiler.graph.dtypes import complex64, complex128, float32, float64
from staticgraph.compiler.graph.errors import RuleError, require
from staticgraph.compiler.graph.opdef import ops
from staticgraph.compiler.graph.shapes import Shape, TensorType, broadcast, shape_text
from staticgraph.compiler.ops.kinds import on_host
from staticgraph.compiler.ops.linalg import conjugate
from staticgraph.compiler.ops.samples import Sample, real

_REAL = frozenset({float32, float64})
_FIELDS = _REAL | {complex64, complex128}


def _matrices(x: TensorType, name: str = "input", square: bool = True) -> Shape | None:
    """For type rules: the shape of a batch of matrices."""
    if x.shape is None:
        return None
    require(len(x.shape) >= 2, f"{name} has rank {x.rank}, at least 2 is needed")
    rows, columns = x.shape[-2:]
    fits = not square or rows is None or columns is None or rows == columns
    hint = "matmul(x, x, transpose_a=True) is square; lstsq solves systems that are not"
    require(fits, f"{name} has shape {shape_text(x.shape)}, its matrices must be square", hint)
    return x.shape


def _square_type(input: TensorType, **_: Any) -> TensorType:
    _matrices(input)
    return input


def telling(what: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, with TF1's words for where LAPACK gives up."""

    def run(*args: Any, **attrs: Any) -> Any:
        try:
            return function(*args, **attrs)
        except np.linalg.LinAlgError:
            hint = "look for NaN, and for rows that depend on each other: adding 1e-6 * eye(n) may help"
            raise RuleError(f"{what} Shape: {list(args[0].shape)}", hint) from None

    return run


def _wide(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function in double precision, its results in that of the input."""

    def run(x: np.ndarray, **attrs: Any) -> Any:
        made = function(x.astype(np.complex128 if x.dtype.kind == "c" else np.float64), **attrs)
        if isinstance(made, tuple):
            return tuple(np.asarray(m).astype(x.dtype) for m in made)
        return np.asarray(made).astype(x.dtype)

    return run


def adjoint(x: Any) -> Any:
    """The conjugate transposes of matrices."""
    return conjugate(ops.transpose(x, perm=(*range(x.rank - 2), x.rank - 1, x.rank - 2)))


def _product(a: Any, b: Any, adj_a: bool = False, adj_b: bool = False) -> Any:
    return ops.batch_matmul(a, b, adj_x=adj_a, adj_y=adj_b)


def _adjoint(x: np.ndarray) -> np.ndarray:
    return np.swapaxes(x, -1, -2).conj()


# Random matrices of one element are the ones that are sure to be well conditioned and positive definite.
_SQUARE = [
    Sample(real(1, 1, low=1.0, high=2.0)),
    Sample(real(2, 3, 1, 1, low=1.0, high=2.0)),
    Sample(real(0, 2, 2)),
]


def _inverse_grad(g: Any, y: Any, x: Any, adjoint: bool) -> tuple[Any]:
    turned = _product(g, y, adj_b=True) if adjoint else _product(y, g, adj_a=True)
    return (-(_product(y, turned) if adjoint else _product(turned, y, adj_b=True)),)


@on_host(
    tf="MatrixInverse", type=_square_type, dtypes=_FIELDS, samples=_SQUARE, grad=_inverse_grad,
    numpy=telling(
        "Input is not invertible.",
        _wide(lambda x, adjoint: _adjoint(np.linalg.inv(x)) if adjoint else np.linalg.inv(x)),
    ),
)  # fmt: skip
def matrix_inverse(input: Any, *, adjoint: bool = False) -> Any:
    """Inverses of square matrices; with `adjoint`, their adjoints."""


def _per_matrix(x: Any, numbers: Any) -> Any:
    """One number per matrix, in a shape that broadcasts against the matrices."""
    return ops.reshape(numbers, shape=(*numbers.shape, 1, 1))


def _determinant_type(input: TensorType) -> TensorType:
    shape = _matrices(input)
    return TensorType(input.dtype, None if shape is None else shape[:-2])


@on_host(
    tf="MatrixDeterminant",
    type=_determinant_type,
    numpy=_wide(np.linalg.det),
    dtypes=_FIELDS,
    samples=_SQUARE,
    grad=lambda g, y, x: (_per_matrix(x, g * conjugate(y)) * matrix_inverse(x, adjoint=True),),
)
def matrix_determinant(input: Any) -> Any:
    """Determinants of square matrices."""


def _log_determinant_type(input: TensorType) -> tuple[TensorType, TensorType]:
    return _determinant_type(input), _determinant_type(input)


@on_host(
    tf="LogMatrixDeterminant", type=_log_determinant_type, numpy=_wide(lambda x: tuple(np.linalg.slogdet(x))),
    dtypes=_REAL, samples=_SQUARE,
    grad=lambda g, y, x: (None if g[1] is None else _per_matrix(x, g[1]) * matrix_inverse(x, adjoint=True),),
)  # fmt: skip
def log_matrix_determinant(input: Any) -> Any:
    """Signs, and logarithms of the absolute values, of the determinants of square matrices."""


def _cholesky_grad(g: Any, y: Any, x: Any) -> tuple[Any]:
    """(M + M^H) / 2 with M = L^-H P L^-1, P the lower half of L^H g, its diagonal halved (Murray, 2016)."""
    n = x.shape[-1]
    lower = np.tril(np.ones((n, n), y.dtype.numpy)) - 0.5 * np.eye(n, dtype=y.dtype.numpy)
    half = _product(y, g, adj_a=True) * lower.astype(y.dtype.numpy)
    inverse = matrix_inverse(y)
    inner = _product(_product(inverse, half, adj_a=True), inverse)
    return ((inner + adjoint(inner)) * 0.5,)


@on_host(
    tf="Cholesky", type=_square_type, dtypes=_FIELDS, samples=_SQUARE, grad=_cholesky_grad,
    numpy=telling(
        "Cholesky decomposition was not successful. The input might not be valid.", _wide(np.linalg.cholesky)
    ),
)  # fmt: skip
def cholesky(input: Any) -> Any:
    """Lower triangular matrices L with L L^H = input, for positive definite matrices.

    Only the lower half is read.
    """


def _solution_type(matrix: TensorType, rhs: TensorType, **_: Any) -> TensorType:
    left, right = _matrices(matrix, "matrix"), _matrices(rhs, "rhs", square=False)
    if left is None or right is None:
        return rhs
    require(
        left[-1] is None or right[-2] is None or left[-1] == right[-2],
        f"matrix has {left[-1]} rows and rhs has {right[-2]}",
    )
    batch = broadcast(left[:-2], right[:-2])
    assert batch is not None
    return TensorType(rhs.dtype, batch + right[-2:])


def _solve(matrix: np.ndarray, rhs: np.ndarray, adjoint: bool) -> np.ndarray:
    wide = np.complex128 if matrix.dtype.kind == "c" else np.float64
    a = matrix.astype(wide)
    return np.linalg.solve(_adjoint(a) if adjoint else a, rhs.astype(wide)).astype(rhs.dtype)


def _solve_grad(g: Any, y: Any, matrix: Any, rhs: Any, adjoint: bool) -> tuple[Any, Any]:
    by_rhs = matrix_solve(matrix, g, adjoint=not adjoint)
    by_matrix = _product(y, by_rhs, adj_b=True) if adjoint else _product(by_rhs, y, adj_b=True)
    return -by_matrix, by_rhs


_SYSTEMS = [
    Sample(real(1, 1, low=1.0, high=2.0), real(1, 3)),
    Sample(real(2, 1, 1, low=1.0, high=2.0), real(2, 1, 2)),
    Sample(real(0, 2, 2), real(0, 2, 3)),
]


@on_host(
    tf="MatrixSolve",
    type=_solution_type,
    dtypes=_FIELDS,
    samples=_SYSTEMS,
    grad=_solve_grad,
    numpy=telling("Input matrix is not invertible.", _solve),
)
def matrix_solve(matrix: Any, rhs: Any, *, adjoint: bool = False) -> Any:
    """X with matrix X = rhs, or with the adjoint of the matrix."""


def _triangle(x: np.ndarray, lower: bool) -> np.ndarray:
    return np.tril(x) if lower else np.triu(x)


def _triangular_solve(matrix: np.ndarray, rhs: np.ndarray, lower: bool, adjoint: bool) -> np.ndarray:
    return _solve(_triangle(matrix, lower), rhs, adjoint)


def _triangular_grad(g: Any, y: Any, matrix: Any, rhs: Any, lower: bool, adjoint: bool) -> tuple[Any, Any]:
    by_rhs = matrix_triangular_solve(matrix, g, lower=lower, adjoint=not adjoint)
    by_matrix = _product(y, by_rhs, adj_b=True) if adjoint else _product(by_rhs, y, adj_b=True)
    n = matrix.shape[-1]
    return -by_matrix * _triangle(np.ones((n, n), matrix.dtype.numpy), lower), by_rhs


@on_host(
    tf="MatrixTriangularSolve",
    type=_solution_type,
    numpy=telling("Input matrix is not invertible.", _triangular_solve),
    dtypes=_FIELDS,
    samples=[*_SYSTEMS, Sample(real(3, 3, low=1.0, high=2.0), real(3, 2), lower=False)],
    grad=_triangular_grad,
)
def matrix_triangular_solve(matrix: Any, rhs: Any, *, lower: bool = True, adjoint: bool = False) -> Any:
    """X with matrix X = rhs, where only the `lower` triangle of the matrix counts, or else the upper one.

    With `adjoint` the adjoint of the triangle counts.
    """


def _least(a: int | None, b: int | None) -> int | None:
    return None if a is None or b is None else min(a, b)


def _qr_type(input: TensorType, full_matrices: bool) -> tuple[TensorType, TensorType]:
    shape = _matrices(input, square=False)
    if shape is None:
        return input, input
    rows, columns = shape[-2:]
    inner = rows if full_matrices else _least(rows, columns)
    return TensorType(input.dtype, (*shape[:-1], inner)), TensorType(
        input.dtype, (*shape[:-2], inner, columns)
    )


@on_host(
    tf="Qr", type=_qr_type, dtypes=_FIELDS, differentiable=False,
    numpy=_wide(lambda x, full_matrices: tuple(np.linalg.qr(x, "complete" if full_matrices else "reduced"))),
    samples=[Sample(real(3, 2)), Sample(real(2, 2, 3), full_matrices=True), Sample(real(1, 4))],
)  # fmt: skip
def qr(input: Any, *, full_matrices: bool = False) -> Any:
    """Matrices Q with orthonormal columns and upper triangular R with Q R = input. Has no gradient.

    With `full_matrices` Q is square, else it has as many columns as there can be.
    """


def _svd_type(input: TensorType, compute_uv: bool, full_matrices: bool) -> tuple[TensorType, ...]:
    shape = _matrices(input, square=False)
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
    return s.astype(real_dtype), u.astype(x.dtype), _adjoint(vh).astype(x.dtype)


@on_host(
    tf="Svd",
    type=_svd_type,
    numpy=telling("The singular value decomposition was not successful. The input might not be valid.", _svd),
    dtypes=_FIELDS,
    differentiable=False,
    samples=[
        Sample(real(3, 2)),
        Sample(real(2, 2, 3), full_matrices=True),
        Sample(real(2, 3), compute_uv=False),
    ],
)
def svd(input: Any, *, compute_uv: bool = True, full_matrices: bool = False) -> Any:
    """Singular values s, and U and V with U diag(s) V^H = input. Has no gradient.

    With `full_matrices` U and V are square. Without `compute_uv` they are empty.
    """


def _eig_type(input: TensorType, compute_v: bool) -> tuple[TensorType, TensorType]:
    shape = _matrices(input)
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


@on_host(
    tf="SelfAdjointEigV2", type=_eig_type, dtypes=_FIELDS, differentiable=False,
    numpy=telling(
        "Self-adjoint eigen decomposition was not successful. The input might not be valid.", _eig
    ),
    samples=[Sample(real(3, 3)), Sample(real(2, 2, 2), compute_v=False), Sample(real(2, 1, 1))],
)  # fmt: skip
def self_adjoint_eig(input: Any, *, compute_v: bool = True) -> Any:
    """Eigenvalues in rising order, and eigenvectors as columns, of self-adjoint matrices. Has no gradient.

    Without `compute_v` the second result is empty.
    """
