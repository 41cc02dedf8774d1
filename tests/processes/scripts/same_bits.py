"""Train a small net in any number of processes, with its batch in 8 shards, and print their hash.

Usage: same_bits.py cnn|lstm STEPS SEED
"""

import hashlib
import os
import sys

import numpy as np

import staticgraph as sg

SHARDS, BATCH = 8, 32


def cnn(x, is_training):
    """Convolutions with batch normalization and dropout."""
    h = sg.layers.conv2d(sg.reshape(x, [-1, 8, 8, 1]), 6, 3, padding="same")
    h = sg.nn.relu(sg.layers.batch_normalization(h, training=is_training))
    h = sg.layers.max_pooling2d(h, 2, 2)
    h = sg.nn.relu(sg.layers.conv2d(h, 8, 3, padding="same"))
    h = sg.layers.dropout(sg.layers.flatten(h), 0.3, training=is_training)
    return sg.layers.dense(h, 10)


def lstm(x, is_training):
    """An LSTM over the rows of an image, with dropout in each step, and an embedding."""
    codes = sg.cast(sg.reshape(x, [-1, 8, 8])[:, :, 0] * 4, "int32")
    table = sg.get_variable("table", [80, 4])
    rows = sg.concat([sg.reshape(x, [-1, 8, 8]), sg.nn.embedding_lookup(table, codes)], 2)
    cell = sg.nn.rnn_cell.LSTMCell(12)
    cell = sg.nn.rnn_cell.DropoutWrapper(cell, output_keep_prob=0.8)
    outputs, _ = sg.nn.dynamic_rnn(cell, rows, dtype="float32")
    return sg.layers.dense(outputs[:, -1], 10)


def main(net, steps, seed):
    dist = sg.distribute
    sg.set_random_seed(seed)
    rng = np.random.RandomState(seed)
    images = rng.rand(256, 64).astype(np.float32) * 4
    labels = images[:, :10].argmax(1)
    x, y = sg.placeholder("float32", [None, 64]), sg.placeholder("int64", [None])
    logits = {"cnn": cnn, "lstm": lstm}[net](x, True)
    loss = sg.losses.sparse_softmax_cross_entropy(y, logits)
    loss += 1e-3 * sg.add_n([sg.nn.l2_loss(v) for v in sg.trainable_variables()])
    opt = dist.Optimizer(sg.train.AdamOptimizer(0.01), shards=SHARDS)
    step = opt.minimize(loss, global_step=sg.train.get_or_create_global_step())
    mine = np.isin(np.arange(BATCH) % SHARDS, dist.local_shards(SHARDS))
    saver = sg.train.Saver()
    with sg.Session() as sess:
        sess.run(sg.global_variables_initializer())
        for _ in range(steps):
            chosen = rng.randint(0, len(images), BATCH)[mine]
            _, last = sess.run([step, opt.loss], {x: images[chosen], y: labels[chosen]})
        values = sess.run(sg.global_variables())
        digest = hashlib.sha256(b"".join(v.tobytes() for v in [*values, last])).hexdigest()
        if len(sys.argv) > 4 and dist.rank() == 0:
            saver.save(sess, sys.argv[4], write_meta_graph=False)  # a graph knows its workers
    os.write(1, f"HASH {digest} loss {last:.6f}\n".encode())


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
