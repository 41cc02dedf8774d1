"""Fourier transforms: rows of usual and of prime lengths, planes, spectra in time, and a convolution."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.numerics.work import Arrays, Work


def _complex(*shape: int) -> Any:
    def inputs(rng: np.random.Generator, small: bool) -> Arrays:
        size = tuple(min(n, 6) for n in shape) if small else shape
        return ((rng.standard_normal(size) + 1j * rng.standard_normal(size)).astype("c8"),)

    return inputs


def _real(*shapes: tuple[int, ...]) -> Any:
    def inputs(rng: np.random.Generator, small: bool) -> Arrays:
        return tuple(
            rng.standard_normal(tuple(min(n, 8) for n in shape) if small else shape).astype("f4")
            for shape in shapes
        )

    return inputs


def _transform(title: str, function: str, inputs: Any, ours: str = "") -> Work:
    """The same function of each library."""
    return Work(
        title, inputs, goal=0.8,
        staticgraph=lambda sg, x: getattr(sg.signal, ours or function)(x),
        scipy=lambda scipy, x: getattr(scipy.fft, function)(x),
        torch=lambda torch, x: getattr(torch.fft, function)(x),
        jax=lambda jax, x: getattr(jax.numpy.fft, function)(x),
    )  # fmt: skip


def _convolution(fft: Any, x: Any, y: Any) -> Any:
    n = 2 * x.shape[-1]
    return fft.irfft(fft.rfft(x, n) * fft.rfft(y, n), n)


def _our_convolution(sg: Any, x: Any, y: Any) -> Any:
    n = 2 * int(x.shape[-1])
    return sg.signal.irfft(sg.signal.rfft(x, [n]) * sg.signal.rfft(y, [n]), [n])


FRAME, STEP = 512, 128


def _stft_inputs(rng: np.random.Generator, small: bool) -> Arrays:
    return (rng.standard_normal((1, 2000) if small else (8, 64_000)).astype("f4"),)


def _window() -> np.ndarray:
    return (0.5 - 0.5 * np.cos(2 * np.pi * np.arange(FRAME) / FRAME)).astype("f4")


def _scipy_stft(scipy: Any, x: Any) -> Any:
    frames = np.lib.stride_tricks.sliding_window_view(x, FRAME, axis=-1)[:, ::STEP]
    return scipy.fft.rfft(frames * _window())


def _torch_stft(torch: Any, x: Any) -> Any:
    window = torch.hann_window(FRAME)
    found = torch.stft(x, FRAME, STEP, window=window, center=False, return_complex=True)
    return found.transpose(-1, -2).contiguous()


def _jax_stft(jax: Any, x: Any) -> Any:
    starts = np.arange((x.shape[-1] - FRAME) // STEP + 1) * STEP
    return jax.numpy.fft.rfft(x[:, starts[:, None] + np.arange(FRAME)] * _window())


WORK = {
    "fft_64": _transform("FFT, 1024 of 64", "fft", _complex(1024, 64)),
    "fft_4096": _transform("FFT, 64 of 4096", "fft", _complex(64, 4096)),
    "fft_1000": _transform("FFT, 100 of 1000", "fft", _complex(100, 1000)),
    "fft_prime": _transform("FFT, 100 of 1009", "fft", _complex(100, 1009)),
    "fft_long": _transform("FFT, one of 2^20", "fft", _complex(1, 1 << 20)),
    "rfft_4096": _transform("FFT of real numbers, 64 of 4096", "rfft", _real((64, 4096))),
    "rfft_1000": _transform("FFT of real numbers, 100 of 1000", "rfft", _real((100, 1000))),
    "rfft_1001": _transform("FFT of real numbers, 100 of 1001", "rfft", _real((100, 1001))),
    "irfft_4096": _transform("FFT back to real numbers, 64 of 4096", "irfft", _complex(64, 2049)),
    "fft2": _transform("FFT of a plane, 512 by 512", "fft2", _complex(512, 512), "fft2d"),
    "rfft2": _transform("FFT of a plane of real numbers, 512 by 512", "rfft2", _real((512, 512)), "rfft2d"),
    "fft_convolution": Work(
        "convolution of 64 pairs of 4096 by FFT", _real((64, 4096), (64, 4096)), goal=0.8,
        staticgraph=_our_convolution,
        scipy=lambda scipy, x, y: _convolution(scipy.fft, x, y),
        torch=lambda torch, x, y: _convolution(torch.fft, x, y),
        jax=lambda jax, x, y: _convolution(jax.numpy.fft, x, y),
    ),
    "stft": Work(
        "spectra in time of 8 signals, 497 frames of 512 each", _stft_inputs, goal=0.8,
        staticgraph=lambda sg, x: sg.signal.stft(x, FRAME, STEP),
        scipy=_scipy_stft, torch=_torch_stft, jax=_jax_stft,
    ),
}  # fmt: skip
