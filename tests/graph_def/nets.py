"""Nets as people trained them with TensorFlow 1 and its `contrib`, built by that alone. A model is what
`models` says.
"""

from __future__ import annotations

import numpy as np

from tests.graph_def.models import model, numbers


def trained(tf, feeds, fetches, step, steps=2):
    """A model with all of its variables."""
    feeds = {name + ":0": value for name, value in feeds.items()}
    fetches = [tf.identity(each) for each in fetches]
    init = tf.group(tf.global_variables_initializer(), tf.local_variables_initializer())
    return model({}, fetches, step, init, steps if step is not None else 0)._replace(feeds=feeds)


def fed(tf, feeds, shapes):
    """Placeholders for arrays."""
    return [tf.placeholder(feeds[name].dtype.name, shape, name) for name, shape in shapes.items()]


def convolutional(tf):
    """Normalized convolutions, regularized, with a rate that falls, clipped slopes and moving averages."""
    slim, labels = tf.contrib.slim, np.array([0, 2, 1, 0], np.int64)
    feeds = {"x": numbers(4, 12, 12, 3, seed=300), "labels": labels}
    x, y = fed(tf, feeds, {"x": [None, 12, 12, 3], "labels": [None]})
    normalizing = {"normalizer_fn": slim.batch_norm, "normalizer_params": {"is_training": True, "decay": 0.9}}
    with slim.arg_scope([slim.conv2d], weights_regularizer=slim.l2_regularizer(1e-3), **normalizing):
        h = slim.max_pool2d(slim.conv2d(x, 4, [3, 3]), [2, 2])
        h = slim.avg_pool2d(slim.separable_conv2d(h, 6, [3, 3], 1), [2, 2])
    scores = slim.fully_connected(slim.flatten(h), 3, activation_fn=None)
    tf.losses.sparse_softmax_cross_entropy(y, scores)
    total, count = tf.losses.get_total_loss(), tf.train.get_or_create_global_step()
    rate = tf.train.exponential_decay(0.1, count, 2, 0.9)
    optimizer = tf.train.MomentumOptimizer(rate, 0.9)
    step = slim.learning.create_train_op(total, optimizer, clip_gradient_norm=1.0)
    with tf.control_dependencies([step]):
        step = tf.train.ExponentialMovingAverage(0.9, count).apply(tf.trainable_variables())
    return trained(tf, feeds, [total, scores], step)


def transcribed(tf):
    """A recurrent net whose sequences have no alignment."""
    feeds = {"x": numbers(2, 6, 5, seed=301), "n": np.array([6, 5], np.int32)}
    x, n = fed(tf, feeds, {"x": [None, None, 5], "n": [None]})
    labels = tf.SparseTensor([[0, 0], [0, 1], [1, 0]], [1, 2, 3], [2, 2])
    y, _ = tf.nn.dynamic_rnn(tf.nn.rnn_cell.BasicLSTMCell(6), x, n, dtype=tf.float32)
    scores = tf.transpose(tf.layers.dense(y, 6), [1, 0, 2])
    loss = tf.reduce_mean(tf.nn.ctc_loss(labels, scores, n))
    return trained(tf, feeds, [loss], tf.train.AdamOptimizer(0.01).minimize(loss))


def fused_cells(tf):
    """LSTMs of one node for a step, and for all steps."""
    feeds = {"x": numbers(3, 4, 5, seed=302)}
    (x,) = fed(tf, feeds, {"x": [None, 4, 5]})
    turned = tf.transpose(x, [1, 0, 2])
    lengths = tf.constant([4, 2, 3])
    whole, _ = tf.contrib.rnn.LSTMBlockFusedCell(6, use_peephole=True)(turned, None, tf.float32, lengths)
    steps, _ = tf.nn.dynamic_rnn(tf.contrib.rnn.LSTMBlockCell(6, use_peephole=True), x, dtype=tf.float32)
    loss = tf.reduce_mean(whole**2.0) + tf.reduce_mean(steps**2.0)
    return trained(tf, feeds, [loss], tf.train.AdamOptimizer(0.01).minimize(loss))


def quantized(tf):
    """A net that is trained for weights of eight bits."""
    feeds = {"x": numbers(2, 8, 8, 3, seed=303)}
    (x,) = fed(tf, feeds, {"x": [None, 8, 8, 3]})
    h = tf.layers.conv2d(x, 4, 3, activation=tf.nn.relu6)
    loss = tf.reduce_mean(tf.layers.dense(tf.layers.flatten(h), 3) ** 2.0)
    tf.contrib.quantize.create_training_graph(quant_delay=0)
    return trained(tf, feeds, [loss], tf.train.GradientDescentOptimizer(0.1).minimize(loss))


