"""Fourier transforms in stages of small transforms (Stockham), each a kernel of complex numbers.

With n = r * m, the transform of n points is m transforms of r points, a multiplication by roots of unity
("twiddles"), and r transforms of m points. A stage reads points as [batch, r, m, inner] and writes
[batch, m, r, inner]: then the r transforms lie side by side, the next stage takes them as its `inner`,
and the last one leaves everything in order. Lengths with a prime factor above 7 go through a convolution of
more points (Bluestein). A length that is open has no stages yet, and NumPy computes such a transform.
"""

from __future__ import annotations

import cmath
import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from staticgraph.compiler.graph.dtypes import COMPLEX
from staticgraph.compiler.graph.errors import require
from staticgraph.compiler.graph.opdef import ops
from staticgraph.compiler.graph.shapes import TensorType
from staticgraph.compiler.graph.sizes import Size
from staticgraph.compiler.kernel import scalar
from staticgraph.compiler.kernel.expr import Expr
from staticgraph.compiler.ops.kinds import Piece, View, assembly, on_host
from staticgraph.compiler.ops.samples import Sample, real

_RADICES = (8, 7, 5, 3, 4, 2)  # in the order in which a length is divided by them


def _stage_type(x: TensorType, twiddles: TensorType, inverse: bool = False) -> TensorType:
    require(x.rank in (None, 4), f"x has rank {x.rank}, and must be [batch, radix, count, inner]")
    if x.shape is None:
        return TensorType(x.dtype, (None,) * 4)
    batch, radix, count, inner = x.shape
    require(
        twiddles.shape is None or twiddles.shape == (count, radix) or None in (count, radix),
        f"twiddles have shape {twiddles.shape}, and must have shape ({count}, {radix})",
    )
    return TensorType(x.dtype, (batch, count, radix, inner))


def _numpy_stage(x: np.ndarray, twiddles: np.ndarray, inverse: bool) -> np.ndarray:
    radix = x.shape[1]
    turns = np.outer(np.arange(radix), np.arange(radix)) / max(radix, 1)
    matrix = np.exp((2j if inverse else -2j) * np.pi * turns)
    factors = twiddles.copy()
    factors[:, :1] = 1
    return np.einsum("pq,bqjk,jp->bjpk", matrix, x, factors).astype(x.dtype)


@assembly(
    type=_stage_type, numpy=_numpy_stage, dtypes=COMPLEX, differentiable=False,
    samples=[
        Sample(real(2, 8, 3, 4), real(3, 8)),
        Sample(real(1, 3, 5, 1), real(5, 3), inverse=True),
        Sample(real(2, 4, 1, 2), real(1, 4)),
    ],
)  # fmt: skip
def fft_stage(x: View, twiddles: View, *, inverse: bool = False) -> list[Piece]:
    """One stage of a Fourier transform: those along the second of four axes, which becomes the third.

    Result number p at position j is multiplied by `twiddles[j, p]`, where p is not 0: there they are 1.
    `inverse` turns by angles of the other sign.
    """
    batch, count, inner = x.shape[0], *x.shape[2:]
    radix = operator.index(x.shape[1])

    def piece(p: int) -> Piece:
        def element(at: tuple[Expr, ...]) -> Expr:
            b, j, _, k = at
            points = [x[b, q, j, k] for q in range(radix)]
            made = _transform(points, 1.0 if inverse else -1.0)[p]
            return made * twiddles[j, p] if p else made

        return Piece((0, 0, p, 0), (batch, count, 1, inner), element)

    return [piece(p) for p in range(radix)]


def _transform(points: Sequence[Expr], sign: float) -> list[Expr]:
    """The transform of a few points, by halves as long as their number is even."""
    n = len(points)
    if n == 1:
        return list(points)
    if n % 2 == 0:
        even, odd = _transform(points[::2], sign), _transform(points[1::2], sign)
        turned = [_turned(v, sign * k / n) for k, v in enumerate(odd)]
        pairs = list(zip(even, turned, strict=True))
        return [a + b for a, b in pairs] + [a - b for a, b in pairs]
    made = []
    for k in range(n):
        total = points[0]
        for q in range(1, n):
            total = total + _turned(points[q], sign * (k * q % n) / n)
        made.append(total)
    return made


