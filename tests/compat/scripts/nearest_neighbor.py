"""The nearest of some training points, by the sum of distances along the axes."""
import numpy as np
import tensorflow as tf

Xtr = np.arange(24, dtype=np.float32).reshape(8, 3) % 7
Ytr = np.eye(4)[np.arange(8) % 4]
Xte = Xtr[[2, 5, 7]] + 0.25

xtr = tf.placeholder("float", [None, 3])
xte = tf.placeholder("float", [3])
distance = tf.reduce_sum(tf.abs(tf.add(xtr, tf.negative(xte))), reduction_indices=1)
pred = tf.arg_min(distance, 0)

with tf.Session() as sess:
    for i in range(len(Xte)):
        nn_index = sess.run(pred, feed_dict={xtr: Xtr, xte: Xte[i, :]})
        print("Test", i, "Prediction:", np.argmax(Ytr[nn_index]), "distance", sess.run(distance, {xtr: Xtr, xte: Xte[i]})[nn_index])
