"""Sounds as the programs for speech commands read them: WAV files, spectrograms, cepstral coefficients."""

import numpy as np
import tensorflow as tf
from tensorflow.contrib.framework.python.ops import audio_ops as contrib_audio

rng = np.random.RandomState(0)
sound = tf.constant(rng.uniform(-0.9, 0.9, [400, 1]), tf.float32)
stereo = tf.constant(rng.uniform(-1.2, 1.2, [6, 2]), tf.float32)


def counted(make):
    """Prints how many operations a call makes."""
    before = tf.get_default_graph()._last_id
    made = make()
    print(tf.get_default_graph()._last_id - before)
    return made


encoded = counted(lambda: tf.audio.encode_wav(sound, 8000))
of_two = tf.audio.encode_wav(stereo, 16000)
decoded = counted(lambda: tf.audio.decode_wav(encoded))
mono = counted(lambda: contrib_audio.decode_wav(encoded, desired_channels=1, desired_samples=320))
print(decoded.audio.shape, mono.audio.shape, decoded.sample_rate.shape, decoded.sample_rate.dtype.name)
cut = tf.audio.decode_wav(of_two, desired_channels=1, desired_samples=4)
longer = tf.audio.decode_wav(of_two, desired_channels=3, desired_samples=8)

spectrograms = [
    counted(lambda: contrib_audio.audio_spectrogram(sound, window_size=64, stride=32, magnitude_squared=True)),
    contrib_audio.audio_spectrogram(sound, window_size=50, stride=20),
    contrib_audio.audio_spectrogram(mono.audio, 400, 1),
]
print([part.shape.as_list() for part in spectrograms[:2]])
coefficients = [
    counted(lambda: contrib_audio.mfcc(spectrograms[0], decoded.sample_rate)),
    counted(lambda: contrib_audio.mfcc(spectrograms[0], 8000, dct_coefficient_count=10)),
    contrib_audio.mfcc(
        spectrograms[0],
        decoded.sample_rate,
        upper_frequency_limit=3000,
        lower_frequency_limit=100,
        filterbank_channel_count=20,
        dct_coefficient_count=5,
    ),
]

with tf.Session() as sess:
    for part in (decoded, mono, cut, longer):
        audio, rate = sess.run(part)
        print(audio.shape, rate, audio.reshape(-1)[:24].tolist())
    print(len(sess.run(encoded)), sess.run(of_two))
    for part in (*spectrograms, *coefficients):
        values = sess.run(part)
        print(values.shape, values.reshape(-1)[:40].tolist())
    for wrong in (b"RIFF", sess.run(encoded)[:60], b"x" * 100):
        try:
            sess.run(tf.audio.decode_wav(wrong))
        except tf.errors.InvalidArgumentError as error:
            print(type(error).__name__)
