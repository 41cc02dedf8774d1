"""The classic two-layer net on random data, trained in three ways that TF1 scripts use.

    1  gradients fetched, weights held in NumPy and fed to every step
    2  weights in variables, updated by assign, grouped into one operation
    3  weights in variables, updated by an optimizer's minimize

All three, and the same step in NumPy, reach the same loss. Run it:

    python examples/two_layer_net.py [--steps 500] [--svg two_layer_net.svg]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np

import staticgraph as sg

BATCH, INPUTS, HIDDEN, OUTPUTS = 64, 1000, 100, 10
RATE = 1e-6
DTYPE = np.float32

Arrays = tuple[np.ndarray, ...]


def data() -> tuple[Arrays, Arrays]:
    """Random inputs and targets, and the weights at the start."""
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(BATCH, INPUTS)), rng.normal(size=(BATCH, OUTPUTS))
    w1, w2 = rng.normal(size=(INPUTS, HIDDEN)), rng.normal(size=(HIDDEN, OUTPUTS))
    return (x.astype(DTYPE), y.astype(DTYPE)), (w1.astype(DTYPE), w2.astype(DTYPE))


def net(x: sg.Tensor, y: sg.Tensor, w1: sg.Tensor, w2: sg.Tensor) -> sg.Tensor:
    """The loss of the two-layer net."""
    hidden = sg.maximum(sg.matmul(x, w1), 0.0)
    difference = sg.matmul(hidden, w2) - y
    return sg.reduce_sum(difference**2)


def placeholders() -> tuple[sg.Tensor, sg.Tensor]:
    x = sg.placeholder(DTYPE, [None, INPUTS], name="x")
    y = sg.placeholder(DTYPE, [None, OUTPUTS], name="y")
    return x, y


def fed_weights(steps: int) -> float:
    """Way 1: the graph computes loss and gradients, NumPy updates the weights."""
    (x_data, y_data), (w1_data, w2_data) = data()
    x, y = placeholders()
    w1 = sg.placeholder(DTYPE, [INPUTS, HIDDEN], name="w1")
    w2 = sg.placeholder(DTYPE, [HIDDEN, OUTPUTS], name="w2")
    loss = net(x, y, w1, w2)
    gradients = sg.gradients(loss, [w1, w2])
    with sg.Session() as sess:
        for _ in range(steps):
            feeds = {x: x_data, y: y_data, w1: w1_data, w2: w2_data}
            value, (g1, g2) = sess.run([loss, gradients], feed_dict=feeds)
            w1_data = w1_data - RATE * g1
            w2_data = w2_data - RATE * g2
    return float(value)


def assigned_weights(steps: int) -> float:
    """Way 2: variables, new values assigned inside the graph, and a group that runs both assignments."""
    (x_data, y_data), (w1_data, w2_data) = data()
    x, y = placeholders()
    w1, w2 = sg.Variable(w1_data, name="w1"), sg.Variable(w2_data, name="w2")
    loss = net(x, y, w1, w2)
    g1, g2 = sg.gradients(loss, [w1, w2])
    updates = sg.group(w1.assign(w1 - RATE * g1), w2.assign(w2 - RATE * g2))
    with sg.Session() as sess:
        sess.run(sg.global_variables_initializer())
        for _ in range(steps):
            value, _ = sess.run([loss, updates], feed_dict={x: x_data, y: y_data})
    return float(value)


def minimized(steps: int) -> float:
    """Way 3: an optimizer builds the update."""
    (x_data, y_data), (w1_data, w2_data) = data()
    x, y = placeholders()
    w1, w2 = sg.Variable(w1_data, name="w1"), sg.Variable(w2_data, name="w2")
    loss = net(x, y, w1, w2)
    train = sg.train.GradientDescentOptimizer(RATE).minimize(loss)
    with sg.Session() as sess:
        sess.run(sg.global_variables_initializer())
        for _ in range(steps):
            value, _ = sess.run([loss, train], feed_dict={x: x_data, y: y_data})
    return float(value)


def draw(path: str) -> None:
    """The graph of way 3 as a picture."""
    sg.reset_default_graph()
    x, y = placeholders()
    _, (w1_data, w2_data) = data()
    loss = net(x, y, sg.Variable(w1_data, name="w1"), sg.Variable(w2_data, name="w2"))
    sg.visualize([loss, sg.train.GradientDescentOptimizer(RATE).minimize(loss)], path)


def in_numpy(steps: int) -> float:
    """The same training, written by hand."""
    (x, y), (w1, w2) = data()
    for _ in range(steps):
        hidden = np.maximum(x @ w1, 0)
        difference = hidden @ w2 - y
        loss = np.square(difference).sum()
        g_out = 2 * difference
        g_hidden = np.where(hidden > 0, g_out @ w2.T, 0)
        w1, w2 = w1 - DTYPE(RATE) * (x.T @ g_hidden), w2 - DTYPE(RATE) * (hidden.T @ g_out)
    return float(loss)


def timed(train: Callable[[int], float], steps: int) -> tuple[float, float]:
    """The last loss, and the seconds that training took from an empty graph."""
    sg.reset_default_graph()
    start = time.perf_counter()
    loss = train(steps)
    return loss, time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description="The two-layer net, three ways.")
    parser.add_argument("--steps", type=int, default=500, help="training steps (default 500)")
    parser.add_argument("--svg", help="draw the graph of the third way into this file")
    args = parser.parse_args()
    print(f"{INPUTS}-{HIDDEN}-{OUTPUTS} net, batch {BATCH}, {args.steps} steps of gradient descent")
    ways: dict[str, Callable[[int], float]] = {
        "NumPy": in_numpy,
        "1  gradients fetched, weights fed": fed_weights,
        "2  variables, assign and group": assigned_weights,
        "3  optimizer.minimize": minimized,
    }
    print(f"{'':36}{'last loss':>12}{'first step':>13}{'each step':>12}")
    for name, train in ways.items():
        _, first = timed(train, 1)  # builds the graph and compiles
        _, again = timed(train, 1)
        loss, whole = timed(train, args.steps)
        each = (whole - again) / max(args.steps - 1, 1)
        print(f"{name:36}{loss:12.6g}{first * 1e3:10.1f} ms{each * 1e6:9.0f} us")
    if args.svg:
        draw(args.svg)
        print(f"the graph of the third way is drawn in {args.svg}")


if __name__ == "__main__":
    main()
