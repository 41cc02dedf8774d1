"""Variables in parts: names, initial values, checkpoints, and lookups that train only the rows they touch."""

import os

import numpy as np

from tests.golden.calls import plain, told
from tests.golden.runner import answer, error, runs, trains

TABLE = np.arange(14, dtype=np.float32).reshape(7, 2) / 7


def table(tf, parts=3, axis=0):
    split = tf.fixed_size_partitioner(parts, axis)
    return tf.get_variable("table", initializer=tf.constant(TABLE), partitioner=split)


def names(tf):
    with tf.variable_scope("net", partitioner=tf.fixed_size_partitioner(2)):
        whole = tf.get_variable("w", [5, 3], initializer=tf.zeros_initializer())
        tf.get_variable("scalar", [], initializer=tf.zeros_initializer())
    added = tf.add(whole, 1.0)
    tf.convert_to_tensor(whole)
    return [[op.name for op in tf.get_default_graph().get_operations()], whole.name, added.shape.as_list()]


def layers(tf):
    with tf.variable_scope("net", partitioner=tf.fixed_size_partitioner(2)):
        images = tf.layers.conv2d(tf.zeros([2, 5, 5, 3]), 4, 3)
        tf.layers.dense(tf.layers.flatten(tf.layers.batch_normalization(images)), 3)
        tf.nn.static_rnn(tf.nn.rnn_cell.BasicLSTMCell(3), [tf.zeros([2, 3])], dtype=tf.float32)
    return [[v.name, v.shape.as_list()] for v in tf.global_variables()]


def found_again(tf):
    split = tf.fixed_size_partitioner(3)
    first = tf.get_variable("w", [7, 2], partitioner=split)
    with tf.variable_scope("", reuse=True):
        again = tf.get_variable("w", [7, 2], partitioner=split)
        return [again is first, tf.get_variable("w", [7, 2]) is first]


def partitions(tf):
    sizes = [([2048], 0), ([64, 1024, 1, 3], 1), ([7], 0), ([3, 5], 1)]
    asked = [
        tf.fixed_size_partitioner,
        tf.min_max_variable_partitioner,
        lambda count, axis: tf.min_max_variable_partitioner(count, axis, min_slice_size=64),
        lambda count, axis: tf.variable_axis_size_partitioner(4 * count, axis),
        lambda count, axis: tf.variable_axis_size_partitioner(300, axis, max_shards=count),
    ]
    return [
        [
            list(make(count, axis)(shape=tf.TensorShape(shape), dtype=dtype))
            for dtype in (tf.float32, tf.string)
            for shape, axis in sizes
        ]
        for make in asked
        for count in (2, 100)
    ]


def looked_up(strategy, optimizer, axis_parts=3):
    def build(tf):
        whole = table(tf, axis_parts)
        step = tf.Variable(0, trainable=False)
        numbers = tf.constant([[0, 1, 1], [6, 3, 3], [2, 2, 2], [2, 5, 2], [4, 4, 4]])
        with tf.control_dependencies([tf.assign_add(step, 1)]):
            ids = tf.gather(numbers, step.read_value() % 5)
        rows = tf.nn.embedding_lookup(whole, ids, partition_strategy=strategy)
        return optimizer(tf).minimize(tf.reduce_sum(tf.square(rows))), list(whole)

    return build


def initial(make):
    """Parts are drawn one by one, with the scale of the whole."""

    def build(tf):
        split = tf.fixed_size_partitioner(4)
        return list(tf.get_variable("w", [40, 10], initializer=make(tf), partitioner=split))

    return build


def assigned(tf):
    whole, other = table(tf), tf.get_variable("other", [7, 2], partitioner=tf.fixed_size_partitioner(3))
    first = whole.assign(tf.ones([7, 2]))
    with tf.control_dependencies(first):
        second = whole.assign_add(TABLE)
    with tf.control_dependencies(second):
        third = other.assign(whole)
    return list(third)


