"""PyTensor in its default mode, float32.

Weights are shared variables updated inside the function, inputs have static shapes, which lets more
rewrites apply, and `trust_input` skips checks. It has no convolution of images with channels and no
pooling any more, so convolutional nets are left out. The plain call of the scalar graph checks its input,
the prepared one does not.
"""

from __future__ import annotations

import itertools
import math
import os
import warnings
from collections.abc import Callable
from typing import Any

os.environ["PYTENSOR_FLAGS"] = "floatX=float32," + os.environ.get("PYTENSOR_FLAGS", "")
warnings.simplefilter("ignore")

import numpy as np  # noqa: E402
import pytensor  # noqa: E402
import pytensor.tensor as pt  # noqa: E402

from benchmarks.workloads import Batch, Data  # noqa: E402

Tensors = dict[str, Any]
Step = Callable[[], Any]
f32 = np.float32


def setup(row: str, threads: int) -> str:
    """The version."""
    return f"pytensor {pytensor.__version__}"


def inputs(batch: Batch) -> list[Any]:
    return [pt.tensor(dtype=str(array.dtype), shape=array.shape) for array in batch]


def shared(values: dict[str, np.ndarray]) -> Tensors:
    return {
        name: pytensor.shared(value.copy(), name=name, shape=value.shape) for name, value in values.items()
    }


def caller(feeds: list[Any], results: Any, data: Data, updates: Any = ()) -> Step:
    """Return a function that runs the function on the next batch."""
    made, turn = pytensor.function(feeds, results, updates=list(updates)), itertools.cycle(data.batches)
    made.trust_input = True
    return lambda: made(*next(turn))


def training(data: Data, loss: Callable[..., Any]) -> Step:
    """A step that trains, and returns the loss."""
    weights, feeds, rate = shared(data.weights), inputs(data.batches[0]), f32(data.settings["rate"])
    value = loss(weights, *feeds)
    pairs = list(zip(weights.values(), pytensor.grad(value, list(weights.values())), strict=True))
    if data.settings["optimizer"] == "sgd":
        updates = [(w, w - rate * g) for w, g in pairs]
    else:
        updates = adam(pairs, rate)
    run = caller(feeds, value, data, updates)
    return lambda: float(run())


def adam(pairs: list[tuple[Any, Any]], rate: np.float32) -> list[tuple[Any, Any]]:
    """The updates of Adam."""
    time = pytensor.shared(f32(0))
    t = time + f32(1)
    now = rate * pt.sqrt(f32(1) - f32(0.999) ** t) / (f32(1) - f32(0.9) ** t)
    updates = [(time, t)]
    for w, g in pairs:
        zeros = np.zeros_like(w.get_value())
        m, v = (pytensor.shared(zeros.copy(), shape=zeros.shape) for _ in range(2))
        first, second = f32(0.9) * m + f32(0.1) * g, f32(0.999) * v + f32(0.001) * g * g
        updates += [(m, first), (v, second), (w, w - now * first / (pt.sqrt(second) + f32(1e-8)))]
    return updates


def function(data: Data, compute: Callable[..., Any]) -> Step:
    """A step that returns arrays."""
    feeds = inputs(data.batches[0])
    results = compute(*feeds)
    run = caller(feeds, results, data)
    return (lambda: tuple(run())) if isinstance(results, list) else run


def relu(x: Any) -> Any:
    return pt.maximum(x, f32(0))


def cross_entropy(logits: Any, y: Any) -> Any:
    return -pt.special.log_softmax(logits, axis=1)[pt.arange(logits.type.shape[0]), y].mean()


def layer_norm(x: Any, scale: Any, shift: Any, epsilon: float) -> Any:
    centred = x - x.mean(axis=-1, keepdims=True)
    return centred / pt.sqrt((centred * centred).mean(axis=-1, keepdims=True) + f32(epsilon)) * scale + shift


def scalar(data: Data) -> Step:
    w, (x,) = shared(data.weights), inputs(data.batches[0])
    made, turn = pytensor.function([x], w["a"] * x + w["b"]), itertools.cycle(data.batches)
    return lambda: float(made(*next(turn)))


def scalar_callable(data: Data) -> Step:
    w = shared(data.weights)
    return function(data, lambda x: w["a"] * x + w["b"])


def two_layer(data: Data) -> Step:
    def loss(w: Tensors, x: Any, y: Any) -> Any:
        error = relu(x @ w["w1"]) @ w["w2"] - y
        return (error * error).sum()

    return training(data, loss)


def mlp(data: Data) -> Step:
    def loss(w: Tensors, x: Any, y: Any) -> Any:
        x = relu(x @ w["w1"] + w["b1"])
        x = relu(x @ w["w2"] + w["b2"])
        return cross_entropy(x @ w["w3"] + w["b3"], y)

    return training(data, loss)


