"""Names and forms of arguments that few programs use."""

import numpy as np

from tests.golden.draws import given, real
from tests.golden.runner import FLOAT32, answer, error, runs, shape, value


def volumes(ksizes, strides, padding):
    return lambda tf, x: tf.extract_volume_patches(x, [1, *ksizes, 1], [1, *strides, 1], padding)


def glimpse(size, **options):
    """Windows that lie within the images: they hold no noise."""
    return lambda tf, x, at: tf.image.extract_glimpse(x, size, at, **options)


def glimpse_over_the_edge(tf):
    """Find noise in a glimpse, and that it is between the least and the largest element."""
    x = tf.constant(np.arange(1.0, 17.0, dtype=np.float32).reshape(1, 4, 4, 1))
    made = tf.image.extract_glimpse(x, [3, 3], [[-1.0, 2.0]], centered=False, normalized=False)
    with tf.Session() as sess:
        found = sess.run(made)[0, :, :, 0]
    whole = np.isin(found, np.arange(1.0, 17.0))
    return [whole.tolist(), found[whole].tolist(), bool((found >= 1.0).all() and (found <= 16.0).all())]


def dilated(kind, window, rate, padding, **options):
    return lambda tf, x: tf.nn.pool(x, window, kind, padding, dilation_rate=rate, **options)


def paddings(*args):
    return lambda tf: list(tf.required_space_to_batch_paddings(*args))


def batch_scatter(tf):
    v = tf.Variable(np.arange(12).reshape(2, 3, 2))
    changed = tf.batch_scatter_update(v, [[2, 0], [1, 1]], [[[20, 21], [22, 23]], [[24, 25], [24, 25]]])
    flat = tf.Variable([1, 2, 3, 4])
    return [changed, tf.batch_scatter_update(flat, [3, 0], [30, 40])]


def texts(make):
    def build(tf):
        made = make(tf)
        with tf.Session() as sess:
            return [[text.decode() for text in row] for row in sess.run(made).tolist()]

    return build


def bits(array, target):
    return lambda tf: tf.bitcast(tf.constant(array), getattr(tf, target))


def mixed_product(tf, x, y):
    return tf.matmul(tf.cast(x, tf.bfloat16), y)


def unknown(tf, *dims):
    return tf.placeholder(tf.int32, list(dims) if dims else None)


BYTES = np.arange(8, dtype=np.uint8).reshape(2, 4)
NUMBERS = np.array([[1.5, -2.25, 3.0, 1e-3]])

def of_arrays(tf):
    """Return functions of arrays of NumPy, which have dtypes of their own."""
    x, z = np.array([-1.5, 2.5], "float32"), np.array([3 - 4j, 1j], "complex64")
    return [tf.abs(x), tf.abs(z), tf.math.bessel_i0(x), tf.math.bessel_i1(x)]


def weighted(tf):
    """Return losses with weights that have one axis more than labels, as a run finds, or as many."""
    logits = [[10.0, 0.0, 0.0], [0.0, 5.0, 0.0], [0.0, 0.0, 1.0]]
    found = []
    for labels_shape, weights_shape in ([None, 1], None), ([None], None), (None, None), (None, [None, 1]):
        labels = tf.placeholder(tf.int32, labels_shape)
        weights = tf.placeholder(tf.float32, weights_shape)
        loss = tf.losses.sparse_softmax_cross_entropy(labels, tf.constant(logits), weights)
        classes = [2, 0, 1] if labels_shape == [None] else [[2], [0], [1]]
        fed = [[[1.2], [3.4], [5.6]]] if weights_shape else [[[1.2], [3.4], [5.6]], [1.2, 3.4, 5.6], 2.0]
        with tf.Session() as sess:
            found += [round(float(sess.run(loss, {labels: classes, weights: w})), 4) for w in fed]
    return found


def nothing(tf):
    """Return what a run gives for functions of Python that have no results, with effects and without."""
    calls = [tf.py_func(lambda: None, [], [], stateful=stateful) for stateful in (True, False)]
    with tf.Session() as sess:
        return [sess.run(call) for call in calls]


