"""PPO with a Normal policy, critic trained before the actors are built."""

import numpy as np
import tensorflow as tf

np.random.seed(3)
tf.set_random_seed(3)
S_DIM, A_DIM, A_LR, C_LR = 3, 1, 0.0001, 0.0002
METHOD = dict(name="clip", epsilon=0.2)


class PPO(object):
    def __init__(self):
        self.sess = tf.Session()
        self.tfs = tf.placeholder(tf.float32, [None, S_DIM], "state")
        with tf.variable_scope("critic"):
            l1 = tf.layers.dense(self.tfs, 30, tf.nn.relu)
            self.v = tf.layers.dense(l1, 1)
            self.tfdc_r = tf.placeholder(tf.float32, [None, 1], "discounted_r")
            self.advantage = self.tfdc_r - self.v
            self.closs = tf.reduce_mean(tf.square(self.advantage))
            self.ctrain_op = tf.train.AdamOptimizer(C_LR).minimize(self.closs)
        pi, pi_params = self._build_anet("pi", trainable=True)
        oldpi, oldpi_params = self._build_anet("oldpi", trainable=False)
        with tf.variable_scope("sample_action"):
            self.sample_op = tf.squeeze(pi.sample(1), axis=0)
        with tf.variable_scope("update_oldpi"):
            self.update_oldpi_op = [oldp.assign(p) for p, oldp in zip(pi_params, oldpi_params)]
        self.tfa = tf.placeholder(tf.float32, [None, A_DIM], "action")
        self.tfadv = tf.placeholder(tf.float32, [None, 1], "advantage")
        with tf.variable_scope("loss"):
            with tf.variable_scope("surrogate"):
                ratio = pi.prob(self.tfa) / (oldpi.prob(self.tfa) + 1e-5)
                surr = ratio * self.tfadv
            self.aloss = -tf.reduce_mean(
                tf.minimum(
                    surr,
                    tf.clip_by_value(ratio, 1.0 - METHOD["epsilon"], 1.0 + METHOD["epsilon"]) * self.tfadv,
                )
            )
        with tf.variable_scope("atrain"):
            self.atrain_op = tf.train.AdamOptimizer(A_LR).minimize(self.aloss)
        self.sess.run(tf.global_variables_initializer())

    def update(self, s, a, r):
        self.sess.run(self.update_oldpi_op)
        adv = self.sess.run(self.advantage, {self.tfs: s, self.tfdc_r: r})
        [self.sess.run(self.atrain_op, {self.tfs: s, self.tfa: a, self.tfadv: adv}) for _ in range(5)]
        [self.sess.run(self.ctrain_op, {self.tfs: s, self.tfdc_r: r}) for _ in range(5)]
        return self.sess.run(
            [self.aloss, self.closs], {self.tfs: s, self.tfa: a, self.tfadv: adv, self.tfdc_r: r}
        )

    def _build_anet(self, name, trainable):
        with tf.variable_scope(name):
            l1 = tf.layers.dense(self.tfs, 30, tf.nn.relu, trainable=trainable)
            mu = 2 * tf.layers.dense(l1, A_DIM, tf.nn.tanh, trainable=trainable)
            sigma = tf.layers.dense(l1, A_DIM, tf.nn.softplus, trainable=trainable)
            norm_dist = tf.distributions.Normal(loc=mu, scale=sigma)
        params = tf.get_collection(tf.GraphKeys.GLOBAL_VARIABLES, scope=name)
        return norm_dist, params

    def choose_action(self, s):
        s = s[np.newaxis, :]
        a = self.sess.run(self.sample_op, {self.tfs: s})[0]
        return np.clip(a, -2, 2)


ppo = PPO()
s = np.array([1.0, 0.0, 0.2])
bs, ba, br = [], [], []
for t in range(32):
    a = ppo.choose_action(s)
    s_ = np.tanh(s + 0.1 * a[0])
    r = -abs(s_).sum()
    bs.append(s)
    ba.append(a)
    br.append(r / 8)
    s = s_
print("actions", np.array(ba)[:4, 0])
for k in range(3):
    print(k, np.array(ppo.update(np.vstack(bs), np.vstack(ba), np.array(br)[:, None])))
