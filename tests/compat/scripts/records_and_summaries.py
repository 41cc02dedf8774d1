"""Writes examples to a TFRecord file, trains on them, and reads the summaries of the training back."""
from __future__ import print_function

import glob

import numpy as np
import tensorflow as tf

LABELS = ["cat", "dog"]


def _bytes(value):
    return tf.train.Feature(bytes_list=tf.train.BytesList(value=[tf.compat.as_bytes(value)]))


def _int64(value):
    return tf.train.Feature(int64_list=tf.train.Int64List(value=[value]))


writer = tf.python_io.TFRecordWriter("train.tfrecords")
for i in range(20):
    pixels = np.full([2, 2], 200 * (i % 2) + i, np.uint8)
    feature = {"image_raw": _bytes(pixels.tobytes()), "label": _int64(i % 2), "name": _bytes(LABELS[i % 2])}
    writer.write(tf.train.Example(features=tf.train.Features(feature=feature)).SerializeToString())
writer.close()

serialized = tf.placeholder(tf.string, [None])
features = tf.parse_example(serialized, features={
    "image_raw": tf.FixedLenFeature([], tf.string),
    "label": tf.FixedLenFeature([], tf.int64),
    "name": tf.VarLenFeature(tf.string),
})
image = tf.decode_raw(features["image_raw"], tf.uint8)
image.set_shape([None, 4])
image = tf.cast(image, tf.float32) * (1.0 / 255) - 0.5
label = tf.cast(features["label"], tf.int32)
words = tf.string_join(["a", features["name"].values], separator=" ")

with tf.name_scope("net"):
    W = tf.Variable(tf.zeros([4, 2]), name="weights")
    logits = tf.matmul(image, W)
    tf.summary.histogram("weights", W)
loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=label, logits=logits))
accuracy = tf.reduce_mean(tf.cast(tf.nn.in_top_k(logits, label, 1), tf.float32))
tf.summary.scalar("loss", loss)
tf.summary.scalar("accuracy", accuracy)
tf.summary.image("input", tf.reshape(image, [-1, 2, 2, 1]), 2)
merged = tf.summary.merge_all()
train_op = tf.train.GradientDescentOptimizer(0.5).minimize(loss)

batch = list(tf.python_io.tf_record_iterator("train.tfrecords"))
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    summary_writer = tf.summary.FileWriter("logs", sess.graph)
    for step in range(30):
        summary, _ = sess.run([merged, train_op], feed_dict={serialized: batch})
        summary_writer.add_summary(summary, step)
    summary_writer.close()
    print(sess.run(words, {serialized: batch[:2]}).tolist())

last = list(tf.train.summary_iterator(glob.glob("logs/*")[0]))[-1]
print(last.step, [value.tag for value in last.summary.value])
print("accuracy", last.summary.value[2].simple_value)
