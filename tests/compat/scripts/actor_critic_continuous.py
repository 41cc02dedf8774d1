"""An actor that draws from a normal distribution, whose parameters a critic's error moves."""
import numpy as np
import tensorflow as tf

rng = np.random.RandomState(2)
tf.set_random_seed(2)


class Actor(object):
    def __init__(self, sess, n_features, action_bound, lr):
        self.sess = sess
        self.s = tf.placeholder(tf.float32, [1, n_features], "state")
        self.a = tf.placeholder(tf.float32, None, name="act")
        self.td_error = tf.placeholder(tf.float32, None, name="td_error")
        l1 = tf.layers.dense(self.s, 8, tf.nn.relu, kernel_initializer=tf.random_normal_initializer(0.0, 0.1), name="l1")
        mu = tf.layers.dense(l1, 1, tf.nn.tanh, kernel_initializer=tf.random_normal_initializer(0.0, 0.1), name="mu")
        sigma = tf.layers.dense(l1, 1, tf.nn.softplus, bias_initializer=tf.constant_initializer(1.0), name="sigma")
        global_step = tf.Variable(0, trainable=False)
        self.mu, self.sigma = tf.squeeze(mu * 2), tf.squeeze(sigma + 0.1)
        self.normal_dist = tf.distributions.Normal(self.mu, self.sigma)
        self.action = tf.clip_by_value(self.normal_dist.sample(1), action_bound[0], action_bound[1])
        with tf.name_scope("exp_v"):
            self.exp_v = self.normal_dist.log_prob(self.a) * self.td_error + 0.01 * self.normal_dist.entropy()
        with tf.name_scope("train"):
            self.train_op = tf.train.AdamOptimizer(lr).minimize(-self.exp_v, global_step)

    def learn(self, s, a, td):
        feed_dict = {self.s: s[None], self.a: a, self.td_error: td}
        exp_v = self.sess.run(self.exp_v, feed_dict)
        self.sess.run(self.train_op, feed_dict)
        return exp_v


class Critic(object):
    def __init__(self, sess, n_features, lr):
        self.sess = sess
        with tf.name_scope("inputs"):
            self.s = tf.placeholder(tf.float32, [1, n_features], "state")
            self.v_ = tf.placeholder(tf.float32, [1, 1], name="v_next")
            self.r = tf.placeholder(tf.float32, name="r")
        with tf.variable_scope("Critic", initializer=tf.glorot_uniform_initializer(seed=5)):
            l1 = tf.layers.dense(self.s, 8, tf.nn.relu, name="l1")
            self.v = tf.layers.dense(l1, 1, None, name="V")
        with tf.variable_scope("squared_TD_error"):
            self.td_error = tf.reduce_mean(self.r + 0.9 * self.v_ - self.v)
            self.loss = tf.square(self.td_error)
        with tf.variable_scope("train"):
            self.train_op = tf.train.AdamOptimizer(lr).minimize(self.loss)

    def learn(self, s, r, s_):
        v_ = self.sess.run(self.v, {self.s: s_[None]})
        feed_dict = {self.s: s[None], self.v_: v_, self.r: r}
        td_error = self.sess.run(self.td_error, feed_dict)
        self.sess.run(self.train_op, feed_dict)
        return td_error


sess = tf.Session()
actor, critic = Actor(sess, 2, [-2, 2], 0.01), Critic(sess, 2, 0.02)
sess.run(tf.global_variables_initializer())
s = np.array([0.5, -0.5])
for step in range(12):
    a = rng.uniform(-2, 2)
    s_ = np.array([np.cos(step), np.sin(step)])
    td_error = critic.learn(s, -((a - 1) ** 2), s_)
    exp_v = actor.learn(s, a, td_error)
    if step % 4 == 3:
        print(step, "td %.3f exp_v %.3f" % (td_error, exp_v))
    s = s_
print("mu %.4f sigma %.4f" % tuple(sess.run([actor.mu, actor.sigma], {actor.s: [[0.0, 1.0]]})))
