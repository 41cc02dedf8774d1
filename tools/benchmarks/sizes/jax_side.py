"""JAX: one jitted function, compiled for each size."""

from __future__ import annotations

import functools
import math
import os
from collections.abc import Callable
from typing import Any

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from benchmarks.sizes.nets import Net


def setup(row: str, threads: int, on: str = "cpu") -> str:
    """The version. JAX has as many threads as the process has CPUs; JAX_PLATFORMS is the device."""
    return f"jax {jax.__version__}"


def step_of(net: Net) -> Callable[..., Any]:
    """A function from arrays to the losses or the result."""
    w = {name: jnp.array(value) for name, value in net.weights.items()}
    if net.moves:
        return _moving(net, w)
    if not net.rate:
        infer = jax.jit(lambda w, *feeds: net.compute(Ops, w, *feeds))
        return lambda *arrays: jax.device_get(infer(w, *arrays))

    def losses(w: Any, *feeds: Any) -> Any:
        return [loss for loss, _ in net.compute(Ops, w, *feeds)]

    prefixes = ["d.", "g."] if any(name.startswith("g.") for name in w) else [""]

    @functools.partial(jax.jit, donate_argnums=0)
    def train(state: Any, *feeds: Any) -> Any:
        w, first, second, time = state
        values, pull = jax.vjp(lambda w: losses(w, *feeds), w)
        gradients: Any = {}
        for number, prefix in enumerate(prefixes):
            seed = [jnp.float32(number == other) for other in range(len(prefixes))]
            gradients |= {n: g for n, g in pull(seed)[0].items() if n.startswith(prefix)}
        if net.optimizer == "descent":
            return (
                {n: value - net.rate * gradients[n] for n, value in w.items()},
                first,
                second,
                time,
            ), values
        time = time + 1
        now = net.rate * jnp.sqrt(1 - 0.999**time) / (1 - 0.9**time)
        first = {n: 0.9 * m + 0.1 * gradients[n] for n, m in first.items()}
        second = {n: 0.999 * v + 0.001 * gradients[n] ** 2 for n, v in second.items()}
        w = {n: value - now * first[n] / (jnp.sqrt(second[n]) + 1e-8) for n, value in w.items()}
        return (w, first, second, time), values

    adam = net.optimizer == "adam"
    zeros = [{name: jnp.zeros_like(value) for name, value in w.items() if adam} for _ in range(2)]
    state: Any = (w, *zeros, jnp.zeros(()))

    def step(*arrays: np.ndarray) -> Any:
        nonlocal state
        state, values = train(state, *arrays)
        return [float(value) for value in values]

    return step


def _moving(net: Net, w: Any) -> Callable[..., Any]:
    """A step that gives its result, and has moved the weights."""
    move = jax.jit(lambda w, *feeds: net.compute(Ops, w, *feeds), donate_argnums=0)

    def step(*arrays: np.ndarray) -> Any:
        result, moved = move(w, *arrays)
        w.update(moved)
        return np.asarray(result)

    return step


def _conv(x: Any, w: Any, stride: int, groups: int = 1) -> Any:
    margin, axes = (w.shape[0] - 1) // 2, ("NHWC", "HWIO", "NHWC")
    margins = [(margin, w.shape[0] - 1 - margin if stride == 1 else margin)] * 2
    return lax.conv_general_dilated(
        x, w, (stride, stride), margins, dimension_numbers=axes, feature_group_count=groups
    )


class Ops:
    """The operations of nets."""

    library = jax
    relu, relu6, tanh = jax.nn.relu, jax.nn.relu6, jnp.tanh

    @staticmethod
    def conv(x: Any, w: Any, stride: int = 1) -> Any:
        return _conv(x, w, stride)

    @staticmethod
    def depthwise(x: Any, w: Any, stride: int) -> Any:
        return _conv(x, w.transpose(0, 1, 3, 2), stride, w.shape[2])

    @staticmethod
    def conv_transpose(x: Any, w: Any, size: int) -> Any:
        return lax.conv_transpose(x, w, (2, 2), "SAME", transpose_kernel=True)

    @staticmethod
    def bias(x: Any, b: Any) -> Any:
        return x + b

    @staticmethod
    def norm(x: Any, scale: Any, shift: Any) -> Any:
        mean = x.mean((0, 1, 2))
        variance = ((x - mean) ** 2).mean((0, 1, 2))
        return (x - mean) * lax.rsqrt(variance + 1e-5) * scale + shift

    @staticmethod
    def layer_norm(x: Any, scale: Any, shift: Any) -> Any:
        centred = x - x.mean(-1, keepdims=True)
        return centred * lax.rsqrt((centred * centred).mean(-1, keepdims=True) + 1e-5) * scale + shift

    @staticmethod
    def pool(x: Any) -> Any:
        return lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")

    @staticmethod
    def leaky_relu(x: Any) -> Any:
        return jax.nn.leaky_relu(x, 0.2)

    @staticmethod
    def mean(x: Any) -> Any:
        return x.mean((1, 2))

    @staticmethod
    def channels(parts: Any) -> Any:
        return jnp.concatenate(parts, 3)

    @staticmethod
    def channels_last(x: Any) -> Any:
        return x

    @staticmethod
    def images(x: Any, size: int, width: int) -> Any:
        return x.reshape(-1, size, size, width)

    @staticmethod
    def flat(x: Any) -> Any:
        return x.reshape(len(x), -1)

    @staticmethod
    def reshape(x: Any, shape: Any) -> Any:
        return x.reshape(shape)

    @staticmethod
    def matmul(x: Any, w: Any) -> Any:
        return x @ w

    @staticmethod
    def transposed(x: Any) -> Any:
        return x.T

    @staticmethod
    def lookup(table: Any, ids: Any) -> Any:
        return table[ids]

    @staticmethod
    def first_rows(table: Any, x: Any) -> Any:
        return table[: len(x)]

    @staticmethod
    def last_row(x: Any) -> Any:
        return x[-1:]

    @staticmethod
    def cross_entropy(y: Any, logits: Any) -> Any:
        right = jnp.take_along_axis(logits, y[:, None], 1)[:, 0]
        return jnp.mean(jax.nn.logsumexp(logits, axis=1) - right)

    @staticmethod
    def binary(logits: Any, label: float) -> Any:
        return jnp.mean(jnp.maximum(logits, 0) - logits * label + jnp.log1p(jnp.exp(-jnp.abs(logits))))

    @staticmethod
    def attention(qkv: Any, heads: int) -> Any:
        width = qkv.shape[1] // 3
        q, k, v = qkv.reshape(-1, 3, heads, width // heads).transpose(1, 2, 0, 3)
        scores = q @ k.transpose(0, 2, 1) / math.sqrt(width // heads)
        mask = jnp.tril(jnp.ones(scores.shape[1:], bool))
        mixed = jax.nn.softmax(jnp.where(mask, scores, -1e9)) @ v
        return mixed.transpose(1, 0, 2).reshape(-1, width)

    @staticmethod
    def lstm(x: Any, wx: Any, wh: Any, b: Any) -> Any:
        def cell(state: Any, inputs: Any) -> Any:
            h, c = state
            i, f, g, o = jnp.split(inputs + h @ wh, 4, 1)
            c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
            h = jax.nn.sigmoid(o) * jnp.tanh(c)
            return (h, c), h

        zero = jnp.zeros((x.shape[1], wh.shape[0]))
        return lax.scan(cell, (zero, zero), x @ wx + b)[1]
