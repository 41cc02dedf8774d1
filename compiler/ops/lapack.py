"""Inverses, determinants and Cholesky factors of square matrices, and solutions of systems.
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

FIELDS = frozenset({float32, float64, complex64, complex128})


def matrices(x: TensorType, name: str = "input", square: bool = True) -> Shape | None:
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
    matrices(input)
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


def widened(function: Callable[..., Any]) -> Callable[..., Any]:
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


def product(a: Any, b: Any, adj_a: bool = False, adj_b: bool = False) -> Any:
    """The product of matrices, or of their adjoints."""
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
    """-Y^H G Y^H; with `adjoint`, where Y is the adjoint of the inverse, -Y G^H Y."""
    if adjoint:
        return (-product(product(y, g, adj_b=True), y),)
    return (-product(product(y, g, adj_a=True), y, adj_b=True),)


@on_host(
    tf="MatrixInverse", type=_square_type, dtypes=FIELDS, samples=_SQUARE, grad=_inverse_grad,
    grad_takes=(),
    numpy=telling(
        "Input is not invertible.",
        widened(lambda x, adjoint: _adjoint(np.linalg.inv(x)) if adjoint else np.linalg.inv(x)),
    ),
)
def matrix_inverse(input: Any, *, adjoint: bool = False) -> Any:
    """Inverses of square matrices; with `adjoint`, their adjoints."""


def _per_matrix(numbers: Any) -> Any:
    """One number per matrix, in a shape that broadcasts against the matrices."""
    return ops.reshape(numbers, shape=(*numbers.shape, 1, 1))


def _determinant_type(input: TensorType) -> TensorType:
    shape = matrices(input)
    return TensorType(input.dtype, None if shape is None else shape[:-2])


def _trace_of_product(a: Any, b: Any) -> Any:
    """tr(A^H B) of each pair of matrices, in a shape that broadcasts against them."""
    return ops.reduce_sum(conjugate(a) * b, axis=(-2, -1), keepdims=True)


def _cofactors(x: np.ndarray) -> np.ndarray:
    """From singular values: the product of all but one of them needs no division."""
    left, values, right = np.linalg.svd(x)
    ones = np.ones_like(values[..., :1])
    before = np.cumprod(np.concatenate([ones, values[..., :-1]], axis=-1), axis=-1)[..., : x.shape[-1]]
    after = np.cumprod(np.concatenate([ones, values[..., :0:-1]], axis=-1), axis=-1)[..., : x.shape[-1]]
    others = before * after[..., ::-1]
    phase = np.conj(np.linalg.det(left) * np.linalg.det(right))
    return phase[..., None, None] * (left * others[..., None, :]) @ right


def _cofactors_grad(g: Any, y: Any, x: Any) -> tuple[Any]:
    """tr(G^H W) C - C G^H W with W, the adjoint of the inverse: not defined for a singular matrix."""
    if x.shape[-1] < 2:
        return (ops.zeros_like(x),)
    inverse = matrix_inverse(x, adjoint=True)
    return (y * _trace_of_product(g, inverse) - product(product(y, g, adj_b=True), inverse),)


@on_host(type=_square_type, numpy=widened(_cofactors), dtypes=FIELDS, samples=_SQUARE, grad=_cofactors_grad)
def matrix_cofactors(input: Any) -> Any:
    """Derivatives of the determinants of square matrices by their elements; of singular matrices, too.

    For complex matrices they are conjugated.
    """


@on_host(
    tf="MatrixDeterminant", type=_determinant_type, numpy=widened(np.linalg.det), dtypes=FIELDS,
    samples=_SQUARE, grad=lambda g, y, x: (_per_matrix(g) * matrix_cofactors(x),),
)
def matrix_determinant(input: Any) -> Any:
    """Determinants of square matrices."""


def _log_determinant_type(input: TensorType) -> tuple[TensorType, TensorType]:
    return _determinant_type(input), _determinant_type(input)


def _log_determinant_grad(g: Any, y: Any, x: Any) -> tuple[Any]:
    """The sign of a real determinant is constant; the phase of a complex one turns with Im(tr(A^-1 dA))."""
    by_sign, by_log = g
    if x.dtype.is_complex:
        scale = 0.0 if by_log is None else ops.real(by_log)
        turn = 0.0 if by_sign is None else -ops.imag(ops.conj(by_sign) * y[0])
        by_log = ops.complex(scale, turn)
    return (None if by_log is None else _per_matrix(by_log) * matrix_inverse(x, adjoint=True),)


@on_host(
    tf="LogMatrixDeterminant", type=_log_determinant_type, numpy=widened(np.linalg.slogdet), dtypes=FIELDS,
    samples=_SQUARE, grad=_log_determinant_grad,
)
def log_matrix_determinant(input: Any) -> Any:
    """Signs, and logarithms of the absolute values, of the determinants of square matrices."""


def _cholesky_grad(g: Any, y: Any, x: Any) -> tuple[Any]:
    """(M + M^H) / 2 with M = L^-H P L^-1, P the lower half of L^H g, its diagonal halved (Murray, 2016)."""
    n = x.shape[-1]
    lower = np.tril(np.ones((n, n), y.dtype.numpy)) - 0.5 * np.eye(n, dtype=y.dtype.numpy)
    half = product(y, g, adj_a=True) * lower.astype(y.dtype.numpy)
    inverse = matrix_inverse(y)
    inner = product(product(inverse, half, adj_a=True), inverse)
    return ((inner + adjoint(inner)) * 0.5,)


@on_host(
    tf="Cholesky", type=_square_type, dtypes=FIELDS, samples=_SQUARE, grad=_cholesky_grad,
    numpy=telling(
        "Cholesky decomposition was not successful. The input might not be valid.",
        widened(np.linalg.cholesky),
    ),
)
def cholesky(input: Any) -> Any:
    """Lower triangular matrices L with L L^H = input, for positive definite matrices.

    Only the lower half is read.
    """


def _solution_type(matrix: TensorType, rhs: TensorType, **_: Any) -> TensorType:
    left, right = matrices(matrix, "matrix"), matrices(rhs, "rhs", square=False)
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
    by_matrix = product(y, by_rhs, adj_b=True) if adjoint else product(by_rhs, y, adj_b=True)
    return -by_matrix, by_rhs


_SYSTEMS = [
    Sample(real(1, 1, low=1.0, high=2.0), real(1, 3)),
    Sample(real(2, 1, 1, low=1.0, high=2.0), real(2, 1, 2)),
    Sample(real(0, 2, 2), real(0, 2, 3)),
]


@on_host(
    tf="MatrixSolve",
    type=_solution_type,
    dtypes=FIELDS,
    samples=_SYSTEMS,
    grad=_solve_grad,
    grad_takes=(),
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
    by_matrix = product(y, by_rhs, adj_b=True) if adjoint else product(by_rhs, y, adj_b=True)
    n = matrix.shape[-1]
    return -by_matrix * _triangle(np.ones((n, n), matrix.dtype.numpy), lower), by_rhs


@on_host(
    tf="MatrixTriangularSolve",
    type=_solution_type,
    numpy=telling("Input matrix is not invertible.", _triangular_solve),
    dtypes=FIELDS,
    samples=[*_SYSTEMS, Sample(real(3, 3, low=1.0, high=2.0), real(3, 2), lower=False)],
    grad=_triangular_grad,
)
def matrix_triangular_solve(matrix: Any, rhs: Any, *, lower: bool = True, adjoint: bool = False) -> Any:
    """X with matrix X = rhs, where only the `lower` triangle of the matrix counts, or else the upper one.

    With `adjoint` the adjoint of the triangle counts.
    """
