"""Numbers of few bits, as training simulates them: values, gradients, and the operations of gradients."""

from tests.golden.draws import real
from tests.golden.runner import FLOAT32, error, value

X, MATRIX, LIMIT, LIMITS = real(3, 5, low=-8.0, high=8.0), real(4, 3, low=-3.0, high=3.0), real(), real(3)


def names(tf):
    """TensorFlow's own, or those of `staticgraph.compat.tf1`."""
    if hasattr(tf, "fake_quant_with_min_max_args"):
        return tf
    from staticgraph.compat import tf1

    return tf1


def only(label, build, *draws, **options):
    return value("fake_quant %s" % label, build, *draws, dtypes=FLOAT32, **options)


def limited(tf, x, a, b, per_channel=False, **options):
    """Limits on both sides of zero."""
    name = "fake_quant_with_min_max_vars" + ("_per_channel" if per_channel else "")
    return getattr(names(tf), name)(x, -abs(a) - 0.5, abs(b) + 0.7, **options)


def scaled(label, build, *draws, **options):
    return value("quantize_and_dequantize %s" % label, build, *draws, **options)


def by_scale(tf, *arguments, **options):
    return names(tf).quantization.quantize_and_dequantize(*arguments, **options)


SCALED = [
    scaled("by its elements", lambda tf, x: by_scale(tf, x, 0.0, 0.0), X),
    scaled("without a sign", lambda tf, x: by_scale(tf, x, 0.0, 0.0, signed_input=False, num_bits=4), X),
    [scaled("between %s and %s, %s" % (low, high, kind),
            lambda tf, x, low=low, high=high, kind=kind: by_scale(
                tf, x, low, high, num_bits=4, range_given=True, **kind), X)
     for low, high in ((-3.0, 5.0), (-5.0, 3.0), (0.0, 4.0), (-4.0, 0.0), (1.0, 3.0), (-3.0, -1.0))
     for kind in ({}, {"narrow_range": True}, {"round_mode": "HALF_UP"}, {"signed_input": False})],
    scaled("of fed limits", lambda tf, x, a, b: by_scale(
        tf, x, -abs(a), abs(b), range_given=True), X, LIMIT, LIMIT, grad=False),
    scaled("halves", lambda tf: by_scale(tf, tf.constant([0.5, 1.5, -0.5, -2.5]), -8.0, 7.0, num_bits=4,
                                         range_given=True)),
    scaled("halves up", lambda tf: by_scale(tf, tf.constant([0.5, 1.5, -0.5, -2.5]), -8.0, 7.0, num_bits=4,
                                            range_given=True, round_mode="HALF_UP")),
    scaled("to one bit", lambda tf, x: by_scale(tf, x, 0.0, 1.0, num_bits=1), X),
    error("quantize_and_dequantize to no bits",
          lambda tf: by_scale(tf, tf.zeros([2]), 0.0, 1.0, num_bits=0)),
    error("quantize_and_dequantize to 64 bits",
          lambda tf: by_scale(tf, tf.zeros([2]), 0.0, 1.0, num_bits=64)),
    error("quantize_and_dequantize in another mode",
          lambda tf: by_scale(tf, tf.zeros([2]), 0.0, 1.0, round_mode="DOWN")),
    error("quantize_and_dequantize of integers", lambda tf: by_scale(tf, tf.zeros([2], tf.int32), 0, 1)),
    error("quantize_and_dequantize of limits in another order",
          lambda tf: by_scale(tf, tf.zeros([2]), 1.0, 0.0, range_given=True)),
]

CASES = [
    SCALED,
    only("args", lambda tf, x: names(tf).fake_quant_with_min_max_args(x), X),
    only("args few bits", lambda tf, x: names(tf).fake_quant_with_min_max_args(x, -1.3, 4.0, 3), X),
    only(
        "args narrow", lambda tf, x: names(tf).quantization.fake_quant_with_min_max_args(x, -3, 3, 4, True), X
    ),
    only("args of positive limits", lambda tf, x: names(tf).fake_quant_with_min_max_args(x, 1.0, 4.0, 4), X),
    only("vars", lambda tf, x, a, b: limited(tf, x, a, b), X, LIMIT, LIMIT),
    only(
        "vars narrow",
        lambda tf, x, a, b: limited(tf, x, a, b, num_bits=5, narrow_range=True),
        X,
        LIMIT,
        LIMIT,
    ),
    only(
        "vars per channel",
        lambda tf, x, a, b: limited(tf, x, a, b, True, num_bits=4),
        MATRIX,
        LIMITS,
        LIMITS,
    ),
    only(
        "args gradient",
        lambda tf, g, x: names(tf).fake_quant_with_min_max_args_gradient(g, x, -2.0, 3.0),
        X,
        X,
        grad=False,
    ),
    only(
        "vars gradient",
        lambda tf, g, x: list(names(tf).fake_quant_with_min_max_vars_gradient(g, x, -2.0, 3.0)),
        X,
        X,
        grad=False,
    ),
    only(
        "vars per channel gradient",
        lambda tf, g, x, a: list(
            names(tf).fake_quant_with_min_max_vars_per_channel_gradient(g, x, -abs(a), abs(a) + 1.0)
        ),
        MATRIX,
        MATRIX,
        LIMITS,
        grad=False,
    ),
    error("one bit", lambda tf: names(tf).fake_quant_with_min_max_args(tf.zeros([2]), num_bits=1)),
]
