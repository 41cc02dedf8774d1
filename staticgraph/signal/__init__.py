"""Signals in time and frequency, with TensorFlow 1's names: `sg.signal`."""

from staticgraph.signal.frames import (
    frame,
    hamming_window,
    hann_window,
    inverse_stft,
    inverse_stft_window_fn,
    overlap_and_add,
    stft,
)
from staticgraph.signal.mel import linear_to_mel_weight_matrix, mfccs_from_log_mel_spectrograms
from staticgraph.signal.transforms import (
    dct,
    fft,
    fft2d,
    fft3d,
    fftshift,
    idct,
    ifft,
    ifft2d,
    ifft3d,
    ifftshift,
    irfft,
    irfft2d,
    irfft3d,
    rfft,
    rfft2d,
    rfft3d,
)

__all__ = [
    "dct", "fft", "fft2d", "fft3d", "fftshift", "frame", "hamming_window", "hann_window", "idct", "ifft",
    "ifft2d", "ifft3d", "ifftshift", "inverse_stft", "inverse_stft_window_fn", "irfft", "irfft2d", "irfft3d",
    "linear_to_mel_weight_matrix", "mfccs_from_log_mel_spectrograms", "overlap_and_add", "rfft", "rfft2d",
    "rfft3d", "stft",
]  # fmt: skip
