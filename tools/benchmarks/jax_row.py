"""JAX on the CPU: one jitted function per step.

Weights stay on the device and are donated, so the update is in place. Batches are NumPy arrays given to
the jitted call, which reads aligned ones without a copy. Convolutions are NHWC with HWIO weights, what XLA's
convolution on the CPU wants. Loops are `lax.scan` and `lax.fori_loop`, not unrolled: unrolling was slower.
"""

from __future__ import annotations

import functools
import itertools
import math
import os
from collections.abc import Callable
from typing import Any

os.environ.setdefault("JAX_PLATFORMS", "cpu")
if os.environ.get("OMP_NUM_THREADS") == "1":
    os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + " --xla_cpu_multi_thread_eigen=false"

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from benchmarks.residual import Conv, is_statistic
from benchmarks.workloads import Data, chain

Tensors = dict[str, Any]
Step = Callable[[], Any]


def setup(row: str, threads: int) -> str:
    """The version. JAX has as many threads as the process has CPUs."""
    return f"jax {jax.__version__}"


def training(data: Data, loss: Callable[..., Any]) -> Step:
    """A step that trains, and returns the loss."""
    rate, turn = data.settings["rate"], itertools.cycle(data.batches)
    weights = {name: jnp.array(value) for name, value in data.weights.items()}

    @functools.partial(jax.jit, donate_argnums=0)
    def sgd(weights: Tensors, *batch: Any) -> tuple[Tensors, Any]:
        value, gradients = jax.value_and_grad(loss)(weights, *batch)
        return jax.tree.map(lambda w, g: w - rate * g, weights, gradients), value

    @functools.partial(jax.jit, donate_argnums=0)
    def adam(state: Any, *batch: Any) -> tuple[Any, Any]:
        weights, first, second, time = state
        value, gradients = jax.value_and_grad(loss)(weights, *batch)
        time = time + 1
        now = rate * jnp.sqrt(1 - 0.999**time) / (1 - 0.9**time)
        first = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, first, gradients)
        second = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, second, gradients)
        weights = jax.tree.map(lambda w, m, v: w - now * m / (jnp.sqrt(v) + 1e-8), weights, first, second)
        return (weights, first, second, time), value

    if data.settings["optimizer"] == "sgd":
        return stateful(sgd, weights, turn)
    zeros = [jax.tree.map(jnp.zeros_like, weights) for _ in range(2)]
    return stateful(adam, (weights, *zeros, jnp.zeros(())), turn)


def stateful(function: Callable[..., Any], state: Any, turn: Any) -> Step:
    """A step that keeps the state that `function` returns before the loss."""

    def step() -> float:
        nonlocal state
        state, value = function(state, *next(turn))
        return float(value)

    return step


def function(data: Data, compute: Callable[..., Any]) -> Step:
    """A step that returns arrays. On the CPU they are not copied."""
    made, turn = jax.jit(compute), itertools.cycle(data.batches)

    def step() -> Any:
        result = made(*next(turn))
        return tuple(map(np.asarray, result)) if isinstance(result, tuple) else np.asarray(result)

    return step


def cross_entropy(logits: Any, y: Any) -> Any:
    right = jnp.take_along_axis(logits, y[:, None], 1)[:, 0]
    return jnp.mean(jax.nn.logsumexp(logits, axis=1) - right)


def layer_norm(x: Any, scale: Any, shift: Any, epsilon: float) -> Any:
    centred = x - x.mean(-1, keepdims=True)
    return centred * lax.rsqrt((centred * centred).mean(-1, keepdims=True) + epsilon) * scale + shift


def convolution(x: Any, w: Any, stride: int = 1, margin: int = 0) -> Any:
    axes = ("NHWC", "HWIO", "NHWC")
    return lax.conv_general_dilated(x, w, (stride, stride), [(margin, margin)] * 2, dimension_numbers=axes)


def max_pool(x: Any, window: int, margin: int = 0) -> Any:
    padding = ((0, 0), (margin, margin), (margin, margin), (0, 0))
    return lax.reduce_window(x, -jnp.inf, lax.max, (1, window, window, 1), (1, 2, 2, 1), padding)


def scalar(data: Data) -> Step:
    a, b = jnp.array(data.weights["a"]), jnp.array(data.weights["b"])
    made, turn = jax.jit(lambda a, b, x: a * x + b), itertools.cycle(data.batches)
    return lambda: float(made(a, b, *next(turn)))


def two_layer(data: Data) -> Step:
    def loss(w: Tensors, x: Any, y: Any) -> Any:
        error = jax.nn.relu(x @ w["w1"]) @ w["w2"] - y
        return jnp.sum(error * error)

    return training(data, loss)


