"""Functions of Python in a graph, gradients of one's own, printing and assertions."""
import numpy as np
import tensorflow as tf


def outer(a, b):
    return np.outer(a, b).astype(np.float32)


x = tf.placeholder(tf.float32, [3])
y = tf.py_func(outer, [x, x + 1], tf.float32)
y.set_shape([3, 3])
total = tf.reduce_sum(y, axis=0)
words = tf.py_func(lambda s: b"<" + s + b">", [tf.constant("word")], tf.string)


@tf.custom_gradient
def clipped_log(v):
    def grad(dy):
        return dy * tf.minimum(1.0 / v, 10.0)

    return tf.log(v), grad


slope = tf.gradients(clipped_log(x), x)[0]
with tf.control_dependencies([tf.Assert(tf.reduce_all(x > 0), [x])]):
    checked = tf.identity(x)
with tf.Session() as sess:
    print(sess.run(total, {x: [1, 2, 3]}), sess.run(words))
    print(sess.run(slope, {x: [0.01, 1.0, 2.0]}))
    print(sess.run(checked, {x: [1, 2, 3]}))
    try:
        sess.run(checked, {x: [1, -2, 3]})
    except tf.errors.InvalidArgumentError:
        print("refused")
