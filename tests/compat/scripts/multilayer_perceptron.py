"""A perceptron of two hidden layers whose weights stand in dictionaries; XOR of signs."""
from __future__ import print_function

import numpy as np
import tensorflow as tf

rng = np.random.RandomState(1)
data = rng.uniform(-1, 1, (200, 2))
target = (data[:, 0] * data[:, 1] > 0).astype(np.int64)

tf.set_random_seed(3)
n_hidden_1, n_hidden_2, n_input, n_classes = 16, 8, 2, 2
X = tf.placeholder(tf.float32, [None, n_input])
Y = tf.placeholder(tf.int64, [None])
weights = {
    "h1": tf.Variable(tf.random_normal([n_input, n_hidden_1])),
    "h2": tf.Variable(tf.random_normal([n_hidden_1, n_hidden_2])),
    "out": tf.Variable(tf.random_normal([n_hidden_2, n_classes])),
}
biases = {
    "b1": tf.Variable(tf.random_normal([n_hidden_1])),
    "b2": tf.Variable(tf.random_normal([n_hidden_2])),
    "out": tf.Variable(tf.random_normal([n_classes])),
}


def multilayer_perceptron(x):
    layer_1 = tf.nn.sigmoid(tf.add(tf.matmul(x, weights["h1"]), biases["b1"]))
    layer_2 = tf.nn.sigmoid(tf.add(tf.matmul(layer_1, weights["h2"]), biases["b2"]))
    return tf.matmul(layer_2, weights["out"]) + biases["out"]


logits = multilayer_perceptron(X)
loss_op = tf.reduce_mean(
    tf.nn.softmax_cross_entropy_with_logits(logits=logits, labels=tf.one_hot(Y, n_classes))
)
train_op = tf.train.AdamOptimizer(learning_rate=0.03).minimize(loss_op)
accuracy = tf.reduce_mean(tf.cast(tf.equal(tf.argmax(tf.nn.softmax(logits), 1), Y), "float"))

sess = tf.Session()
sess.run(tf.global_variables_initializer())
for step in range(120):
    loss, _ = sess.run([loss_op, train_op], {X: data, Y: target})
    if step % 30 == 0:
        print(step, round(float(loss), 4))
print("accuracy", sess.run(accuracy, {X: data, Y: target}))
sess.close()
