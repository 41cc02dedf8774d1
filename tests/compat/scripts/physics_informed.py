"""A network that solves an equation: its residual, with second derivatives, is part of the loss."""
import numpy as np
import tensorflow as tf


class PhysicsInformedNN:
    """u'' = -u on [0, pi/2] with u(0) = 0 and u(pi/2) = 1."""

    def __init__(self, layers):
        self.weights, self.biases = self.initialize_NN(layers)
        self.sess = tf.Session(config=tf.ConfigProto(allow_soft_placement=True, log_device_placement=False))
        self.x_tf = tf.placeholder(tf.float32, shape=[None, 1])
        self.x_u_tf = tf.placeholder(tf.float32, shape=[None, 1])
        self.u_tf = tf.placeholder(tf.float32, shape=[None, 1])
        self.u_pred = self.net_u(self.x_u_tf)
        self.f_pred = self.net_f(self.x_tf)
        self.loss = tf.reduce_mean(tf.square(self.u_tf - self.u_pred)) + tf.reduce_mean(tf.square(self.f_pred))
        self.train_op_Adam = tf.train.AdamOptimizer(0.02).minimize(self.loss)
        self.sess.run(tf.global_variables_initializer())

    def initialize_NN(self, layers):
        weights, biases = [], []
        for l in range(len(layers) - 1):
            stddev = np.sqrt(2 / (layers[l] + layers[l + 1]))
            drawn = tf.truncated_normal([layers[l], layers[l + 1]], stddev=stddev, seed=l)
            weights.append(tf.Variable(drawn, dtype=tf.float32))
            biases.append(tf.Variable(tf.zeros([1, layers[l + 1]], dtype=tf.float32), dtype=tf.float32))
        return weights, biases

    def net_u(self, X):
        H = X
        for W, b in zip(self.weights[:-1], self.biases[:-1]):
            H = tf.tanh(tf.add(tf.matmul(H, W), b))
        return tf.add(tf.matmul(H, self.weights[-1]), self.biases[-1])

    def net_f(self, x):
        u = self.net_u(x)
        u_x = tf.gradients(u, x)[0]
        u_xx = tf.gradients(u_x, x)[0]
        return u_xx + u

    def train(self, feeds, iterations):
        for it in range(iterations):
            self.sess.run(self.train_op_Adam, feeds)
            if it % 40 == 0 and it < 100:
                print("It: %d, Loss: %.3e" % (it, self.sess.run(self.loss, feeds)))


model = PhysicsInformedNN([1, 12, 12, 1])
feeds = {
    model.x_tf: np.linspace(0, np.pi / 2, 15)[:, None],
    model.x_u_tf: [[0.0], [np.pi / 2]],
    model.u_tf: [[0.0], [1.0]],
}
model.train(feeds, 400)
u = model.sess.run(model.u_pred, {model.x_u_tf: [[np.pi / 6]]})
print("u(pi/6) is a half:", abs(u[0, 0] - 0.5) < 0.05)
