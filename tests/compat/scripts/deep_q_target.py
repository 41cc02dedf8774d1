"""Deep Q learning with a target network, class style."""

import collections
import random

import numpy as np
import tensorflow as tf

np.random.seed(1)
random.seed(1)
tf.set_random_seed(1)


class Env(object):
    """A chain of states."""

    def __init__(self):
        self.n = 6

    def reset(self):
        self.s = 0
        return self._obs()

    def _obs(self):
        o = np.zeros(self.n)
        o[self.s] = 1
        return o

    def step(self, a):
        self.s = min(max(self.s + (1 if a == 1 else -1), 0), self.n - 1)
        done = self.s == self.n - 1
        return self._obs(), (1.0 if done else -0.05), done


class DeepQNetwork:
    def __init__(
        self,
        n_actions,
        n_features,
        learning_rate=0.01,
        reward_decay=0.9,
        e_greedy=0.9,
        replace_target_iter=20,
        memory_size=200,
        batch_size=16,
    ):
        self.n_actions, self.n_features = n_actions, n_features
        self.lr, self.gamma, self.epsilon = learning_rate, reward_decay, e_greedy
        self.replace_target_iter, self.memory_size, self.batch_size = (
            replace_target_iter,
            memory_size,
            batch_size,
        )
        self.learn_step_counter = 0
        self.memory = np.zeros((self.memory_size, n_features * 2 + 2))
        self.memory_counter = 0
        self._build_net()
        t_params = tf.get_collection("target_net_params")
        e_params = tf.get_collection("eval_net_params")
        self.replace_target_op = [tf.assign(t, e) for t, e in zip(t_params, e_params)]
        self.sess = tf.Session()
        self.sess.run(tf.global_variables_initializer())
        self.cost_his = []

    def _build_net(self):
        self.s = tf.placeholder(tf.float32, [None, self.n_features], name="s")
        self.q_target = tf.placeholder(tf.float32, [None, self.n_actions], name="Q_target")
        with tf.variable_scope("eval_net"):
            c_names, n_l1, w_initializer, b_initializer = (
                ["eval_net_params", tf.GraphKeys.GLOBAL_VARIABLES],
                10,
                tf.random_normal_initializer(0.0, 0.3),
                tf.constant_initializer(0.1),
            )
            with tf.variable_scope("l1"):
                w1 = tf.get_variable(
                    "w1", [self.n_features, n_l1], initializer=w_initializer, collections=c_names
                )
                b1 = tf.get_variable("b1", [1, n_l1], initializer=b_initializer, collections=c_names)
                l1 = tf.nn.relu(tf.matmul(self.s, w1) + b1)
            with tf.variable_scope("l2"):
                w2 = tf.get_variable(
                    "w2", [n_l1, self.n_actions], initializer=w_initializer, collections=c_names
                )
                b2 = tf.get_variable(
                    "b2", [1, self.n_actions], initializer=b_initializer, collections=c_names
                )
                self.q_eval = tf.matmul(l1, w2) + b2
        with tf.variable_scope("loss"):
            self.loss = tf.reduce_mean(tf.squared_difference(self.q_target, self.q_eval))
        with tf.variable_scope("train"):
            self._train_op = tf.train.RMSPropOptimizer(self.lr).minimize(self.loss)
        self.s_ = tf.placeholder(tf.float32, [None, self.n_features], name="s_")
        with tf.variable_scope("target_net"):
            c_names = ["target_net_params", tf.GraphKeys.GLOBAL_VARIABLES]
            with tf.variable_scope("l1"):
                w1 = tf.get_variable(
                    "w1", [self.n_features, n_l1], initializer=w_initializer, collections=c_names
                )
                b1 = tf.get_variable("b1", [1, n_l1], initializer=b_initializer, collections=c_names)
                l1 = tf.nn.relu(tf.matmul(self.s_, w1) + b1)
            with tf.variable_scope("l2"):
                w2 = tf.get_variable(
                    "w2", [n_l1, self.n_actions], initializer=w_initializer, collections=c_names
                )
                b2 = tf.get_variable(
                    "b2", [1, self.n_actions], initializer=b_initializer, collections=c_names
                )
                self.q_next = tf.matmul(l1, w2) + b2

    def store_transition(self, s, a, r, s_):
        self.memory[self.memory_counter % self.memory_size, :] = np.hstack((s, [a, r], s_))
        self.memory_counter += 1

    def choose_action(self, observation):
        observation = observation[np.newaxis, :]
        if np.random.uniform() < self.epsilon:
            return np.argmax(self.sess.run(self.q_eval, feed_dict={self.s: observation}))
        return np.random.randint(0, self.n_actions)

    def learn(self):
        if self.learn_step_counter % self.replace_target_iter == 0:
            self.sess.run(self.replace_target_op)
        sample_index = np.random.choice(min(self.memory_size, self.memory_counter), size=self.batch_size)
        batch = self.memory[sample_index, :]
        q_next, q_eval = self.sess.run(
            [self.q_next, self.q_eval],
            feed_dict={self.s_: batch[:, -self.n_features :], self.s: batch[:, : self.n_features]},
        )
        q_target = q_eval.copy()
        idx = np.arange(self.batch_size, dtype=np.int32)
        act, reward = batch[:, self.n_features].astype(int), batch[:, self.n_features + 1]
        q_target[idx, act] = reward + self.gamma * np.max(q_next, axis=1)
        _, cost = self.sess.run(
            [self._train_op, self.loss],
            feed_dict={self.s: batch[:, : self.n_features], self.q_target: q_target},
        )
        self.cost_his.append(cost)
        self.learn_step_counter += 1


env = Env()
RL = DeepQNetwork(2, 6)
print("first", RL.sess.run(tf.get_collection("target_net_params")[0])[0, :4])
step = 0
for episode in range(8):
    obs = env.reset()
    for _ in range(30):
        a = RL.choose_action(obs)
        obs_, r, done = env.step(a)
        RL.store_transition(obs, a, r, obs_)
        if step > 20:
            RL.learn()
        obs = obs_
        step += 1
        if done:
            break
print("steps", step, "cost", np.array(RL.cost_his[:5]), RL.cost_his[-1])
