"""This project: one graph and one `Session.run` per step, as a user would write it.

Batches are NumPy arrays in `feed_dict`, weights are variables, updates are the optimizers of `sg.train`.
Weights of inference are constants of the graph.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

import staticgraph as sg
from benchmarks import narrow
from benchmarks.peers import OPEN
from benchmarks.residual import Conv, is_statistic
from benchmarks.workloads import Batch, Data, chain

Tensors = dict[str, Any]
OPTIMIZERS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "sgd": lambda settings: sg.train.GradientDescentOptimizer(settings["rate"]),
    "adam": lambda settings: sg.train.AdamOptimizer(settings["rate"]),
    "momentum": lambda settings: sg.train.MomentumOptimizer(settings["rate"], settings["momentum"]),
}


opened = False  # the first size of every feed is left open


def setup(row: str, threads: int) -> str:
    """Choose open or closed sizes, and the number of threads; the version."""
    global opened
    opened = row == OPEN
    narrow.obey()
    if choose := getattr(sg, "set_num_threads", None):
        choose(threads)
    return f"staticgraph {sg.__version__}"


def finish() -> None:
    """Fill the cache on disk before the process ends at once."""
    from staticgraph.runtime.disk.write_behind import flush

    flush()


def placeholders(batch: Batch) -> list[sg.Tensor]:
    shapes = [[None, *array.shape[1:]] if opened and array.ndim else array.shape for array in batch]
    return [sg.placeholder(array.dtype, shape) for array, shape in zip(batch, shapes, strict=True)]


def variables(data: Data) -> Tensors:
    return {
        name: sg.Variable(value, name=name, trainable=not is_statistic(name))
        for name, value in data.weights.items()
    }


def started() -> sg.Session:
    """A session whose variables are initialized."""
    session = sg.Session(open_sizes=True) if opened else sg.Session()
    session.run(sg.global_variables_initializer())
    return session


def runner(fetches: Any, feeds: list[sg.Tensor], batches: tuple[Batch, ...]) -> Any:
    """Return a function that runs the fetches on the next batch, in a session of its own."""
    session = started()
    turn = itertools.cycle([[session.pinned(array) for array in batch] for batch in batches])
    return lambda: session.run(fetches, feed_dict=dict(zip(feeds, next(turn), strict=True)))


def function(data: Data, results: Any, feeds: list[sg.Tensor]) -> Any:
    """A step that returns arrays."""
    run = runner(results, feeds, data.batches)
    return (lambda: tuple(run())) if isinstance(results, list) else run


def training(data: Data, loss: sg.Tensor, feeds: list[sg.Tensor], extra: tuple[Any, ...] = ()) -> Any:
    """A step that trains, and returns the loss."""
    train = OPTIMIZERS[data.settings["optimizer"]](data.settings).minimize(loss)
    run = runner([loss, train, *extra], feeds, data.batches)
    return lambda: float(run()[0])


def cross_entropy(labels: sg.Tensor, logits: sg.Tensor) -> sg.Tensor:
    return sg.reduce_mean(sg.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))


def scalar(data: Data) -> Any:
    (x,), w = placeholders(data.batches[0]), variables(data)
    result = w["a"] * x + w["b"]
    session, turn = started(), itertools.cycle(data.batches)
    return lambda: session.run(result, feed_dict={x: next(turn)[0]})


def scalar_callable(data: Data) -> Any:
    (x,), w = placeholders(data.batches[0]), variables(data)
    result = w["a"] * x + w["b"]
    session = started()
    call, turn = session.make_callable(result, [x]), itertools.cycle(data.batches)
    return lambda: call(next(turn)[0])


def two_layer(data: Data) -> Any:
    (x, y), w = placeholders(data.batches[0]), variables(data)
    hidden = sg.nn.relu(sg.matmul(x, w["w1"]))
    return training(data, sg.reduce_sum(sg.square(sg.matmul(hidden, w["w2"]) - y)), [x, y])


def lenet(data: Data) -> Any:
    (x, y), w = placeholders(data.batches[0]), variables(data)
    h = x
    for n in "12":
        h = sg.nn.bias_add(sg.nn.conv2d(h, w["conv" + n], 1, "VALID"), w["bias" + n])
        h = sg.nn.relu(sg.nn.max_pool(h, 2, 2, "VALID"))
    logits = sg.matmul(sg.reshape(h, [-1, len(data.weights["dense"])]), w["dense"]) + w["bias3"]
    return training(data, cross_entropy(y, logits), [x, y])


def mlp(data: Data) -> Any:
    (x, y), w = placeholders(data.batches[0]), variables(data)
    h = sg.nn.relu(sg.matmul(x, w["w1"]) + w["b1"])
    h = sg.nn.relu(sg.matmul(h, w["w2"]) + w["b2"])
    return training(data, cross_entropy(y, sg.matmul(h, w["w3"]) + w["b3"]), [x, y])


def logistic(data: Data) -> Any:
    (x, y), w = placeholders(data.batches[0]), variables(data)
    return training(data, cross_entropy(y, sg.matmul(x, w["w"]) + w["b"]), [x, y])


def black_scholes(data: Data) -> Any:
    feeds = spot, strike, time, volatility = placeholders(data.batches[0])
    interest = data.settings["interest"]
    deviation = volatility * sg.sqrt(time)
    d1 = (sg.log(spot / strike) + (interest + sg.square(volatility) / 2) * time) / deviation
    n1, n2 = (0.5 * (1 + sg.math.erf(d * math.sqrt(0.5))) for d in (d1, d1 - deviation))
    discounted = strike * sg.exp(-interest * time)
    call = spot * n1 - discounted * n2
    return function(data, [call, call - spot + discounted], feeds)


def norm_softmax(data: Data) -> Any:
    feeds = x, scale, shift = placeholders(data.batches[0])
    h = sg.nn.layer_normalization(x, shift, scale, variance_epsilon=data.settings["epsilon"])
    h = 0.5 * h * (1 + sg.math.erf(h * math.sqrt(0.5)))
    loss = sg.reduce_sum(sg.square(sg.nn.softmax(h)))
    return function(data, [loss, *sg.gradients(loss, feeds)], feeds)


def lstm(data: Data) -> Any:
    (x, y), w = placeholders(data.batches[0]), variables(data)
    time, batch, width = x.shape.as_list()
    hidden = data.weights["wh"].shape[0]
    projected = sg.matmul(sg.reshape(x, [-1, width]), w["wx"]) + w["b"]
    time = sg.shape(x)[0] if time is None else time
    inputs = sg.TensorArray(sg.float32, time).unstack(sg.reshape(projected, [-1, batch, 4 * hidden]))

    def cell(t: sg.Tensor, h: sg.Tensor, c: sg.Tensor) -> tuple[sg.Tensor, sg.Tensor, sg.Tensor]:
        i, f, g, o = sg.split(inputs.read(t) + sg.matmul(h, w["wh"]), 4, axis=1)
        c = sg.sigmoid(f) * c + sg.sigmoid(i) * sg.tanh(g)
        return t + 1, sg.sigmoid(o) * sg.tanh(c), c

    start = sg.zeros([batch, hidden])
    _, h, _ = sg.while_loop(lambda t, h, c: t < time, cell, (0, start, start))
    return training(data, cross_entropy(y, sg.matmul(h, w["wo"]) + w["bo"]), [x, y])


def transformer(data: Data) -> Any:
    (x, y), w = placeholders(data.batches[0]), variables(data)
    _, time, width = x.shape.as_list()
    heads, epsilon = data.settings["heads"], data.settings["epsilon"]
    mask = np.where(np.tril(np.ones((time, time), bool)), 0, -1e9).astype(np.float32)

    def dense(x: sg.Tensor, name: str) -> sg.Tensor:
        inputs, outputs = w[name].shape.as_list()
        product = sg.matmul(sg.reshape(x, [-1, inputs]), w[name]) + w[name + "_bias"]
        return sg.reshape(product, [-1, time, outputs])

    h = sg.nn.layer_normalization(x, w["shift1"], w["scale1"], variance_epsilon=epsilon)
    parts = sg.reshape(dense(h, "qkv"), [-1, time, 3, heads, width // heads])
    q, k, v = sg.unstack(sg.transpose(parts, [2, 0, 3, 1, 4]))
    scores = sg.matmul(q, k, transpose_b=True) / math.sqrt(width // heads) + mask
    mixed = sg.transpose(sg.matmul(sg.nn.softmax(scores), v), [0, 2, 1, 3])
    h = x + dense(sg.reshape(mixed, [-1, time, width]), "out")
    inner = dense(sg.nn.layer_normalization(h, w["shift2"], w["scale2"], variance_epsilon=epsilon), "up")
    inner = 0.5 * inner * (1 + sg.tanh(math.sqrt(2 / math.pi) * (inner + 0.044715 * inner**3)))
    return training(data, sg.reduce_mean(sg.square(h + dense(inner, "down") - y)), [x, y])


def convolution(conv: Conv, x: sg.Tensor, weights: Any) -> sg.Tensor:
    margin = [conv.window // 2] * 2
    return sg.nn.conv2d(x, weights, conv.stride, [[0, 0], margin, margin, [0, 0]])


def resnet18(data: Data) -> Any:
    (x, y), w = placeholders(data.batches[0]), variables(data)
    decay, updates = data.settings["decay"], []

    def normalized(conv: Conv, x: sg.Tensor) -> sg.Tensor:
        h = convolution(conv, x, w[conv.name + ".w"])
        h, *moments = sg.nn.fused_batch_norm(
            h, w[conv.name + ".g"], w[conv.name + ".b"], epsilon=data.settings["epsilon"]
        )
        for variable, moment in zip((w[conv.name + ".m"], w[conv.name + ".v"]), moments, strict=True):
            updates.append(sg.assign(variable, (1 - decay) * variable + decay * moment))
        return h

    net = data.settings["net"]
    h = sg.nn.relu(normalized(net.stem, x))
    for block in net.blocks:
        first, second = block.convs
        direct = normalized(block.shortcut, h) if block.shortcut else h
        h = sg.nn.relu(normalized(second, sg.nn.relu(normalized(first, h))) + direct)
    logits = sg.matmul(sg.reduce_mean(h, [1, 2]), w["fc.w"]) + w["fc.b"]
    return training(data, cross_entropy(y, logits), [x, y], (sg.group(*updates),))


def resnet50(data: Data) -> Any:
    (x,) = placeholders(data.batches[0])
    w = {name: sg.constant(value) for name, value in data.weights.items()}

    def biased(conv: Conv, x: sg.Tensor) -> sg.Tensor:
        return sg.nn.bias_add(convolution(conv, x, w[conv.name + ".w"]), w[conv.name + ".b"])

    net = data.settings["net"]
    h = sg.nn.relu(biased(net.stem, x))
    h = sg.nn.max_pool(sg.pad(h, [[0, 0], [1, 1], [1, 1], [0, 0]]), 3, 2, "VALID")  # no value is negative
    for block in net.blocks:
        direct = biased(block.shortcut, h) if block.shortcut else h
        first, second, third = block.convs
        inner = sg.nn.relu(biased(second, sg.nn.relu(biased(first, h))))
        h = sg.nn.relu(biased(third, inner) + direct)
    return function(data, sg.matmul(sg.reduce_mean(h, [1, 2]), w["fc.w"]) + w["fc.b"], [x])


def heat(data: Data) -> Any:
    (u,) = placeholders(data.batches[0])
    steps, factor = data.settings["steps"], data.settings["factor"]

    def advance(step: sg.Tensor, u: sg.Tensor) -> tuple[sg.Tensor, sg.Tensor]:
        c = u[1:-1, 1:-1]
        around = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]
        return step + 1, u + sg.pad(factor * (around - 4.0 * c), [[1, 1], [1, 1]])

    _, u_end = sg.while_loop(lambda step, u: step < steps, advance, (0, u))
    return function(data, u_end, [u])


def embedding(data: Data) -> Any:
    (words, y), w = placeholders(data.batches[0]), variables(data)
    h = sg.reduce_mean(sg.nn.embedding_lookup(w["table"], words), 1)
    return training(data, cross_entropy(y, sg.matmul(h, w["w"]) + w["b"]), [words, y])


def dag(data: Data) -> Any:
    (x,), w = placeholders(data.batches[0]), variables(data)
    return function(data, chain(x, w["w"], w["c"], data.settings["nodes"], sg.matmul, sg.tanh), [x])
