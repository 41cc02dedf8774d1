"""The net of `digits_cnn.py`, trained by several processes: any number of them learns the same, bit for bit.

    pip install "staticgraph[mpi,examples]"
    python examples/digits_distributed.py
    mpiexec -n 4 python examples/digits_distributed.py [--steps 300] [--save folder/digits]

It prints the accuracy on digits that training has not seen, and a hash of all weights, which is the same for
1, 2, 3, 4 and 8 processes.
"""

from __future__ import annotations

import argparse
import hashlib

import numpy as np
from digits_cnn import build, load_digits

import staticgraph as sg

BATCH, SHARDS = 64, 8  # of all processes together


def main() -> None:
    parser = argparse.ArgumentParser(description="Train a net on handwritten digits in several processes.")
    parser.add_argument("--steps", type=int, default=300, help="training steps (default 300)")
    parser.add_argument("--save", help="prefix of a checkpoint of the weights")
    args = parser.parse_args()
    x_train, y_train, x_test, y_test = load_digits()
    dist = sg.distribute

    sg.set_random_seed(1)
    images = sg.placeholder(sg.float32, [None, 8, 8, 1], name="images")
    labels = sg.placeholder(sg.int64, [None], name="labels")
    training = sg.placeholder_with_default(False, [], name="training")
    scores = build(images, training)
    loss = sg.losses.sparse_softmax_cross_entropy(labels, scores)
    right = sg.reduce_mean(sg.cast(sg.equal(sg.argmax(scores, 1), labels), sg.float32))
    opt = dist.Optimizer(sg.train.AdamOptimizer(1e-3), shards=SHARDS)
    train = opt.minimize(loss)

    rng = np.random.default_rng(0)  # the same in all processes: each takes its own rows of a batch
    mine = np.isin(np.arange(BATCH) % SHARDS, dist.local_shards(SHARDS))
    saver = sg.train.Saver()
    with sg.Session() as sess:
        sess.run(sg.global_variables_initializer())
        for _ in range(args.steps):
            rows = rng.integers(0, len(x_train), BATCH)[mine]
            feeds = {images: x_train[rows], labels: y_train[rows], training: True}
            last, _ = sess.run([opt.loss, train], feeds)
        if dist.rank() == 0:
            tested = sess.run(right, {images: x_test, labels: y_test})
            weights = sess.run(sg.global_variables())
            digest = hashlib.sha256(b"".join(w.tobytes() for w in weights)).hexdigest()
            print(f"loss {last:.6f}, accuracy on the test digits: {tested:.2%}")
            print(f"hash of the weights: {digest}")
            if args.save:
                saver.save(sess, args.save)


if __name__ == "__main__":
    main()
