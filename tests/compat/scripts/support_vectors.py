"""A linear machine with a soft margin, and a kernel one."""
import numpy as np
import tensorflow as tf

rng = np.random.RandomState(3)
x_vals = np.concatenate([rng.randn(40, 2) * 0.5 + 1.5, rng.randn(40, 2) * 0.5 - 1.0])
y_vals = np.array([1.0] * 40 + [-1.0] * 40)

sess = tf.Session()
x_data = tf.placeholder(shape=[None, 2], dtype=tf.float32)
y_target = tf.placeholder(shape=[None, 1], dtype=tf.float32)
A = tf.Variable(tf.zeros(shape=[2, 1]))
b = tf.Variable(tf.zeros(shape=[1, 1]))
model_output = tf.subtract(tf.matmul(x_data, A), b)
l2_norm = tf.reduce_sum(tf.square(A))
alpha = tf.constant([0.01])
classification_term = tf.reduce_mean(tf.maximum(0.0, tf.subtract(1.0, tf.multiply(model_output, y_target))))
loss = tf.add(classification_term, tf.multiply(alpha, l2_norm))
prediction = tf.sign(model_output)
accuracy = tf.reduce_mean(tf.cast(tf.equal(prediction, y_target), tf.float32))
train_step = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
gamma = tf.constant(-0.5)
dist = tf.reshape(tf.reduce_sum(tf.square(x_data), 1), [-1, 1])
sq_dists = tf.add(tf.subtract(dist, tf.multiply(2.0, tf.matmul(x_data, tf.transpose(x_data)))), tf.transpose(dist))
my_kernel = tf.exp(tf.multiply(gamma, tf.abs(sq_dists)))
sess.run(tf.global_variables_initializer())
for i in range(30):
    rand_index = rng.choice(len(x_vals), size=20)
    feed = {x_data: x_vals[rand_index], y_target: y_vals[rand_index][:, None]}
    sess.run(train_step, feed_dict=feed)
    if (i + 1) % 10 == 0:
        print("Step #%d A = %s, b = %s" % (i + 1, np.round(sess.run(A), 3).tolist(), np.round(sess.run(b), 3).tolist()))
        print("Loss = %.4f" % sess.run(loss, feed)[0])
feed = {x_data: x_vals, y_target: y_vals[:, None]}
print("accuracy %.3f kernel %.3f" % (sess.run(accuracy, feed), sess.run(my_kernel, feed).mean()))
