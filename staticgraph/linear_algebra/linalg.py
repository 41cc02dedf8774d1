"""Linear algebra, with TensorFlow 1's names: `sg.linalg`."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from staticgraph.arrays.array_ops import concat, rank
from staticgraph.arrays.creation import diag as tensor_diag
from staticgraph.arrays.creation import diag_part as tensor_diag_part
from staticgraph.arrays.creation import eye
from staticgraph.arrays.creation import matrix_band_part as band_part
from staticgraph.arrays.creation import matrix_diag as diag
from staticgraph.arrays.creation import matrix_diag_part as diag_part
from staticgraph.arrays.creation import matrix_set_diag as set_diag
from staticgraph.arrays.creation import range as range_of_numbers
from staticgraph.building.composites import answered_by_operators
from staticgraph.building.framework import checked, name_scope
from staticgraph.building.inputs import convert_to_tensor
from staticgraph.compiler import ops
from staticgraph.compiler.graph.errors import require
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.compiler.support.lazy_names import show_public_names
from staticgraph.linear_algebra.matrix_functions import (
    expm,
    lu,
    matrix_rank,
    pinv,
    sqrtm,
    tridiagonal_matmul,
    tridiagonal_solve,
)
from staticgraph.linear_algebra.norms import global_norm, l2_normalize, norm, normalize
from staticgraph.mathematics.products import einsum, matmul, matvec, tensordot
from staticgraph.mathematics.reductions import reduce_sum

__all__ = [
    "adjoint",
    "band_part",
    "cholesky",
    "cholesky_solve",
    "cross",
    "det",
    "diag",
    "diag_part",
    "eigh",
    "eigvalsh",
    "einsum",
    "expm",
    "eye",
    "global_norm",
    "inv",
    "l2_normalize",
    "logdet",
    "lstsq",
    "lu",
    "matmul",
    "matrix_rank",
    "matrix_transpose",
    "matvec",
    "norm",
    "normalize",
    "pinv",
    "qr",
    "set_diag",
    "slogdet",
    "solve",
    "sqrtm",
    "svd",
    "tensor_diag",
    "tensor_diag_part",
    "tensordot",
    "trace",
    "transpose",
    "triangular_solve",
    "tridiagonal_matmul",
    "tridiagonal_solve",
]


@answered_by_operators
def trace(x: Any, name: str | None = None) -> Tensor:
    """The sum of the diagonal of each matrix in the last two axes.

    >>> import staticgraph as sg
    >>> sg.trace(sg.ones([5, 3, 3])).shape.as_list()
    [5]
    """
    with name_scope(name, "Trace", [x]) as scope:
        return reduce_sum(ops.matrix_diag_part(convert_to_tensor(x, name="x")), [-1], name=scope)


def cross(a: Any, b: Any, name: str | None = None) -> Tensor:
    """The cross products of vectors of three elements in the last axis."""
    return ops.cross(a, b, name=name)


def matrix_transpose(a: Any, name: str | None = "matrix_transpose", conjugate: bool = False) -> Tensor:
    """The transposes of the matrices in the last two axes; with `conjugate` their adjoints.

    >>> import staticgraph as sg
    >>> sg.linalg.transpose(sg.ones([5, 2, 3])).shape.as_list()
    [5, 3, 2]
    """
    with name_scope(name, "matrix_transpose", [a]):
        a = convert_to_tensor(a, name="a")
        with checked("matrix_transpose"):
            ndims = a.shape.ndims
            require(ndims is None or ndims >= 2, f"a has shape {a.shape}, and needs a rank of at least 2")
        if ndims is None:  # known in a run
            count = rank(a)
            perm: Any = concat([range_of_numbers(count - 2), [count - 1, count - 2]], 0)
        else:
            perm = (*range(ndims - 2), ndims - 1, ndims - 2)
        turned = ops.transpose(a, perm=perm)
        return ops.conj(turned) if conjugate and turned.dtype.is_complex else turned


transpose = matrix_transpose


@answered_by_operators
def adjoint(matrix: Any, name: str | None = None) -> Tensor:
    """The conjugate transposes of the matrices in the last two axes."""
    with name_scope(name, "adjoint", [matrix]):
        return matrix_transpose(convert_to_tensor(matrix, name="matrix"), conjugate=True)


# Factors and solutions


@answered_by_operators
def inv(input: Any, adjoint: bool = False, name: str | None = None) -> Tensor:
    """The inverses of square matrices, or their adjoints.

    >>> sg.Session().run(sg.linalg.inv([[2.0, 0.0], [0.0, 4.0]]))
    array([[0.5 , 0.  ],
           [0.  , 0.25]], dtype=float32)
    """
    return ops.matrix_inverse(input, adjoint=adjoint, name=name)


@answered_by_operators
def det(input: Any, name: str | None = None) -> Tensor:
    """The determinants of square matrices."""
    return ops.matrix_determinant(input, name=name)


def slogdet(input: Any, name: str | None = None) -> tuple[Tensor, Tensor]:
    """The signs of the determinants of square matrices, and the logarithms of their absolute values."""
    return ops.log_matrix_determinant(input, name=name)


@answered_by_operators
def logdet(matrix: Any, name: str | None = None) -> Tensor:
    """The logarithms of the determinants of positive definite matrices."""
    with name_scope(name, "logdet", [matrix]):
        diagonal = ops.matrix_diag_part(ops.cholesky(matrix))
        return 2.0 * reduce_sum(ops.log(diagonal), axis=[-1])


@answered_by_operators
def cholesky(input: Any, name: str | None = None) -> Tensor:
    """The lower triangular L with L L^H = input, for positive definite matrices.

    >>> sg.Session().run(sg.cholesky([[4.0, 2.0], [2.0, 5.0]]))
    array([[2., 0.],
           [1., 2.]], dtype=float32)
    """
    return ops.cholesky(input, name=name)


def cholesky_solve(chol: Any, rhs: Any, name: str | None = None) -> Tensor:
    """X with A X = rhs, where `chol` is the `cholesky` of A."""
    with name_scope(name, "cholesky_solve", [chol, rhs]):
        inner = ops.matrix_triangular_solve(chol, rhs)
        return ops.matrix_triangular_solve(chol, inner, adjoint=True)


@answered_by_operators
def solve(matrix: Any, rhs: Any, adjoint: bool = False, name: str | None = None) -> Tensor:
    """The X with matrix X = rhs, for square matrices [..., n, n] and right sides [..., n, k].

    >>> sg.Session().run(sg.matrix_solve([[2.0, 0.0], [0.0, 4.0]], [[2.0], [2.0]]))
    array([[1. ],
           [0.5]], dtype=float32)
    """
    return ops.matrix_solve(matrix, rhs, adjoint=adjoint, name=name)


def triangular_solve(
    matrix: Any, rhs: Any, lower: bool = True, adjoint: bool = False, name: str | None = None
) -> Tensor:
    """X with matrix X = rhs, where only the lower (or upper) triangle of the matrix counts."""
    return ops.matrix_triangular_solve(matrix, rhs, lower=lower, adjoint=adjoint, name=name)


def lstsq(
    matrix: Any, rhs: Any, l2_regularizer: Any = 0.0, fast: bool = True, name: str | None = None
) -> Tensor:
    """X that minimises |matrix X - rhs|^2 + l2_regularizer |X|^2, by the normal equations.

    If the graph does not know which of m and n is greater, it has both forms of the equations, and a run
    takes one of them.

    Args:
        matrix: The matrices [..., m, n].
        rhs: The right sides [..., m, k], of the same dtype.
        l2_regularizer: A number or a scalar tensor, 0.0 by default.
        fast: Of no effect.
        name: The name of the scope, "matrix_solve_ls" by default.

    Returns:
        The solutions [..., n, k]. Of several the smallest, if m is less than n.

    Raises:
        ShapeError: The matrix has fewer than two axes.
        InvalidArgumentError: Rows and columns both depend on each other, in a run.

    >>> import staticgraph as sg
    >>> sg.Session().run(sg.matrix_solve_ls([[1.0], [1.0]], [[2.0], [4.0]]))
    array([[3.]], dtype=float32)
    """
    with name_scope(name, "matrix_solve_ls", [matrix, rhs, l2_regularizer]):
        matrix = convert_to_tensor(matrix, name="matrix")
        rhs = convert_to_tensor(rhs, dtype=matrix.dtype, name="rhs")
        with checked("lstsq"):
            rank = matrix.shape.ndims
            require(rank is None or rank >= 2, f"matrix has rank {rank}, at least 2 is needed")
        weight: Any
        if isinstance(l2_regularizer, Tensor):
            weight = ops.cast(l2_regularizer, dtype=matrix.dtype)
        else:
            weight = np.asarray(l2_regularizer, matrix.dtype.numpy)
        rows, columns = [None, None] if rank is None else matrix.shape[-2:].as_list()
        if rows is not None and columns is not None:
            return _normal_equations(matrix, rhs, weight, rows < columns)
        from staticgraph.control_flow.branches import cond  # most programs have none

        wide, tall = (partial(_normal_equations, matrix, rhs, weight, is_wide) for is_wide in (True, False))
        sizes = ops.shape_of(matrix)
        return cond(sizes[-2] < sizes[-1], wide, tall)


def _normal_equations(matrix: Tensor, rhs: Tensor, weight: Any, wide: bool) -> Tensor:
    """Solve the normal equations of matrices with fewer rows than columns (`wide`), or of others."""
    gram = matmul(matrix, matrix, adjoint_a=not wide, adjoint_b=wide)
    size = gram.shape.as_list()[-1] if gram.shape.ndims else None
    unit = (
        eye(ops.shape_of(gram)[-1], dtype=matrix.dtype)
        if size is None
        else np.eye(size, dtype=matrix.dtype.numpy)
    )
    gram = gram + unit * weight
    if wide:
        return matmul(matrix, solve(gram, rhs), adjoint_a=True)
    return solve(gram, matmul(matrix, rhs, adjoint_a=True))


def qr(input: Any, full_matrices: bool = False, name: str | None = None) -> tuple[Tensor, Tensor]:
    """Q with orthonormal columns and upper triangular R with Q R = input."""
    return ops.qr(input, full_matrices=full_matrices, name=name)


def svd(tensor: Any, full_matrices: bool = False, compute_uv: bool = True, name: str | None = None) -> Any:
    """Singular values s, and unless `compute_uv` is False U and V, with U diag(s) V^H = tensor.

    >>> import staticgraph as sg
    >>> s, u, v = sg.linalg.svd(sg.ones([3, 2]))
    >>> s.shape.as_list(), u.shape.as_list(), v.shape.as_list()
    ([2], [3, 2], [2, 2])
    """
    values, left, right = ops.svd(tensor, compute_uv=compute_uv, full_matrices=full_matrices, name=name)
    return (values, left, right) if compute_uv else values


def eigh(tensor: Any, name: str | None = None) -> tuple[Tensor, Tensor]:
    """Eigenvalues in rising order, and eigenvectors as columns, of self-adjoint matrices."""
    return ops.self_adjoint_eig(tensor, compute_v=True, name=name)


def eigvalsh(tensor: Any, name: str | None = None) -> Tensor:
    """Eigenvalues of self-adjoint matrices, in rising order."""
    return ops.self_adjoint_eig(tensor, compute_v=False, name=name)[0]


show_public_names(__name__)
