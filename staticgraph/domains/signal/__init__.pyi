"""Signals in time and frequency, with TensorFlow 1's names: `sg.signal`. Made by tools/type_stubs.py."""

from staticgraph.domains.signal.frames import (
    frame as frame,
    hamming_window as hamming_window,
    hann_window as hann_window,
    inverse_stft as inverse_stft,
    inverse_stft_window_fn as inverse_stft_window_fn,
    overlap_and_add as overlap_and_add,
    stft as stft,
)
from staticgraph.domains.signal.mel import (
    linear_to_mel_weight_matrix as linear_to_mel_weight_matrix,
    mfccs_from_log_mel_spectrograms as mfccs_from_log_mel_spectrograms,
)
from staticgraph.domains.signal.transforms import (
    dct as dct,
    fft as fft,
    fft2d as fft2d,
    fft3d as fft3d,
    fftshift as fftshift,
    idct as idct,
    ifft as ifft,
    ifft2d as ifft2d,
    ifft3d as ifft3d,
    ifftshift as ifftshift,
    irfft as irfft,
    irfft2d as irfft2d,
    irfft3d as irfft3d,
    rfft as rfft,
    rfft2d as rfft2d,
    rfft3d as rfft3d,
)