def tagged(tf):
    """Tags of a sequence, by a conditional random field."""
    feeds = {
        "x": numbers(2, 5, 4, seed=304),
        "n": np.array([5, 3], np.int32),
        "tags": np.array([[0, 1, 2, 0, 1], [2, 2, 0, 0, 0]], np.int32),
    }
    x, tags, n = fed(tf, feeds, {"x": [None, 5, 4], "tags": [None, 5], "n": [None]})
    scores = tf.layers.dense(x, 3)
    likely, moves = tf.contrib.crf.crf_log_likelihood(scores, tags, n)
    loss = tf.reduce_mean(-likely)
    best, score = tf.contrib.crf.crf_decode(scores, moves, n)
    return trained(tf, feeds, [loss, best, score], tf.train.AdamOptimizer(0.05).minimize(loss))


def translated(tf):
    """A decoder with attention: trained, greedy, and by beams."""
    many, width, s2s = 9, 6, tf.contrib.seq2seq
    feeds = {
        "source": np.array([[3, 4, 5, 6], [7, 8, 3, 3]], np.int32),
        "n": np.array([4, 2], np.int32),
        "target": np.array([[4, 5, 6], [8, 7, 2]], np.int32),
    }
    source, n, target = fed(tf, feeds, {"source": [None, None], "n": [None], "target": [None, None]})
    batch = tf.shape(source)[0]
    table = tf.get_variable("table", [many, width])
    read, state = tf.nn.dynamic_rnn(
        tf.nn.rnn_cell.GRUCell(width), tf.nn.embedding_lookup(table, source), n, dtype=tf.float32
    )
    project = tf.layers.Dense(many, name="project")

    def decoded(helper, reuse):
        with tf.variable_scope("decoder", reuse=reuse):
            attention = s2s.LuongAttention(width, read, memory_sequence_length=n)
            cell = s2s.AttentionWrapper(tf.nn.rnn_cell.GRUCell(width), attention, width)
            begin = cell.zero_state(batch, tf.float32).clone(cell_state=state)
            decoder = s2s.BasicDecoder(cell, helper, begin, project)
            return s2s.dynamic_decode(decoder, maximum_iterations=5 if reuse else None)[0]

    lengths = tf.fill([batch], 3)
    made = decoded(s2s.TrainingHelper(tf.nn.embedding_lookup(table, target), lengths), False)
    greedy = decoded(s2s.GreedyEmbeddingHelper(table, tf.fill([batch], 1), 2), True)
    beams = s2s.BeamSearchDecoder(
        tf.nn.rnn_cell.GRUCell(width, name="beam"), table, tf.fill([batch], 1), 2, s2s.tile_batch(state, 3),
        3, project,
    )
    paths = s2s.dynamic_decode(beams, maximum_iterations=4)[0].predicted_ids
    loss = tf.reduce_mean(
        tf.nn.sparse_softmax_cross_entropy_with_logits(labels=target, logits=made.rnn_output)
    )
    xs = tf.trainable_variables()
    slopes, _ = tf.clip_by_global_norm(tf.gradients(loss, xs), 1.0)
    step = tf.train.AdamOptimizer(0.02).apply_gradients(
        (slope, x)
        for slope, x in zip(slopes, xs)  # noqa: B905, Python 3.7
        if slope is not None
    )
    return trained(tf, feeds, [loss, greedy.sample_id, paths], step)


def detected(tf):
    """Boxes of an image, what is in them, and slopes of images of other sizes and of volumes."""
    feeds = {"x": numbers(1, 12, 12, 3, seed=305), "v": numbers(1, 4, 6, 6, 2, seed=306)}
    x, volume = fed(tf, feeds, {"x": [1, 12, 12, 3], "v": [None, 4, 6, 6, 2]})
    h = tf.layers.conv2d(x, 6, 3, 2, "same", activation=tf.nn.relu)
    ends = tf.sigmoid(tf.reshape(tf.layers.conv2d(h, 4, 1), [-1, 4]))
    scores = tf.sigmoid(tf.reshape(tf.layers.conv2d(h, 1, 1), [-1]))
    boxes = tf.concat([tf.minimum(ends[:, :2], ends[:, 2:]), tf.maximum(ends[:, :2], ends[:, 2:])], 1)
    best = tf.gather(boxes, tf.image.non_max_suppression(boxes, scores, 4, 0.5, 0.1))
    crops = tf.image.crop_and_resize(h, best, tf.zeros([tf.shape(best)[0]], tf.int32), [3, 3])
    other = tf.layers.conv3d(volume, 3, 3, padding="same", activation=tf.nn.elu)
    other = tf.layers.max_pooling3d(other, 2, 2)
    loss = tf.add_n([
        tf.reduce_mean(each ** 2.0)
        for each in (
            crops, tf.image.resize_nearest_neighbor(h, [9, 9]), tf.image.resize_bicubic(h, [9, 9]),
            tf.layers.conv3d_transpose(other, 2, 2, 2),
        )
    ])
    step = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
    return trained(tf, feeds, [loss, best, crops, tf.where(scores > 0.5)], step)


NETS = [convolutional, transcribed, fused_cells, quantized, tagged, translated, detected]
