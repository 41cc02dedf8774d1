"""Vectors of words by noise contrastive estimation, and which words are near each other."""
import collections

import numpy as np
import tensorflow as tf

sentences = ["red apple sweet", "green apple sour", "fast car red", "slow car green", "sweet sour apple", "fast slow car"]
words = " ".join(sentences).split()
count = collections.Counter(words).most_common()
rdic = [w for w, _ in sorted(count, key=lambda p: (-p[1], p[0]))]
dic = {w: i for i, w in enumerate(rdic)}
data = [dic[word] for word in words]
pairs = [[data[i], data[j]] for i in range(1, len(data) - 1) for j in (i - 1, i + 1)]
x_inputs, y_inputs = [p[0] for p in pairs], [[p[1]] for p in pairs]

tf.set_random_seed(9)
embedding_size, num_sampled, voc_size = 2, 6, len(rdic)
train_inputs = tf.placeholder(tf.int32, shape=[len(pairs)])
train_labels = tf.placeholder(tf.int32, shape=[len(pairs), 1])
with tf.device("/cpu:0"):
    embeddings = tf.Variable(tf.random_uniform([voc_size, embedding_size], -1.0, 1.0))
    embed = tf.nn.embedding_lookup(embeddings, train_inputs)
nce_weights = tf.Variable(tf.random_uniform([voc_size, embedding_size], -1.0, 1.0))
nce_biases = tf.Variable(tf.zeros([voc_size]))
loss = tf.reduce_mean(tf.nn.nce_loss(nce_weights, nce_biases, train_labels, embed, num_sampled, voc_size))
train_op = tf.train.AdamOptimizer(1e-1).minimize(loss)
norm = tf.sqrt(tf.reduce_sum(tf.square(embeddings), 1, keep_dims=True))
similarity = tf.matmul(embeddings / norm, embeddings / norm, transpose_b=True)

with tf.Session() as sess:
    tf.global_variables_initializer().run()
    first = last = None
    for step in range(100):
        _, loss_val = sess.run([train_op, loss], {train_inputs: x_inputs, train_labels: y_inputs})
        first = loss_val if first is None else first
    print("loss falls:", bool(loss_val < first))
    print(voc_size, np.round(np.diag(similarity.eval()), 3).tolist())
