"""Steps of this project in several processes. Usage: ours.py STEPS together|apart

The gradients are those of all processes, or of this one.
"""

from __future__ import annotations

import sys
from typing import Any

import net

import staticgraph as sg


def loss() -> tuple[Any, dict[Any, Any]]:
    """The loss of the net, and what is fed."""
    x, y = sg.placeholder("float32", [net.BATCH, net.SIZES[0]]), sg.placeholder("int32", [net.BATCH])
    h, layers = x, net.weights()
    for number, (weight, bias) in enumerate(layers):
        h = sg.matmul(h, sg.Variable(weight)) + sg.Variable(bias)
        h = sg.nn.relu(h) if number + 1 < len(layers) else h
    rows, kinds = net.batch(sg.distribute.rank())
    losses = sg.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=h)
    return sg.reduce_mean(losses), {x: rows, y: kinds}


def main(steps: int, mode: str) -> None:
    """Train, and tell how long steps took."""
    dist = sg.distribute
    value, feed = loss()
    inner = sg.train.AdamOptimizer(net.RATE)
    train = (dist.Optimizer(inner) if mode == "together" else inner).minimize(value)
    meeting = dist.all_reduce(sg.constant(1.0))
    with sg.Session() as sess:
        sess.run(sg.global_variables_initializer())
        net.told(lambda: sess.run([value, train], feed)[0], steps, lambda: sess.run(meeting))


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2])
