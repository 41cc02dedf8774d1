"""The work that is timed: initial weights, batches, settings, and the least that a step has to do.

Only NumPy is imported here, so that the file loads in the environment of every peer. Images are NHWC and
convolution weights HWIO; dense weights are [in, out]. A peer with other habits converts while it builds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from benchmarks import residual

Weights = dict[str, np.ndarray]
Batch = tuple[np.ndarray, ...]
BATCHES = 4  # different ones, used in turn


@dataclass(frozen=True, slots=True)
class Cost:
    """The least that one step has to do, everything that can be fused counted as fused.

    `flops`: floating-point operations; of elementwise functions an estimate. `memory`: bytes to and from
    main memory. `cache`: bytes that fit in the last cache and must pass through it.
    """

    flops: float
    memory: float = 0.0
    cache: float = 0.0


@dataclass(frozen=True, slots=True)
class Data:
    """Data of a step: step i uses `batches[i % len(batches)]`."""

    weights: Weights
    batches: tuple[Batch, ...]
    cost: Cost
    settings: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Workload:
    """One kind of work. `make` takes sizes; its defaults are what is timed, `small` is for tests.

    The file of a peer has a function with the name of `make`, which takes the data and returns a step: a
    function without arguments that works on the next batch and returns a number, an array, or several.
    """

    title: str
    make: Callable[..., Data]
    small: dict[str, Any] = field(default_factory=dict)
    fixed: dict[str, Any] = field(default_factory=dict)  # arguments of `make` that make this workload
    checked: int = 8  # steps whose results are compared between peers

    def data(self, small: bool = False) -> Data:
        """The data at full size, or at the size for tests."""
        return self.make(**self.fixed, **(self.small if small else {}))


def aligned(value: Any) -> np.ndarray:
    """A copy, float64 as float32, at a multiple of 64 bytes: JAX and TensorFlow read such arrays in place."""
    value = np.asarray(value)
    dtype = np.dtype(np.float32) if value.dtype == np.float64 else value.dtype
    memory = np.empty(value.nbytes + 64, np.uint8)
    start = -memory.ctypes.data % 64
    copy = memory[start : start + value.size * dtype.itemsize].view(dtype).reshape(value.shape)
    copy[...] = value
    return copy


def data(weights: Weights, batches: Sequence[Batch], cost: Cost, **settings: Any) -> Data:
    """Data with every array aligned."""
    placed = {name: aligned(value) for name, value in weights.items()}
    return Data(placed, tuple(tuple(map(aligned, batch)) for batch in batches), cost, settings)


def dense(rng: np.random.Generator, inputs: int, outputs: int, gain: float = 1.0) -> np.ndarray:
    """Random weights of a dense layer."""
    return rng.normal(size=(inputs, outputs)) * gain / math.sqrt(inputs)


def labels(rng: np.random.Generator, count: int, classes: int = 10) -> np.ndarray:
    """Random classes."""
    return rng.integers(0, classes, count).astype(np.int32)


def scalar() -> Data:
    """a * x + b, on numbers."""
    batches = [(np.asarray(x),) for x in (1.0, 2.0, 3.0, 4.0)]
    return data({"a": np.asarray(1.5), "b": np.asarray(0.25)}, batches, Cost(2))


def scalar_callable() -> Data:
    """The same, through a call prepared for it."""
    return scalar()


def two_layer(
    optimizer: str, rate: float, batch: int = 64, inputs: int = 1000, hidden: int = 100, outputs: int = 10
) -> Data:
    """Two dense layers without bias, relu, squared error."""
    rng = np.random.default_rng(1)
    weights = {"w1": rng.normal(size=(inputs, hidden)), "w2": rng.normal(size=(hidden, outputs))}
    batches: list[Batch] = [
        (rng.normal(size=(batch, inputs)), rng.normal(size=(batch, outputs))) for _ in range(BATCHES)
    ]
    first, second = inputs * hidden, hidden * outputs
    per_weight, passes = (2, 3) if optimizer == "sgd" else (12, 8)
    flops = 2 * batch * (2 * first + 3 * second) + per_weight * (first + second)
    cost = Cost(flops, cache=4 * (passes * (first + second) + batch * (inputs + outputs)))
    return data(weights, batches, cost, rate=rate, optimizer=optimizer)


def lenet(batch: int = 64, size: int = 28) -> Data:
    """Two 5x5 convolutions with max pooling and a dense layer, softmax cross-entropy."""
    rng = np.random.default_rng(2)
    first = size - 4
    second = first // 2 - 4
    last = second // 2
    weights = {
        "conv1": rng.normal(size=(5, 5, 1, 10)) / 5,
        "bias1": rng.normal(size=10) * 0.1,
        "conv2": rng.normal(size=(5, 5, 10, 20)) / math.sqrt(250),
        "bias2": rng.normal(size=20) * 0.1,
        "dense": dense(rng, last * last * 20, 10),
        "bias3": np.zeros(10),
    }
    batches: list[Batch] = [
        (rng.normal(size=(batch, size, size, 1)), labels(rng, batch)) for _ in range(BATCHES)
    ]
    products = (10 * 25 * first**2, 20 * 250 * second**2, 200 * last**2)
    flops = 2 * batch * (2 * products[0] + 3 * products[1] + 3 * products[2])  # images need no gradient
    values = size**2 + 2 * (10 * first**2 * 5 // 4 + 20 * second**2 * 5 // 4)
    cost = Cost(flops + 8 * batch * (10 * first**2 + 20 * second**2), cache=4 * batch * values)
    return data(weights, batches, cost, rate=0.01, optimizer="sgd")


def mlp(batch: int = 256, inputs: int = 784, hidden: int = 1024) -> Data:
    """Three dense layers, relu, softmax cross-entropy, Adam."""
    rng = np.random.default_rng(3)
    weights = {
        "w1": dense(rng, inputs, hidden, 1.4),
        "b1": np.zeros(hidden),
        "w2": dense(rng, hidden, hidden, 1.4),
        "b2": np.zeros(hidden),
        "w3": dense(rng, hidden, 10),
        "b3": np.zeros(10),
    }
    batches: list[Batch] = [(rng.normal(size=(batch, inputs)), labels(rng, batch)) for _ in range(BATCHES)]
    first, rest = inputs * hidden, hidden * (hidden + 10)
    flops = 2 * batch * (2 * first + 3 * rest) + 12 * (first + rest)
    cost = Cost(flops, cache=4 * (8 * (first + rest) + batch * (inputs + 8 * hidden)))
    return data(weights, batches, cost, rate=1e-3, optimizer="adam")


def logistic(batch: int = 100, inputs: int = 784) -> Data:
    """One dense layer, softmax cross-entropy."""
    rng = np.random.default_rng(10)
    batches: list[Batch] = [(rng.uniform(size=(batch, inputs)), labels(rng, batch)) for _ in range(BATCHES)]
    weights = {"w": np.zeros((inputs, 10)), "b": np.zeros(10)}
    flops = 40 * batch * inputs + 400 * batch + 20 * inputs
    cost = Cost(flops, cache=4 * (2 * batch * inputs + 30 * inputs))
    return data(weights, batches, cost, rate=0.05, optimizer="sgd")


def black_scholes(options: int = 4_000_000) -> Data:
    """Prices of calls and puts: spot, strike, time, volatility."""
    rng = np.random.default_rng(4)
    ranges = ((10.0, 50.0), (10.0, 50.0), (1.0, 2.0), (0.1, 0.5))
    batches: list[Batch] = [tuple(rng.uniform(low, high, options) for low, high in ranges) for _ in range(2)]
    return data({}, batches, Cost(90 * options, memory=24 * options), interest=0.02)


def norm_softmax(rows: int = 4096, columns: int = 1024) -> Data:
    """Layer norm, GELU, softmax, sum of squares: its value and its gradients by all three inputs."""
    rng = np.random.default_rng(5)
    batches: list[Batch] = [
        (rng.normal(size=(rows, columns)), rng.normal(1, 0.1, columns), rng.normal(0, 0.1, columns))
        for _ in range(2)
    ]
    return data({}, batches, Cost(80 * rows * columns, memory=8 * rows * columns), epsilon=1e-5)


def lstm(time: int = 100, batch: int = 32, inputs: int = 64, hidden: int = 128) -> Data:
    """An LSTM over a sequence and a dense layer on its last output. Gates in the order i, f, g, o."""
    rng = np.random.default_rng(7)
    weights = {
        "wx": dense(rng, inputs, 4 * hidden),
        "wh": dense(rng, hidden, 4 * hidden),
        "b": np.zeros(4 * hidden),
        "wo": dense(rng, hidden, 10),
        "bo": np.zeros(10),
    }
    batches: list[Batch] = [
        (rng.normal(size=(time, batch, inputs)), labels(rng, batch)) for _ in range(BATCHES)
    ]
    flops = 2 * time * batch * 4 * hidden * (2 * inputs + 3 * hidden) + 120 * time * batch * hidden
    cost = Cost(flops, cache=4 * time * batch * (inputs + 14 * hidden))
    return data(weights, batches, cost, rate=0.1, optimizer="sgd")


def transformer(batch: int = 8, time: int = 128, width: int = 256, heads: int = 4) -> Data:
    """One block: causal attention and a feed-forward part, each after a layer norm; mean squared error."""
    rng = np.random.default_rng(6)
    inner = 4 * width
    weights = {
        "scale1": np.ones(width),
        "shift1": np.zeros(width),
        "qkv": dense(rng, width, 3 * width),
        "qkv_bias": np.zeros(3 * width),
        "out": dense(rng, width, width),
        "out_bias": np.zeros(width),
        "scale2": np.ones(width),
        "shift2": np.zeros(width),
        "up": dense(rng, width, inner),
        "up_bias": np.zeros(inner),
        "down": dense(rng, inner, width),
        "down_bias": np.zeros(width),
    }
    shape = (batch, time, width)
    batches: list[Batch] = [(rng.normal(size=shape), rng.normal(size=shape)) for _ in range(BATCHES)]
    products = batch * time * (12 * width * width + 2 * time * width)
    flops = 6 * products + 300 * batch * time * width + 30 * batch * heads * time**2
    values = 2 * batch * time * (14 * width + heads * time)
    cost = Cost(flops, cache=4 * (values + 36 * width**2))
    return data(weights, batches, cost, rate=0.1, heads=heads, epsilon=1e-5, optimizer="sgd")


def resnet18(batch: int = 32, size: int = 32, channels: int = 64) -> Data:
    """A ResNet-18 for small images, batch normalization in training, momentum."""
    net = residual.resnet18(channels)
    rng = np.random.default_rng(8)
    weights = residual.weights(net, 10, rng)
    batches: list[Batch] = [
        (rng.normal(size=(batch, size, size, 3)), labels(rng, batch)) for _ in range(BATCHES)
    ]
    products, values = residual.counts(net, size)
    trained = sum(w.size for name, w in weights.items() if not residual.is_statistic(name))
    flops = 2 * batch * (3 * products - 27 * channels * size**2) + 30 * batch * values + 4 * trained
    cost = Cost(flops, memory=4 * (5 * trained + 4 * batch * values))
    settings = {"rate": 0.01, "momentum": 0.9, "epsilon": 1e-5, "decay": 0.1, "optimizer": "momentum"}
    return data(weights, batches, cost, net=net, **settings)


def resnet50(size: int = 224, channels: int = 64, classes: int = 1000) -> Data:
    """Inference of a ResNet-50, one image, batch normalization folded into the convolutions."""
    net = residual.resnet50(channels)
    rng = np.random.default_rng(81)
    weights = residual.folded(net, residual.weights(net, classes, rng), epsilon=1e-5)
    batches: list[Batch] = [(rng.normal(size=(1, size, size, 3)),) for _ in range(2)]
    products, values = residual.counts(net, size)
    flops = 2 * (products + 32 * channels * classes) + 2 * values
    cost = Cost(flops, memory=4 * sum(w.size for w in weights.values()), cache=8 * values)
    return data(weights, batches, cost, net=net)


def heat(size: int = 512, steps: int = 1000) -> Data:
    """The heat equation on a square, explicit steps, the border fixed."""
    rng = np.random.default_rng(11)
    batches: list[Batch] = [(rng.uniform(size=(size, size)),) for _ in range(2)]
    cost = Cost(7 * steps * size**2, cache=8 * steps * size**2)
    return data({}, batches, cost, steps=steps, factor=0.2)


def embedding(rows: int = 100_000, width: int = 64, batch: int = 512, words: int = 20) -> Data:
    """The mean of the rows of some words, a dense layer, softmax cross-entropy; only the rows used change."""
    rng = np.random.default_rng(12)
    weights = {
        "table": rng.normal(size=(rows, width)) * 0.1,
        "w": dense(rng, width, 10),
        "b": np.zeros(10),
    }
    batches: list[Batch] = [
        (rng.integers(0, rows, (batch, words)).astype(np.int32), labels(rng, batch)) for _ in range(BATCHES)
    ]
    used = batch * words * width
    cost = Cost(60 * batch * width + 3 * used, memory=12 * used)
    return data(weights, batches, cost, rate=0.5, optimizer="sgd")


def dag(nodes: int) -> Data:
    """Many small operations on 8x8 matrices: what calling each would cost, and what a large graph costs."""
    rng = np.random.default_rng(14)
    q, _ = np.linalg.qr(rng.normal(size=(8, 8)))
    batches: list[Batch] = [(rng.normal(size=(8, 8)),) for _ in range(2)]
    weights = {"w": q, "c": rng.uniform(0.9, 1.0, (8, 8))}
    return data(weights, batches, Cost(nodes * (256 + 64)), nodes=nodes)


def chain(x: Any, w: Any, c: Any, nodes: int, matmul: Callable[..., Any], tanh: Callable[..., Any]) -> Any:
    """The graph of `dag` on the tensors of any peer.

    Each sum adds the value of eight nodes ago, so that it is not only a chain.
    """
    history = [x] * 8
    for i in range(nodes):
        match i % 4:
            case 0:
                x = matmul(x, w)
            case 1:
                x = x + history[i % 8]
            case 2:
                x = tanh(x)
            case 3:
                x = x * c
        history[i % 8] = x
    return x


NARROW = {"batch": 5, "inputs": 12, "hidden": 7, "outputs": 3}

WORKLOADS = {
    "scalar": Workload("scalar graph, `Session.run` or plain call", scalar),
    "scalar_callable": Workload("scalar graph, prepared call", scalar_callable),
    "two_layer_sgd": Workload(
        "two-layer net 64-1000-100-10, SGD", two_layer, NARROW, {"optimizer": "sgd", "rate": 1e-6}
    ),
    "two_layer_adam": Workload(
        "two-layer net 64-1000-100-10, Adam", two_layer, NARROW, {"optimizer": "adam", "rate": 1e-4}
    ),
    "lenet": Workload("LeNet training, batch 64", lenet, {"batch": 3, "size": 16}),
    "mlp": Workload("784-1024-1024-10 net, batch 256, Adam", mlp, {"batch": 4, "inputs": 9, "hidden": 11}),
    "logistic": Workload("logistic regression, batch 100", logistic, {"batch": 6, "inputs": 9}),
    "black_scholes": Workload("Black-Scholes, 4 million options", black_scholes, {"options": 99}, checked=2),
    "norm_softmax": Workload(
        "layer norm, GELU, softmax 4096x1024, with gradient",
        norm_softmax,
        {"rows": 5, "columns": 24},
        checked=2,
    ),
    "lstm": Workload(
        "LSTM training, T=100, batch 32, 128 units",
        lstm,
        {"time": 4, "batch": 3, "inputs": 5, "hidden": 6},
    ),
    "transformer": Workload(
        "transformer block training, B=8, T=128, D=256",
        transformer,
        {"batch": 2, "time": 6, "width": 8, "heads": 2},
    ),
    "resnet18": Workload(
        "ResNet-18 training, 32 images of 32x32",
        resnet18,
        {"batch": 4, "size": 16, "channels": 4},
        checked=3,
    ),
    "resnet50": Workload(
        "ResNet-50 inference, one image",
        resnet50,
        {"size": 32, "channels": 4, "classes": 7},
        checked=2,
    ),
    "heat": Workload("heat equation 512x512, 1000 steps", heat, {"size": 9, "steps": 3}, checked=2),
    "embedding": Workload(
        "embedding 100,000 x 64, sparse SGD",
        embedding,
        {"rows": 50, "width": 6, "batch": 4, "words": 3},
    ),
    "dag_1000": Workload("graph of 1,000 small nodes", dag, fixed={"nodes": 1000}),
    "dag_10000": Workload("graph of 10,000 small nodes", dag, fixed={"nodes": 10_000}),
    "dag_100000": Workload("graph of 100,000 small nodes", dag, fixed={"nodes": 100_000}, checked=2),
}
