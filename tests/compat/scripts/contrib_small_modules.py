"""The small modules of tf.contrib: nn, signal, stateless, deprecated, util."""

import numpy as np
import tensorflow as tf

contrib = tf.contrib
rng = np.random.RandomState(0)
x = tf.constant(rng.randn(4, 6), tf.float32)

softplus = contrib.nn.scaled_softplus(x, 0.5, clip=1.0)
logits, labels = tf.constant(rng.randn(3, 4), tf.float32), tf.constant([1, 3, 0])
fetches = [
    contrib.nn.alpha_dropout(x, 0.7, seed=3),
    contrib.nn.alpha_dropout(x, 0.5, noise_shape=[4, 1], seed=4),
    contrib.nn.scaled_softplus(x, [0.1] * 6),
    softplus,
    tf.gradients(softplus, x)[0],
    contrib.nn.nth_element(x, 2),
    contrib.nn.nth_element(x, tf.constant(1), reverse=True),
    contrib.nn.deprecated_flipped_sparse_softmax_cross_entropy_with_logits(logits, labels),
    contrib.nn.deprecated_flipped_softmax_cross_entropy_with_logits(logits, tf.one_hot(labels, 4)),
    contrib.nn.deprecated_flipped_sigmoid_cross_entropy_with_logits(logits, targets=tf.one_hot(labels, 4)),
    contrib.nn.conv1d_transpose(
        tf.constant(rng.randn(2, 3, 4), tf.float32), tf.constant(rng.randn(3, 5, 4), tf.float32), [2, 6, 5], 2
    ),
    tf.abs(contrib.signal.stft(tf.constant(rng.randn(1, 40), tf.float32), 16, 8)),
    contrib.signal.frame(tf.range(10), 4, 3),
    contrib.signal.linear_to_mel_weight_matrix(4, 9),
    contrib.stateless.stateless_random_normal([3], [1, 2]),
    contrib.stateless.stateless_random_uniform([3], seed=[1, 2], minval=2.0, maxval=4.0),
    contrib.stateless.stateless_truncated_normal([3], [5, 6]),
    contrib.stateless.stateless_multinomial(logits, 5, [1, 2]),
]

table, biases = tf.constant(rng.randn(20, 6), tf.float32), tf.constant(rng.randn(20), tf.float32)
sampled = (tf.constant([3, 7, 11, 15, 2]), tf.fill([4, 1], 0.3), tf.constant([0.5, 0.4, 0.3, 0.2, 0.6]))
classes = tf.constant([[1], [7], [4], [19]], tf.int64)
fetches += [
    contrib.nn.rank_sampled_softmax_loss(
        table, biases, classes, x, 5, 3, 20, 1, sampled, 0.8, True, "div"
    ),
    contrib.nn.sampled_sparse_softmax_loss(table, biases, classes, x, 5, 20, sampled_values=sampled),
]
with tf.Session() as sess:
    for value in sess.run(fetches):
        print(value.dtype, value.shape, ["%.4f" % x for x in value.ravel()])
    text = sess.run(contrib.deprecated.scalar_summary("my loss", 0.25))
    for one in tf.Summary.FromString(text).value:
        print(one.tag, one.simple_value)
    contrib.deprecated.histogram_summary("values", x)
    merged = tf.Summary.FromString(sess.run(contrib.deprecated.merge_all_summaries()))
    print([value.tag for value in merged.value])

print(contrib.util.constant_value(tf.constant([1, 2])), contrib.util.constant_value(x).shape)
graph = tf.Graph()
with graph.as_default():
    tf.nn.relu(tf.placeholder(tf.float32, [2]), name="r")
print(sorted(contrib.util.ops_used_by_graph_def(graph.as_graph_def())))
for wrong in (lambda: contrib.nn.alpha_dropout(x, 1.5), lambda: contrib.nn.alpha_dropout(x, 0.0)):
    try:
        wrong()
    except ValueError:
        print("refused")
