"""Square roots of matrices, and the equations A X + X B = C that their derivatives solve.

NumPy computes both on the host, from Schur forms: triangular matrices that are similar to the given ones.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from staticgraph.compiler.graph.errors import require
from staticgraph.compiler.graph.shapes import TensorType, broadcast, shape_text
from staticgraph.compiler.ops.kinds import on_host
from staticgraph.compiler.ops.lapack import FIELDS, adjoint, matrices, product
from staticgraph.compiler.ops.samples import Sample, real

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


def _root_grad(g: Any, y: Any, x: Any) -> tuple[Any]:
    """The Z with Y^H Z + Z Y^H = G, since dX = Y dY + dY Y."""
    return (sylvester(adjoint(y), adjoint(y), g),)


@on_host(
    tf="MatrixSquareRoot", type=_root_type, numpy=_each, dtypes=FIELDS, grad=_root_grad,
    samples=[
        Sample(real(1, 1, low=1.0, high=2.0)),
        Sample(real(2, 3, 1, 1, low=1.0, high=2.0)),
        Sample(real(0, 2, 2)),
    ],
)
def matrix_square_root(input: Any) -> Any:
    """The matrices Y with Y Y = input whose eigenvalues have no negative real part.

    NaN for a real matrix that has none among real ones. The derivative at a singular matrix is not defined.
    """


def _sylvester_type(a: TensorType, b: TensorType, c: TensorType) -> TensorType:
    left, right = matrices(a, "a"), matrices(b, "b")
    shape = matrices(c, "c", square=False)
    if left is None or right is None or shape is None:
        return TensorType(c.dtype, None)
    fits = all(None in (n, m) or n == m for n, m in ((left[-1], shape[-2]), (right[-1], shape[-1])))
    require(fits, f"a {shape_text(left)} and b {shape_text(right)} do not fit c {shape_text(shape)}")
    batch = broadcast(broadcast(left[:-2], right[:-2]), shape[:-2])
    return TensorType(c.dtype, None if batch is None else (*batch, *shape[-2:]))


def _sylvester_grad(g: Any, y: Any, a: Any, b: Any, c: Any) -> tuple[Any, Any, Any]:
    by_c = sylvester(adjoint(a), adjoint(b), g)
    return -product(by_c, y, adj_b=True), -product(y, by_c, adj_a=True), by_c


@on_host(
    type=_sylvester_type, numpy=_each_equation, dtypes=FIELDS, grad=_sylvester_grad,
    samples=[
        Sample(real(1, 1, low=1.0, high=2.0), real(1, 1, low=1.0, high=2.0), real(1, 1)),
        Sample(real(2, 1, 1, low=1.0, high=2.0), real(1, 1, low=1.0, high=2.0), real(2, 1, 1)),
        Sample(real(0, 2, 2), real(0, 3, 3), real(0, 2, 3)),
    ],
)
def sylvester(a: Any, b: Any, c: Any) -> Any:
    """The matrices X with A X + X B = C; of several the smallest."""
