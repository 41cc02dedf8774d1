"""An autoencoder with a narrow middle, trained by RMSProp."""
import numpy as np
import tensorflow as tf

rng = np.random.RandomState(8)
codes = rng.rand(120, 2)
data = (1 / (1 + np.exp(-codes.dot(rng.randn(2, 10)) * 2))).astype(np.float32)

tf.set_random_seed(2)
n_input, n_hidden = 10, 3
X = tf.placeholder("float", [None, n_input])


def dense(name, value, size):
    with tf.variable_scope(name):
        w = tf.get_variable("w", [value.shape[1], size], initializer=tf.random_normal_initializer(stddev=0.5))
        b = tf.get_variable("b", [size], initializer=tf.constant_initializer(0.0))
        return tf.nn.sigmoid(tf.matmul(value, w) + b)


with tf.variable_scope("encoder"):
    hidden = dense("one", X, 6)
    code = dense("two", hidden, n_hidden)
with tf.variable_scope("decoder"):
    y_pred = dense("two", dense("one", code, 6), n_input)

loss = tf.reduce_mean(tf.pow(X - y_pred, 2))
optimizer = tf.train.RMSPropOptimizer(0.02).minimize(loss)

with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for i in range(151):
        _, l = sess.run([optimizer, loss], feed_dict={X: data})
        if i % 50 == 0:
            print("Step %i: Minibatch Loss: %f" % (i, l))
    print([v.name for v in tf.trainable_variables("decoder")])
