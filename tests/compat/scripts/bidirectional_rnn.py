"""Static networks in both directions over a list of steps."""
import numpy as np
import tensorflow as tf
from tensorflow.contrib import rnn

rng = np.random.RandomState(6)
tf.set_random_seed(6)
timesteps, num_input, num_hidden, num_classes = 5, 3, 7, 2
X = tf.placeholder("float", [None, timesteps, num_input])
Y = tf.placeholder("float", [None, num_classes])
weights = {"out": tf.Variable(tf.random_normal([2 * num_hidden, num_classes]))}
biases = {"out": tf.Variable(tf.random_normal([num_classes]))}


def BiRNN(x, weights, biases):
    x = tf.unstack(x, timesteps, 1)
    lstm_fw_cell = rnn.BasicLSTMCell(num_hidden, forget_bias=1.0)
    lstm_bw_cell = rnn.BasicLSTMCell(num_hidden, forget_bias=1.0)
    outputs, _, _ = rnn.static_bidirectional_rnn(lstm_fw_cell, lstm_bw_cell, x, dtype=tf.float32)
    return tf.matmul(outputs[-1], weights["out"]) + biases["out"]


tf.get_variable_scope().set_initializer(tf.random_uniform_initializer(-0.5, 0.5, seed=1))
logits = BiRNN(X, weights, biases)
loss_op = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits_v2(logits=logits, labels=Y))
train_op = tf.train.GradientDescentOptimizer(learning_rate=0.5).minimize(loss_op)
batch_x = rng.randn(40, timesteps, num_input)
batch_y = np.eye(2)[(batch_x[:, 0, 0] > 0).astype(int)]
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for step in range(31):
        sess.run(train_op, feed_dict={X: batch_x, Y: batch_y})
        if step % 10 == 0:
            print("Step", step, "%.4f" % sess.run(loss_op, {X: batch_x, Y: batch_y}))
print(sorted(v.op.name for v in tf.trainable_variables())[-4:])