def lenet(data: Data) -> Step:
    def loss(w: Tensors, x: Any, y: Any) -> Any:
        for n in "12":
            x = jax.nn.relu(max_pool(convolution(x, w["conv" + n]) + w["bias" + n], 2))
        return cross_entropy(x.reshape(len(x), -1) @ w["dense"] + w["bias3"], y)

    return training(data, loss)


def mlp(data: Data) -> Step:
    def loss(w: Tensors, x: Any, y: Any) -> Any:
        x = jax.nn.relu(x @ w["w1"] + w["b1"])
        x = jax.nn.relu(x @ w["w2"] + w["b2"])
        return cross_entropy(x @ w["w3"] + w["b3"], y)

    return training(data, loss)


def logistic(data: Data) -> Step:
    return training(data, lambda w, x, y: cross_entropy(x @ w["w"] + w["b"], y))


def black_scholes(data: Data) -> Step:
    interest = data.settings["interest"]

    def prices(spot: Any, strike: Any, time: Any, volatility: Any) -> tuple[Any, Any]:
        deviation = volatility * jnp.sqrt(time)
        d1 = (jnp.log(spot / strike) + (interest + volatility * volatility / 2) * time) / deviation
        n1, n2 = (0.5 * (1 + lax.erf(d * math.sqrt(0.5))) for d in (d1, d1 - deviation))
        discounted = strike * jnp.exp(-interest * time)
        call = spot * n1 - discounted * n2
        return call, call - spot + discounted

    return function(data, prices)


def norm_softmax(data: Data) -> Step:
    def loss(x: Any, scale: Any, shift: Any) -> Any:
        h = jax.nn.gelu(layer_norm(x, scale, shift, data.settings["epsilon"]), approximate=False)
        return jnp.sum(jnp.square(jax.nn.softmax(h)))

    def value_and_gradients(*batch: Any) -> tuple[Any, ...]:
        value, gradients = jax.value_and_grad(loss, (0, 1, 2))(*batch)
        return value, *gradients

    return function(data, value_and_gradients)


def lstm(data: Data) -> Step:
    def loss(w: Tensors, x: Any, y: Any) -> Any:
        time, batch, width = x.shape
        inputs = (x.reshape(-1, width) @ w["wx"] + w["b"]).reshape(time, batch, -1)

        def cell(state: tuple[Any, Any], now: Any) -> tuple[tuple[Any, Any], None]:
            h, c = state
            i, f, g, o = jnp.split(now + h @ w["wh"], 4, axis=1)
            c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
            return (jax.nn.sigmoid(o) * jnp.tanh(c), c), None

        start = jnp.zeros((batch, len(w["wh"])))
        (h, _), _ = lax.scan(cell, (start, start), inputs)
        return cross_entropy(h @ w["wo"] + w["bo"], y)

    return training(data, loss)


