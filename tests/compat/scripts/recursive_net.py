"""A recursive net over trees: nodes in a TensorArray that a branch inside of a loop reads before it has rows."""

import numpy as np
import tensorflow as tf

np.random.seed(0)
tf.set_random_seed(2)
words, size = 12, 6
is_leaf = tf.placeholder(tf.bool, (None,), name="is_leaf")
left = tf.placeholder(tf.int32, (None,), name="left")
right = tf.placeholder(tf.int32, (None,), name="right")
word = tf.placeholder(tf.int32, (None,), name="word")
labels = tf.placeholder(tf.int32, (None,), name="labels")

with tf.variable_scope("Embeddings"):
    embeddings = tf.get_variable("embeddings", [words, size])
with tf.variable_scope("Composition"):
    W1 = tf.get_variable("W1", [2 * size, size])
    b1 = tf.get_variable("b1", [1, size], initializer=tf.zeros_initializer())
with tf.variable_scope("Projection"):
    U = tf.get_variable("U", [size, 2])

nodes = tf.TensorArray(tf.float32, size=0, dynamic_size=True, clear_after_read=False, infer_shape=False)


def embed(i):
    return tf.expand_dims(tf.gather(embeddings, i), 0)


def combine(a, b):
    return tf.nn.relu(tf.matmul(tf.concat([a, b], 1), W1) + b1)


def add_node(nodes, i):
    node = tf.cond(
        tf.gather(is_leaf, i),
        lambda: embed(tf.gather(word, i)),
        lambda: combine(nodes.read(tf.gather(left, i)), nodes.read(tf.gather(right, i))),
    )
    return nodes.write(i, node), tf.add(i, 1)


nodes, _ = tf.while_loop(
    lambda nodes, i: tf.less(i, tf.squeeze(tf.shape(is_leaf))), add_node, [nodes, 0], parallel_iterations=1
)
logits = tf.matmul(nodes.concat(), U)
root = tf.argmax(tf.matmul(nodes.read(nodes.size() - 1), U), 1)
loss = tf.reduce_sum(tf.nn.sparse_softmax_cross_entropy_with_logits(logits=logits, labels=labels))
loss += 0.02 * tf.nn.l2_loss(W1)
train = tf.train.GradientDescentOptimizer(0.05).minimize(loss)


def tree(leaves):
    rows = [[1, 0, 0, np.random.randint(words)] for _ in range(leaves)]
    stack = list(range(leaves))
    while len(stack) > 1:
        b, a = stack.pop(), stack.pop()
        rows.append([0, a, b, 0])
        stack.append(len(rows) - 1)
    found = np.array(rows)
    fed = {left: found[:, 1], right: found[:, 2], word: found[:, 3], labels: (found[:, 3] > 5).astype(int)}
    fed[is_leaf] = found[:, 0].astype(bool)
    return fed


with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for step, leaves in enumerate((3, 2, 4)):
        value, _, predicted = sess.run([loss, train, root], tree(leaves))
        print(step, "%.4f" % value, predicted)
    print("%.4f" % np.abs(sess.run(W1)).sum())
