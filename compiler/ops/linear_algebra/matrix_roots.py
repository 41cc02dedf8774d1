"""Square roots of matrices, and the equations A X + X B = C that their derivatives solve.

Both follow from Schur forms (`algorithms/schur.py`), in double precision. A matrix is done by one thread,
those of a batch at the same time. The meanings in NumPy take other ways to such forms.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from staticgraph.compiler.graph.dtypes import DType, complex128, float64, int32
from staticgraph.compiler.graph.errors import require
from staticgraph.compiler.graph.opdef import ops
from staticgraph.compiler.graph.shapes import TensorType, broadcast, shape_text
from staticgraph.compiler.kernel.expr import Expr, Index
from staticgraph.compiler.kernel.stmt import Loop, Store
from staticgraph.compiler.ops.kinds import Described, Out, View, composite, routine
from staticgraph.compiler.ops.linear_algebra.algorithms import schur
from staticgraph.compiler.ops.linear_algebra.factors import Batch, is_empty, of_each
from staticgraph.compiler.ops.linear_algebra.lapack import FIELDS, adjoint, matrices, product
from staticgraph.compiler.ops.linear_algebra.matrix_functions import power_of_half
from staticgraph.compiler.ops.samples import Sample, real
from staticgraph.compiler.ops.statements.strips import Body, Scratch

_WIDE = frozenset({complex128})
_MOST = 1000.0  # the greatest exponent of a power of two that matrices are scaled by
_EPSILON = float(np.finfo(np.float64).eps)


def _schur(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A unitary Q and an upper triangular T with x = Q T Q^H.

    An orthonormal basis of eigenvectors is one of nested invariant subspaces, if there are enough of them. If
    rounding spoils that, as it does for equal eigenvalues, QR steps with shifts finish what is left.
    """
    x = x.astype(np.complex128)
    turned = np.linalg.qr(np.linalg.eig(x)[1])[0] if x.size else x
    triangle = turned.conj().T @ x @ turned
    small = _EPSILON * np.linalg.norm(x)
    end, steps = len(x), 0
    while end > 1:
        row = triangle[end - 1, : end - 1]
        if np.abs(row).max() <= small or steps == 100:
            row[:] = 0
            end, steps = end - 1, 0
            continue
        shift = triangle[end - 1, end - 1] + (np.abs(row).max() if steps % 10 == 9 else 0)
        step = np.linalg.qr(triangle[:end, :end] - shift * np.eye(end))[0]
        triangle[:end] = step.conj().T @ triangle[:end]
        triangle[:, :end] = triangle[:, :end] @ step
        turned[:, :end] = turned[:, :end] @ step
        steps += 1
    return turned, np.triu(triangle)


