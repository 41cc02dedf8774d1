"""Functions based on matrix decompositions, and products of banded matrices: part of `sg.linalg`."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from staticgraph.arrays.array_ops import concat, shape
from staticgraph.arrays.creation import matrix_diag_part
from staticgraph.building.framework import name_scope
from staticgraph.building.inputs import convert_to_tensor
from staticgraph.compiler import ops
from staticgraph.compiler.graph.dtypes import as_dtype, int32
from staticgraph.compiler.graph.errors import ShapeError, misuse
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.mathematics.reductions import reduce_max, reduce_sum


def matrix_rank(a: Any, tol: Any = None, validate_args: bool = False, name: str | None = None) -> Tensor:
    """The number (int32) of singular values of each matrix that are greater than `tol`.

    By default the rounding error of the greatest: it times the larger size times the type's epsilon.
    """
    with name_scope(name, "matrix_rank", [a]):
        a = convert_to_tensor(a, name="a")
        values = ops.svd(a, compute_uv=False)[0]
        if tol is None:
            tol = _epsilon(a) * _larger_size(a) * reduce_max(values, axis=-1, keepdims=True)
        return reduce_sum(ops.cast(ops.greater(values, tol), dtype=int32), axis=-1)


def pinv(a: Any, rcond: Any = None, validate_args: bool = False, name: str | None = None) -> Tensor:
    """The Moore-Penrose inverse of each matrix: shape [..., columns, rows] for [..., rows, columns].

    Singular values up to `rcond` times the greatest count as zero; by default `rcond` is ten times the larger
    size times the type's epsilon.

    >>> import staticgraph as sg
    >>> sg.linalg.pinv(sg.placeholder(sg.float32, [5, 3])).shape.as_list()
    [3, 5]
    """
    with name_scope(name, "pinv", [a]):
        a = convert_to_tensor(a, name="a")
        rcond = 10.0 * _epsilon(a) * _larger_size(a) if rcond is None else rcond
        return ops.pseudo_inverse(a, convert_to_tensor(rcond, dtype=a.dtype.real_dtype))


def _epsilon(a: Tensor) -> float:
    return float(np.finfo(a.dtype.numpy).eps)


def _larger_size(a: Tensor) -> Any:
    """The greater of the sizes of a matrix: a number where both are known."""
    known = [n for n in (a.type.shape or ())[-2:] if n is not None]
    if len(known) == 2:
        return float(max(known))
    rows, columns = (ops.cast(shape(a)[axis], dtype=a.dtype.real_dtype) for axis in (-2, -1))
    return ops.maximum(rows, columns)


def tridiagonal_matmul(
    diagonals: Any, rhs: Any, diagonals_format: str = "compact", name: str | None = None
) -> Tensor:
    """The product of tridiagonal matrices of size n and `rhs`, of shape [..., n, columns].

    `diagonals` has shape [..., 3, n], with the superdiagonal, whose last element is not used, the diagonal,
    and the subdiagonal, whose first element is not used; with 'sequence' it is a list of the three, with
    'matrix' a full matrix. ValueError for another format, or another number of diagonals.
    """
    with name_scope(name, "tridiagonal_matmul", [rhs]):
        rhs = convert_to_tensor(rhs)
        above, middle, below = _three_diagonals(diagonals, diagonals_format)
        nothing = ops.zeros_like(rhs[..., :1, :])
        up, down = concat([rhs[..., 1:, :], nothing], -2), concat([nothing, rhs[..., :-1, :]], -2)
        parts = [ops.expand_dims(d, axis=-1) * x for d, x in ((above, up), (middle, rhs), (below, down))]
        return parts[0] + parts[1] + parts[2]


def tridiagonal_solve(
    diagonals: Any,
    rhs: Any,
    diagonals_format: str = "compact",
    transpose_rhs: bool = False,
    conjugate_rhs: bool = False,
    name: str | None = None,
    partial_pivoting: bool = True,
) -> Tensor:
    """X with T X = rhs for tridiagonal T, given as for `tridiagonal_matmul`; in linear time.

    `rhs` has shape [..., n, columns], or [..., n] for one column. It can be conjugated first. With
    `transpose_rhs` rows and columns of it and of the result are exchanged.
    Without `partial_pivoting` no rows are exchanged, which is right where the diagonal dominates.

    >>> import staticgraph as sg
    >>> with sg.Session() as sess:
    ...     sess.run(sg.linalg.tridiagonal_solve([[1.0, 0.0], [2.0, 2.0], [0.0, 1.0]], [3.0, 3.0])).tolist()
    [1.0, 1.0]
    """
    with name_scope(name, "tridiagonal_solve", [rhs]):
        rhs = convert_to_tensor(rhs)
        bands = ops.stack(list(_three_diagonals(diagonals, diagonals_format)), axis=-2)
        rhs = ops.conj(rhs) if conjugate_rhs and rhs.dtype.is_complex else rhs
        one = rhs.type.rank is not None and rhs.type.rank == (bands.type.rank or 0) - 1
        if one:
            solved = ops.tridiagonal_solve(
                bands, ops.expand_dims(rhs, axis=-1), partial_pivoting=partial_pivoting
            )
            return ops.squeeze(solved, axis=(-1,))
        rhs = _exchanged(rhs) if transpose_rhs else rhs
        solved = ops.tridiagonal_solve(bands, rhs, partial_pivoting=partial_pivoting)
        return _exchanged(solved) if transpose_rhs else solved


def _exchanged(x: Tensor) -> Tensor:
    rank = x.type.rank or 2
    return ops.transpose(x, perm=(*range(rank - 2), rank - 1, rank - 2))


def expm(input: Any, name: str | None = None) -> Tensor:
    """The exponential of each square matrix, 1 + X + X^2 / 2 + X^3 / 6 + ...

    >>> import staticgraph as sg
    >>> with sg.Session() as sess:
    ...     sess.run(sg.linalg.expm([[0.0, 1.0], [0.0, 0.0]])).tolist()
    [[1.0, 1.0], [0.0, 1.0]]
    """
    return ops.matrix_exponential(input, name=name)


def sqrtm(input: Any, name: str | None = None) -> Tensor:
    """The square root of each square matrix: the Y with Y Y = X whose eigenvalues have real parts above 0.

    Args:
        input: Matrices of shape [..., n, n], real or complex.
        name: The name of the operation.

    Returns:
        A tensor of the type of `input`. A real matrix without a real square root gives NaN.

    >>> import staticgraph as sg
    >>> with sg.Session() as sess:
    ...     sess.run(sg.linalg.sqrtm([[4.0, 1.0], [0.0, 4.0]])).tolist()
    [[2.0, 0.25], [0.0, 2.0]]
    """
    return ops.matrix_square_root(input, name=name)


class Lu(NamedTuple):
    """Result of `lu`: both triangles in one matrix, and the order of rows."""

    lu: Tensor
    p: Tensor


def lu(input: Any, output_idx_type: Any = int32, name: str | None = None) -> Lu:
    """L and U, triangular matrices whose product has the rows of `input` in the order `p`.

    `lu` holds U on and above the diagonal and L below it; on its diagonal L has ones. Has no gradient.

    >>> import staticgraph as sg
    >>> with sg.Session() as sess:
    ...     sess.run(sg.linalg.lu([[1.0, 2.0], [2.0, 2.0]])).p.tolist()
    [1, 0]
    """
    return Lu(*ops.lu(input, output_idx_type=as_dtype(output_idx_type), name=name))


def _misshapen(diagonals: Tensor, wanted: str) -> Exception:
    made = [(diagonals.name, diagonals.op.where)]
    return misuse(ShapeError, f"{wanted}, and have {diagonals.shape}", made=made)


def _three_diagonals(diagonals: Any, form: str) -> tuple[Tensor, Tensor, Tensor]:
    if form == "sequence":
        above, middle, below = (convert_to_tensor(d) for d in diagonals)
        ends = [d.type.shape[-1] if d.type.shape else None for d in (above, middle, below)]
        nothing = ops.zeros_like(middle[..., :1])
        if ends[1] is not None and ends[0] == ends[1] - 1:  # each side may be as long as it is in the matrix
            above = concat([above, nothing], -1)
        if ends[1] is not None and ends[2] == ends[1] - 1:
            below = concat([nothing, below], -1)
        return above, middle, below
    diagonals = convert_to_tensor(diagonals)
    shape = diagonals.type.shape
    if form == "compact":
        if shape is not None and not (len(shape) > 1 and shape[-2] in (3, None)):
            raise _misshapen(diagonals, "compact diagonals must have shape [..., 3, n]")
        if shape is not None and shape[-2] is None:
            diagonals = ops.ensure_shape(diagonals, shape=(*shape[:-2], 3, shape[-1]))
        return diagonals[..., 0, :], diagonals[..., 1, :], diagonals[..., 2, :]
    if form == "matrix":
        if shape is not None and not (len(shape) > 1 and (None in shape[-2:] or shape[-1] == shape[-2])):
            raise _misshapen(diagonals, "tridiagonal matrices must be square")
        middle = matrix_diag_part(diagonals)
        nothing = ops.zeros_like(middle[..., :1])
        above = matrix_diag_part(diagonals[..., :-1, 1:])
        below = matrix_diag_part(diagonals[..., 1:, :-1])
        return concat([above, nothing], -1), middle, concat([nothing, below], -1)
    raise misuse(ValueError, f"diagonals_format={form!r} is not 'compact', 'sequence' or 'matrix'")
