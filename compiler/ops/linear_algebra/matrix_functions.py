"""Exponentials of matrices, and solutions of tridiagonal systems."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from staticgraph.compiler.graph.dtypes import COMPLEX, float32, float64, int32, int64
from staticgraph.compiler.graph.errors import require
from staticgraph.compiler.graph.function import Function
from staticgraph.compiler.graph.opdef import OPS, ops
from staticgraph.compiler.graph.shapes import TensorType, merge, shape_text
from staticgraph.compiler.kernel.expr import Const
from staticgraph.compiler.kernel.stmt import Store
from staticgraph.compiler.ops.arrays.creation import positions
from staticgraph.compiler.ops.kinds import Described, Out, View, composite, conjugate, routine
from staticgraph.compiler.ops.linear_algebra.algorithms import bands
from staticgraph.compiler.ops.linear_algebra.factors import Batch, is_empty, of_each
from staticgraph.compiler.ops.linear_algebra.lapack import adjoint, block, product
from staticgraph.compiler.ops.samples import Sample, real
from staticgraph.compiler.ops.statements.strips import Body, Scratch, is_long

_FIELDS = COMPLEX | {float32, float64}
_TERMS = 9  # of the rational function that stands for the exponential of small matrices
_SMALL = 2.0  # its norm limit: the error is below 1e-15 then


def _square(input: TensorType, **_: Any) -> TensorType:
    shape = input.shape
    require(shape is None or len(shape) >= 2, f"input has shape {shape_text(shape)}, and must be of matrices")
    square = shape is None or None in shape[-2:] or shape[-2] == shape[-1]
    require(square, f"input has shape {shape_text(shape)}, its matrices must be square")
    return input


def _wide(x: np.ndarray) -> np.ndarray:
    return x.astype(np.complex128 if x.dtype.kind == "c" else np.float64)


def _exponential(input: np.ndarray) -> np.ndarray:
    """Padé's approximation of the exponential of the halved matrix, squared as often as it was halved."""
    x = _wide(input)
    if x.size == 0:
        return input.copy()
    norm = np.abs(x).sum(axis=-2).max(axis=-1)
    times = np.maximum(np.ceil(np.log2(np.maximum(norm, 1e-300) / _SMALL)), 0).astype(int)
    x = x / np.exp2(times)[..., None, None]
    above = below = power = np.broadcast_to(np.eye(x.shape[-1], dtype=x.dtype), x.shape)
    weight, sign = 1.0, 1.0
    for k in range(1, _TERMS + 1):
        weight *= (_TERMS - k + 1) / (k * (2 * _TERMS - k + 1))
        power, sign = power @ x, -sign
        above, below = above + weight * power, below + sign * weight * power
    made = np.linalg.solve(below, above)
    for step in range(int(times.max(initial=0))):
        made = np.where((times > step)[..., None, None], made @ made, made)
    return made.astype(input.dtype)


def _exponential_grad(g: Any, y: Any, x: Any) -> tuple[Any]:
    """The upper right block of exp([[X^H, G], [0, X^H]]) is the derivative's adjoint at G."""
    turned, n = adjoint(x), x.shape[-1]
    upper = ops.concat([turned, g], axis=x.rank - 1)
    lower = ops.concat([ops.zeros_like(turned), turned], axis=x.rank - 1)
    return (block(matrix_exponential(ops.concat([upper, lower], axis=x.rank - 2)), (0, n), (n, None)),)


_SQUARES = [
    Sample(real(3, 3)),
    Sample(real(2, 1, 1)),
    Sample(real(2, 3, 4, 4, low=-0.4, high=0.4)),
    Sample(real(0, 2, 2)),
    Sample(real(9, 9, low=-2.0, high=1.0)),
]


