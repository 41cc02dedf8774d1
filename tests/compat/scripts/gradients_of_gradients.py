"""Derivatives of derivatives, as penalties of gradients take them, and derivatives of selected rows."""

import numpy as np
import tensorflow as tf

rng = np.random.RandomState(0)
values = (rng.permutation(96).reshape(4, 4, 6) / 48.0 - 0.99).astype("float32")
x = tf.placeholder(tf.float32, [None, 4, 6], name="x")
positive = x * x + 0.5
image = tf.expand_dims(x, -1)
square = tf.matmul(x, x, transpose_b=True) + tf.eye(4)
bias = tf.reduce_sum(x * x, [0, 1])
ids = tf.constant([0, 2, -1, 0])
nets = [
    ("elu", tf.nn.elu(x)),
    ("selu", tf.nn.selu(x)),
    ("sqrt", tf.sqrt(positive)),
    ("rsqrt", tf.rsqrt(positive)),
    ("reciprocal", tf.reciprocal(positive)),
    ("norm", tf.norm(x, axis=2)),
    ("layer_norm", tf.square(tf.contrib.layers.layer_norm(x))),
    ("bias_add", tf.square(tf.nn.bias_add(x, bias))),
    ("cross", tf.square(tf.cross(x[..., :3], x[..., 3:]))),
    ("matrix_band_part", tf.square(tf.matrix_band_part(x * x, 1, 1))),
    ("matrix_diag_part", tf.square(tf.matrix_diag_part(x * x))),
    ("matrix_set_diag", tf.square(tf.matrix_set_diag(x * x, x[:, :, 0]))),
    ("space_to_batch", tf.square(tf.space_to_batch_nd(image * image, [2, 2], [[0, 0], [0, 0]]))),
    ("batch_to_space", tf.square(tf.batch_to_space_nd(image * image, [2, 2], [[0, 0], [1, 0]]))),
    ("cholesky", tf.cholesky(square)),
    ("triangular_solve", tf.matrix_triangular_solve(square, x)),
    ("log_determinant", tf.linalg.slogdet(square)[1]),
]
once = [
    ("top_k", tf.square(tf.nn.top_k(x, 2).values)),
    ("segment_sum", tf.square(tf.segment_sum(x, [0, 0, 1, 2]))),
    ("segment_mean", tf.square(tf.segment_mean(x, [0, 0, 0, 2]))),
    ("unsorted_segment_sum", tf.square(tf.unsorted_segment_sum(x, ids, 3))),
    ("reduce_prod", tf.reduce_prod(x, [0, 2])),
    ("matrix_determinant", tf.matrix_determinant(square)),
    ("resize_nearest_neighbor", tf.square(tf.image.resize_nearest_neighbor(image, [7, 5]))),
    ("resize_bicubic", tf.square(tf.image.resize_bicubic(image, [7, 5]))),
]
found = []
for name, y in nets:
    (slope,) = tf.gradients(y, x)
    (curve,) = tf.gradients(tf.reduce_sum(tf.square(slope)), x)
    found += [(name, tf.identity(slope)), (name, tf.identity(curve))]
for name, y in once:
    found.append((name, tf.identity(tf.gradients(y, x)[0])))

with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for (name, _), made in zip(found, sess.run([t for _, t in found], {x: values})):
        print(name, ["%.4f" % n for n in (made.sum(), abs(made).sum(), made[1, 2, 3], made[3, 1, 0])])
