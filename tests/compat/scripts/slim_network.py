"""A network in slim: argument scopes, end points, losses of regularizers."""
import numpy as np
import tensorflow as tf
import tensorflow.contrib.slim as slim

rng = np.random.RandomState(0)


def network(images, is_training=True, scope="Net"):
    with tf.variable_scope(scope):
        with slim.arg_scope(
            [slim.conv2d, slim.fully_connected],
            activation_fn=tf.nn.relu,
            weights_initializer=tf.truncated_normal_initializer(0.0, 0.1, seed=3),
            weights_regularizer=slim.l2_regularizer(0.001),
        ):
            net = slim.repeat(images, 2, slim.conv2d, 4, [3, 3], scope="conv1")
            net = slim.max_pool2d(net, [2, 2], scope="pool1")
            net = slim.flatten(net)
            net = slim.dropout(net, 1.0, is_training=is_training)
            return slim.fully_connected(net, 3, activation_fn=None, scope="logits")


images = tf.constant(rng.rand(6, 8, 8, 1).astype(np.float32))
labels = tf.one_hot([0, 1, 2, 0, 1, 2], 3)
logits = network(images)
tf.losses.softmax_cross_entropy(labels, logits)
total_loss = tf.losses.get_total_loss()
print([v.op.name for v in slim.get_model_variables()])
print(len(tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES)))
train_op = tf.train.AdamOptimizer(0.01).minimize(total_loss)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for step in range(11):
        if step % 5 == 0:
            print("%.5f" % sess.run(total_loss))
        sess.run(train_op)
