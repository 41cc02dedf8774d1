"""Batch normalization: updates in their collection, and another mode for tests."""
import numpy as np
import tensorflow as tf

rng = np.random.RandomState(7)
data = rng.randn(64, 3) * [1.0, 5.0, 0.1] + [0.0, 10.0, -3.0]
target = (data[:, :1] + data[:, 1:2] / 5 > 2).astype(np.float32)

x = tf.placeholder(tf.float32, [None, 3])
y = tf.placeholder(tf.float32, [None, 1])
is_training = tf.placeholder(tf.bool, name="phase")
normed = tf.layers.batch_normalization(x, momentum=0.8, training=is_training)
hidden = tf.layers.dense(normed, 6, kernel_initializer=tf.glorot_uniform_initializer(seed=1), use_bias=False)
hidden = tf.nn.relu(tf.contrib.layers.batch_norm(hidden, decay=0.8, is_training=is_training, center=True, scale=True))
logits = tf.layers.dense(hidden, 1, kernel_initializer=tf.glorot_uniform_initializer(seed=2))
loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels=y, logits=logits))
update_ops = tf.get_collection(tf.GraphKeys.UPDATE_OPS)
print("updates", len(update_ops))
with tf.control_dependencies(update_ops):
    train_op = tf.train.GradientDescentOptimizer(0.3).minimize(loss)

with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for step in range(25):
        sess.run(train_op, {x: data, y: target, is_training: True})
    print("train %.4f test %.4f" % tuple(sess.run(loss, {x: data, y: target, is_training: p}) for p in (True, False)))
    moving = [v for v in tf.global_variables() if "moving" in v.name]
    for v in moving:
        print(v.name, np.round(sess.run(v), 3).tolist())
