"""`tf.audio` and the spectral features of sounds that `tensorflow.contrib.framework` has."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

import staticgraph as sg
from staticgraph.compiler.graph.dtypes import float32, int32, string
from staticgraph.compiler.graph.errors import InvalidArgumentError, misuse, require
from staticgraph.compiler.graph.recording.op_count import counted_as
from staticgraph.compiler.graph.shapes import TensorType
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.compiler.ops.kinds import host
from staticgraph.domains.signal.mel import mel
from staticgraph.tf1.io import wav

__all__ = ["audio_spectrogram", "decode_wav", "encode_wav", "mfcc"]

_FLOOR = 1e-12  # the least energy of a band
_WHOLE = -1  # a size that the file decides


class DecodeWav(NamedTuple):
    """A sound and the number of its frames a second."""

    audio: Tensor
    sample_rate: Tensor


def _decoded_type(
    contents: TensorType, *, desired_channels: int, desired_samples: int
) -> tuple[TensorType, TensorType]:
    require(contents.rank in (None, 0), f"contents is {contents}, it must be one string")
    sizes = (desired_samples, desired_channels)
    for label, size in zip(("desired_samples", "desired_channels"), sizes, strict=True):
        require(size == _WHOLE or size > 0, f"{label} is {size}, it must be positive, or -1 for all")
    known = tuple(None if size == _WHOLE else size for size in sizes)
    return TensorType(float32, known), TensorType(int32, ())


@host(tf="DecodeWav", type=_decoded_type, vars={"contents": "string"})
def decode_wav_op(contents: Any, *, desired_channels: int = _WHOLE, desired_samples: int = _WHOLE) -> Any:
    """The samples of a WAV file, and how many frames a second has.

    `desired_channels` and `desired_samples` are sizes of the result, or -1 for those of the file.
    """
    samples, rate = wav.decode_wav(contents[()])
    if desired_channels != _WHOLE:
        samples = samples[:, np.minimum(np.arange(desired_channels), samples.shape[1] - 1)]
    if desired_samples != _WHOLE:
        samples = samples[:desired_samples]
        samples = np.pad(samples, [(0, desired_samples - len(samples)), (0, 0)])
    return samples, np.int32(rate)


def _encoded_type(audio: TensorType, sample_rate: TensorType) -> TensorType:
    require(audio.rank in (None, 2), f"audio is {audio}, it must be [samples, channels]")
    require(sample_rate.rank in (None, 0), f"sample_rate is {sample_rate}, it must be one number")
    return TensorType(string, ())


@host(tf="EncodeWav", type=_encoded_type, vars={"audio": "float32", "sample_rate": "int32"})
def encode_wav_op(audio: Any, sample_rate: Any) -> Any:
    """A WAV file of samples."""
    rate = int(sample_rate)
    if not 0 < audio.shape[1] < 1 << 15 or not 0 < rate < (1 << 32) // (2 * audio.shape[1]):
        raise InvalidArgumentError(
            f"a WAV file cannot have {audio.shape[1]} channels, {rate} frames a second"
        )
    return wav.encode_wav(audio, rate)


def decode_wav(
    contents: Any, desired_channels: int = _WHOLE, desired_samples: int = _WHOLE, name: str | None = None
) -> DecodeWav:
    """Return the samples of a WAV file of 16 bits.

    Args:
        contents: The file, a string.
        desired_channels: The number of channels: further ones are left out, and missing ones are as the last;
            -1 for those of the file.
        desired_samples: The number of samples of a channel, cut off or filled with zeros; -1 for all.
        name: The name of the operation.

    Returns:
        A pair: `audio`, float32 of shape [samples, channels] with values in [-1, 1), and the int32
        `sample_rate`.

    Raises:
        InvalidArgumentError: While running, if the file is another one.

    >>> import staticgraph.compat.tf1 as tf
    >>> sound = tf.audio.decode_wav(tf.audio.encode_wav([[0.5], [0.25]], 8000))
    >>> with tf.Session() as sess:
    ...     sess.run(sound.audio).tolist()
    [[0.5], [0.25]]
    """
    made = decode_wav_op(
        contents, desired_channels=desired_channels, desired_samples=desired_samples, name=name
    )
    return DecodeWav(*made)


def encode_wav(audio: Any, sample_rate: Any, name: str | None = None) -> Tensor:
    """Return a WAV file of 16 bits.

    Args:
        audio: float32 of shape [samples, channels]; values beyond [-1, 1] are cut off.
        sample_rate: Frames a second, int32.
        name: The name of the operation.

    Returns:
        A string.

    Raises:
        InvalidArgumentError: While running, if there are no channels, or too many frames a second.
    """
    made: Tensor = encode_wav_op(audio, sample_rate, name=name)
    return made


def audio_spectrogram(
    input: Any, window_size: int, stride: int, magnitude_squared: bool = False, name: str | None = None
) -> Tensor:
    """Return the magnitudes of frequencies in frames of a sound.

    Args:
        input: float32 of shape [samples, channels].
        window_size: Samples of a frame, which are weighted by a Hann window; at least 2.
        stride: Samples from the begin of a frame to that of the next.
        magnitude_squared: Return squares.
        name: The name of the operation.

    Returns:
        float32 of shape [channels, frames, n / 2 + 1], where n is the power of two from `window_size` on.

    Raises:
        ValueError: A size is too small.

    >>> import staticgraph.compat.tf1 as tf
    >>> audio_spectrogram(tf.zeros([400, 1]), window_size=64, stride=32).shape.as_list()
    [1, 11, 33]
    """
    if window_size < 2 or stride < 1:
        raise misuse(ValueError, f"a window of {window_size} samples, every {stride}: give at least 2 and 1")
    sound = sg.convert_to_tensor(input, float32)
    with counted_as(sg.get_default_graph(), 1), sg.name_scope(name, "AudioSpectrogram", [sound]) as scope:
        spectrum = sg.signal.stft(sg.transpose(sound, [1, 0]), window_size, stride)
        magnitudes = sg.abs(spectrum)
        return sg.identity(sg.square(magnitudes) if magnitude_squared else magnitudes, name=scope)


def mfcc(
    spectrogram: Any,
    sample_rate: Any,
    upper_frequency_limit: float = 4000,
    lower_frequency_limit: float = 20,
    filterbank_channel_count: int = 40,
    dct_coefficient_count: int = 13,
    name: str | None = None,
) -> Tensor:
    """Return the cepstral coefficients of a sound in bands that are equally wide for the ear.

    Args:
        spectrogram: Squares of magnitudes, float32 of shape [channels, frames, frequencies].
        sample_rate: Frames a second, int32.
        upper_frequency_limit: The end of the last band, in hertz.
        lower_frequency_limit: The begin of the first band.
        filterbank_channel_count: The number of bands.
        dct_coefficient_count: The number of coefficients, at most that of bands.
        name: The name of the operation.

    Returns:
        float32 of shape [channels, frames, coefficients].

    Raises:
        ValueError: There are more coefficients than bands, or the limits are not in order.

    >>> import staticgraph.compat.tf1 as tf
    >>> mfcc(tf.zeros([1, 11, 33]), 8000).shape.as_list()
    [1, 11, 13]
    """
    bands, coefficients = filterbank_channel_count, dct_coefficient_count
    if not 0 < coefficients <= bands or not 0 <= lower_frequency_limit < upper_frequency_limit:
        limits = f"from {lower_frequency_limit} to {upper_frequency_limit} hertz"
        hint = "give at most as many coefficients as bands, and a lower limit below the upper one"
        raise misuse(ValueError, f"mfcc: {coefficients} coefficients of {bands} bands {limits}", hint)
    count = 1 if isinstance(sample_rate, Tensor) else 2
    with counted_as(sg.get_default_graph(), count), sg.name_scope(name, "Mfcc", [spectrogram]) as scope:
        squares = sg.convert_to_tensor(spectrogram, float32)
        rate = sg.cast(sg.convert_to_tensor(sample_rate, int32), float32)
        weights = _filters(sg.shape(squares)[2], rate, lower_frequency_limit, upper_frequency_limit, bands)
        energies = sg.einsum("cft,tb->cfb", sg.sqrt(squares), weights)
        angles = np.outer(np.arange(bands) + 0.5, np.arange(coefficients)) * np.pi / bands
        cosines = (np.sqrt(2 / bands) * np.cos(angles)).astype(np.float32)
        made = sg.einsum("cfb,bk->cfk", sg.log(sg.maximum(energies, _FLOOR)), cosines)
        return sg.identity(made, name=scope)


def _filters(frequencies: Any, sample_rate: Any, low: float, high: float, bands: int) -> Tensor:
    """Return the weight of each frequency in each band: a triangle on the mel scale.

    Args:
        frequencies: The number of frequencies, from 0 to half of the sample rate.
        sample_rate: Frames a second.
        low: The begin of the first band in hertz.
        high: The end of the last one.
        bands: The number of bands.

    Returns:
        float32 of shape [frequencies, bands].
    """
    first, last = mel(low), mel(high)
    spacing = (last - first) / (bands + 1)
    centers = np.float32(first + spacing * np.arange(1, bands + 1))
    step = 0.5 * sample_rate / sg.cast(frequencies - 1, float32)
    number = sg.cast(sg.range(frequencies), float32)
    pitches = sg.expand_dims(mel(number * step, sg.log1p), 1)
    heights = sg.nn.relu(1 - sg.abs(pitches - centers) / np.float32(spacing))
    inside = (number >= sg.floor(1.5 + low / step)) & (number <= sg.floor(high / step))
    return heights * sg.expand_dims(sg.cast(inside, float32), 1)
