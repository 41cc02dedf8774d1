"""Discrete Fourier transforms along the last one, two or three axes.

They are compiled: see `lengths.py`.

All are linear, so a gradient is the adjoint transform: n times the inverse for a transform of n points. The
real transforms keep one half of a spectrum that is the other half's conjugate, so that entries whose
conjugates are left out stand for two.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from staticgraph.compiler.graph.dtypes import COMPLEX, DType, complex64, complex128, float32, float64, int64
from staticgraph.compiler.graph.errors import require
from staticgraph.compiler.graph.opdef import OpDef, ops
from staticgraph.compiler.graph.open_sizes import lesser
from staticgraph.compiler.graph.shapes import Shape, TensorType, shape_text
from staticgraph.compiler.graph.sizes import positive, same
from staticgraph.compiler.ops.fourier.lengths import (
    along,
    is_open,
    of_real,
    of_real_planes,
    to_real,
    to_real_planes,
    transformed,
)
from staticgraph.compiler.ops.kinds import composite
from staticgraph.compiler.ops.samples import Sample, real

_OF_REAL = {float32: complex64, float64: complex128}
_OF_COMPLEX = {spectrum: signal for signal, spectrum in _OF_REAL.items()}


def _last(rank: int) -> tuple[int, ...]:
    return tuple(range(-rank, 0))


def _checked(input: TensorType, rank: int) -> Shape | None:
    require(
        input.rank is None or input.rank >= rank,
        f"input has shape {shape_text(input.shape)}, and at least {rank} axes are needed",
    )
    return input.shape


def _with_points(transform: Any, input: np.ndarray, fft_length: Any, rank: int) -> np.ndarray:
    """The transform of points that are cut or filled up: NumPy needs one of each axis at least."""
    if 0 in input.shape[-rank:]:
        input = np.zeros((*input.shape[:-rank], *(1,) * rank), input.dtype)
    made: np.ndarray = transform(input, s=fft_length, axes=_last(rank))
    return made


def _points(x: Any, rank: int) -> int:
    return math.prod(x.shape[-rank:])


def _complex_transform(rank: int, inverse: bool) -> OpDef:
    """Transforms of complex numbers: `fft`, `ifft2d` and so on."""
    names = [f"{kind}{f'{rank}d' if rank > 1 else ''}" for kind in ("fft", "ifft")]
    name, opposite = reversed(names) if inverse else names

    def type(input: TensorType) -> TensorType:
        _checked(input, rank)
        return input

    def run(input: np.ndarray) -> np.ndarray:
        if not input.size:  # which NumPy refuses
            return input.copy()
        made = (np.fft.ifftn if inverse else np.fft.fftn)(input, axes=_last(rank))
        return made.astype(input.dtype, copy=False)

    def grad(g: Any, y: Any, x: Any) -> tuple[Any]:
        n, spread = positive(_points(x, rank)), getattr(ops, opposite)(g)
        return (spread / n if inverse else spread * n,)

    def signature(input: Any) -> Any:
        if _is_empty(input):
            return input
        return transformed(input, rank, inverse)

    which = f"last {rank} axes" if rank > 1 else "last axis"
    signature.__name__ = name
    signature.__doc__ = f"The {'inverse ' if inverse else ''}discrete Fourier transform over the {which}."
    shapes = ((4, 3, 5)[:rank], (2, *(3, 1, 2)[:rank]), (0, *(2, 4, 3)[:rank]))
    samples = [Sample(real(*shape)) for shape in shapes]
    fields = {"dtypes": COMPLEX, "samples": samples, "grad": grad, "closed_on_gpu": rank}
    return composite(tf=name.upper(), type=type, numpy=run, **fields)(signature)


def _resized(x: Any, sizes: Any) -> Any:
    """The last axes of `x` cut or filled with zeros to `sizes`."""
    lead = x.rank - len(sizes)
    wanted = (*x.shape[:lead], *sizes)
    if all(map(same, x.shape[lead:], sizes)):
        return x
    cut = ops.slice(x, begin=(0,) * x.rank, size=tuple(map(lesser, x.shape, wanted)))
    return ops.pad(cut, paddings=[(0, n - have) for n, have in zip(wanted, cut.shape, strict=True)])


def _real_name(rank: int, inverse: bool) -> str:
    return f"{'ir' if inverse else 'r'}fft{f'{rank}d' if rank > 1 else ''}"


def _lengths(fft_length: Any, rank: int) -> tuple[int | None, ...]:
    if fft_length is None:
        return (None,) * rank
    require(len(fft_length) == rank, f"fft_length is {fft_length}, and {rank} numbers are needed")
    require(all(n is None or n > 0 for n in fft_length), f"fft_length is {fft_length}, and must be positive")
    return tuple(fft_length)


def _counts(fft_length: Any, dtype: DType) -> Any:
    """Entries of the whole spectrum for each up to the middle of its last axis: 2, or 1 without a twin."""
    last = fft_length[-1]
    place = ops.range(0, last // 2 + 1, 1, dtype=int64)
    alone = ops.logical_or(ops.equal(place, 0), ops.equal(place * 2, last))
    return ops.cast(2 - ops.cast(alone, dtype=int64), dtype=dtype)


def _is_empty(x: Any) -> bool:
    return any(same(n, 0) for n in x.shape)


def _half(n: int | None) -> int | None:
    return None if n is None else n // 2 + 1


def _to_spectrum(rank: int) -> OpDef:
    """Transforms of real numbers: `rfft`, `rfft2d`, `rfft3d`."""

    def type(input: TensorType, fft_length: Any) -> TensorType:
        shape, lengths = _checked(input, rank), _lengths(fft_length, rank)
        spectrum = None if shape is None else (*shape[:-rank], *lengths[:-1], _half(lengths[-1]))
        return TensorType(_OF_REAL[input.dtype], spectrum)

    def run(input: np.ndarray, fft_length: Any) -> np.ndarray:
        return _with_points(np.fft.rfftn, input, fft_length, rank)

    def grad(g: Any, y: Any, x: Any, fft_length: Any) -> tuple[Any]:
        signal = getattr(ops, _real_name(rank, inverse=True))(
            g / _counts(fft_length, g.dtype), fft_length=fft_length
        )
        return (_resized(signal * math.prod(fft_length), x.shape[-rank:]),)

    def signature(input: Any, *, fft_length: Any) -> Any:
        x = _resized(input, fft_length)
        if _is_empty(x):
            places = *fft_length[:-1], fft_length[-1] // 2 + 1
            return ops.cast(_resized(x, places), dtype=_OF_REAL[x.dtype])
        if rank > 1 and is_open(fft_length):
            return of_real_planes(x, rank)
        x = of_real(x)
        for axis in range(x.rank - rank, x.rank - 1):
            x = along(x, axis, inverse=False)
        return x

    signature.__name__ = _real_name(rank, inverse=False)
    signature.__doc__ = f"""The Fourier transform of real numbers, cut or filled with zeros to `fft_length`.

    Over the last {rank} axes; of the last one, the entries up to the middle: the rest are their conjugates.
    """
    return composite(
        tf=signature.__name__.upper(), type=type, numpy=run, dtypes=frozenset(_OF_REAL),
        operands=("fft_length",), partial=("fft_length",), closed_on_gpu=rank, grad=grad,
        samples=[
            Sample(real(*(4, 3, 5)[-rank:]), fft_length=(4, 3, 5)[-rank:]),
            Sample(real(2, *(3, 6, 2)[-rank:]), fft_length=(2, 7, 6)[-rank:]),
            Sample(real(0, *(3, 6, 2)[-rank:]), fft_length=(3, 1, 4)[-rank:]),
        ],
    )(signature)


def _to_signal(rank: int) -> OpDef:
    """Inverse transforms to real numbers: `irfft`, `irfft2d`, `irfft3d`."""

    def type(input: TensorType, fft_length: Any) -> TensorType:
        shape, lengths = _checked(input, rank), _lengths(fft_length, rank)
        return TensorType(_OF_COMPLEX[input.dtype], None if shape is None else (*shape[:-rank], *lengths))

    def run(input: np.ndarray, fft_length: Any) -> np.ndarray:
        return _with_points(np.fft.irfftn, input, fft_length, rank)

    def grad(g: Any, y: Any, x: Any, fft_length: Any) -> tuple[Any]:
        spectrum = getattr(ops, _real_name(rank, inverse=False))(g, fft_length=fft_length)
        weights = _counts(fft_length, x.dtype) / math.prod(fft_length)
        return (_resized(spectrum * weights, x.shape[-rank:]),)

    def signature(input: Any, *, fft_length: Any) -> Any:
        *others, last = fft_length
        x = _resized(input, (*others, last // 2 + 1))
        if _is_empty(x):
            return ops.real(_resized(x, fft_length))
        if rank > 1 and is_open(fft_length):
            return to_real_planes(x, fft_length)
        for axis in range(x.rank - rank, x.rank - 1):
            x = along(x, axis, inverse=True)
        return to_real(x, last) * (1 / math.prod(others)) if others else to_real(x, last)

    signature.__name__ = _real_name(rank, inverse=True)
    signature.__doc__ = f"""The inverse of `{_real_name(rank, inverse=False)}`.

    The last axis holds the entries up to the middle; the result has the lengths `fft_length`.
    """
    return composite(
        tf=signature.__name__.upper(), type=type, numpy=run, dtypes=COMPLEX, operands=("fft_length",),
        partial=("fft_length",), closed_on_gpu=rank, grad=grad,
        samples=[
            Sample(real(*(4, 3, 3)[-rank:]), fft_length=(4, 3, 5)[-rank:]),
            Sample(real(2, *(3, 6, 2)[-rank:]), fft_length=(2, 7, 6)[-rank:]),
            Sample(real(0, *(3, 6, 2)[-rank:]), fft_length=(3, 1, 4)[-rank:]),
        ],
    )(signature)


fft, fft2d, fft3d = (_complex_transform(rank, inverse=False) for rank in (1, 2, 3))
ifft, ifft2d, ifft3d = (_complex_transform(rank, inverse=True) for rank in (1, 2, 3))
rfft, rfft2d, rfft3d = (_to_spectrum(rank) for rank in (1, 2, 3))
irfft, irfft2d, irfft3d = (_to_signal(rank) for rank in (1, 2, 3))
