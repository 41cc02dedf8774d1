"""A small convolutional network with dropout through a placeholder, on pictures of bars."""
import numpy as np
import tensorflow as tf

rng = np.random.RandomState(5)
kinds = rng.randint(0, 2, 64)
pictures = rng.rand(64, 12, 12, 1).astype(np.float32) * 0.3
for i, kind in enumerate(kinds):
    at = rng.randint(2, 10)
    if kind:
        pictures[i, at, :, 0] = 1
    else:
        pictures[i, :, at, 0] = 1

tf.set_random_seed(11)
keep_prob = tf.placeholder(tf.float32, name="keep_prob")
images = tf.placeholder(tf.float32, [None, 12, 12, 1])
classes = tf.placeholder(tf.int32, [None])


def weight_variable(shape):
    return tf.Variable(tf.truncated_normal(shape, stddev=0.1))


def bias_variable(shape):
    return tf.Variable(tf.constant(0.1, shape=shape))


with tf.device("/cpu:0"):
    conv1 = tf.nn.relu(
        tf.nn.conv2d(images, weight_variable([3, 3, 1, 8]), strides=[1, 1, 1, 1], padding="SAME") + bias_variable([8])
    )
    pool1 = tf.nn.max_pool(conv1, ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="SAME")
with tf.device("/gpu:0"):
    conv2 = tf.nn.relu(
        tf.nn.bias_add(tf.nn.conv2d(pool1, weight_variable([3, 3, 8, 8]), [1, 2, 2, 1], "VALID"), bias_variable([8]))
    )
flat = tf.reshape(conv2, [-1, int(np.prod(conv2.get_shape().as_list()[1:]))])
print("features", flat.get_shape())
logits = tf.matmul(tf.nn.dropout(flat, keep_prob), weight_variable([32, 2])) + bias_variable([2])
cross_entropy = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=classes, logits=logits))
train_step = tf.train.AdamOptimizer(5e-3).minimize(cross_entropy)
correct = tf.nn.in_top_k(logits, classes, 1)
accuracy = tf.reduce_mean(tf.cast(correct, tf.float32))

config = tf.ConfigProto(allow_soft_placement=True)
config.gpu_options.allow_growth = True
with tf.Session(config=config) as sess:
    sess.run(tf.global_variables_initializer())
    print("untrained %.4f" % sess.run(cross_entropy, {images: pictures, classes: kinds, keep_prob: 1.0}))
    for epoch in range(60):
        sess.run(train_step, {images: pictures, classes: kinds, keep_prob: 0.9})
    print("learned", sess.run(accuracy, {images: pictures, classes: kinds, keep_prob: 1.0}) > 0.95)
