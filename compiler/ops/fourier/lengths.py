"""Fourier transforms of every length, by the kernels that serve it.

A transform whose length fits into a core's cache is one kernel (`rows.py`), a longer one is a kernel
for each stage (`stages.py`), and one whose length has a prime factor above 13 is a convolution of
more points (Bluestein). That of an even number of real points is one of half as many complex ones. A length
that is known only when a program runs has a kernel that chooses its stages then (`open_lengths.py`).
"""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from staticgraph.compiler.graph.opdef import ops
from staticgraph.compiler.graph.sizes import AnySize, Size
from staticgraph.compiler.ops.fourier.butterflies import radices_of
from staticgraph.compiler.ops.fourier.open_lengths import open_fft, open_irfft, open_rfft
from staticgraph.compiler.ops.fourier.open_planes import open_fft_planes
from staticgraph.compiler.ops.fourier.open_real_planes import open_irfft_planes, open_rfft_planes
from staticgraph.compiler.ops.fourier.real_rows import half_turns, irfft_rows, planes, rfft_rows
from staticgraph.compiler.ops.fourier.rows import fft_columns, fits, turns_of
from staticgraph.compiler.ops.fourier.stages import signal_of_pairs, spectrum_of_pairs, staged


def transformed(x: Any, rank: int, inverse: bool) -> Any:
    """The transform of complex numbers along the last `rank` axes, or its inverse."""
    axes = range(x.rank - rank, x.rank)
    if is_open(x.shape[-rank:]):
        if rank > 1:
            shape = x.shape
            sizes = math.prod(shape[:-rank]), *shape[-rank:]
            x = ops.reshape(x, shape=(math.prod(sizes),))
            return ops.reshape(open_fft_planes(x, sizes=sizes, inverse=inverse), shape=shape)
        return along_open(x, x.rank - 1, inverse)
    points = math.prod(operator.index(x.shape[axis]) for axis in axes)
    for axis in axes:
        x = along(x, axis, inverse)
    return x * (1 / points) if inverse else x


def is_open(lengths: Sequence[AnySize]) -> bool:
    """Return True if a length is known when the program runs, and not now."""
    return any(isinstance(n, Size) for n in lengths)


def along_open(x: Any, axis: int, inverse: bool) -> Any:
    """The transform of complex numbers along one axis, whose length may be open, or its inverse."""
    shape = x.shape
    x = ops.reshape(x, shape=(math.prod(shape[:axis]), shape[axis], math.prod(shape[axis + 1 :])))
    return ops.reshape(open_fft(x, inverse=inverse), shape=shape)


def along(x: Any, axis: int, inverse: bool) -> Any:
    """The transform of complex numbers along one axis. That of the other sign is not scaled."""
    shape = x.shape
    x = ops.reshape(x, shape=(math.prod(shape[:axis]), shape[axis], math.prod(shape[axis + 1 :])))
    return ops.reshape(_transformed(x, inverse), shape=shape)


def of_real_planes(x: Any, rank: int) -> Any:
    """The first half of the transform of real numbers along the last `rank` axes, which may be open."""
    lead, lengths = x.shape[:-rank], x.shape[-rank:]
    x = ops.reshape(x, shape=(math.prod(x.shape),))
    made = open_rfft_planes(x, sizes=(math.prod(lead), *lengths))
    return ops.reshape(made, shape=(*lead, *lengths[:-1], lengths[-1] // 2 + 1))


def to_real_planes(x: Any, lengths: Sequence[AnySize]) -> Any:
    """Real numbers, whose transform over the last axes begins with `x`. Their `lengths` may be open."""
    lead = x.shape[: -len(lengths)]
    x = ops.reshape(x, shape=(math.prod(x.shape),))
    return ops.reshape(open_irfft_planes(x, sizes=(math.prod(lead), *lengths)), shape=(*lead, *lengths))


def of_real(x: Any) -> Any:
    """The first half of the transform of real numbers along the last axis."""
    *lead, n = x.shape
    x = ops.reshape(x, shape=(math.prod(lead), n))
    if is_open((n,)):
        return ops.reshape(open_rfft(x), shape=(*lead, n // 2 + 1))
    n = operator.index(n)
    if fits(n if n % 2 else n // 2, 1):
        made = rfft_rows(x, x.recorder.constant(planes(n).astype(x.dtype.numpy), x.dtype))
    elif n % 2:
        made = along(ops.complex(x, 0.0), 1, inverse=False)
        made = ops.slice(made, begin=(0, 0), size=(math.prod(lead), n // 2 + 1))
    else:
        made = spectrum_of_pairs(x, _transformed)
    return ops.reshape(made, shape=(*lead, n // 2 + 1))


def to_real(x: Any, n: AnySize) -> Any:
    """`n` real numbers along the last axis, whose transform begins with `x`: n // 2 + 1 numbers."""
    *lead, places = x.shape
    x = ops.reshape(x, shape=(math.prod(lead), places))
    if is_open((n,)):
        return ops.reshape(open_irfft(x, points=n), shape=(*lead, n))
    if n % 2:
        made = ops.real(along(_mirrored(x), 1, inverse=True)) * (1 / n)
    elif fits(n // 2, 1):
        turns = half_turns(n, inverse=True).astype(x.dtype.numpy)
        made = irfft_rows(x, x.recorder.constant(turns, x.dtype), scale=1 / n)
    else:
        made = signal_of_pairs(x, _transformed) * (1 / n)
    return ops.reshape(made, shape=(*lead, n))


def _mirrored(x: Any) -> Any:
    """The whole spectra of an odd number of real points."""
    batch, places = x.shape
    first = ops.complex(ops.real(ops.slice(x, begin=(0, 0), size=(batch, 1))), 0.0)
    others = ops.slice(x, begin=(0, 1), size=(batch, places - 1))
    return ops.concat([first, others, ops.conj(ops.reverse(others, axis=(1,)))], axis=1)


def _transformed(x: Any, inverse: bool) -> Any:
    """The transform along the second of three axes."""
    n = operator.index(x.shape[1])
    if radices_of(n) is None:
        return _bluestein(x, n, inverse)
    if not fits(n, x.shape[2]):
        return staged(x, inverse)
    turns = turns_of(n, inverse).astype(x.dtype.numpy)
    return fft_columns(x, x.recorder.constant(turns, x.dtype), inverse=inverse)


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
    product = _transformed(filled, False) * constant(spectrum)
    made = ops.slice(_transformed(product, True), begin=(0, 0, 0), size=(batch, n, inner))
    return made * constant(chirp)