def restored(tf, calls, folder):
    """A checkpoint of three parts in two, in one, and as the initial value of four; slots are parts too."""
    path = os.path.join(folder, "model")
    for parts, saves in ((3, True), (2, False), (0, False)):
        with tf.Graph().as_default(), tf.Session() as sess:
            whole = table(tf, parts) if parts else tf.get_variable("table", [7, 2])
            loss = tf.reduce_sum(tf.square(whole))
            step = tf.train.MomentumOptimizer(0.1, 0.9).minimize(loss)
            average = tf.train.ExponentialMovingAverage(0.9)
            followed = average.apply()
            sess.run(tf.global_variables_initializer())
            saver = tf.train.Saver()
            if saves:
                sess.run(step)
                sess.run(followed)
                saver.save(sess, path)
                calls.append([list(each) for each in tf.train.list_variables(path)])
            else:
                saver.restore(sess, path)
            calls.append(plain([np.round(value, 5) for value in sess.run(tf.global_variables())]))
    with tf.Graph().as_default(), tf.Session() as sess:
        with tf.variable_scope("new", partitioner=tf.fixed_size_partitioner(4)):
            whole = tf.get_variable("table", [7, 2])
        tf.train.init_from_checkpoint(path, {"/": "new/"})
        sess.run(tf.global_variables_initializer())
        calls.append(plain([np.round(value, 5) for value in sess.run(list(whole))]))
    with tf.Graph().as_default(), tf.Session() as sess:
        saver = tf.train.import_meta_graph(path + ".meta")
        saver.restore(sess, path)
        calls.append([v._get_save_slice_info().spec for v in tf.trainable_variables()])
        calls.append(plain([np.round(value, 5) for value in sess.run(tf.global_variables())]))


def other_partitions(tf):
    tf.get_variable("w", [7, 2], partitioner=tf.fixed_size_partitioner(3))
    with tf.variable_scope("", reuse=True):
        tf.get_variable("w", [7, 2], partitioner=tf.fixed_size_partitioner(2))


def unpartitioned_first(tf):
    tf.get_variable("w", [7, 2])
    with tf.variable_scope("", reuse=True):
        tf.get_variable("w", [7, 2], partitioner=tf.fixed_size_partitioner(2))


def cut_by(*parts):
    return lambda tf: tf.get_variable("w", [7, 2], partitioner=lambda **_: list(parts))


CASES = [
    answer("names of operations", names),
    answer("layers and cells", layers),
    answer("found again", found_again),
    answer("partitioners", partitions),
    answer("save and restore", told(restored)),
    answer(
        "create_partitioned_variables",
        lambda tf: [
            [v.name, v.shape.as_list(), v._get_save_slice_info().spec]
            for _ in range(2)
            for v in tf.create_partitioned_variables([7, 3], [1, 2], tf.zeros_initializer())
        ],
    ),
    runs("assigned", assigned, times=1),
    runs("glorot", initial(lambda tf: tf.glorot_uniform_initializer(seed=3)), times=1, exact=True),
    runs("truncated normal", initial(lambda tf: tf.truncated_normal_initializer(seed=3)), times=1),
    runs("a value", lambda tf: list(table(tf, 2, axis=1)), times=1),
    [
        trains("embedding_lookup %s %s" % (strategy, name), looked_up(strategy, optimizer), steps=6)
        for strategy in ("mod", "div")
        for name, optimizer in (
            ("momentum", lambda tf: tf.train.MomentumOptimizer(0.1, 0.9)),
            ("rmsprop", lambda tf: tf.train.RMSPropOptimizer(0.1, momentum=0.9)),
            ("adam", lambda tf: tf.train.AdamOptimizer(0.1)),
        )
    ],
    error("parts along two axes", cut_by(2, 2)),
    error("no part", cut_by(0, 1)),
    error("too few axes", cut_by(2)),
    error("other partitions", other_partitions),
    error("not partitioned", unpartitioned_first),
    error("exists", lambda tf: [table(tf), table(tf)]),
    error("slicing", lambda tf: tf.create_partitioned_variables([10], [1, 1], tf.zeros_initializer())),
]