@composite(
    tf="MatrixExponential", type=_square, dtypes=_FIELDS, samples=_SQUARES, grad=_exponential_grad,
    numpy=_exponential, closed_on_gpu=2,
)  # fmt: skip
def matrix_exponential(input: Any) -> Any:
    """Exponentials of square matrices: 1 + X + X^2 / 2 + X^3 / 6 + ...

    They are computed in double precision. A complex matrix is one of real blocks.
    """
    if is_empty(input.shape):
        return input
    n, rank = input.shape[-1], input.rank
    if input.dtype.is_complex:
        x, y = ops.real(input), ops.imag(input)
        rows = [ops.concat(parts, axis=rank - 1) for parts in ([x, -y], [y, x])]
        made = matrix_exponential(ops.concat(rows, axis=rank - 2))
        return ops.complex(block(made, (0, n), (0, n)), block(made, (n, None), (0, n)))
    x = ops.cast(input, dtype=float64)
    norm = ops.reduce_max(ops.reduce_sum(ops.abs(x), axis=(-2,)), axis=(-1,), keepdims=True)
    halves = ops.ceil(ops.log(ops.maximum(norm * (1 / _SMALL), 1.0)) * (1 / math.log(2)))
    # Of numbers that are not finite nothing is halved: what becomes of them is not finite anyway.
    times = ops.cast(ops.select(ops.less(norm, math.inf), halves, 0.0), dtype=int32)
    x = x * ops.expand_dims(power_of_half(times), axis=-1)
    made = _squared(_small_exponential(x), ops.expand_dims(times, axis=-1))
    return ops.cast(made, dtype=input.dtype)


def power_of_half(times: Any) -> Any:
    """2 ** -times, exactly."""
    bits = ops.left_shift(ops.cast(1023 - times, dtype=int64), 52)
    return ops.bitcast(bits, type=float64)


def _small_exponential(x: Any) -> Any:
    """Padé's approximation of the exponential of a small matrix, from even powers and from odd ones."""
    weights = [1.0]
    for k in range(1, _TERMS + 1):
        weights.append(weights[-1] * (_TERMS - k + 1) / (k * (2 * _TERMS - k + 1)))
    square = product(x, x)
    even, odd = (ops.matrix_diag(ops.zeros_like(ops.matrix_diag_part(x)) + w) for w in weights[:2])
    power = square
    for k in range(2, _TERMS, 2):
        even, odd = even + weights[k] * power, odd + weights[k + 1] * power
        if k + 2 < _TERMS:
            power = product(power, square)
    odd = product(x, odd)
    return ops.matrix_solve(even - odd, even + odd)


def _squared(x: Any, times: Any) -> Any:
    """Square each matrix as often as `times` says, which has an axis of one element for each axis of it."""
    build = x.recorder
    with build.at(None):
        i = build.fresh_parameter("number", TensorType(int32, ()))
        before, wanted = (build.fresh_parameter("captured", each.type) for each in (x, times))
        after = ops.select(ops.greater(wanted, i), product(before, before), before)
        again = ops.less(i + 1, ops.reduce_max(wanted))
        body = Function((i, before, wanted), (again, i + 1, after))
    attrs = {"body": body, "carried": 2, "family": build.serial, "bound": 1024, "exact": False, "brief": True}
    inputs = ops.greater(ops.reduce_max(times), 0), build.constant(0, int32), x, times
    return build.node(OPS["loop"], inputs, attrs).outputs[1]


def _tridiagonal_type(diagonals: TensorType, rhs: TensorType, partial_pivoting: bool = True) -> TensorType:
    for name, t in (("diagonals", diagonals), ("rhs", rhs)):
        require(t.rank is None or t.rank >= 2, f"{name} has shape {shape_text(t.shape)}, and needs two axes")
    if diagonals.shape is not None and rhs.shape is not None:
        rows, size, other = diagonals.shape[-2], diagonals.shape[-1], rhs.shape[-2]
        require(rows in (3, None), f"diagonals has shape {shape_text(diagonals.shape)}, and not three rows")
        fits = None in (size, other) or size == other
        require(fits, f"the diagonals have {size} elements and rhs has {other} rows")
        merge(diagonals.shape[:-2], rhs.shape[:-2], "the batches of diagonals and rhs,")
    return rhs


