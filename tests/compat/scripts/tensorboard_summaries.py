"""Summaries of every kind in an event file, and what is in it."""
import glob

import numpy as np
import tensorflow as tf

with tf.name_scope("input"):
    x = tf.placeholder(tf.float32, [None, 4], name="x")
    tf.summary.image("rows", tf.reshape(x, [-1, 2, 2, 1]), max_outputs=2)
with tf.name_scope("layer"):
    w = tf.Variable(tf.constant(np.linspace(-1, 1, 4).reshape(4, 1).astype(np.float32)), name="w")
    y = tf.matmul(x, w)
    with tf.name_scope("summaries"):
        mean = tf.reduce_mean(w)
        tf.summary.scalar("mean", mean)
        tf.summary.scalar("stddev", tf.sqrt(tf.reduce_mean(tf.square(w - mean))))
        tf.summary.histogram("histogram", w)
loss = tf.reduce_mean(tf.square(y - 1.0), name="loss")
loss_summary = tf.summary.scalar("loss", loss)
train = tf.train.MomentumOptimizer(0.05, 0.5).minimize(loss)
merged = tf.summary.merge_all()
only = tf.summary.merge([loss_summary])

with tf.Session() as sess:
    writer = tf.summary.FileWriter("logs/train", sess.graph)
    tf.global_variables_initializer().run()
    for i in range(3):
        writer.add_summary(sess.run(merged, {x: np.eye(4)}), i)
        sess.run(train, {x: np.eye(4)})
    writer.add_summary(sess.run(only, {x: np.eye(4)}), 3)
    value = tf.Summary(value=[tf.Summary.Value(tag="by_hand", simple_value=0.25)])
    writer.add_summary(value, 4)
    writer.close()

(path,) = glob.glob("logs/train/events.out.tfevents.*")
for event in tf.train.summary_iterator(path):
    for value in event.summary.value:
        kind = value.WhichOneof("value")
        if kind == "simple_value":
            print(event.step, value.tag, "%.5f" % value.simple_value)
        elif kind == "histo":
            print(event.step, value.tag, "%.0f %.5f %.5f" % (value.histo.num, value.histo.min, value.histo.sum))
        else:
            print(event.step, value.tag, value.image.height, value.image.width, value.image.colorspace)
