"""Fourier and cosine transforms, frames and windows, spectra in time and in mel."""

from tests.golden.draws import given, positive, real
from tests.golden.runner import answer, error, shape, value


def parts(tf, z):
    """A complex result as the real numbers that are compared."""
    return [tf.real(z), tf.imag(z)]


def of_complex(function, **options):
    return lambda tf, re, im: parts(tf, getattr(tf.signal, function)(tf.complex(re, im), **options))


def to_complex(function, *args, **options):
    return lambda tf, x: parts(tf, getattr(tf.signal, function)(x, *args, **options))


def of_spectrum(function, *args, **options):
    return lambda tf, re, im: getattr(tf.signal, function)(tf.complex(re, im), *args, **options)


def called(function, *args, **options):
    return lambda tf, x: getattr(tf.signal, function)(x, *args, **options)


def inverse_stft(length, step, points=None):
    """A spectrum back to a signal, by the window that fits and by the default one."""

    def build(tf, x):
        spectrum = tf.signal.stft(x, length, step, fft_length=points)
        fitting = tf.signal.inverse_stft_window_fn(step)
        return [
            tf.signal.inverse_stft(spectrum, length, step, fft_length=points, window_fn=fitting),
            tf.signal.inverse_stft(spectrum, length, step, fft_length=points),
        ]

    return build


def mfccs(tf, x):
    spectrum = tf.abs(tf.signal.stft(x, 64, 32))
    mel = tf.tensordot(spectrum, tf.signal.linear_to_mel_weight_matrix(8, 33), 1)
    return tf.signal.mfccs_from_log_mel_spectrograms(tf.log(mel + 1e-3))


def unknown_sizes(tf):
    x, z = tf.placeholder(tf.float32, [None, None]), tf.placeholder(tf.complex64, [None, None, 5])
    return [
        tf.signal.frame(x, 4, 2), tf.signal.frame(tf.zeros([3, 10]), 4, 3), tf.signal.stft(x, 30, 10),
        tf.signal.overlap_and_add(x, 3), tf.signal.rfft(x), tf.signal.irfft(z), tf.signal.fft(z),
        tf.signal.rfft(x, [6]), tf.signal.irfft2d(z), tf.signal.dct(x),
    ]


ONE, TWO, THREE = (2, 6), (2, 3, 4), (2, 3, 2, 4)
SHAPES = {"": ONE, "2d": TWO, "3d": THREE}
SINGLE = {"dtypes": ("float32",)}

CASES = [
    [[value("fft%s" % d, of_complex("fft%s" % d), real(*n), real(*n)),
      value("ifft%s" % d, of_complex("ifft%s" % d), real(*n), real(*n)),
      value("rfft%s" % d, to_complex("rfft%s" % d), real(*n), grad=d != "3d", **SINGLE),
      value("irfft%s" % d, of_spectrum("irfft%s" % d), real(*n), real(*n), grad=d != "3d", **SINGLE)]
     for d, n in SHAPES.items()],
    value("fft of a prime", of_complex("fft"), real(31), real(31)),
    [value("rfft of %d points" % n, to_complex("rfft", [n]), real(3, 7), grad=n >= 7, **SINGLE)
     for n in (4, 7, 8, 12)],
    [value("irfft to %d points" % n, of_spectrum("irfft", [n]), real(3, 5), real(3, 5), grad=n >= 8,
           **SINGLE)
     for n in (5, 6, 8, 9)],
    value("rfft2d of other lengths", to_complex("rfft2d", [4, 5]), real(3, 6), grad=False, **SINGLE),
    value("irfft2d to other lengths", of_spectrum("irfft2d", [4, 6]), real(4, 4), real(4, 4), grad=False,
          **SINGLE),
    [value("%s over %s" % (name, axes), called(name, axes), real(4, 5))
     for name in ("fftshift", "ifftshift") for axes in (None, 0, [0, 1], 1)],
    [[value("%s %d, norm %s, n %s" % (name, kind, norm, n), called(name, type=kind, norm=norm, n=n), real(2,
                                                                                                          6),
            **SINGLE)
      for kind, norm in ((1, None), (2, None), (2, "ortho"), (3, None), (3, "ortho")) for n in (None, 4, 9)]
     for name in ("dct", "idct")],
    [value("frame, %d by %d, end %s" % (length, step, end), called("frame", length, step, pad_end=end),
           real(2, 11))
     for length, step in ((3, 3), (4, 2), (2, 5), (12, 1), (5, 3)) for end in (False, True)],
    value("frame of the first axis", called("frame", 3, 2, axis=0), real(7, 2)),
    value("frame of a middle axis", called("frame", 3, 2, axis=1, pad_end=True, pad_value=7.0), real(2, 8,
                                                                                                     3)),
    [value("overlap_and_add by %d" % step, called("overlap_and_add", step), real(2, 4, 6))
     for step in (1, 2, 3, 4, 6, 8)],
    value("overlap_and_add of one signal", called("overlap_and_add", 2), real(4, 5)),
    [value("%s of %d, periodic %s" % (name, n, periodic),
           lambda tf, x, name=name, n=n, p=periodic: getattr(tf.signal, name)(n, periodic=p) * x, real(1),
           **SINGLE)
     for name in ("hann_window", "hamming_window") for n in (1, 2, 5, 8) for periodic in (True, False)],
    value("window of a fed length", lambda tf, n: tf.signal.hann_window(n), given(6, "int32")),
    [value("stft, %d by %d of %s" % (length, step, points),
           to_complex("stft", length, step, fft_length=points), real(2, 40), **SINGLE)
     for length, step, points in ((8, 4, None), (10, 5, None), (10, 3, 32), (7, 7, 8))],
    value("stft without a window", to_complex("stft", 8, 4, window_fn=None), real(40), **SINGLE),
    value("stft to the end", to_complex("stft", 8, 4, pad_end=True), real(37), **SINGLE),
    [value("inverse_stft, %d by %d of %s" % sizes, inverse_stft(*sizes), real(2, 40), **SINGLE)
     for sizes in ((8, 4, None), (10, 5, None), (8, 2, 16))],
    value("linear_to_mel_weight_matrix", lambda tf, x: tf.signal.linear_to_mel_weight_matrix() * x, real(1),
          **SINGLE),
    value("linear_to_mel_weight_matrix, other numbers",
          lambda tf, x: tf.signal.linear_to_mel_weight_matrix(40, 257, 16000, 60.0, 7600.0) * x, real(1),
          **SINGLE),
    value("mfccs", mfccs, positive(2, 200), **SINGLE),
    shape("unknown sizes", unknown_sizes),
    answer("older names", lambda tf: [hasattr(tf.spectral, n) for n in ("fft", "rfft", "irfft3d", "dct",
                                                                        "stft")]),
    [error(name, lambda tf, call=call: call(tf)) for name, call in (
        ("dct along another axis", lambda tf: tf.signal.dct(tf.zeros([3, 4]), axis=0)),
        ("dct of type 4", lambda tf: tf.signal.dct(tf.zeros([3, 4]), type=4)),
        ("dct 1 with a norm", lambda tf: tf.signal.dct(tf.zeros([3, 4]), type=1, norm="ortho")),
        ("rfft of a scalar", lambda tf: tf.signal.rfft(tf.zeros([]))),
        ("mel edges", lambda tf: tf.signal.linear_to_mel_weight_matrix(lower_edge_hertz=5000.0)),
        ("window of integers", lambda tf: tf.signal.hann_window(4, dtype=tf.int32)),
        ("overlap by a fraction", lambda tf: tf.signal.overlap_and_add(tf.zeros([3, 4]), 1.5)),
    )],
]
