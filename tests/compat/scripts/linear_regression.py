"""Fits a line, with the loss printed at the end."""
from __future__ import print_function

import numpy as np
import tensorflow as tf

rng = np.random.RandomState(0)
train_x = rng.rand(50).astype(np.float32)
train_y = 3.0 * train_x + 1.0

X = tf.placeholder("float")
Y = tf.placeholder("float")
W = tf.Variable(rng.randn(), name="weight", dtype=tf.float32)
b = tf.Variable(rng.randn(), name="bias", dtype=tf.float32)
pred = tf.add(tf.multiply(X, W), b)
cost = tf.reduce_sum(tf.pow(pred - Y, 2)) / (2 * 50)
optimizer = tf.train.GradientDescentOptimizer(0.5).minimize(cost)
init = tf.global_variables_initializer()

with tf.Session(config=tf.ConfigProto(gpu_options=tf.GPUOptions(allow_growth=True))) as sess:
    sess.run(init)
    for epoch in range(200):
        sess.run(optimizer, feed_dict={X: train_x, Y: train_y})
    print("slope %.2f intercept %.2f" % (sess.run(W), sess.run(b)))
