"""Assignments to slices, masks as indices, rows of derivatives, and shapes with unknown ranks or zeros."""

import numpy as np

from tests.golden.draws import real
from tests.golden.runner import answer, error, runs, trains, value


def assigned(key, given):
    """The variable after `v[key].assign(given)`, and what the operation gives."""

    def build(tf):
        v = tf.Variable(np.arange(12, dtype=np.float32).reshape(3, 4))
        made = v[key(tf)].assign(given)
        with tf.control_dependencies([made]):
            return [made, v.read_value()]

    return runs("v[...] = %s" % (np.shape(given),), build, times=1)


def assigned_by_function(tf):
    v = tf.Variable(np.arange(12, dtype=np.float32).reshape(3, 4))
    return tf.assign(v[1:, 0], [7.0, 8.0])


def ascending(*shape):
    return np.arange(np.prod(shape), dtype=np.float32).reshape(shape) - 100


def fetched_rows(tf):
    v = tf.Variable(np.ones((4, 2), np.float32))
    found = tf.gradients(tf.gather(v, [1, 1]), v)[0]
    with tf.Session() as sess:
        sess.run(v.initializer)
        made = sess.run([found, {"rows": found}])
    first, second = made[0], made[1]["rows"]
    return [type(first).__name__, list(first._fields), first.values.tolist(), second.indices.tolist()] + [
        first.dense_shape.tolist()
    ]


def momentum_of_rows(tf):
    v = tf.Variable(np.arange(8, dtype=np.float32).reshape(4, 2))
    step = tf.Variable(0, trainable=False)
    with tf.control_dependencies([tf.assign_add(step, 1)]):
        at = tf.gather([[[0]], [[3]], [[1]]], step.read_value() % 3)
    loss = tf.reduce_sum(tf.square(tf.gather_nd(v, at)))
    return tf.train.MomentumOptimizer(0.1, 0.9).minimize(loss), [v]


def unknown_ranks(axes, *shapes):
    def build(tf):
        a, b = (tf.placeholder(tf.float32) for _ in shapes)
        c = tf.tensordot(a, b, axes)
        feeds = {x: ascending(*shape) / 50 for x, shape in zip((a, b), shapes)}
        with tf.Session() as sess:
            made = sess.run([c] + tf.gradients(c, [a, b]), feeds)
        return [list(each.shape) for each in made] + [np.round(each, 3).ravel().tolist() for each in made]

    return build


def reshaped(given, asked):
    def build(tf):
        x = tf.placeholder(tf.float32, [None] * len(given))
        with tf.Session() as sess:
            return list(sess.run(tf.reshape(x, asked), {x: np.zeros(given)}).shape)

    return build


def by_sparse(tf, x):
    return (x * tf.SparseTensor([[0, 0], [1, 2]], [1.0, 2.0], [2, 3])).values


def batched(tf, x):
    return tf.gather(x, [1, 0], axis=1, batch_dims=None)


CASES = [
    runs("tf.assign(v[1:, 0])", assigned_by_function, times=1),
    assigned(lambda tf: 1, ascending(4)),
    assigned(lambda tf: (1, 2), np.float32(7)),
    assigned(lambda tf: slice(1, 3), ascending(2, 4)),
    assigned(lambda tf: (slice(None), 2), ascending(3)),
    assigned(lambda tf: (slice(None, None, -2), slice(1, 3)), ascending(2, 2)),
    assigned(lambda tf: (Ellipsis, None, slice(0, 1)), ascending(3, 1, 1)),
    assigned(lambda tf: slice(None), ascending(3, 4)),
    assigned(lambda tf: slice(1, 1), ascending(0, 4)),
    assigned(lambda tf: (tf.constant(1) + tf.constant(1), slice(2, None)), ascending(2)),
    value("mask as an index", lambda tf, x: x[tf.constant([True, False, True])], real(3, 2)),
    value("array mask as an index", lambda tf, x: x[np.array([True, False, True])], real(3, 2)),
    value("mask of two axes", lambda tf, x: x[x > 0], real(3, 2)),
    answer("fetched rows", fetched_rows),
    trains("gather_nd trains rows", momentum_of_rows, steps=6),
    value("gather with batch_dims=None", batched, real(2, 3)),
    answer(
        "shapes of dynamic_stitch",
        lambda tf: [
            tf.dynamic_stitch([[0, 2], [1, 3]], [[1.0, 2.0], [3.0, 4.0]]).shape.as_list(),
            tf.dynamic_stitch([5, [1, 3]], [np.ones([2]), np.ones([2, 2])]).shape.as_list(),
            tf.dynamic_stitch([tf.placeholder(tf.int32, [1])], [[[2.0]]]).shape.as_list(),
        ],
    ),
    [
        answer("reshape %s to %s" % (given, asked), reshaped(given, asked))
        for given, asked in (((0, 6), [0, -1, 3]), ((6, 0), [0, -1]), ((0, 0), [0, -1, 2, 0]))
    ],
    error("reshape to an empty shape", reshaped((4, 3), [0, -1])),
    answer("tensordot of unknown ranks", unknown_ranks(1, (2, 3), (3, 2))),
    answer("tensordot over lists", unknown_ranks([[-1, 0], [0, 1]], (2, 2, 3), (3, 2, 2))),
    value("dense * sparse", by_sparse, real(2, 3), dtypes=("float32",)),
]
