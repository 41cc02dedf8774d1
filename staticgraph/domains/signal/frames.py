"""Signals cut into frames and put together again, windows, and the short-time Fourier transform."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from staticgraph.arrays.array_ops import pad, reshape, tile
from staticgraph.arrays.casts import cast
from staticgraph.arrays.creation import range as numbers
from staticgraph.building.framework import checked, name_scope
from staticgraph.building.inputs import convert_to_tensor
from staticgraph.building.sizes import Size, is_known, larger, size_of, sizes_of, whole
from staticgraph.compiler import ops
from staticgraph.compiler.graph.dtypes import as_dtype, float32, int32
from staticgraph.compiler.graph.errors import misuse, require
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.domains.signal.transforms import irfft, rfft
from staticgraph.mathematics.reductions import reduce_sum


def _of_rank(x: Any, least: int, call: str) -> Tensor:
    x = convert_to_tensor(x, name="signal")
    with checked(call):
        require(
            x.type.rank is not None and x.type.rank >= least,
            f"the signal has shape {x.shape}, and must have at least {least} axes",
        )
    return x


def _positive(call: str, **sizes: Any) -> list[Size]:
    made = []
    for name, n in sizes.items():
        n = whole(n)
        with checked(call):
            require(not is_known(n) or n > 0, f"{name} is {n}, and must be positive")
        made.append(n)
    return made


def frame(
    signal: Any,
    frame_length: Any,
    frame_step: Any,
    pad_end: bool = False,
    pad_value: Any = 0,
    axis: int = -1,
    name: str | None = None,
) -> Tensor:
    """`signal` cut along `axis` into frames of `frame_length`, each `frame_step` after the one before it.

    The axis becomes two, of the number of frames and their length. Frames that reach beyond the end are left
    out; with `pad_end` they are filled with `pad_value`.

    >>> import staticgraph as sg
    >>> sg.signal.frame(sg.placeholder(sg.float32, [None, 100]), 20, 10).shape.as_list()
    [None, 9, 20]
    """
    with name_scope(name, "frame", [signal, frame_length, frame_step, pad_value]):
        signal = _of_rank(signal, 1, "frame")
        length, step = _positive("frame", frame_length=frame_length, frame_step=frame_step)
        rank = signal.type.rank or 1
        axis = whole(axis)
        with checked("frame"):
            require(
                is_known(axis) and -rank <= axis < rank, f"axis {axis} is out of range for {signal.shape}"
            )
        axis %= rank
        samples = size_of(signal, axis)
        if pad_end:
            count = -(-samples // step)
            missing = larger(0, length + step * (count - 1) - samples)
            ends = [[0, missing if d == axis else 0] for d in range(rank)]
            signal = pad(signal, ends, constant_values=pad_value)
        else:
            count = larger(0, (samples - length) // step + 1)
        starts, within = _counted(count) * step, _counted(length)
        places = reshape(starts, [-1, 1]) + within
        if axis == 0:  # else the gradient would be of rows, as those of lookups are
            signal = reshape(signal, sizes_of(signal))
        return ops.gather(signal, places, axis=axis)


def _counted(n: Size) -> Any:
    """The numbers below n."""
    return np.arange(n, dtype=np.int32) if is_known(n) else numbers(n)


def overlap_and_add(signal: Any, frame_step: Any, name: str | None = None) -> Tensor:
    """The sum of frames [..., frames, length] that each begin `frame_step` after the one before: one signal.

    >>> import staticgraph as sg
    >>> sg.signal.overlap_and_add(sg.placeholder(sg.float32, [None, 9, 20]), 10).shape.as_list()
    [None, 100]
    """
    with name_scope(name, "overlap_and_add", [signal, frame_step]):
        signal = _of_rank(signal, 2, "overlap_and_add")
        if isinstance(frame_step, float) or getattr(frame_step, "dtype", int32).is_floating:
            raise misuse(ValueError, f"overlap_and_add: frame_step is {frame_step!r}, and must be an integer")
        (step,) = _positive("overlap_and_add", frame_step=frame_step)
        *lead, frames, length = sizes_of(signal)
        parts = -(-length // step)
        # Each frame as parts of one step. Part j of frame i belongs to step i + j: with `parts` empty frames
        # more, rows of all j-th parts that are read one place too long lie shifted by j.
        outer = [[0, 0] for _ in lead]
        x = pad(signal, [*outer, [0, parts], [0, parts * step - length]])
        x = reshape(x, [*lead, frames + parts, parts, step])
        rank = len(lead)
        x = ops.transpose(x, perm=(*range(rank), rank + 1, rank, rank + 2))
        x = reshape(x, [*lead, (frames + parts) * parts, step])[..., : (frames + parts - 1) * parts, :]
        x = reduce_sum(reshape(x, [*lead, parts, frames + parts - 1, step]), axis=-3)
        return reshape(x, [*lead, (frames + parts - 1) * step])[..., : length + step * (frames - 1)]


def hann_window(
    window_length: Any, periodic: bool = True, dtype: Any = float32, name: str | None = None
) -> Tensor:
    """0.5 - 0.5 cos(2 pi k / n): a window of `window_length` numbers, periodic in them or else symmetric.

    As in TensorFlow, odd lengths give symmetric windows always.

    >>> import staticgraph as sg
    >>> sg.signal.hann_window(512).shape.as_list()
    [512]
    """
    return _raised_cosine("hann_window", window_length, periodic, dtype, name, 0.5)


def hamming_window(
    window_length: Any, periodic: bool = True, dtype: Any = float32, name: str | None = None
) -> Tensor:
    """0.54 - 0.46 cos(2 pi k / n): see `hann_window`."""
    return _raised_cosine("hamming_window", window_length, periodic, dtype, name, 0.54)


def _raised_cosine(
    call: str, window_length: Any, periodic: Any, dtype: Any, name: str | None, middle: float
) -> Tensor:
    dtype = as_dtype(dtype)
    with name_scope(name, call, [window_length, periodic]):
        with checked(call):
            require(dtype.is_floating, f"dtype is {dtype}, and must be floating")
        n = whole(window_length)
        period = n + cast(periodic, int32) * (1 - n % 2) - 1
        angle = cast(_counted(n), dtype) * (2 * np.pi) / cast(larger(period, 1), dtype)
        window = middle - (1 - middle) * ops.cos(angle)
        return ops.select(ops.equal(n, 1), ops.ones_like(window), window)


Window = Callable[..., Tensor]


def stft(
    signals: Any,
    frame_length: Any,
    frame_step: Any,
    fft_length: Any = None,
    window_fn: Window | None = hann_window,
    pad_end: bool = False,
    name: str | None = None,
) -> Tensor:
    """The short-time Fourier transform: `rfft` of frames of the last axis, each times a window.

    The frames are filled with zeros to `fft_length`, by default the power of two that is no less.
    `window_fn(frame_length, dtype=)` gives the window, None stands for no window. The result is
    [..., frames, fft_length // 2 + 1].

    >>> import staticgraph as sg
    >>> sg.signal.stft(sg.placeholder(sg.float32, [None, 16000]), 400, 160).shape.as_list()
    [None, 98, 257]
    """
    with name_scope(name, "stft", [signals, frame_length, frame_step]):
        signals = _of_rank(signals, 1, "stft")
        length, step = _positive("stft", frame_length=frame_length, frame_step=frame_step)
        framed = frame(signals, length, step, pad_end=pad_end)
        if window_fn is not None:
            framed = framed * window_fn(length, dtype=framed.dtype)
        return rfft(framed, [_transform_length(fft_length, length)])


def inverse_stft(
    stfts: Any,
    frame_length: Any,
    frame_step: Any,
    fft_length: Any = None,
    window_fn: Window | None = hann_window,
    name: str | None = None,
) -> Tensor:
    """The signals of which `stfts` [..., frames, points] are the short-time Fourier transforms.

    That is so with `window_fn=inverse_stft_window_fn(frame_step)`, and but for the first and last frame.
    """
    with name_scope(name, "inverse_stft", [stfts]):
        stfts = _of_rank(stfts, 2, "inverse_stft")
        length, step = _positive("inverse_stft", frame_length=frame_length, frame_step=frame_step)
        points = _transform_length(fft_length, length)
        frames = irfft(stfts, [points])[..., :length]
        if not (is_known(points, length) and points >= length):
            lead = [[0, 0]] * ((frames.type.rank or 1) - 1)
            frames = pad(frames, [*lead, [0, larger(0, length - points)]])
        if window_fn is not None:
            frames = frames * window_fn(length, dtype=stfts.dtype.real_dtype)
        return overlap_and_add(frames, step)


def _transform_length(fft_length: Any, length: Size) -> Size:
    if fft_length is not None:
        return whole(fft_length)
    if is_known(length):
        return 1 << (length - 1).bit_length()
    doublings = ops.ceil(ops.log(cast(length, float32)) / float(np.log(2.0)))
    return cast(ops.pow(2.0, doublings), int32)


def inverse_stft_window_fn(
    frame_step: Any, forward_window_fn: Window = hann_window, name: str | None = None
) -> Window:
    """A `window_fn` for `inverse_stft` that undoes `forward_window_fn`, the one that `stft` had."""
    (step,) = _positive("inverse_stft_window_fn", frame_step=frame_step)

    def window(frame_length: Any, dtype: Any) -> Tensor:
        with name_scope(name, "inverse_stft_window_fn", [frame_length]):
            length = whole(frame_length)
            forward = forward_window_fn(length, dtype=dtype)
            parts = -(-length // step)
            power = pad(ops.square(forward), [[0, parts * step - length]])
            total = reduce_sum(reshape(power, [parts, step]), axis=0)
            return forward / tile(total, [parts])[:length]

    return window
