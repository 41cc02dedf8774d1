"""Fourier transforms of rows of real numbers, in the stages of `rows.py`.

A transform of an even number n of real points is one of n / 2 complex ones, whose real parts are the points
at even places. The spectrum of the n points is found in theirs, and the other way round. If n is odd, the
first stage leaves imaginary parts out, and the last one the results that are the conjugates of others.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from staticgraph.compiler.graph.dtypes import COMPLEX, complex64, complex128, float32, float64, int64
from staticgraph.compiler.graph.errors import require
from staticgraph.compiler.graph.opdef import ops
from staticgraph.compiler.graph.shapes import TensorType
from staticgraph.compiler.graph.sizes import same
from staticgraph.compiler.kernel import scalar
from staticgraph.compiler.kernel.expr import Const, Expr, Index
from staticgraph.compiler.kernel.stmt import LoopKind, Store
from staticgraph.compiler.ops.fourier.butterflies import parts
from staticgraph.compiler.ops.fourier.rows import (
    ZERO,
    Body,
    Stages,
    count_of_turns,
    fits,
    numpy_stages,
    on_a_gpu,
    turns_of,
)
from staticgraph.compiler.ops.fourier.stages import signal_of_pairs, spectrum_of_pairs, staged
from staticgraph.compiler.ops.kinds import Described, Out, View, routine
from staticgraph.compiler.ops.samples import Sample, fixed, real
from staticgraph.compiler.ops.statements.loops import nested


def half_turns(n: int, inverse: bool) -> np.ndarray:
    """The roots of unity of all stages for n / 2 points, and n / 2 more for real numbers."""
    half = n // 2
    turns = np.exp((1j if inverse else -1j) * np.pi * np.arange(half) / half)
    return np.append(turns_of(half, inverse), turns)


def planes(n: int) -> np.ndarray:
    """The roots of unity for `n` real numbers: their real parts, and below them the imaginary ones.

    They are those of `half_turns`, and of all stages if `n` is odd.
    """
    turns = turns_of(n, False) if n % 2 else half_turns(n, inverse=False)
    return np.stack([turns.real, turns.imag])


def _half(n: int) -> int:
    """Half of an even number of points that fits."""
    require(n % 2 == 0 and fits(n // 2, 1), f"there are no stages for half of {n} points in one column")
    return n // 2


def _spectrum_type(x: TensorType, turns: TensorType) -> TensorType:
    require(x.rank in (None, 2), f"x has rank {x.rank}, and must be [batch, points]")
    spectrum = complex64 if x.dtype is float32 else complex128
    if x.shape is None or x.shape[1] is None:
        return TensorType(spectrum, None if x.shape is None else (x.shape[0], None))
    n = operator.index(x.shape[1])
    require(n % 2 == 0 or fits(n, 1), f"there are no stages for {n} points in one column")
    wanted = (2, count_of_turns(n) if n % 2 else count_of_turns(_half(n)) + n // 2)
    require(turns.shape in (None, wanted), f"turns have shape {turns.shape}, and must have shape {wanted}")
    return TensorType(spectrum, (x.shape[0], n // 2 + 1))


def _numpy_spectrum(x: np.ndarray, turns: np.ndarray) -> np.ndarray:
    half, spectrum = x.shape[1] // 2, "c8" if x.dtype == "f4" else "c16"
    turns = turns[0] + 1j * turns[1]
    if x.shape[1] % 2:
        return numpy_stages(x[:, :, None] + 0j, turns, False)[:, : half + 1, 0].astype(spectrum)
    pairs = x[:, ::2] + 1j * x[:, 1::2]
    z = numpy_stages(pairs[:, :, None], turns[:-half], False)[:, :, 0]
    places = np.arange(half + 1)
    one, other = z[:, places % half], z[:, -places % half].conj()
    factors = np.append(turns[-half:], [-1])
    factors[0] = 1
    made = (one + other) / 2 + factors * (one - other) / 2j
    made[:, [0, -1]] = made[:, [0, -1]].real
    return made.astype(spectrum)


def _spectrum_in_stages(x: Any, turns: Any) -> Any:
    batch, n = x.shape
    if n % 2 == 0:
        return spectrum_of_pairs(x, staged)
    made = staged(ops.reshape(ops.complex(x, 0.0), shape=(batch, n, 1)), False)
    return ops.slice(ops.reshape(made, shape=(batch, n)), begin=(0, 0), size=(batch, n // 2 + 1))


@routine(
    type=_spectrum_type, numpy=_numpy_spectrum, dtypes=frozenset({float32, float64}), differentiable=False,
    long=on_a_gpu, expand=_spectrum_in_stages,
    samples=[
        Sample(real(2, 80), fixed(planes(80))),
        Sample(real(3, 64), fixed(planes(64))),
        Sample(real(0, 64), fixed(planes(64))),
        Sample(real(2, 77), fixed(planes(77))),
    ],
)  # fmt: skip
def rfft_rows(outs: tuple[Out, ...], x: View, turns: View) -> Described | tuple[()]:
    """The first half of the Fourier transforms of rows of real numbers.

    `turns` are those of `planes`.
    """
    (out,) = outs
    batch, n = x.shape[0], operator.index(x.shape[1])
    if same(batch, 0):
        return ()
    row = Index("row", batch)

    def turn(at: Expr) -> Expr:
        return scalar.complex(*(turns[part, at] for part in (0, 1)))

    if n % 2:
        stages = Stages(n, 1, turn, False, x.dtype)
        body = stages.body(
            lambda place, _: scalar.complex(x[row, place], Const(0.0, x.dtype)),
            lambda place, _, value: (Store(out.buffer, (row, place), value),),
            places=n // 2 + 1,
        )
        return Described(nested((row,), body, LoopKind.PARALLEL), scratch=stages.scratch)
    half = _half(n)
    stages = Stages(half, 1, turn, False, x.dtype)
    found, put = stages.result

    def pair(place: Expr, _: Expr) -> Expr:
        return scalar.complex(*(x[row, place * 2 + part] for part in (0, 1)))

    def between(k: Index) -> Body:
        one, other = found(k + 1, ZERO), scalar.conjugate(found(half - 1 - k, ZERO))
        a, b = parts(one + other), parts((one - other) * turn(count_of_turns(half) + 1 + k))
        return (Store(out.buffer, (row, k + 1), scalar.complex((a[0] + b[1]) * 0.5, (a[1] - b[0]) * 0.5)),)

    re, im = parts(found(ZERO, ZERO))
    ends = (
        Store(out.buffer, (row, ZERO), scalar.complex(re + im, 0.0)),
        Store(out.buffer, (row, Const(half, int64)), scalar.complex(re - im, 0.0)),
    )
    body = (*stages.body(pair, put), *ends, stages.lanes(half - 1, between))
    return Described(nested((row,), body, LoopKind.PARALLEL), scratch=stages.scratch)


def _signal_type(x: TensorType, turns: TensorType, scale: float = 1.0) -> TensorType:
    require(x.rank in (None, 2), f"x has rank {x.rank}, and must be [batch, half + 1]")
    signal = x.dtype.real_dtype
    if x.shape is None or x.shape[1] is None:
        return TensorType(signal, None if x.shape is None else (x.shape[0], None))
    half = _half(2 * operator.index(x.shape[1]) - 2)
    wanted = (count_of_turns(half) + half,)
    require(turns.shape in (None, wanted), f"turns have shape {turns.shape}, and must have shape {wanted}")
    return TensorType(signal, (x.shape[0], 2 * half))


def _numpy_signal(x: np.ndarray, turns: np.ndarray, scale: float = 1.0) -> np.ndarray:
    half = x.shape[1] - 1
    kept, factors = x.copy(), turns[-half:].copy()
    kept[:, [0, -1]] = kept[:, [0, -1]].real
    factors[0] = 1
    one, other = kept[:, :-1], kept[:, :0:-1].conj()
    z = numpy_stages((one + other + 1j * factors * (one - other))[:, :, None], turns[:-half], True)[:, :, 0]
    made = np.stack([z.real, z.imag], -1).reshape(len(x), 2 * half) * scale
    return made.astype("f4" if x.dtype == "c8" else "f8")


@routine(
    type=_signal_type, numpy=_numpy_signal, dtypes=COMPLEX, differentiable=False,
    long=on_a_gpu, expand=lambda x, turns, scale=1.0: signal_of_pairs(x, staged) * scale,
    samples=[
        Sample(real(2, 41), fixed(half_turns(80, True)), scale=0.5),
        Sample(real(3, 33), fixed(half_turns(64, True))),
        Sample(real(0, 33), fixed(half_turns(64, True))),
    ],
)  # fmt: skip
def irfft_rows(outs: tuple[Out, ...], x: View, turns: View, *, scale: float = 1.0) -> Described | tuple[()]:
    """Rows of real numbers from the first half of their transforms, multiplied by `scale` and their number.

    `turns` are those of `half_turns`, inverse ones. The imaginary parts at both ends of a row count as zero.
    """
    (out,) = outs
    batch, half = x.shape[0], operator.index(x.shape[1]) - 1
    if same(batch, 0):
        return ()
    row = Index("row", batch)
    stages = Stages(half, 1, lambda at: turns[at], True, out.dtype)
    start, put = stages.memory(1)

    def between(k: Index) -> Body:
        one, other = x[row, k + 1], scalar.conjugate(x[row, half - 1 - k])
        a, b = parts(one + other), parts((one - other) * turns[count_of_turns(half) + 1 + k])
        return put(k + 1, ZERO, scalar.complex(a[0] - b[1], a[1] + b[0]))

    def write(place: Expr, _: Expr, value: Expr) -> Body:
        return tuple(Store(out.buffer, (row, place * 2 + part), v) for part, v in enumerate(parts(value)))

    low, high = scalar.real(x[row, 0]), scalar.real(x[row, half])
    first = put(ZERO, ZERO, scalar.complex(low + high, low - high))
    body = (*first, stages.lanes(half - 1, between), *stages.body(start, write, scale))
    return Described(nested((row,), body, LoopKind.PARALLEL), scratch=stages.scratch)
