"""Ratings as products of rows of two tables: sparse gradients reach only the rows in use."""
import numpy as np
import tensorflow as tf

rng = np.random.RandomState(21)
users, items = rng.randint(0, 8, 60), rng.randint(0, 6, 60)
truth = rng.rand(8, 2).dot(rng.rand(2, 6))
rates = truth[users, items].astype(np.float32)
user = tf.placeholder(tf.int32, [None])
item = tf.placeholder(tf.int32, [None])
rate = tf.placeholder(tf.float32, [None])
embd_user = tf.get_variable("embd_user", shape=[10, 3], initializer=tf.truncated_normal_initializer(stddev=0.3, seed=1))
embd_item = tf.get_variable("embd_item", shape=[6, 3], initializer=tf.truncated_normal_initializer(stddev=0.3, seed=2))
bias_user = tf.get_variable("bias_user", shape=[10], initializer=tf.zeros_initializer())
infer = tf.reduce_sum(tf.nn.embedding_lookup(embd_user, user) * tf.nn.embedding_lookup(embd_item, item), 1)
infer = tf.add(infer, tf.gather(bias_user, user))
cost = tf.nn.l2_loss(infer - rate)
gradient = tf.gradients(cost, embd_user)[0]
print(type(gradient).__name__)
train = {
    "adam": tf.train.AdamOptimizer(0.05).minimize(cost),
    "adagrad": tf.train.AdagradOptimizer(0.1).minimize(cost),
    "sgd": tf.train.GradientDescentOptimizer(0.05).minimize(cost),
}
with tf.Session() as sess:
    feed = {user: users, item: items, rate: rates}
    for name in sorted(train):
        sess.run(tf.global_variables_initializer())
        unused = sess.run(embd_user)[9]
        for _ in range(10):
            sess.run(train[name], feed)
        print(name, "%.4f" % sess.run(cost, feed), bool((sess.run(embd_user)[9] == unused).all()))