CASES = [
    value("volume patches", volumes([1, 2, 2], [1, 1, 2], "VALID"), real(2, 3, 3, 4, 2)),
    value("volume patches, same", volumes([2, 2, 3], [2, 1, 1], "SAME"), real(1, 3, 3, 4, 1)),
    [
        value(
            "glimpse %s" % sorted(options.items()), glimpse([2, 3], **options), real(2, 6, 5, 3), given(at),
            grad=False, dtypes=FLOAT32,
        )
        for options, at in (
            ({}, [[0.0, 0.0], [0.2, -0.1]]),
            ({"centered": False}, [[0.3, 0.4], [0.5, 0.6]]),
            ({"normalized": False}, [[0.0, 1.0], [-1.0, 0.0]]),
            ({"centered": False, "normalized": False}, [[1.0, 2.0], [3.9, 2.4]]),
        )
    ],
    answer("glimpse over the edge", glimpse_over_the_edge),
    value("dilated pool of sequences", dilated("MAX", [3], [2], "VALID"), real(2, 9, 3)),
    value("dilated pool", dilated("AVG", [2, 3], [2, 1], "VALID"), real(2, 5, 6, 2)),
    value("dilated pool, max", dilated("MAX", [2, 2], [2, 3], "VALID"), real(1, 5, 6, 2)),
    value("dilated pool of volumes", dilated("AVG", [2, 1, 2], [2, 1, 2], "VALID"), real(1, 4, 2, 5, 1)),
    [
        error(
            "dilated pool: %s" % sorted(options),
            lambda tf, options=options: dilated("MAX", [2], [2], **options)(tf, tf.zeros([1, 8, 1])),
        )
        for options in ({"padding": "VALID", "strides": [2]}, {"padding": "SAME"})
    ],
    runs("required paddings", paddings([11, 7], [4, 3]), times=1),
    runs("required paddings beyond given ones", paddings([11, 7], [4, 3], [[2, 1], [0, 3]]), times=1),
    runs("batch scatter update", batch_scatter, times=1),
    value(
        "conv3d backprop filter",
        lambda tf, x, g: tf.nn.conv3d_backprop_filter_v2(x, [2, 2, 1, 2, 3], g, [1, 1, 1, 1, 1], "VALID"),
        real(1, 3, 3, 2, 2), real(1, 2, 2, 2, 3),
    ),
    [
        runs("bits of %s as %s" % (array.dtype, target), bits(array, target), times=1, exact=True)
        for array, target in (
            (NUMBERS, "int8"), (NUMBERS.astype("float32"), "uint16"), (NUMBERS.astype("float16"), "float64"),
            (BYTES, "int32"), (BYTES.view(np.int16), "float32"),
        )
    ],
    error("bits of too few parts", lambda tf: tf.bitcast(tf.constant([[1, 2, 3]], tf.int8), tf.int32)),
    answer("one hot strings", texts(lambda tf: tf.one_hot([0, 2], 3, "on", "off"))),
    error("one hot of another dtype", lambda tf: tf.one_hot([0], 2, on_value=1.5, dtype=tf.int32)),
    error("one hot of two dtypes", lambda tf: tf.one_hot([0], 2, on_value=1, off_value=0.5)),
    answer("pad strings", texts(lambda tf: tf.pad([["a", "b"]], [[1, 0], [0, 1]], constant_values="pad"))),
    runs("all and any of nothing", lambda tf: [tf.reduce_all([]), tf.reduce_any([])], times=1),
    runs("count strings", lambda tf: tf.count_nonzero([["a", ""], ["", ""]], axis=0), times=1),
    runs("norm of integers", lambda tf: tf.math.reduce_euclidean_norm([[3, 4], [1, 1]], axis=1), times=1),
    runs("norm of complex numbers", lambda tf: tf.math.reduce_euclidean_norm(np.array([3 + 4j, 12j])), 1),
    value("mixed product", mixed_product, real(2, 3), real(3, 2), grad=False, dtypes=FLOAT32),
    runs("tensors of another type", lambda tf: tf.convert_to_tensor([tf.constant(1.0), 2.0], tf.float64), 1),
    shape("concat along an axis that is fed", lambda tf: tf.concat([tf.ones([2, 3])] * 2, unknown(tf))),
    shape("sum along fed axes", lambda tf: tf.reduce_sum(tf.ones([2, 3]), unknown(tf), keepdims=True)),
    shape("total along an axis that is fed", lambda tf: tf.cumsum(tf.ones([2, 3]), unknown(tf))),
    shape("reverse along axes that are fed", lambda tf: tf.reverse(tf.ones([2, 3]), unknown(tf, None))),
    shape("roll along an axis that is fed", lambda tf: tf.roll(tf.ones([2, 3]), unknown(tf), unknown(tf))),
    answer("results of functions without results", nothing),
    answer("losses with weights of unknown rank", weighted),
    value("functions of arrays", of_arrays, tolerance=4.0),
    value("xlogy and xdivy of zero", lambda tf, x, y: [tf.math.xlogy(x, y), tf.math.xdivy(x, y)],
          given([0.0, 1.0]), given([2.0, 2.0]), dtypes=FLOAT32),
    shape("unknown images", lambda tf: tf.space_to_batch(tf.placeholder(tf.float32), unknown(tf), 4)),
    shape("unknown blocks", lambda tf: tf.batch_to_space(tf.placeholder(tf.float32), unknown(tf), 4)),
    [
        error(name, build)
        for name, build in (
            ("cumsum axis", lambda tf: tf.cumsum(tf.ones([2, 3]), 2)),
            ("cumprod axis", lambda tf: tf.cumprod(tf.ones([2, 3]), -3)),
            ("roll axis", lambda tf: tf.roll([1, 2], 1, 1)),
            ("softmax axis", lambda tf: tf.nn.softmax(tf.ones([2, 3]), axis=2)),
            ("argmin of nothing", lambda tf: tf.argmin(tf.zeros([0]), 0)),
            ("transpose of an axis twice", lambda tf: tf.transpose(tf.ones([2, 3, 4]), [0, 1, 1])),
            ("transpose of another rank", lambda tf: tf.transpose(tf.ones([2, 3, 4]), [0, 1])),
            ("negative paddings", lambda tf: tf.space_to_batch_nd(tf.ones([1, 4]), [2], [[-1, 1]])),
            ("negative crops", lambda tf: tf.batch_to_space_nd(tf.ones([2, 4]), [2], [[-1, 1]])),
            ("norms of another shape", lambda tf: tf.clip_by_norm(tf.ones([2, 3, 1]), tf.ones([2]))),
            ("join numbers", lambda tf: tf.concat([tf.constant(7), tf.constant(7)], unknown(tf))),
            ("as many sizes as parts", lambda tf: tf.split(tf.ones([10]), tf.constant([2, 2, 6]), num=4)),
        )
    ],
]
