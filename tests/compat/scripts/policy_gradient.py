"""REINFORCE on a bandit with contexts: rewards weight the log probabilities of what was done."""
import numpy as np
import tensorflow as tf

rng = np.random.RandomState(2)
tf.set_random_seed(1)

tf_obs = tf.placeholder(tf.float32, [None, 3], name="observations")
tf_acts = tf.placeholder(tf.int32, [None], name="actions_num")
tf_vt = tf.placeholder(tf.float32, [None], name="actions_value")
layer = tf.layers.dense(
    inputs=tf_obs, units=10, activation=tf.nn.tanh, name="fc1",
    kernel_initializer=tf.random_normal_initializer(mean=0, stddev=0.3), bias_initializer=tf.constant_initializer(0.1),
)
all_act = tf.layers.dense(layer, 3, kernel_initializer=tf.random_normal_initializer(0, 0.3), name="fc2")
all_act_prob = tf.nn.softmax(all_act, name="act_prob")
neg_log_prob = tf.reduce_sum(-tf.log(all_act_prob) * tf.one_hot(tf_acts, 3), axis=1)
loss = tf.reduce_mean(neg_log_prob * tf_vt)
train_op = tf.train.AdamOptimizer(0.05).minimize(loss)

sess = tf.Session()
sess.run(tf.global_variables_initializer())
print(np.round(sess.run(all_act_prob, {tf_obs: np.eye(3)}), 3).tolist())
for episode in range(40):
    context = rng.randint(0, 3, 30)
    obs = np.eye(3)[context]
    prob = sess.run(all_act_prob, {tf_obs: obs})
    acts = np.array([rng.choice(3, p=p / p.sum()) for p in prob.astype(np.float64)])
    reward = (acts == (context + 1) % 3).astype(np.float32)
    reward = (reward - reward.mean()) / (reward.std() + 1e-6)
    sess.run(train_op, {tf_obs: obs, tf_acts: acts, tf_vt: reward})
print(sess.run(tf.argmax(all_act_prob, 1), {tf_obs: np.eye(3)}))
