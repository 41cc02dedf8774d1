"""The mel scale of pitches, and the coefficients that speech recognition is made with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from staticgraph.building.framework import checked, name_scope
from staticgraph.building.inputs import constant, convert_to_tensor
from staticgraph.building.sizes import is_known, size_of
from staticgraph.compiler import ops
from staticgraph.compiler.graph.dtypes import as_dtype, float32
from staticgraph.compiler.graph.errors import require
from staticgraph.compiler.graph.static_value import static_value
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.domains.signal.transforms import dct


def mel(hertz: Any, log1p: Callable[[Any], Any] = np.log1p) -> Any:
    """Return the pitch of a frequency, by the function `log1p` for numbers of its kind.

    >>> float(mel(1000.0).round(2))
    999.99
    """
    return 1127.0 * log1p(hertz / 700.0)


def linear_to_mel_weight_matrix(
    num_mel_bins: int = 20,
    num_spectrogram_bins: int = 129,
    sample_rate: Any = 8000,
    lower_edge_hertz: float = 125.0,
    upper_edge_hertz: float = 3800.0,
    dtype: Any = float32,
    name: str | None = None,
) -> Tensor:
    """The matrix [num_spectrogram_bins, num_mel_bins] that sums a spectrum over bands of the mel scale.

    The bands are triangles, spaced evenly in mel from `lower_edge_hertz` to `upper_edge_hertz`, each reaching
    to the middles of its neighbours. The spectrum goes from 0 to half of `sample_rate`.

    >>> import staticgraph as sg
    >>> spectrum = sg.abs(sg.signal.stft(sg.placeholder(sg.float32, [8000]), 256, 128))
    >>> sg.matmul(spectrum, sg.signal.linear_to_mel_weight_matrix()).shape.as_list()
    [61, 20]
    """
    dtype = as_dtype(dtype)
    rate = static_value(sample_rate) if isinstance(sample_rate, Tensor) else sample_rate
    with checked("linear_to_mel_weight_matrix"):
        require(rate is not None, "sample_rate must be known while the graph is built")
        require(num_mel_bins > 0, f"num_mel_bins is {num_mel_bins}, and must be positive")
        require(rate > 0, f"sample_rate is {rate}, and must be positive")
        require(lower_edge_hertz >= 0, f"lower_edge_hertz is {lower_edge_hertz}, and must not be negative")
        require(
            lower_edge_hertz < upper_edge_hertz <= rate / 2,
            f"upper_edge_hertz is {upper_edge_hertz}, and must be between lower_edge_hertz,"
            f" {lower_edge_hertz}, and half of sample_rate, {rate / 2}",
        )
        require(dtype.is_floating, f"dtype is {dtype}, and must be floating")
    bins = mel(np.linspace(0.0, rate / 2, num_spectrogram_bins))[:, None]
    edges = np.linspace(mel(lower_edge_hertz), mel(upper_edge_hertz), num_mel_bins + 2)
    low, middle, high = edges[:-2], edges[1:-1], edges[2:]
    weights = np.maximum(0.0, np.minimum((bins - low) / (middle - low), (high - bins) / (high - middle)))
    weights[:1] = 0.0  # the constant part belongs to no band
    return constant(weights, dtype, name=name or "linear_to_mel_weight_matrix")


def mfccs_from_log_mel_spectrograms(log_mel_spectrograms: Any, name: str | None = None) -> Tensor:
    """The mel-frequency cepstral coefficients: cosine transforms of the logarithms of mel spectra.

    >>> import staticgraph as sg
    >>> sg.signal.mfccs_from_log_mel_spectrograms(sg.placeholder(sg.float32, [None, 61, 20])).shape.as_list()
    [None, 61, 20]
    """
    with name_scope(name, "mfccs_from_log_mel_spectrograms", [log_mel_spectrograms]):
        spectra = convert_to_tensor(log_mel_spectrograms, dtype=float32)
        with checked("mfccs_from_log_mel_spectrograms"):
            require(bool(spectra.type.shape), "the rank must be known, and at least 1")
            require(spectra.type.shape[-1] != 0, "there must be at least one band")  # type: ignore[index]
        count = size_of(spectra, -1)
        scale = (2.0 * count) ** -0.5 if is_known(count) else ops.rsqrt(ops.cast(count, dtype=float32) * 2.0)
        return dct(spectra, type=2) * scale
