"""Fourier transforms, the windows that go with them, and mel scales."""

from __future__ import annotations

import math

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.graph.dtypes import complex64, complex128, int64
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.formats.onnx.errors import OnnxError
from staticgraph.formats.onnx.nodes import Node, operator
from staticgraph.formats.onnx.read.movement import padded
from staticgraph.formats.onnx.values import cast, constant, permuted, sizes, unstacked, wide


def _as_complex(x: Tensor) -> Tensor:
    """Pairs of a real and an imaginary part along the last axis, or real numbers alone."""
    shape = x.type.shape
    if not shape or shape[-1] not in (1, 2):
        raise OnnxError(f"its input has the shape {x.shape}, and needs real and imaginary parts at the end")
    parts = unstacked(cast(x, wide(x.dtype)), shape[-1] or 0, -1)
    return ops.complex(parts[0], parts[1] if len(parts) > 1 else ops.zeros_like(parts[0]))


def _fitted(x: Tensor, length: int, axis: int) -> Tensor:
    """`x` cut off, or with zeros after it, so that an axis has a length."""
    have = sizes(x)
    pairs = [(0, length - have[axis]) if i == axis else (0, 0) for i in range(len(have))]
    return padded(x, pairs, "constant")


def _transformed(x: Tensor, length: int, axis: int, inverse: bool) -> Tensor:
    """The Fourier transform of complex numbers along an axis."""
    rank = len(x.type.shape or ())
    order = list(range(rank))
    order[axis], order[-1] = order[-1], order[axis]
    rows = permuted(_fitted(x, length, axis), order)
    return permuted((ops.ifft if inverse else ops.fft)(rows), order)


def _as_pairs(x: Tensor, like: Tensor) -> Tensor:
    return cast(ops.stack([ops.real(x), ops.imag(x)], axis=-1), like.dtype)


@operator("DFT")
def _dft(node: Node, x: Tensor, length: Tensor | None = None, axis: Tensor | None = None) -> Tensor:
    rank = node.rank(x)
    along = node.get("axis", 1) if node.version < 20 else -2 if axis is None else node.ints(axis, "axis")[0]
    along = node.axis(along, x)
    if along == rank - 1:
        raise OnnxError("the last axis, with real and imaginary parts, cannot be transformed")
    inverse, onesided = bool(node.get("inverse")), bool(node.get("onesided"))
    have = node.sizes(x)[along]
    whole = 2 * (have - 1) if inverse and onesided else have
    count = whole if length is None else node.ints(length, "dft_length")[0]
    values = _as_complex(x)
    if inverse and onesided:
        half = _fitted(values, count // 2 + 1, along)
        rest = ops.conj(ops.reverse(_sliced(half, along, 1, (count + 1) // 2), axis=(along,)))
        made = _transformed(ops.concat([half, rest], axis=along), count, along, True)
        return cast(ops.expand_dims(ops.real(made), axis=-1), x.dtype)
    made = _transformed(values, count, along, inverse)
    if onesided:
        made = _sliced(made, along, 0, count // 2 + 1)
    return _as_pairs(made, x)


def _sliced(x: Tensor, axis: int, begin: int, end: int) -> Tensor:
    rank = len(x.type.shape or ())
    first = tuple(begin if i == axis else 0 for i in range(rank))
    return ops.slice(x, begin=first, size=tuple(end - begin if i == axis else -1 for i in range(rank)))


@operator("STFT")
def _stft(
    node: Node, x: Tensor, step: Tensor, window: Tensor | None = None, length: Tensor | None = None
) -> Tensor:
    (hop,) = node.ints(step, "frame_step")
    if length is not None:
        (size,) = node.ints(length, "frame_length")
    elif window is not None:
        (size,) = node.sizes(window)
    else:
        raise OnnxError("it has neither a window nor a frame_length")
    count = (node.sizes(x)[1] - size) // hop + 1
    places = np.arange(count)[:, None] * hop + np.arange(size)[None, :]
    frames = ops.gather(_as_complex(x), constant(places, int64), axis=1)
    if window is not None:
        kind = complex128 if frames.dtype is complex128 else complex64
        frames = frames * cast(window, kind)
    made = ops.fft(frames)
    if node.get("onesided", 1):
        made = _sliced(made, 2, 0, size // 2 + 1)
    return _as_pairs(made, x)


_COSINES = {
    "HannWindow": (0.5, 0.5, 0.0),
    "HammingWindow": (25 / 46, 21 / 46, 0.0),
    "BlackmanWindow": (0.42, 0.5, 0.08),
}


@operator(*_COSINES)
def _window(node: Node, size: Tensor) -> Tensor:
    dtype = node.element_type(node.get("output_datatype", 1))
    count = node.ints(size, "size")[0]
    span = count if node.get("periodic", 1) else count - 1
    angle = 2 * math.pi * np.arange(count) / max(span, 1)
    a, b, c = _COSINES[node.type]
    return constant(a - b * np.cos(angle) + c * np.cos(2 * angle), dtype)


def _mel(hertz: float) -> float:
    return 2595 * math.log10(1 + hertz / 700)


@operator("MelWeightMatrix")
def _mel_weights(node: Node, bins: Tensor, length: Tensor, rate: Tensor, low: Tensor, high: Tensor) -> Tensor:
    """Triangles that overlap, at equal distances on the mel scale: [length // 2 + 1, bins]."""
    count, size, sampled = (node.ints(each, "sizes")[0] for each in (bins, length, rate))
    first, last = (_mel(float(node.known(each, "edges").ravel()[0])) for each in (low, high))
    edges = first + np.arange(count + 2) * (last - first) / (count + 2)
    hertz = 700 * (10 ** (edges / 2595) - 1)
    at = np.floor((size + 1) * hertz / sampled)
    places = np.arange(size // 2 + 1)[:, None]
    start, middle, end = at[:-2], at[1:-1], at[2:]
    up = np.where(middle > start, (places - start) / np.maximum(middle - start, 1), places == middle)
    down = (end - places) / np.maximum(end - middle, 1)
    falling = (places >= middle) & (places < end)
    made = np.where(falling, down, np.where((places >= start) & (places <= middle), up, 0))
    return constant(made, node.element_type(node.get("output_datatype", 1)))
