"""WAV files and features of sounds: what they refuse. `scripts/speech_features.py` has the numbers."""

import struct

import numpy as np
import pytest

import staticgraph as sg
import staticgraph.compat.tf1 as tf
from staticgraph.compiler.graph.errors import InvalidArgumentError
from staticgraph.tf1.io import sounds, wav

SOUND = np.array([[0.5, -0.5], [0.25, 0.0]], np.float32)
FILE = wav.encode_wav(SOUND, 8000)


def with_form(*, kind: int = 1, channels: int = 2, rate: int = 8000, bits: int = 16) -> bytes:
    return FILE[:20] + struct.pack("<HHIIHH", kind, channels, rate, 0, 0, bits) + FILE[36:]


def test_other_parts_of_a_file_are_passed_over():
    note = b"LIST" + struct.pack("<I", 3) + b"abc\0"
    samples, rate = wav.decode_wav(FILE[:12] + note + FILE[12:])
    assert (samples.tolist(), rate) == (SOUND.tolist(), 8000)


@pytest.mark.parametrize(
    ("contents", "why"),
    [
        (b"", "RIFF"),
        (FILE[:20], "middle"),
        (FILE[:-1], "middle"),
        (FILE[:36], "no samples"),
        (FILE[:12] + FILE[36:], "stored"),
        (with_form(kind=3), "format 3"),
        (with_form(bits=8), "8 bits"),
        (with_form(channels=0), "0 channels"),
        (with_form(rate=2**31), "2147483648"),
    ],
)
def test_other_files_are_refused(contents, why):
    with pytest.raises(InvalidArgumentError, match=why):
        wav.decode_wav(contents)


def test_sizes_and_shapes_are_looked_at_when_a_graph_is_built():
    for options in ({"desired_channels": 0}, {"desired_samples": -2}):
        with pytest.raises(ValueError, match="desired"):
            sounds.decode_wav(FILE, **options)
    with pytest.raises(ValueError, match="samples, channels"):
        sounds.encode_wav([0.5], 8000)
    with pytest.raises(ValueError, match="window"):
        sounds.audio_spectrogram(SOUND, 1, 1)
    for options in ({"dct_coefficient_count": 41}, {"upper_frequency_limit": 10}):
        with pytest.raises(ValueError, match="mfcc"):
            sounds.mfcc(np.zeros([1, 2, 33], np.float32), 8000, **options)


@pytest.mark.parametrize(("shape", "rate"), [([2, 0], 8000), ([2, 1], 0), ([2, 2], 2**31 - 1)])
def test_sounds_that_no_file_holds_are_errors_of_a_run(shape, rate):
    encoded = sounds.encode_wav(np.zeros(shape, np.float32), rate)
    with sg.Session() as sess, pytest.raises(InvalidArgumentError, match="WAV"):
        sess.run(encoded)


def test_a_graph_with_sounds_is_saved(tmp_path):
    file = str(tmp_path / "sound.sg")
    with sg.Graph().as_default(), sg.Session() as sess:
        contents = sg.placeholder(sg.string, [], name="contents")
        sg.save(file, {"audio": tf.audio.decode_wav(contents).audio * 2.0}, session=sess)
    loaded = sg.load(file)
    assert np.array_equal(loaded(contents=FILE)["audio"], SOUND * 2)
