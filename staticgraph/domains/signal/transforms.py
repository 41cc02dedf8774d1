"""Fourier and cosine transforms, with TensorFlow 1's names: part of `sg.signal`."""

from __future__ import annotations

from typing import Any

import numpy as np

from staticgraph.arrays.array_ops import concat, pad, roll
from staticgraph.building.framework import checked, name_scope
from staticgraph.building.inputs import convert_to_tensor
from staticgraph.building.sizes import Size, is_known, size_of
from staticgraph.compiler import ops
from staticgraph.compiler.graph.dtypes import complex64, float32, int32
from staticgraph.compiler.graph.errors import misuse, require
from staticgraph.compiler.graph.shapes import normalize_axis
from staticgraph.compiler.graph.tensor import Tensor

# fmt: off
__all__ = [
    "dct", "fft", "fft2d", "fft3d", "fftshift", "idct", "ifft", "ifft2d", "ifft3d", "ifftshift", "irfft",
    "irfft2d", "irfft3d", "rfft", "rfft2d", "rfft3d",
]
# fmt: on

# Of complex64 or complex128, over the last one, two or three axes; inverses divide by the number of points.
fft, fft2d, fft3d = ops.fft, ops.fft2d, ops.fft3d
ifft, ifft2d, ifft3d = ops.ifft, ops.ifft2d, ops.ifft3d


def _as(x: Any, dtype: Any) -> Tensor:
    """`x` as a tensor of `dtype`. Complex numbers do not become real ones: operations refuse them."""
    if isinstance(x, Tensor):
        return x
    loses = np.iscomplexobj(x) and not dtype.is_complex
    return convert_to_tensor(x, dtype=None if loses else dtype, name="input")


def _real(op: Any, rank: int, input_tensor: Any, fft_length: Any, name: str | None) -> Tensor:
    with name_scope(name, op.name, [input_tensor, fft_length]) as scope:
        x = _as(input_tensor, float32)
        if fft_length is None:
            fft_length = _last_sizes(x, rank, op.name)
        return op(x, fft_length=fft_length, name=scope)


def _inverse(op: Any, rank: int, input_tensor: Any, fft_length: Any, name: str | None) -> Tensor:
    with name_scope(name, op.name, [input_tensor, fft_length]) as scope:
        x = _as(input_tensor, complex64)
        if fft_length is None:
            sizes = _last_sizes(x, rank, op.name)
            fft_length = [*(sizes[n] for n in range(rank - 1)), (sizes[rank - 1] - 1) * 2]
        return op(x, fft_length=fft_length, name=scope)


def _last_sizes(x: Tensor, rank: int, call: str) -> Any:
    """Return the sizes of the last axes: a vector if the rank of `x` is unknown."""
    with checked(call):
        require(
            x.type.rank is None or x.type.rank >= rank,
            f"the input has shape {x.shape}, and at least {rank} axes are needed",
        )
    if x.type.rank is None:
        return ops.shape_of(x)[-rank:]
    return [size_of(x, axis) for axis in range(-rank, 0)]


def rfft(input_tensor: Any, fft_length: Any = None, name: str | None = None) -> Tensor:
    """The Fourier transform of real numbers over the last axis, cut or filled with zeros to `fft_length`.

    float32 becomes complex64, float64 complex128. Of n points there are n // 2 + 1 results: the others are
    their conjugates.

    >>> import staticgraph as sg
    >>> sg.signal.rfft(sg.placeholder(sg.float32, [None, 8])).shape.as_list()
    [None, 5]
    """
    return _real(ops.rfft, 1, input_tensor, fft_length, name)


def rfft2d(input_tensor: Any, fft_length: Any = None, name: str | None = None) -> Tensor:
    """`rfft` over the last two axes; `fft_length` has two numbers."""
    return _real(ops.rfft2d, 2, input_tensor, fft_length, name)


def rfft3d(input_tensor: Any, fft_length: Any = None, name: str | None = None) -> Tensor:
    """`rfft` over the last three axes; `fft_length` has three numbers."""
    return _real(ops.rfft3d, 3, input_tensor, fft_length, name)


def irfft(input_tensor: Any, fft_length: Any = None, name: str | None = None) -> Tensor:
    """The inverse of `rfft`: real numbers. `fft_length` is an even number by default, 2 (n - 1).

    >>> import staticgraph as sg
    >>> sg.signal.irfft(sg.placeholder(sg.complex64, [None, 5])).shape.as_list()
    [None, 8]
    """
    return _inverse(ops.irfft, 1, input_tensor, fft_length, name)


def irfft2d(input_tensor: Any, fft_length: Any = None, name: str | None = None) -> Tensor:
    """The inverse of `rfft2d`."""
    return _inverse(ops.irfft2d, 2, input_tensor, fft_length, name)


def irfft3d(input_tensor: Any, fft_length: Any = None, name: str | None = None) -> Tensor:
    """The inverse of `rfft3d`."""
    return _inverse(ops.irfft3d, 3, input_tensor, fft_length, name)