def logistic(data: Data) -> Step:
    return training(data, lambda w, x, y: cross_entropy(x @ w["w"] + w["b"], y))


def black_scholes(data: Data) -> Step:
    interest, half = f32(data.settings["interest"]), f32(0.5)

    def prices(spot: Any, strike: Any, time: Any, volatility: Any) -> list[Any]:
        deviation = volatility * pt.sqrt(time)
        d1 = (pt.log(spot / strike) + (interest + volatility * volatility * half) * time) / deviation
        n1, n2 = (half * (f32(1) + pt.erf(d * f32(math.sqrt(0.5)))) for d in (d1, d1 - deviation))
        discounted = strike * pt.exp(-interest * time)
        call = spot * n1 - discounted * n2
        return [call, call - spot + discounted]

    return function(data, prices)


def norm_softmax(data: Data) -> Step:
    def value_and_gradients(x: Any, scale: Any, shift: Any) -> list[Any]:
        h = layer_norm(x, scale, shift, data.settings["epsilon"])
        h = f32(0.5) * h * (f32(1) + pt.erf(h * f32(math.sqrt(0.5))))
        loss = (pt.special.softmax(h, axis=-1) ** 2).sum()
        return [loss, *pytensor.grad(loss, [x, scale, shift])]

    return function(data, value_and_gradients)


def lstm(data: Data) -> Step:
    time, batch, width = data.batches[0][0].shape
    units = len(data.weights["wh"])

    def loss(w: Tensors, x: Any, y: Any) -> Any:
        now = (x.reshape((time * batch, width)) @ w["wx"] + w["b"]).reshape((time, batch, 4 * units))

        def cell(now: Any, h: Any, c: Any, wh: Any) -> tuple[Any, Any]:
            gates = now + h @ wh
            i, f, g, o = (gates[:, n * units : (n + 1) * units] for n in range(4))
            c = pt.sigmoid(f) * c + pt.sigmoid(i) * pt.tanh(g)
            return pt.sigmoid(o) * pt.tanh(c), c

        zeros = pt.zeros((batch, units), dtype="float32")
        made = pytensor.scan(
            cell, sequences=[now], outputs_info=[zeros, zeros], non_sequences=[w["wh"]], return_updates=False
        )
        return cross_entropy(made[0][-1] @ w["wo"] + w["bo"], y)

    return training(data, loss)


def transformer(data: Data) -> Step:
    heads, epsilon = data.settings["heads"], data.settings["epsilon"]
    batch, time, width = data.batches[0][0].shape
    mask = np.where(np.tril(np.ones((time, time), bool)), 0, -1e9).astype(np.float32)
    rows = (batch * time, width)

    def loss(w: Tensors, x: Any, y: Any) -> Any:
        x, y = x.reshape(rows), y.reshape(rows)
        h = layer_norm(x, w["scale1"], w["shift1"], epsilon)
        parts = (h @ w["qkv"] + w["qkv_bias"]).reshape((batch, time, 3, heads, width // heads))
        q, k, v = (parts.transpose(2, 0, 3, 1, 4)[n] for n in range(3))
        scores = q @ k.transpose(0, 1, 3, 2) * f32(1 / math.sqrt(width // heads)) + mask
        mixed = (pt.special.softmax(scores, axis=-1) @ v).transpose(0, 2, 1, 3).reshape(rows)
        x = x + mixed @ w["out"] + w["out_bias"]
        h = layer_norm(x, w["scale2"], w["shift2"], epsilon) @ w["up"] + w["up_bias"]
        inner = f32(math.sqrt(2 / math.pi)) * (h + f32(0.044715) * h * h * h)
        h = f32(0.5) * h * (f32(1) + pt.tanh(inner))
        error = x + h @ w["down"] + w["down_bias"] - y
        return (error * error).mean()

    return training(data, loss)


def heat(data: Data) -> Step:
    steps, factor = data.settings["steps"], f32(data.settings["factor"])

    def advance(u: Any) -> Any:
        c = u[1:-1, 1:-1]
        around = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]
        return pt.inc_subtensor(c, factor * (around - f32(4) * c))

    def last(u: Any) -> Any:
        return pytensor.scan(advance, outputs_info=[u], n_steps=steps, return_updates=False)[-1]

    return function(data, last)


def embedding(data: Data) -> Step:
    """Differentiated by the gathered rows: a sparse update."""
    weights, feeds, rate = shared(data.weights), inputs(data.batches[0]), f32(data.settings["rate"])
    words, y = feeds
    rows, w, b = weights["table"][words], weights["w"], weights["b"]
    value = cross_entropy(rows.mean(axis=1) @ w + b, y)
    by_rows, by_w, by_b = pytensor.grad(value, [rows, w, b])
    table = (weights["table"], pt.inc_subtensor(rows, -rate * by_rows))
    run = caller(feeds, value, data, [table, (w, w - rate * by_w), (b, b - rate * by_b)])
    return lambda: float(run())
