"""A perceptron on the digits of a folder, its flags on the command line."""
import sys

import tensorflow as tf
from tensorflow.examples.tutorials.mnist import input_data
from tensorflow.python.framework import ops

flags = tf.app.flags
flags.DEFINE_string("data_dir", "", "Folder of the digits.")
flags.DEFINE_integer("steps", 5, "Steps of training.")
flags.DEFINE_boolean("verbose", False, "Say more.")
FLAGS = flags.FLAGS


def main(_):
    ops.reset_default_graph()
    tf.set_random_seed(1)
    mnist = input_data.read_data_sets(FLAGS.data_dir, one_hot=True, validation_size=10, seed=1)
    x = tf.placeholder(tf.float32, [None, 784])
    y_ = tf.placeholder(tf.float32, [None, 10])
    hidden = tf.contrib.layers.fully_connected(x, 16, scope="hidden")
    y = tf.layers.dense(hidden, 10)
    loss = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(labels=y_, logits=y))
    step = tf.train.AdamOptimizer(0.01).minimize(loss)
    correct = tf.equal(tf.argmax(y, 1), tf.argmax(y_, 1))
    accuracy = tf.reduce_mean(tf.cast(correct, tf.float32))
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for _ in range(FLAGS.steps):
            xs, ys = mnist.train.next_batch(20)
            sess.run(step, {x: xs, y_: ys})
        if FLAGS.verbose:
            tf.logging.set_verbosity(tf.logging.INFO)
            tf.logging.info("%d examples", mnist.train.num_examples)
        print("accuracy", accuracy.eval({x: mnist.test.images, y_: mnist.test.labels}))
    return 3


if __name__ == "__main__":
    tf.app.run(main=main, argv=sys.argv)
