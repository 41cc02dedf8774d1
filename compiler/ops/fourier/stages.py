"""Fourier transforms in stages of small transforms (Stockham), each a kernel of complex numbers.

With n = r * m, the transform of n points is m transforms of r points, a multiplication by roots of unity
("twiddles"), and r transforms of m points. A stage reads points as [batch, r, m, inner] and writes
[batch, m, r, inner]: then the r transforms lie side by side, the next stage takes them as its `inner`,
and the last one leaves everything in order. Lengths that fit into a core's cache need no kernel for each
stage on a processor: see `rows.py`.

A transform of an even number n of real points is one of n / 2 complex ones, whose real parts are the points
at even places. `real_spectrum` finds the spectrum of the n points in theirs, and `paired_spectrum` goes back.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from staticgraph.compiler.graph.dtypes import COMPLEX
from staticgraph.compiler.graph.errors import require
from staticgraph.compiler.graph.opdef import ops
from staticgraph.compiler.graph.shapes import TensorType
from staticgraph.compiler.graph.sizes import AnySize
from staticgraph.compiler.kernel import scalar
from staticgraph.compiler.kernel.expr import Expr
from staticgraph.compiler.ops.fourier.butterflies import parts, radices_of, small_transform
from staticgraph.compiler.ops.kinds import Piece, View, assembly
from staticgraph.compiler.ops.samples import Sample, real


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
            made = small_transform(points, 1.0 if inverse else -1.0)[p]
            return made * twiddles[j, p] if p else made

        return Piece((0, 0, p, 0), (batch, count, 1, inner), element)

    return [piece(p) for p in range(radix)]


def staged(x: Any, inverse: bool) -> Any:
    """The transform along the second of three axes, of small factors, with a kernel for each stage."""
    batch, n, inner = x.shape
    n = operator.index(n)
    done, left = 1, n
    for radix in radices_of(n) or ():
        left //= radix
        x = ops.reshape(x, shape=(batch, radix, left, done * inner))
        turns = np.outer(np.arange(left), np.arange(radix)) / (left * radix)
        twiddles = np.exp((2j if inverse else -2j) * np.pi * turns)
        x = fft_stage(x, x.recorder.constant(twiddles.astype(x.dtype.numpy), x.dtype), inverse=inverse)
        done *= radix
    return ops.reshape(x, shape=(batch, n, inner))


# Real numbers


def _spectrum_type(x: TensorType, twiddles: TensorType) -> TensorType:
    require(x.rank in (None, 2), f"x has rank {x.rank}, and must be [batch, half]")
    if x.shape is None:
        return TensorType(x.dtype, (None, None))
    batch, half = x.shape
    _check_twiddles(twiddles, half)
    return TensorType(x.dtype, (batch, None if half is None else half + 1))


def _check_twiddles(twiddles: TensorType, half: AnySize | None) -> None:
    require(
        twiddles.shape is None or twiddles.shape in ((half,), (None,)) or half is None,
        f"twiddles have shape {twiddles.shape}, and must have shape ({half},)",
    )


def _numpy_spectrum(x: np.ndarray, twiddles: np.ndarray) -> np.ndarray:
    places = np.arange(x.shape[1] + 1)
    half = max(x.shape[1], 1)
    one, other = x[:, places % half], x[:, -places % half].conj()
    turns = np.append(twiddles, [-1])
    turns[:1] = 1
    made = (one + other) / 2 + turns * (one - other) / 2j
    made[:, [0, -1]] = made[:, [0, -1]].real
    return made.astype(x.dtype)


_HALVES = [Sample(real(2, n), real(n)) for n in (1, 2, 5, 40)]


@assembly(
    type=_spectrum_type, numpy=_numpy_spectrum, dtypes=COMPLEX, differentiable=False, samples=_HALVES,
)  # fmt: skip
def real_spectrum(x: View, twiddles: View) -> list[Piece]:
    """The first half of the spectrum of real numbers, from that of their pairs as complex numbers.

    `twiddles[k]` is exp(-pi i k / half); that at 0 is not read.
    """
    batch, half = x.shape

    def between(at: tuple[Expr, ...]) -> Expr:
        b, k = at
        one, other = x[b, k + 1], scalar.conjugate(x[b, half - 1 - k])
        across = (one - other) * twiddles[k + 1]
        a, c = parts(one + other), parts(across)
        return scalar.complex((a[0] + c[1]) * 0.5, (a[1] - c[0]) * 0.5)

    def end(sign: float) -> Callable[[tuple[Expr, ...]], Expr]:
        def element(at: tuple[Expr, ...]) -> Expr:
            re, im = parts(x[at[0], 0])
            return scalar.complex(re + im if sign > 0 else re - im, 0.0)

        return element

    return [
        Piece((0, 0), (batch, 1), end(1.0)),
        Piece((0, 1), (batch, half - 1), between),
        Piece((0, half), (batch, 1), end(-1.0)),
    ]


def _pairs_type(x: TensorType, twiddles: TensorType) -> TensorType:
    require(x.rank in (None, 2), f"x has rank {x.rank}, and must be [batch, half + 1]")
    if x.shape is None:
        return TensorType(x.dtype, (None, None))
    batch, places = x.shape
    require(places is None or places > 0, "x has no elements")
    half = None if places is None else places - 1
    _check_twiddles(twiddles, half)
    return TensorType(x.dtype, (batch, half))


def _numpy_pairs(x: np.ndarray, twiddles: np.ndarray) -> np.ndarray:
    x = x.copy()
    x[:, [0, -1]] = x[:, [0, -1]].real
    one, other = x[:, :-1], x[:, :0:-1].conj()
    turns = twiddles.conj()
    turns[:1] = 1
    return (one + other + 1j * turns * (one - other)).astype(x.dtype)


@assembly(
    type=_pairs_type, numpy=_numpy_pairs, dtypes=COMPLEX, differentiable=False,
    samples=[Sample(real(2, n + 1), real(n)) for n in (1, 2, 5, 40)],
)  # fmt: skip
def paired_spectrum(x: View, twiddles: View) -> list[Piece]:
    """The spectrum of pairs of real numbers as complex ones, times two, from half of that of all numbers.

    `twiddles` are those of `real_spectrum`. The imaginary parts at both ends count as zero.
    """
    batch, half = x.shape[0], x.shape[1] - 1

    def first(at: tuple[Expr, ...]) -> Expr:
        low, high = scalar.real(x[at[0], 0]), scalar.real(x[at[0], half])
        return scalar.complex(low + high, low - high)

    def others(at: tuple[Expr, ...]) -> Expr:
        b, k = at
        one, other = x[b, k + 1], scalar.conjugate(x[b, half - 1 - k])
        across = (one - other) * scalar.conjugate(twiddles[k + 1])
        a, c = parts(one + other), parts(across)
        return scalar.complex(a[0] - c[1], a[1] + c[0])

    return [Piece((0, 0), (batch, 1), first), Piece((0, 1), (batch, half - 1), others)]


def _half_turns(x: Any, half: int) -> Any:
    twiddles = np.exp(-1j * np.pi * np.arange(half) / half)
    return x.recorder.constant(twiddles.astype(x.dtype.numpy), x.dtype)


Transform = Callable[[Any, bool], Any]  # the transform of complex numbers along the second of three axes


def spectrum_of_pairs(x: Any, transform: Transform) -> Any:
    """The first halves of the transforms of rows of an even number of real numbers, by one of pairs."""
    batch, n = x.shape
    half = n // 2
    pairs = ops.reshape(x, shape=(batch, half, 2))
    even, odd = (ops.slice(pairs, begin=(0, 0, part), size=(batch, half, 1)) for part in (0, 1))
    made = ops.reshape(transform(ops.complex(even, odd), False), shape=(batch, half))
    return real_spectrum(made, _half_turns(made, half))


def signal_of_pairs(x: Any, transform: Transform) -> Any:
    """Rows of real numbers of which `x` is the first half of the transform, multiplied by their number."""
    batch, half = x.shape[0], x.shape[1] - 1
    made = ops.reshape(paired_spectrum(x, _half_turns(x, half)), shape=(batch, half, 1))
    made = transform(made, True)
    return ops.reshape(ops.stack([ops.real(made), ops.imag(made)], axis=-1), shape=(batch, 2 * half))
