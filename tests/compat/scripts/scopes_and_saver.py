"""Variables in shared scopes, saved and restored in the current folder."""
import os

import tensorflow as tf


def network(x, reuse=None):
    with tf.variable_scope("net", reuse=reuse):
        w = tf.get_variable("w", [3, 2], initializer=tf.contrib.layers.xavier_initializer())
        b = tf.get_variable("b", [2], initializer=tf.constant_initializer(0.5))
        return tf.nn.xw_plus_b(x, w, b)


x = tf.placeholder(tf.float32, [None, 3])
first, second = network(x), network(x, reuse=True)
assert len(tf.trainable_variables()) == 2
folder = os.path.join(os.getcwd(), "model")
if tf.gfile.Exists(folder):
    tf.gfile.DeleteRecursively(folder)
tf.gfile.MakeDirs(folder)
saver = tf.train.Saver(max_to_keep=2)
feed = {x: [[1.0, 2.0, 3.0]]}
with tf.Session() as sess:
    sess.run(tf.initialize_all_variables())
    before = sess.run(first, feed)
    saver.save(sess, os.path.join(folder, "net"), global_step=7)
with tf.Session() as sess:
    saver.restore(sess, tf.train.latest_checkpoint(folder))
    assert (sess.run(second, feed) == before).all()
print("restored", sorted(v.op.name for v in tf.global_variables()))
