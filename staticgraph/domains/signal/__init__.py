"""Signals in time and frequency, with TensorFlow 1's names: `sg.signal`."""

from staticgraph.compiler.support.lazy_names import lazy_names

# Type checkers read `__init__.pyi`.
lazy_names(
    __name__,
    {
        "staticgraph.domains.signal.frames": (
            "frame hamming_window hann_window inverse_stft inverse_stft_window_fn overlap_and_add stft"
        ),
        "staticgraph.domains.signal.mel": "linear_to_mel_weight_matrix mfccs_from_log_mel_spectrograms",
        "staticgraph.domains.signal.transforms": (
            "dct fft fft2d fft3d fftshift idct ifft ifft2d ifft3d ifftshift irfft irfft2d irfft3d rfft "
            "rfft2d rfft3d"
        ),
    },
)