def _tridiagonal(diagonals: np.ndarray, rhs: np.ndarray, partial_pivoting: bool = True) -> np.ndarray:
    """Elimination in a band; a row is exchanged with the next one where that has the larger element."""
    above, middle, below = (_wide(diagonals[..., i, :]) for i in range(3))
    n, out = middle.shape[-1], _wide(rhs)
    # Row i of `band` holds row i of the matrix from column i on; an exchange makes three elements of two.
    band = np.zeros((*middle.shape, 3), out.dtype)
    band[..., 0] = middle
    band[..., :-1, 1] = above[..., :-1]
    for i in range(n - 1):
        here, there = band[..., i, :].copy(), np.zeros_like(band[..., i, :])
        there[..., 0], there[..., 1], there[..., 2] = (
            below[..., i + 1],
            band[..., i + 1, 0],
            band[..., i + 1, 1],
        )
        swap = (np.abs(there[..., 0]) > np.abs(here[..., 0]))[..., None] & partial_pivoting
        here, there = np.where(swap, there, here), np.where(swap, here, there)
        upper, lower = out[..., i, :].copy(), out[..., i + 1, :].copy()
        upper, lower = np.where(swap, lower, upper), np.where(swap, upper, lower)
        factor = (there[..., 0] / here[..., 0])[..., None]
        band[..., i, :], band[..., i + 1, :2] = here, (there - factor * here)[..., 1:]
        out[..., i, :], out[..., i + 1, :] = upper, lower - factor * upper
    for i in reversed(range(n)):
        for ahead in (1, 2):
            if i + ahead < n:
                out[..., i, :] -= band[..., i, ahead, None] * out[..., i + ahead, :]
        out[..., i, :] /= band[..., i, 0, None]
    return out.astype(rhs.dtype)


def _transposed(diagonals: Any) -> Any:
    """The diagonals of the adjoint matrices."""
    above, middle, below = (conjugate(diagonals[..., i, :]) for i in range(3))
    axis = middle.rank - 1
    return ops.stack(
        [ops.roll(below, shift=-1, axis=axis), middle, ops.roll(above, shift=1, axis=axis)],
        axis=middle.rank - 1,
    )


def _tridiagonal_grad(g: Any, y: Any, diagonals: Any, rhs: Any, partial_pivoting: bool = True) -> Any:
    by_rhs = tridiagonal_solve(_transposed(diagonals), g, partial_pivoting=partial_pivoting)
    other = conjugate(y)
    rows, places = other.rank - 2, positions(other, other.shape[-2])
    shifted = [ops.roll(other, shift=shift, axis=rows) if shift else other for shift in (-1, 0, 1)]
    upper, middle, lower = (-ops.reduce_sum(by_rhs * x, axis=(other.rank - 1,)) for x in shifted)
    # There is nothing above the diagonal in the last row, nor below it in the first one.
    upper = ops.select(ops.equal(ops.roll(places, shift=-1, axis=0), 0), 0.0, upper)
    lower = ops.select(ops.equal(places, 0), 0.0, lower)
    return ops.stack([upper, middle, lower], axis=rows), by_rhs


@routine(
    tf="TridiagonalSolve", type=_tridiagonal_type, numpy=_tridiagonal, dtypes=_FIELDS, grad=_tridiagonal_grad,
    long=is_long,
    samples=[Sample(real(3, 1, low=1.0), real(1, 2)), Sample(real(2, 3, 1, low=1.0), real(2, 1, 1)),
             Sample(real(0, 3, 2), real(0, 2, 1)),
             Sample(real(3, 3, low=1.0, high=1.1), real(3, 2)),
             Sample(real(3, 3, low=1.0, high=1.1), real(3, 2), partial_pivoting=False),
             Sample(real(2, 3, 4, low=1.0, high=1.1), real(2, 4, 3))],
)  # fmt: skip
def tridiagonal_solve(
    outs: tuple[Out, ...], diagonals: View, rhs: View, *, partial_pivoting: bool = True
) -> Described | tuple[()]:
    """X with T X = rhs, where the rows of `diagonals` are those of T: above, main and below.

    The last element of the upper diagonal and the first of the lower one do not count. Without
    `partial_pivoting` no rows are exchanged.
    """
    (out,) = outs
    if is_empty(out.shape):
        return ()
    n, columns = out.shape[-2:]

    def of(batch: Batch, alone: bool) -> tuple[Body, Scratch]:
        return bands.band_solution(
            n,
            columns,
            lambda which, i: diagonals[(*batch, Const(which, int64), i)],
            lambda i, j: rhs[(*batch, i, j)],
            lambda i, j, x: Store(out.buffer, (*batch, i, j), x),
            partial_pivoting,
            not alone,
            out.dtype,
        )

    return of_each(out, n, None, of)