def _narrowed(x: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """`x` as numbers of `dtype`: NaN if they are real and `x` is not."""
    if dtype.kind != "c":
        is_real = np.abs(x.imag).max(initial=0) <= 1e-8 * np.abs(x).max(initial=0)
        x = np.where(is_real, x.real, np.nan)
    return x.astype(dtype)


def _square_root(x: np.ndarray) -> np.ndarray:
    """Column by column of the triangular form (Bjorck and Hammarling, 1983)."""
    turned, triangle = _schur(x)
    root = np.diag(np.sqrt(np.diag(triangle)))
    for j in range(1, len(x)):
        for i in reversed(range(j)):
            rest = triangle[i, j] - root[i, i + 1 : j] @ root[i + 1 : j, j]
            with np.errstate(all="ignore"):  # there may be no root
                root[i, j] = rest / (root[i, i] + root[j, j]) if rest else 0
    with np.errstate(all="ignore"):
        return _narrowed(turned @ root @ turned.conj().T, x.dtype)


def _sylvester(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """Column by column of the triangular forms (Bartels and Stewart, 1972)."""
    (left, rows), (right, columns) = _schur(a), _schur(b)
    c = left.conj().T @ c @ right
    x = np.zeros_like(c)
    for j in range(c.shape[1]):
        shifted = rows + columns[j, j] * np.eye(len(rows))
        x[:, j] = np.linalg.lstsq(shifted, c[:, j] - x[:, :j] @ columns[:j, j], rcond=None)[0]
    return left @ x @ right.conj().T


def _each(x: np.ndarray) -> np.ndarray:
    some = x.reshape(-1, *x.shape[-2:]) if x.size else ()
    batch = [_square_root(a) if np.isfinite(a).all() else np.full_like(a, np.nan) for a in some]
    return np.array(batch, x.dtype).reshape(x.shape)


def _each_equation(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2], c.shape[:-2])
    out = np.zeros((*batch, *c.shape[-2:]), c.dtype)
    a, b, c = (np.broadcast_to(each, (*batch, *each.shape[-2:])) for each in (a, b, c))
    for at in np.ndindex(batch) if out.size else ():
        finite = all(np.isfinite(each[at]).all() for each in (a, b, c))
        out[at] = _narrowed(_sylvester(a[at], b[at], c[at]), c.dtype) if finite else np.nan
    return out


def _root_type(input: TensorType) -> TensorType:
    matrices(input)
    return input


def _once(made: tuple[Body, Scratch]) -> tuple[Body, Scratch]:
    """One statement that does all of it: each statement of a kernel has scratch memory of its own."""
    body, scratch = made
    return (Loop(Index("once", 1), body),), scratch


@routine(
    type=_root_type, numpy=_each, dtypes=_WIDE, differentiable=False, long=lambda *_: True,
    samples=[Sample(real(4, 4)), Sample(real(2, 3, 3)), Sample(real(1, 1)), Sample(real(0, 2, 2))],
)  # fmt: skip
def complex_square_root(outs: tuple[Out, ...], input: View) -> Described | tuple[()]:
    """The matrices Y with Y Y = input whose eigenvalues have no negative real part; anything for NaN."""
    (out,) = outs
    if is_empty(out.shape):
        return ()
    n = out.shape[-1]

    def of(batch: Batch, alone: bool) -> tuple[Body, Scratch]:
        def put(i: Expr, j: Expr, x: Expr) -> Store:
            return Store(out.buffer, (*batch, i, j), x)

        return _once(schur.square_root(n, lambda i, j: input[(*batch, i, j)], put))

    return of_each(out, n, None, of)


def _unless_infinite(made: Any, *inputs: Any) -> Any:
    """`made`, with NaN for matrices of inputs that have numbers which are not finite."""
    finite: Any = None
    for x in inputs:
        parts = [ops.real(x), ops.imag(x)] if x.dtype.is_complex else [x]
        for part in parts:
            each = ops.reduce_all(ops.is_finite(part), axis=(-2, -1), keepdims=True)
            finite = each if finite is None else ops.logical_and(finite, each)
    more = ops.select(finite, 0.0 * ops.cast(finite, dtype=float64), math.nan)
    if made.dtype.is_complex:
        return ops.complex(ops.real(made) + more, ops.imag(made) + more)
    return made + more


def _exponent(x: Any, half: bool = False) -> Any:
    """The whole number e with 2 ** e next to the largest number of each matrix; or to the root of that."""
    parts = [ops.real(x), ops.imag(x)] if x.dtype.is_complex else [x]
    sizes = [ops.reduce_max(ops.abs(part), axis=(-2, -1), keepdims=True) for part in parts]
    size = ops.cast(functools.reduce(ops.maximum, sizes), dtype=float64)
    usable = ops.logical_and(ops.greater(size, 0.0), ops.less(size, math.inf))
    exponent = ops.round(ops.log(ops.select(usable, size, 1.0)) * ((0.5 if half else 1.0) / math.log(2)))
    return ops.cast(ops.minimum(ops.maximum(exponent, -_MOST), _MOST), dtype=int32)


def _scaled(x: Any, factor: Any) -> Any:
    """Complex matrices times real numbers, exactly."""
    return ops.complex(ops.real(x) * factor, ops.imag(x) * factor)


def _as(made: Any, dtype: DType) -> Any:
    """Complex matrices as numbers of `dtype`: NaN if they are real and a matrix is not."""
    if not dtype.is_complex:
        real, imag = ops.real(made), ops.abs(ops.imag(made))
        size = ops.maximum(ops.abs(real), imag)
        most, limit = (ops.reduce_max(x, axis=(-2, -1), keepdims=True) for x in (imag, size))
        made = ops.select(ops.less_equal(most, 1e-8 * limit), real, math.nan)
    return ops.cast(made, dtype=dtype)


def _root_grad(g: Any, y: Any, x: Any) -> tuple[Any]:
    """The Z with Y^H Z + Z Y^H = G, since dX = Y dY + dY Y."""
    return (sylvester(adjoint(y), adjoint(y), g),)


@composite(
    tf="MatrixSquareRoot", type=_root_type, numpy=_each, dtypes=FIELDS, grad=_root_grad,
    samples=[Sample(real(1, 1, low=1.0, high=2.0)), Sample(real(2, 3, 1, 1, low=1.0, high=2.0)),
             Sample(real(0, 2, 2))],
)
def matrix_square_root(input: Any) -> Any:
    """The matrices Y with Y Y = input whose eigenvalues have no negative real part.

    NaN for a real matrix that has none among real ones. The derivative at a singular matrix is not defined.
    """
    if is_empty(input.shape):
        return input
    times = _exponent(input, half=True)
    down, up = power_of_half(times), power_of_half(-times)
    made = ops.complex_square_root(_scaled(_scaled(ops.cast(input, dtype=complex128), down), down))
    return _as(_unless_infinite(_scaled(made, up), input), input.dtype)


def _sylvester_type(a: TensorType, b: TensorType, c: TensorType) -> TensorType:
    left, right = matrices(a, "a"), matrices(b, "b")
    shape = matrices(c, "c", square=False)
    if left is None or right is None or shape is None:
        return TensorType(c.dtype, None)
    fits = all(None in (n, m) or n == m for n, m in ((left[-1], shape[-2]), (right[-1], shape[-1])))
    require(fits, f"a {shape_text(left)} and b {shape_text(right)} do not fit c {shape_text(shape)}")
    batch = broadcast(broadcast(left[:-2], right[:-2]), shape[:-2])
    return TensorType(c.dtype, None if batch is None else (*batch, *shape[-2:]))


@routine(
    type=_sylvester_type, numpy=_each_equation, dtypes=_WIDE, differentiable=False, long=lambda *_: True,
    samples=[
        Sample(real(3, 3), real(2, 2), real(3, 2)),
        Sample(real(2, 1, 1), real(4, 4), real(2, 1, 4)),
        Sample(real(1, 1), real(1, 1), real(1, 1)),
        Sample(real(0, 2, 2), real(0, 3, 3), real(0, 2, 3)),
    ],
)  # fmt: skip
def complex_sylvester(outs: tuple[Out, ...], a: View, b: View, c: View) -> Described | tuple[()]:
    """The matrices X with A X + X B = C."""
    (out,) = outs
    if is_empty(out.shape):
        return ()
    m, n = out.shape[-2:]

    def of(batch: Batch, alone: bool) -> tuple[Body, Scratch]:
        def element(x: View) -> Any:
            return lambda i, j: x.broadcast((*batch, i, j))

        def put(i: Expr, j: Expr, x: Expr) -> Store:
            return Store(out.buffer, (*batch, i, j), x)

        return _once(schur.sylvester_solution(m, n, element(a), element(b), element(c), put))

    return of_each(out, n, None, of)


def _sylvester_grad(g: Any, y: Any, a: Any, b: Any, c: Any) -> tuple[Any, Any, Any]:
    by_c = sylvester(adjoint(a), adjoint(b), g)
    return -product(by_c, y, adj_b=True), -product(y, by_c, adj_a=True), by_c


@composite(
    type=_sylvester_type, numpy=_each_equation, dtypes=FIELDS, grad=_sylvester_grad,
    samples=[Sample(real(1, 1, low=1.0, high=2.0), real(1, 1, low=1.0, high=2.0), real(1, 1)),
             Sample(real(2, 1, 1, low=1.0, high=2.0), real(1, 1, low=1.0, high=2.0), real(2, 1, 1)),
             Sample(real(0, 2, 2), real(0, 3, 3), real(0, 2, 3))],
)
def sylvester(a: Any, b: Any, c: Any) -> Any:
    """The matrices X with A X + X B = C. What is not decided, since A and -B have an eigenvalue, is zero."""
    if is_empty(a.shape, b.shape, c.shape):
        return ops.zeros_like(c)
    left, right = (_exponent(x) for x in (a, b))
    down = power_of_half(ops.maximum(left, right))
    x, y, z = (ops.cast(each, dtype=complex128) for each in (a, b, c))
    made = ops.complex_sylvester(_scaled(x, down), _scaled(y, down), z)
    return _as(_unless_infinite(_scaled(made, down), a, b, c), c.dtype)
