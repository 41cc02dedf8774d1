"""Q learning in a corridor: two networks, one of them copied into the other now and then."""
import numpy as np
import tensorflow as tf

np.random.seed(1)
tf.set_random_seed(1)


class Corridor:
    """Six places; the right end pays."""

    n_states, n_actions = 6, 2

    def reset(self):
        self.at = 0
        return self.observe()

    def observe(self):
        return np.eye(self.n_states)[self.at]

    def step(self, action):
        self.at = max(0, self.at + (1 if action else -1))
        done = self.at == self.n_states - 1
        return self.observe(), float(done), done


class DeepQNetwork:
    def __init__(self, n_actions, n_features, learning_rate=0.02, gamma=0.9, replace=20, memory_size=200, batch=16):
        self.n_actions, self.n_features, self.gamma = n_actions, n_features, gamma
        self.replace, self.memory_size, self.batch, self.lr = replace, memory_size, batch, learning_rate
        self.learned, self.stored = 0, 0
        self.memory = np.zeros((memory_size, n_features * 2 + 3))
        self._build()
        t_params = tf.get_collection("target_net_params")
        e_params = tf.get_collection("eval_net_params")
        self.replace_target_op = [tf.assign(t, e) for t, e in zip(t_params, e_params)]
        self.sess = tf.Session()
        self.sess.run(tf.global_variables_initializer())

    def _net(self, s, c_names):
        w_init, b_init = tf.random_normal_initializer(0.0, 0.3), tf.constant_initializer(0.1)
        with tf.variable_scope("l1"):
            w1 = tf.get_variable("w1", [self.n_features, 10], initializer=w_init, collections=c_names)
            b1 = tf.get_variable("b1", [1, 10], initializer=b_init, collections=c_names)
            l1 = tf.nn.relu(tf.matmul(s, w1) + b1)
        with tf.variable_scope("l2"):
            w2 = tf.get_variable("w2", [10, self.n_actions], initializer=w_init, collections=c_names)
            b2 = tf.get_variable("b2", [1, self.n_actions], initializer=b_init, collections=c_names)
            return tf.matmul(l1, w2) + b2

    def _build(self):
        self.s = tf.placeholder(tf.float32, [None, self.n_features], name="s")
        self.q_target = tf.placeholder(tf.float32, [None, self.n_actions], name="Q_target")
        self.s_ = tf.placeholder(tf.float32, [None, self.n_features], name="s_")
        with tf.variable_scope("eval_net"):
            self.q_eval = self._net(self.s, ["eval_net_params", tf.GraphKeys.GLOBAL_VARIABLES])
        with tf.variable_scope("loss"):
            self.loss = tf.reduce_mean(tf.squared_difference(self.q_target, self.q_eval))
        with tf.variable_scope("train"):
            params = tf.get_collection("eval_net_params")
            self.train_op = tf.train.RMSPropOptimizer(self.lr).minimize(self.loss, var_list=params)
        with tf.variable_scope("target_net"):
            self.q_next = self._net(self.s_, ["target_net_params", tf.GraphKeys.GLOBAL_VARIABLES])

    def store(self, s, a, r, done, s_):
        self.memory[self.stored % self.memory_size] = np.hstack((s, [a, r, done], s_))
        self.stored += 1

    def choose(self, observation, epsilon):
        if np.random.uniform() < epsilon:
            return np.argmax(self.sess.run(self.q_eval, feed_dict={self.s: observation[np.newaxis, :]}))
        return np.random.randint(0, self.n_actions)

    def learn(self):
        if self.learned % self.replace == 0:
            self.sess.run(self.replace_target_op)
        batch = self.memory[np.random.choice(min(self.stored, self.memory_size), size=self.batch)]
        n = self.n_features
        q_next, q_eval = self.sess.run([self.q_next, self.q_eval], {self.s_: batch[:, -n:], self.s: batch[:, :n]})
        target = q_eval.copy()
        rows = np.arange(self.batch)
        target[rows, batch[:, n].astype(int)] = batch[:, n + 1] + self.gamma * q_next.max(axis=1) * (1 - batch[:, n + 2])
        _, cost = self.sess.run([self.train_op, self.loss], {self.s: batch[:, :n], self.q_target: target})
        self.learned += 1
        return cost


env = Corridor()
brain = DeepQNetwork(env.n_actions, env.n_states)
step = 0
for episode in range(30):
    s, done = env.reset(), False
    while not done:
        a = brain.choose(s, 0.5)
        s_, r, done = env.step(a)
        brain.store(s, a, r, done, s_)
        if step > 60 and step % 2 == 0:
            cost = brain.learn()
        s, step = s_, step + 1
q = brain.sess.run(brain.q_eval, {brain.s: np.eye(env.n_states)[:-1]})
print("always to the right:", bool((q.argmax(1) == 1).all()))
