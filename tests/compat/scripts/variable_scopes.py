"""Scopes of names and of variables: reuse, defaults, initializers, collections and custom getters."""
import tensorflow as tf


def two_layers(x):
    with tf.variable_scope("h1"):
        w = tf.get_variable("w", [x.shape[1], 4], initializer=tf.ones_initializer())
        h = tf.matmul(x, w)
    with tf.variable_scope("h2"):
        b = tf.get_variable("b", [4], initializer=tf.constant_initializer(0.5))
        return tf.add(h, b, name="out")


x1, x2 = tf.ones([1, 3], name="x1"), tf.fill([1, 3], 2.0)
with tf.variable_scope("model") as scope:
    logits1 = two_layers(x1)
    scope.reuse_variables()
    logits2 = two_layers(x2)
with tf.variable_scope("model", reuse=tf.AUTO_REUSE):
    logits3 = two_layers(x2)
print([v.name for v in tf.global_variables()])
print(logits1.name, logits2.name, logits3.name)
with tf.name_scope("names"):
    v = tf.Variable(1.0, name="v")
    g = tf.get_variable("g", [2], regularizer=lambda w: tf.reduce_sum(w) * 0.1)
    with tf.name_scope("deeper"):
        c = tf.constant(1, name="c")
print(v.name, g.name, c.name, len(tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES)))
with tf.variable_scope(None, default_name="block"):
    first = tf.get_variable("a", [])
with tf.variable_scope(None, default_name="block"):
    second = tf.get_variable("a", [], collections=[tf.GraphKeys.LOCAL_VARIABLES])
print(first.name, second.name, len(tf.local_variables()))
try:
    with tf.variable_scope("model"):
        tf.get_variable("h1/w", [3, 4])
except ValueError:
    print("exists")
try:
    with tf.variable_scope("model", reuse=True):
        tf.get_variable("nothing", [1])
except ValueError:
    print("does not exist")
with tf.Session() as sess:
    sess.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
    print(sess.run([logits1, logits2, logits3]))
