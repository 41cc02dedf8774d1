"""Sizes of a static shape as operands, and what operations make of sparse tensors."""
import numpy as np
import tensorflow as tf

x = tf.placeholder(tf.float32, [None, 4])
depth = x.get_shape()[-1]
rows = tf.shape(x)[0]
scaled = tf.matmul(x, x, transpose_b=True) / tf.sqrt(tf.cast(depth, tf.float32))
cells = [rows * depth, depth * rows, rows // depth, depth + tf.constant(1), tf.maximum(depth, 3), tf.convert_to_tensor(depth)]
range_of = tf.range(depth)
packed = tf.stack([rows, depth])
kept = tf.Variable(depth, trainable=False)
try:
    tf.convert_to_tensor(x.shape[0])
except (TypeError, ValueError):
    print("an unknown size is no operand")

sparse = tf.SparseTensor([[0, 1], [2, 3]], [1.0, -4.0], [3, 4])
fed = tf.sparse_placeholder(tf.int64)
named = [tf.abs(sparse), tf.negative(sparse), tf.sign(sparse), tf.square(sparse), tf.tanh(sparse), tf.sqrt(tf.abs(sparse))]
cast = [tf.cast(sparse, tf.int32), tf.to_int64(sparse), tf.cast(sparse, tf.bool)]
shape = [tf.shape(sparse), tf.size(sparse), tf.rank(sparse), tf.shape(sparse, out_type=tf.int64)]
open_shape = [tf.shape(fed), tf.size(fed), tf.rank(fed)]
decoded, _ = tf.nn.ctc_greedy_decoder(tf.constant(np.random.RandomState(0).randn(5, 2, 4), tf.float32), [5, 3])
truth = tf.SparseTensor([[0, 0], [1, 0]], [1, 2], [2, 3])
error_rate = tf.reduce_mean(tf.edit_distance(tf.cast(decoded[0], tf.int32), truth))
try:
    tf.exp(sparse)
except TypeError:
    print("no exponential of a sparse tensor")

with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for value in sess.run([scaled] + cells + [range_of, packed, kept], {x: np.arange(12).reshape(3, 4)}):
        print(np.asarray(value).tolist())
    for value in sess.run(named + cast):
        print(value.indices.tolist(), np.round(value.values.astype(float), 4).tolist(), value.dense_shape.tolist())
    for value in sess.run(shape) + sess.run(open_shape, {fed: ([[0, 0]], [7], [2, 3])}):
        print(value.dtype, value.tolist())
    print("%.4f" % sess.run(error_rate))
