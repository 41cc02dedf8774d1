"""Train with checkpoints in a folder, from the last one on, and print the result.

Usage: goes_on.py FOLDER
"""

import hashlib
import os
import sys

import numpy as np

import staticgraph as sg

STEPS, EVERY = 400, 20


def main(folder):
    dist = sg.distribute
    x = sg.placeholder("float32", [None, 6])
    y = sg.layers.dense(x, 3, activation=sg.nn.tanh, kernel_initializer=sg.random_normal_initializer(seed=1))
    opt = dist.Optimizer(sg.train.AdamOptimizer(0.01), shards=4)
    step = sg.train.get_or_create_global_step()
    train = opt.minimize(sg.reduce_mean(sg.square(y - x[:, :3])), global_step=step)
    saver = dist.Saver(max_to_keep=3)
    with sg.Session() as sess:
        sess.run(sg.global_variables_initializer())
        last = sg.train.latest_checkpoint(folder)
        if last:
            saver.restore(sess, last)
        sess.run(dist.broadcast_variables())  # all go on from the same step
        for number in range(int(sess.run(step)), STEPS):
            rows = np.random.RandomState(number).randn(16, 6)[
                np.isin(np.arange(16) % 4, dist.local_shards(4))
            ]
            sess.run(train, {x: rows})
            if number % EVERY == EVERY - 1:
                saver.save(sess, os.path.join(folder, "model"), global_step=step, write_meta_graph=False)
        values = b"".join(v.tobytes() for v in sess.run(sg.global_variables()))
    os.write(1, f"RESULT {hashlib.sha256(values).hexdigest()}\n".encode())


if __name__ == "__main__":
    main(sys.argv[1])