def _turned(x: Expr, turn: float) -> Expr:
    """`x` turned by a part of the circle."""
    a, b = scalar.real(x), scalar.imag(x)
    match turn * 4 % 4:
        case 0:
            return x
        case 1:
            return scalar.complex(-b, a)
        case 2:
            return -x
        case 3:
            return scalar.complex(b, -a)
    unit = cmath.exp(2j * math.pi * turn)
    return scalar.complex(a * unit.real - b * unit.imag, a * unit.imag + b * unit.real)


def _radices(n: int) -> list[int] | None:
    """The radices of the stages for n points; None if a prime factor is too large."""
    found = []
    for radix in _RADICES:
        while n % radix == 0:
            found.append(radix)
            n //= radix
    return found if n == 1 else None


def _numpy_transform(x: np.ndarray, rank: int, inverse: bool = False) -> np.ndarray:
    if not x.size:  # which NumPy refuses
        return x.copy()
    axes = tuple(range(-rank, 0))
    made = (np.fft.ifftn if inverse else np.fft.fftn)(x, axes=axes)
    return made.astype(x.dtype, copy=False)


def _any_type(x: TensorType, rank: int, inverse: bool = False) -> TensorType:
    require(x.rank is None or x.rank >= rank, f"x has rank {x.rank}, and at least {rank} axes are needed")
    return x


@on_host(
    type=_any_type, numpy=_numpy_transform, dtypes=COMPLEX, differentiable=False,
    samples=[Sample(real(4), rank=1), Sample(real(2, 3), rank=2, inverse=True), Sample(real(0, 2), rank=1)],
)
def fft_of_any_length(x: Any, *, rank: int, inverse: bool = False) -> Any:
    """The Fourier transform along the last `rank` axes, or its `inverse`."""


def transformed(x: Any, rank: int, inverse: bool) -> Any:
    """The transform of complex numbers along the last `rank` axes, or its inverse."""
    shape = x.shape
    if any(isinstance(n, Size) for n in shape[x.rank - rank :]):
        return fft_of_any_length(x, rank=rank, inverse=inverse)
    for axis in range(len(shape) - rank, len(shape)):
        n = operator.index(shape[axis])
        before = math.prod(shape[:axis])
        x = ops.reshape(x, shape=(before, n, math.prod(shape[axis + 1 :])))
        x = _along_middle(x, n, inverse)
    if inverse:
        x = x * (1 / math.prod(shape[len(shape) - rank :]))
    return ops.reshape(x, shape=shape)


def _along_middle(x: Any, n: int, inverse: bool) -> Any:
    radices = _radices(n)
    if radices is None:
        return _bluestein(x, n, inverse)
    batch, _, inner = x.shape
    done, left = 1, n
    for radix in radices:
        left //= radix
        x = ops.reshape(x, shape=(batch, radix, left, done * inner))
        turns = np.outer(np.arange(left), np.arange(radix)) / (left * radix)
        twiddles = np.exp((2j if inverse else -2j) * np.pi * turns)
        x = fft_stage(x, x.recorder.constant(twiddles.astype(x.dtype.numpy), x.dtype), inverse=inverse)
        done *= radix
    return ops.reshape(x, shape=(batch, n, inner))


def _bluestein(x: Any, n: int, inverse: bool) -> Any:
    """The transform as a convolution with a chirp, along the middle axis."""
    # Of k j = (k^2 + j^2 - (k - j)^2) / 2 the last part is the convolution, the others are factors.
    size = 1 << (2 * n - 2).bit_length()
    batch, _, inner = x.shape
    turns = np.arange(n, dtype=np.int64) ** 2 % (2 * n) / n  # exact, where the squares are large
    chirp = np.exp((1j if inverse else -1j) * np.pi * turns)
    kernel = np.zeros(size, np.complex128)
    kernel[:n] = chirp.conj()
    kernel[size - n + 1 :] = chirp[:0:-1].conj()
    spectrum = np.fft.fft(kernel) / size

    def constant(values: np.ndarray) -> Any:
        return x.recorder.constant(values.astype(x.dtype.numpy)[:, None], x.dtype)

    filled = ops.pad(x * constant(chirp), paddings=[(0, 0), (0, size - n), (0, 0)])
    product = _along_middle(filled, size, False) * constant(spectrum)
    made = ops.slice(_along_middle(product, size, True), begin=(0, 0, 0), size=(batch, n, inner))
    return made * constant(chirp)
