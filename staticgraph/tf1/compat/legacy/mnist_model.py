"""`tensorflow.examples.tutorials.mnist.mnist`: a network of two hidden layers for handwritten digits."""

from __future__ import annotations

import math
from typing import Any

import staticgraph as sg

NUM_CLASSES = 10
IMAGE_SIZE = 28
IMAGE_PIXELS = IMAGE_SIZE * IMAGE_SIZE


def _layer(name: str, inputs: Any, units: int) -> sg.Tensor:
    """`inputs` [batch, n] times new weights of deviation 1/sqrt(n), and new biases of zero."""
    size = inputs.shape[1].value
    with sg.name_scope(name):
        drawn = sg.truncated_normal([size, units], stddev=1.0 / math.sqrt(size))
        weights = sg.Variable(drawn, name="weights")
        biases = sg.Variable(sg.zeros([units]), name="biases")
        return sg.matmul(inputs, weights) + biases


def inference(images: Any, hidden1_units: int, hidden2_units: int) -> sg.Tensor:
    """The logits [batch, 10] of `images` [batch, 784]."""
    images = sg.reshape(images, [-1, IMAGE_PIXELS])
    hidden1 = sg.nn.relu(_layer("hidden1", images, hidden1_units))
    hidden2 = sg.nn.relu(_layer("hidden2", hidden1, hidden2_units))
    return _layer("softmax_linear", hidden2, NUM_CLASSES)


def loss(logits: Any, labels: Any) -> sg.Tensor:
    """The mean cross entropy of `logits` and `labels` [batch]."""
    return sg.losses.sparse_softmax_cross_entropy(labels=sg.cast(labels, sg.int64), logits=logits)


def training(loss: Any, learning_rate: float) -> sg.Operation:
    """A step of gradient descent, which counts a new `global_step`; `loss` is summarized."""
    sg.summary.scalar("loss", loss)
    global_step = sg.Variable(0, name="global_step", trainable=False)
    return sg.train.GradientDescentOptimizer(learning_rate).minimize(loss, global_step=global_step)


def evaluation(logits: Any, labels: Any) -> sg.Tensor:
    """Return the number of `labels` that are the class of the greatest logit: int32."""
    return sg.reduce_sum(sg.cast(sg.nn.in_top_k(logits, labels, 1), sg.int32))
