"""Reductions over all, some and no axes; arg-reductions, norms, segments, scans."""

from tests.golden.draws import bools, distinct, given, ints, positive, real
from tests.golden.runner import FLOAT32, value

NAN, INF = float("nan"), float("inf")
NAMES = ("sum", "mean", "max", "min", "prod", "logsumexp")
AXES = {
    "all axes": None,
    "axis 0": 0,
    "axis 1": 1,
    "last axis": -1,
    "two axes": [0, 2],
    "a tuple": (1, 2),
    "no axes": [],
}


def reduce(name, axis=None, keepdims=False):
    return lambda tf, x: getattr(tf, "reduce_" + name)(x, axis=axis, keepdims=keepdims)


def more(name, axis=None, keepdims=False):
    return lambda tf, x: getattr(tf.math, "reduce_" + name)(x, axis=axis, keepdims=keepdims)


def segment(name):
    return lambda tf, x: getattr(tf, "segment_" + name)(x, [0, 0, 1, 3, 3])


def unsorted(name):
    return lambda tf, x: getattr(tf, "unsorted_segment_" + name)(x, [2, 0, 2, 0, 3], 5)


CASES = [
    [value("reduce_%s over %s" % (name, label), reduce(name, axis), distinct(2, 3, 4))
     for name in NAMES for label, axis in AXES.items() if not (name == "logsumexp" and label == "no axes")],
    [value("reduce_%s keeps dims" % name, reduce(name, 1, True), distinct(2, 3, 2)) for name in NAMES],
    [value("reduce_%s keeps all dims" % name, reduce(name, None, True), distinct(2, 3)) for name in NAMES],
    [value("reduce_%s of a scalar" % name, reduce(name), positive()) for name in NAMES],
    [value("reduce_%s of nothing" % name, reduce(name, 0), real(0, 3), grad=False)
     for name in ("sum", "mean", "max", "min", "prod")],
    [value("reduce_%s of no columns" % name, reduce(name, 0), real(3, 0))
     for name in ("sum", "mean", "prod")],
    [value("reduce_%s of integers" % name, reduce(name, 1), ints(3, 4))
     for name in ("sum", "mean", "max", "min", "prod")],
    [value("reduce_%s of int64" % name, reduce(name), ints(3, 4, dtype="int64"))
     for name in ("sum", "mean", "max", "min", "prod")],
    [value("reduce_%s of bytes" % name, reduce(name, 0), given([[200, 255], [100, 3]], "uint8"))
     for name in ("sum", "max", "min", "prod")],
    # Sums that bytes hold: TensorFlow takes the mean of others modulo 256.
    value("reduce_mean of bytes", reduce("mean", 0), given([[200, 25], [50, 3]], "uint8")),
    [value("reduce_%s with infinities" % name, reduce(name, 1),
           given([[1.0, INF], [-INF, 2.0], [INF, -INF], [-INF, -INF]]), grad=False)
     for name in NAMES],
    [value("reduce_%s with nan" % name, reduce(name, 1), given([[1.0, NAN], [1.0, 2.0]]), grad=False)
     for name in ("sum", "mean", "prod")],
    [value("reduce_%s ties" % name, reduce(name, 1), given([[3.0, 3.0, 1.0], [1.0, 1.0, 1.0]]))
     for name in ("max", "min")],
    [value("reduce_%s" % name, more(name, 1), real(3, 4), tolerance=4) for name in ("std", "variance")],
    value("reduce_euclidean_norm", more("euclidean_norm", 1), real(3, 4), grad=False),
    value("reduce_variance keeps dims", more("variance", None, True), real(3, 4)),
    value("reduce_prod with a zero", reduce("prod", 1), given([[2.0, 0.0, 3.0], [0.0, 0.0, 1.0]])),
    [value("reduce_%s" % name, reduce(name), bools(3, 4)) for name in ("all", "any")],
    [value("reduce_%s over axis %s" % (name, axis), reduce(name, axis), bools(3, 4))
     for name in ("all", "any") for axis in (0, 1)],
    [value("reduce_%s of nothing at all" % name, reduce(name, 0), given([[], []], "bool"))
     for name in ("all", "any")],
    value("reduce_logsumexp of large numbers", reduce("logsumexp", 1),
          given([[1000.0, 1000.0], [-1000.0, -1001.0]])),
    value("mean of many", reduce("mean"), real(1000), grad=False),
    value("sum of many", reduce("sum", 0), real(300, 2), grad=False),
    value("reduce_sum with the old names",
          lambda tf, x: tf.reduce_sum(x, reduction_indices=[1], keep_dims=True), real(2, 3), dtypes=FLOAT32),
    value("reduce_sum by a tensor of axes", lambda tf, x: tf.reduce_sum(x, axis=tf.constant([0, 1])),
          real(2, 3, 4), dtypes=FLOAT32),
    value("count_nonzero", lambda tf, x: tf.count_nonzero(x, axis=1),
          given([[0.0, 1.0, NAN], [0.0, -0.0, 0.0]]), dtypes=FLOAT32),
    value("second derivative of a sum of cubes", lambda tf, x: tf.gradients(tf.reduce_sum(x * x * x), x)[0],
          real(4)),
    value("second derivative of logsumexp", lambda tf, x: tf.gradients(tf.reduce_logsumexp(x), x)[0],
          real(4)),

    [value("%s over axis %d" % (name, axis), lambda tf, x, name=name, axis=axis: getattr(tf, name)(x, axis),
           distinct(3, 4), dtypes=FLOAT32)
     for name in ("argmax", "argmin") for axis in (0, 1, -1)],
    [value("%s takes the first of ties" % name, lambda tf, x, name=name: getattr(tf, name)(x, 1),
           given([[2.0, 3.0, 3.0], [1.0, 1.0, 1.0]]), dtypes=FLOAT32)
     for name in ("argmax", "argmin")],
    value("argmax without an axis", lambda tf, x: tf.argmax(x), distinct(3, 4), dtypes=FLOAT32),
    value("argmax as int32", lambda tf, x: tf.argmax(x, 1, output_type=tf.int32), ints(3, 4)),
    value("argmin of bytes", lambda tf, x: tf.argmin(x, 0), given([[3, 200], [250, 7]], "uint8")),

    [value("norm %s" % label, lambda tf, x, ord=ord, axis=axis: tf.norm(x, ord=ord, axis=axis), real(3, 4))
     for label, ord, axis in (("euclidean", "euclidean", None), ("two by rows", 2, 1), ("one", 1, 0),
                              ("infinity", INF, 1), ("three", 3, 1), ("frobenius", "fro", (0, 1)))],
    value("norm keeps dims", lambda tf, x: tf.norm(x, axis=1, keepdims=True), real(3, 4)),
    value("norm of zeros", lambda tf, x: tf.norm(x, axis=1), given([[0.0, 0.0], [3.0, 4.0]])),
    value("global_norm", lambda tf, x, y: tf.global_norm([x, None, y]), real(3), real(2, 2)),
    value("trace", lambda tf, x: tf.trace(x), real(2, 3, 3)),

    [value("segment_%s" % name, segment(name), distinct(5, 2), grad=name != "prod")
     for name in ("sum", "mean", "max", "min", "prod")],
    [value("unsorted_segment_%s" % name, unsorted(name), distinct(5, 2))
     for name in ("sum", "mean", "max", "min", "sqrt_n")],
    value("segment_sum by ids that are fed", lambda tf, x, ids: tf.segment_sum(x, ids), real(4, 2),
          given([0, 2, 2, 3], "int32")),
    value("unsorted_segment_sum by a matrix of ids", lambda tf, x, ids: tf.unsorted_segment_sum(x, ids, 3),
          real(2, 3, 2), given([[0, 2, 0], [2, 2, 0]], "int32")),
    value("unsorted_segment_prod with zeros", lambda tf, x: tf.unsorted_segment_prod(x, [0, 0, 1, 1, 2], 3),
          given([2.0, 0.0, 0.0, 0.0, 3.0])),
    value("unsorted_segment_prod", unsorted("prod"), distinct(5, 2)),
    value("unsorted_segment_max of integers", unsorted("max"), ints(5)),
    value("unsorted_segment_sum drops negative ids", lambda tf, x: tf.unsorted_segment_sum(x, [0, -1, 1], 2),
          real(3, 2)),

    [value("%s %s" % (name, label), lambda tf, x, name=name, options=options: getattr(tf, name)(x, **options),
           real(3, 4))
     for name in ("cumsum", "cumprod")
     for label, options in (("down", {"axis": 0}), ("along rows", {"axis": 1}),
                            ("exclusive", {"axis": 1, "exclusive": True}),
                            ("reverse", {"axis": -1, "reverse": True}),
                            ("exclusive reverse", {"axis": 0, "exclusive": True, "reverse": True}))],
    value("cumsum of integers", lambda tf, x: tf.cumsum(x), ints(6)),
    value("cumprod with a zero", lambda tf, x: tf.cumprod(x), given([2.0, 0.0, 3.0]), grad=False),
    value("cumulative_logsumexp by hand", lambda tf, x: tf.log(tf.cumsum(tf.exp(x))), real(5)),
    value("bincount", lambda tf, x: tf.bincount(x), given([1, 1, 4, 0, 1], "int32")),
    value("bincount with weights", lambda tf, x, w: tf.bincount(x, weights=w, minlength=6, maxlength=8),
          given([1, 1, 4], "int32"), real(3), grad=False),
    value("histogram_fixed_width", lambda tf, x: tf.histogram_fixed_width(x, [0.0, 5.0], nbins=5),
          given([-1.0, 0.0, 1.5, 2.0, 5.0, 15.0]), dtypes=FLOAT32),
    value("confusion_matrix", lambda tf, a, b: tf.confusion_matrix(a, b, 4), given([0, 1, 2, 2], "int32"),
          given([0, 2, 2, 1], "int32")),
]
