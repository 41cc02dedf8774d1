"""Digits to classify, drawn from ten patterns with noise, and nets that learn them."""

from __future__ import annotations

import numpy as np

import staticgraph as sg

_PATTERNS = """
.XXX. ..X.. .XXX. .XXX. X..X. XXXXX .XXX. XXXXX .XXX. .XXX.
X...X .XX.. X...X ....X X..X. X.... X.... ...X. X...X X...X
X...X ..X.. ...X. ..XX. XXXXX XXXX. XXXX. ..X.. .XXX. .XXXX
X...X ..X.. ..X.. ....X ...X. ....X X...X .X... X...X ....X
.XXX. .XXX. XXXXX .XXX. ...X. XXXX. .XXX. .X... .XXX. .XXX.
"""


def draw(rng: np.random.Generator, count: int, size: int) -> tuple[np.ndarray, np.ndarray]:
    """`count` images of `size` by `size` pixels, and what is on them."""
    rows = [row.split() for row in _PATTERNS.strip().splitlines()]
    patterns = np.array([[[c == "X" for c in row[d]] for row in rows] for d in range(10)], np.float32)
    labels = rng.integers(0, 10, count)
    images = np.zeros((count, size, size, 1), np.float32)
    scale = size // 6
    for image, label in zip(images, labels, strict=True):
        large = np.kron(patterns[label], np.ones((scale, scale), np.float32))
        top, left = rng.integers(0, size - 5 * scale + 1, 2)
        image[top : top + 5 * scale, left : left + 5 * scale, 0] = large
    return images + rng.normal(0, 0.1, images.shape).astype(np.float32), labels.astype(np.int32)


def lenet(size: int) -> dict[str, sg.Signature]:
    """LeNet-5 with dropout in the default graph, for images of this size: to predict and to train."""
    sg.set_random_seed(1)
    images = sg.placeholder(sg.float32, [None, size, size, 1], name="images")
    labels = sg.placeholder(sg.int32, [None], name="labels")

    def scores(training: bool) -> sg.Tensor:
        with sg.variable_scope("net", reuse=training):
            net = sg.layers.conv2d(images, 6, 5, padding="same", activation=sg.nn.relu, name="conv1")
            net = sg.layers.max_pooling2d(net, 2, 2)
            net = sg.layers.conv2d(net, 16, 3, activation=sg.nn.relu, name="conv2")
            net = sg.layers.max_pooling2d(net, 2, 2)
            net = sg.layers.dense(sg.layers.flatten(net), 120, activation=sg.nn.relu, name="dense1")
            net = sg.layers.dense(net, 84, activation=sg.nn.relu, name="dense2")
            net = sg.layers.dropout(net, 0.1, training=training, seed=2)
            return sg.layers.dense(net, 10, name="scores")

    predicted = scores(False)
    loss = sg.losses.sparse_softmax_cross_entropy(labels, scores(True))
    train = sg.train.AdamOptimizer(0.002).minimize(loss)
    outputs = {"digit": sg.argmax(predicted, 1), "probabilities": sg.nn.softmax(predicted)}
    inputs = {"images": images, "labels": labels}
    return {
        "predict": sg.Signature(outputs, {"images": images}),
        "train": sg.Signature({"loss": loss}, inputs, train),
    }
