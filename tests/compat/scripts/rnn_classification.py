"""A dynamic recurrent network over rows of numbers, classified by its last output."""
import numpy as np
import tensorflow as tf

rng = np.random.RandomState(3)
tf.set_random_seed(1)
TIME_STEP, INPUT_SIZE = 6, 2
labels = rng.randint(0, 2, 80)
series = rng.randn(80, TIME_STEP, INPUT_SIZE).cumsum(axis=1) * 0.2 + np.where(labels, 0.6, -0.6)[:, None, None]

tf_x = tf.placeholder(tf.float32, [None, TIME_STEP * INPUT_SIZE])
image = tf.reshape(tf_x, [-1, TIME_STEP, INPUT_SIZE])
tf_y = tf.placeholder(tf.int32, [None, 2])
rnn_cell = tf.nn.rnn_cell.LSTMCell(num_units=12, initializer=tf.glorot_uniform_initializer(seed=3))
outputs, (h_c, h_n) = tf.nn.dynamic_rnn(rnn_cell, image, initial_state=None, dtype=tf.float32, time_major=False)
output = tf.layers.dense(outputs[:, -1, :], 2, kernel_initializer=tf.glorot_uniform_initializer(seed=4))
loss = tf.losses.softmax_cross_entropy(onehot_labels=tf_y, logits=output)
train_op = tf.train.AdamOptimizer(0.02).minimize(loss)
accuracy = tf.metrics.accuracy(labels=tf.argmax(tf_y, axis=1), predictions=tf.argmax(output, axis=1))[1]

sess = tf.Session()
sess.run(tf.group(tf.global_variables_initializer(), tf.local_variables_initializer()))
for step in range(41):
    _, loss_ = sess.run([train_op, loss], {tf_x: series.reshape(80, -1), tf_y: np.eye(2)[labels]})
    if step % 10 == 0:
        print("train loss: %.4f" % loss_)
print("accuracy over 0.9:", sess.run(accuracy, {tf_x: series.reshape(80, -1), tf_y: np.eye(2)[labels]}) > 0.9)
print([v.name for v in tf.trainable_variables()])