def transformer(data: Data) -> Step:
    heads, epsilon = data.settings["heads"], data.settings["epsilon"]

    def loss(w: Tensors, x: Any, y: Any) -> Any:
        batch, time, width = x.shape
        rows = batch * time  # projections as plain matrix products were faster than batched ones
        h = layer_norm(x, w["scale1"], w["shift1"], epsilon).reshape(rows, width)
        parts = (h @ w["qkv"] + w["qkv_bias"]).reshape(batch, time, 3, heads, width // heads)
        q, k, v = parts.transpose(2, 0, 3, 1, 4)
        scores = q @ k.swapaxes(-1, -2) / math.sqrt(width // heads)
        scores = jnp.where(jnp.tril(jnp.ones((time, time), bool)), scores, -1e9)
        mixed = (jax.nn.softmax(scores) @ v).transpose(0, 2, 1, 3).reshape(rows, width)
        x = x.reshape(rows, width) + mixed @ w["out"] + w["out_bias"]
        h = layer_norm(x, w["scale2"], w["shift2"], epsilon)
        h = jax.nn.gelu(h @ w["up"] + w["up_bias"], approximate=True)
        return jnp.mean(jnp.square(x + h @ w["down"] + w["down_bias"] - y.reshape(rows, width)))

    return training(data, loss)


def resnet18(data: Data) -> Step:
    net, rate, momentum, decay, epsilon = (
        data.settings[name] for name in ("net", "rate", "momentum", "decay", "epsilon")
    )

    def loss(weights: Tensors, statistics: Tensors, x: Any, y: Any) -> tuple[Any, Tensors]:
        fresh = {}

        def average(name: str, value: Any) -> None:
            fresh[name] = (1 - decay) * statistics[name] + decay * value

        def normalized(conv: Conv, x: Any) -> Any:
            h = convolution(x, weights[conv.name + ".w"], conv.stride, conv.window // 2)
            mean, count = h.mean((0, 1, 2)), h.size // h.shape[-1]
            variance = jnp.maximum((h * h).mean((0, 1, 2)) - mean * mean, 0)
            average(conv.name + ".m", mean)
            average(conv.name + ".v", variance * (count / (count - 1)))
            scale = lax.rsqrt(variance + epsilon) * weights[conv.name + ".g"]
            return h * scale + (weights[conv.name + ".b"] - mean * scale)

        h = jax.nn.relu(normalized(net.stem, x))
        for block in net.blocks:
            first, second = block.convs
            direct = normalized(block.shortcut, h) if block.shortcut else h
            h = jax.nn.relu(normalized(second, jax.nn.relu(normalized(first, h))) + direct)
        return cross_entropy(h.mean((1, 2)) @ weights["fc.w"] + weights["fc.b"], y), fresh

    @functools.partial(jax.jit, donate_argnums=0)
    def update(state: Any, x: Any, y: Any) -> tuple[Any, Any]:
        weights, velocity, statistics = state
        (value, statistics), gradients = jax.value_and_grad(loss, has_aux=True)(weights, statistics, x, y)
        velocity = jax.tree.map(lambda v, g: momentum * v + g, velocity, gradients)
        weights = jax.tree.map(lambda w, v: w - rate * v, weights, velocity)
        return (weights, velocity, statistics), value

    arrays = {name: jnp.array(value) for name, value in data.weights.items()}
    weights = {name: value for name, value in arrays.items() if not is_statistic(name)}
    statistics = {name: value for name, value in arrays.items() if is_statistic(name)}
    state = (weights, jax.tree.map(jnp.zeros_like, weights), statistics)
    return stateful(update, state, itertools.cycle(data.batches))


def resnet50(data: Data) -> Step:
    w = {
        name: jnp.array(value) for name, value in data.weights.items()
    }  # closed over: constants of the program
    net = data.settings["net"]

    def biased(conv: Conv, x: Any) -> Any:
        return convolution(x, w[conv.name + ".w"], conv.stride, conv.window // 2) + w[conv.name + ".b"]

    def infer(x: Any) -> Any:
        h = max_pool(jax.nn.relu(biased(net.stem, x)), 3, margin=1)
        for block in net.blocks:
            direct = biased(block.shortcut, h) if block.shortcut else h
            first, second, third = block.convs
            inner = jax.nn.relu(biased(second, jax.nn.relu(biased(first, h))))
            h = jax.nn.relu(biased(third, inner) + direct)
        return h.mean((1, 2)) @ w["fc.w"] + w["fc.b"]

    return function(data, infer)


def heat(data: Data) -> Step:
    steps, factor = data.settings["steps"], data.settings["factor"]

    def advance(_: Any, u: Any) -> Any:
        around = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]
        return u + jnp.pad(factor * (around - 4 * u[1:-1, 1:-1]), 1)  # faster than .at[].set and than roll

    return function(data, lambda u: lax.fori_loop(0, steps, advance, u))


def embedding(data: Data) -> Step:
    """Differentiated by the means, whose gradients are added to the rows: no dense gradient."""
    rate = data.settings["rate"]

    @functools.partial(jax.jit, donate_argnums=0)
    def update(state: Tensors, words: Any, y: Any) -> tuple[Tensors, Any]:
        def loss(h: Any, w: Any, b: Any) -> Any:
            return cross_entropy(h @ w + b, y)

        table, w, b = (state[name] for name in ("table", "w", "b"))
        value, (gh, gw, gb) = jax.value_and_grad(loss, (0, 1, 2))(table[words].mean(1), w, b)
        change = jnp.broadcast_to((-rate / words.shape[1]) * gh[:, None], (*words.shape, gh.shape[1]))
        return {"table": table.at[words].add(change), "w": w - rate * gw, "b": b - rate * gb}, value

    state = {name: jnp.array(value) for name, value in data.weights.items()}
    return stateful(update, state, itertools.cycle(data.batches))


def dag(data: Data) -> Step:
    w, c = jnp.array(data.weights["w"]), jnp.array(data.weights["c"])
    made = jax.jit(lambda x, w, c: chain(x, w, c, data.settings["nodes"], jnp.matmul, jnp.tanh))
    turn = itertools.cycle(data.batches)
    return lambda: np.asarray(made(*next(turn), w, c))