def fftshift(x: Any, axes: Any = None, name: str | None = None) -> Tensor:
    """`x` rolled along `axes` (all) by half their size, so that the entry of frequency 0 comes to the middle.

    >>> import staticgraph as sg
    >>> sg.signal.fftshift(sg.constant([0.0, 1.0, 2.0, -2.0, -1.0])).shape.as_list()
    [5]
    """
    return _rolled(x, axes, name, "fftshift", 1)


def ifftshift(x: Any, axes: Any = None, name: str | None = None) -> Tensor:
    """The inverse of `fftshift`."""
    return _rolled(x, axes, name, "ifftshift", -1)


def _rolled(x: Any, axes: Any, name: str | None, call: str, sign: int) -> Tensor:
    with name_scope(name, call) as scope:
        x = convert_to_tensor(x)
        with checked(call):
            require(x.type.rank is not None, "the rank of the tensor must be known")
            rank = x.type.rank or 0
            axes = range(rank) if axes is None else np.reshape(axes, -1).tolist()
            axes = [normalize_axis(axis, rank) for axis in axes]
        return roll(x, [size_of(x, axis) // 2 * sign for axis in axes], axes, name=scope)


def dct(
    input: Any,
    type: int = 2,
    n: int | None = None,
    axis: int = -1,
    norm: str | None = None,
    name: str | None = None,
) -> Tensor:
    """The discrete cosine transform of `type` 1, 2 or 3 over the last axis, of float32.

    The input is cut or filled with zeros to `n` first. `norm` 'ortho' makes types 2 and 3 orthonormal.
    ValueError for another type or norm, NotImplementedError for another axis.

    >>> import staticgraph as sg
    >>> sg.signal.dct(sg.placeholder(sg.float32, [None, 20]), norm="ortho").shape.as_list()
    [None, 20]
    """
    with name_scope(name, "dct", [input]):
        x = _as(input, float32)
        if axis != -1:
            raise misuse(NotImplementedError, f"dct: axis is {axis}, and must be -1")
        with checked("dct"):
            require(type in (1, 2, 3), f"there is no cosine transform of type {type}, only 1, 2 and 3")
            require(norm in (None, "ortho"), f"norm is {norm!r}, and must be None or 'ortho'")
            require(type != 1 or norm is None, "the transform of type 1 has no norm")
            require(n is None or n > 0, f"n is {n}, and must be positive")
        (size,) = _last_sizes(x, 1, "dct")
        if n is not None:
            x, size = _of_size(x, size, n), n
        match type:
            case 1:
                return _first(x, size)
            case 2:
                return _second(x, size, norm)
            case _:
                return _third(x, size, norm)


def idct(
    input: Any,
    type: int = 2,
    n: int | None = None,
    axis: int = -1,
    norm: str | None = None,
    name: str | None = None,
) -> Tensor:
    """The inverse of `dct`: the transform of type 1, 3, 2 for 1, 2, 3. Without a norm it is not scaled."""
    return dct(input, {1: 1, 2: 3, 3: 2}.get(type, type), n, axis, norm, name)


def _of_size(x: Tensor, size: Size, n: int) -> Tensor:
    if is_known(size) and n <= size:
        return x[..., :n]
    lead = [[0, 0]] * ((x.type.rank or 1) - 1)
    return pad(x, [*lead, [0, ops.maximum(n - size, 0)]])[..., :n]


def _first(x: Tensor, size: Size) -> Tensor:
    with checked("dct"):
        require(not is_known(size) or size > 1, "the transform of type 1 needs at least two numbers")
    return ops.real(rfft(concat([x, x[..., -2:0:-1]], axis=-1)))


def _quarter_waves(x: Tensor, size: Size, sign: float) -> Tensor:
    """2 exp(sign i pi k / 2n) for k below n."""
    count = ops.cast(size, dtype=x.dtype)
    angle = ops.range(0.0, count, 1.0, dtype=x.dtype) * (sign * np.pi / 2) / count
    return ops.complex(2.0 * ops.cos(angle), 2.0 * ops.sin(angle))


def _weights(size: Size, first: Any, others: Any) -> Tensor:
    """A vector of `first` and, after it, `others`."""
    return ops.select(ops.equal(ops.range(0, size, 1, dtype=int32), 0), first, others)


def _second(x: Tensor, size: Size, norm: str | None) -> Tensor:
    spectrum = rfft(x, fft_length=[size * 2])[..., :size]
    made = ops.real(spectrum * _quarter_waves(x, size, -1.0))
    if norm is None:
        return made
    scale = ops.rsqrt(ops.cast(size, dtype=x.dtype))
    return made * _weights(size, 0.5 * scale, float(np.sqrt(0.5)) * scale)


def _third(x: Tensor, size: Size, norm: str | None) -> Tensor:
    count = ops.cast(size, dtype=x.dtype)
    root = ops.sqrt(count)
    x = x * (count if norm is None else _weights(size, root, float(np.sqrt(0.5)) * root))
    spectrum = _quarter_waves(x, size, 1.0) * ops.complex(x, ops.zeros_like(x))
    return irfft(spectrum, fft_length=[size * 2])[..., :size]
