"""Diagonals and bands of matrices, which are the last two axes of a tensor."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

import numpy as np

from staticgraph.compiler.graph.dtypes import ANY, bool_, int64
from staticgraph.compiler.graph.errors import require
from staticgraph.compiler.graph.opdef import ops
from staticgraph.compiler.graph.shapes import TensorType, merge, shape_text
from staticgraph.compiler.graph.sizes import same
from staticgraph.compiler.kernel import scalar
from staticgraph.compiler.kernel.expr import Const, Expr, number
from staticgraph.compiler.ops.kinds import View, movement
from staticgraph.compiler.ops.samples import Sample, real


def _diag_type(diagonal: TensorType) -> TensorType:
    require(diagonal.rank != 0, "the diagonal must have at least one axis")
    return TensorType(diagonal.dtype, None if diagonal.shape is None else diagonal.shape * 2)


@movement(
    tf="Diag", type=_diag_type, dtypes=ANY,
    grad=lambda g, y, diagonal: (ops.diag_part(g),), grad_takes=(),
    numpy=lambda d: np.diag(d.reshape(-1)).reshape(d.shape * 2),
    samples=[Sample(real(3)), Sample(real(2, 3)), Sample(real(0))], elements_of=None,
)
def diag(at: tuple[Expr, ...], diagonal: View) -> Expr:
    """Zeros of twice the rank with y[i..., i...] = diagonal[i...]."""
    rows, columns = at[: diagonal.rank], at[diagonal.rank :]
    same = reduce(lambda a, b: a & b, map(scalar.eq, rows, columns), Const(True, bool_))
    return scalar.select(same, diagonal[rows], Const(0, diagonal.dtype))


def _diag_part_type(input: TensorType) -> TensorType:
    if input.shape is None:
        return input
    half = len(input.shape) // 2
    require(
        input.shape and len(input.shape) % 2 == 0, f"the rank must be even and not 0, not {len(input.shape)}"
    )
    return TensorType(
        input.dtype, merge(input.shape[:half], input.shape[half:], "both halves of the shape must agree:")
    )


def _diag_part(x: np.ndarray) -> np.ndarray:
    half = x.shape[: x.ndim // 2]
    n = math.prod(half)
    return np.diagonal(x.reshape(n, n)).reshape(half).copy()


@movement(
    tf="DiagPart", type=_diag_part_type, dtypes=ANY, numpy=_diag_part,
    grad=lambda g, y, input: (ops.diag(g),), grad_takes=(),
    samples=[Sample(real(3, 3)), Sample(real(2, 3, 2, 3)), Sample(real(1, 1))],
)
def diag_part(at: tuple[Expr, ...], input: View) -> Expr:
    """The elements input[i..., i...], of half the rank."""
    return input[at + at]


def _matrix(x: TensorType) -> None:
    axes = f"the input must have at least two axes, and is {shape_text(x.shape)}"
    require(x.rank is None or x.rank >= 2, axes)


def _shorter(shape: Sequence[int | None]) -> int | None:
    rows, columns = shape[-2:]
    return None if rows is None or columns is None else min(rows, columns)


def _matrix_diag_type(diagonal: TensorType) -> TensorType:
    require(diagonal.rank != 0, "the diagonal must have at least one axis")
    return TensorType(
        diagonal.dtype, None if diagonal.shape is None else (*diagonal.shape, diagonal.shape[-1])
    )


@movement(
    tf="MatrixDiag", type=_matrix_diag_type, dtypes=ANY,
    grad=lambda g, y, diagonal: (ops.matrix_diag_part(g),), grad_takes=(),
    numpy=lambda d: np.where(np.eye(d.shape[-1], dtype=bool), d[..., None], np.zeros((), d.dtype)),
    samples=[Sample(real(3)), Sample(real(2, 4)), Sample(real(2, 0))], elements_of=None,
)
def matrix_diag(at: tuple[Expr, ...], diagonal: View) -> Expr:
    """Square matrices with the given diagonals, and zeros elsewhere."""
    return scalar.select(scalar.eq(at[-2], at[-1]), diagonal[at[:-1]], Const(0, diagonal.dtype))


def _matrix_diag_part_type(input: TensorType) -> TensorType:
    _matrix(input)
    return TensorType(
        input.dtype, None if input.shape is None else (*input.shape[:-2], _shorter(input.shape))
    )


def _matrix_diag_part_grad(g: Any, y: Any, input: Any) -> tuple[Any]:
    return (matrix_set_diag(ops.zeros_like(input), g),)


@movement(
    tf="MatrixDiagPart", type=_matrix_diag_part_type, dtypes=ANY, grad=_matrix_diag_part_grad, grad_takes=(),
    numpy=lambda x: np.diagonal(x, axis1=-2, axis2=-1).copy(),
    samples=[Sample(real(3, 3)), Sample(real(2, 3, 4)), Sample(real(4, 2))],
)
def matrix_diag_part(at: tuple[Expr, ...], input: View) -> Expr:
    """The diagonals of matrices."""
    return input[(*at, at[-1])]


def _set_diag_type(input: TensorType, diagonal: TensorType) -> TensorType:
    _matrix(input)
    if input.shape is not None:
        merge((*input.shape[:-2], _shorter(input.shape)), diagonal.shape, "the diagonal must be")
    return input


def _set_diag(input: np.ndarray, diagonal: np.ndarray) -> np.ndarray:
    out, i = np.array(input), np.arange(diagonal.shape[-1])
    out[..., i, i] = diagonal
    return out


def _set_diag_grad(g: Any, y: Any, input: Any, diagonal: Any) -> tuple[Any, Any]:
    return matrix_set_diag(g, ops.zeros_like(diagonal)), matrix_diag_part(g)


@movement(
    tf="MatrixSetDiag", type=_set_diag_type, dtypes=ANY, numpy=_set_diag, grad=_set_diag_grad, grad_takes=(),
    samples=[Sample(real(3, 3), real(3)), Sample(real(2, 3, 4), real(2, 3)), Sample(real(4, 2), real(2))],
    elements_of=(0, 1),
)
def matrix_set_diag(at: tuple[Expr, ...], input: View, diagonal: View) -> Expr:
    """The input with other diagonals."""
    if any(same(n, 0) for n in diagonal.shape):
        return input[at]
    i = scalar.minimum(at[-2], number(diagonal.shape[-1] - 1, int64))
    return scalar.select(scalar.eq(at[-2], at[-1]), diagonal[(*at[:-2], i)], input[at])


def _band_type(input: TensorType, num_lower: Any, num_upper: Any) -> TensorType:
    _matrix(input)
    for name, width in (("num_lower", num_lower), ("num_upper", num_upper)):
        fits = width is None or int64.min <= width <= int64.max
        require(fits, f"{name} is {width}, which does not fit into int64")
    return input


def _in_band(row: Any, column: Any, num_lower: int, num_upper: int) -> list[Any]:
    """The conditions for a position to be in the band; a negative width sets no bound."""
    below = [row - column <= num_lower] if num_lower >= 0 else []
    return below + ([column - row <= num_upper] if num_upper >= 0 else [])


def _band(input: np.ndarray, num_lower: int, num_upper: int) -> np.ndarray:
    row, column = np.ogrid[: input.shape[-2], : input.shape[-1]]
    inside = np.ones(input.shape[-2:], bool)
    for condition in _in_band(row, column, num_lower, num_upper):
        inside = inside & condition
    return np.where(inside, input, np.zeros((), input.dtype))


@movement(
    tf="MatrixBandPart", type=_band_type, numpy=_band,
    operands=("num_lower", "num_upper"), partial=("num_lower", "num_upper"), dtypes=ANY,
    grad=lambda g, y, input, num_lower, num_upper: (
        ops.matrix_band_part(g, num_lower=num_lower, num_upper=num_upper),
    ),
    grad_takes=("num_lower", "num_upper"),
    samples=[Sample(real(4, 4), num_lower=1, num_upper=0), Sample(real(2, 3, 5), num_lower=-1, num_upper=1),
             Sample(real(3, 2), num_lower=0, num_upper=-1), Sample(real(2, 2), num_lower=-1, num_upper=-1)],
    elements_of=None,
)
def matrix_band_part(at: tuple[Expr, ...], input: View, *, num_lower: int, num_upper: int) -> Expr:
    """The matrices with zeros outside a band around the diagonal.

    The band has `num_lower` subdiagonals and `num_upper` superdiagonals; -1 keeps all of them.
    """
    both: Callable[[Any, Any], Any] = lambda a, b: a & b  # noqa: E731
    inside = reduce(both, _in_band(at[-2], at[-1], num_lower, num_upper), Const(True, bool_))
    return scalar.select(inside, input[at], Const(0, input.dtype))
