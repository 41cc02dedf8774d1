"""Convolutions along one axis and along three: a WaveNet for sound, and a classifier of volumes."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.nets.net import CPU, GPU, SMALL, Entry, in_three_forms
from benchmarks.sizes.nets import Arrays, Net, Weights


def wavenet(width: int, skips: int, layers: int, time: int, levels: int) -> Net:
    """The loss of the next level of a sound, by causal convolutions whose reach doubles with each layer."""
    w = Weights()
    w["table"] = w.rng.normal(size=(levels, width)).astype(np.float32) * np.float32(0.5)
    for n in range(layers):
        w.random(f"{n}.gates", 2, width, 2 * width, gain=1)
        w.zeros(f"{n}.bias", 2 * width)
        if n + 1 < layers:  # after the last layer only sums are read
            w.random(f"{n}.keep", width, width, gain=1)
        w.random(f"{n}.skip", width, skips, gain=1 / layers**0.5)
    w.random("inner", skips, skips)
    w.random("out", skips, levels, gain=1)

    def staticgraph(sg: Any, w: Any, x: Any, y: Any) -> Any:
        h = sg.nn.embedding_lookup(w["table"], x)
        total = 0.0
        for n in range(layers):
            padded = sg.pad(h, [[0, 0], [1 << n, 0], [0, 0]])
            gates = (
                sg.nn.convolution(padded, w[f"{n}.gates"], "VALID", dilation_rate=[1 << n]) + w[f"{n}.bias"]
            )
            value, gate = sg.split(gates, 2, 2)
            inner = sg.tanh(value) * sg.sigmoid(gate)
            total = total + sg.tensordot(inner, w[f"{n}.skip"], 1)
            h = h + sg.tensordot(inner, w[f"{n}.keep"], 1) if n + 1 < layers else h
        inner = sg.nn.relu(sg.tensordot(sg.nn.relu(total), w["inner"], 1))
        logits = sg.tensordot(inner, w["out"], 1)
        each = sg.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits)
        return [(sg.reduce_mean(each), "")]

    def torch(torch: Any, w: Any, x: Any, y: Any) -> Any:
        f = torch.nn.functional
        h, total = f.embedding(x, w["table"]).transpose(1, 2), 0.0
        for n in range(layers):
            gates = f.conv1d(f.pad(h, (1 << n, 0)), w[f"{n}.gates"], w[f"{n}.bias"], dilation=1 << n)
            value, gate = gates.chunk(2, 1)
            inner = torch.tanh(value) * torch.sigmoid(gate)
            total = total + f.conv1d(inner, w[f"{n}.skip"].T[:, :, None])
            h = h + f.conv1d(inner, w[f"{n}.keep"].T[:, :, None]) if n + 1 < layers else h
        inner = f.relu(f.relu(total).transpose(1, 2) @ w["inner"])
        return [(f.cross_entropy((inner @ w["out"]).reshape(-1, levels), y.reshape(-1)), "")]

    def jax(jax: Any, w: Any, x: Any, y: Any) -> Any:
        h, total = w["table"][x], 0.0
        for n in range(layers):
            gates = jax.lax.conv_general_dilated(
                h, w[f"{n}.gates"], (1,), [(1 << n, 0)], rhs_dilation=(1 << n,),
                dimension_numbers=("NHC", "HIO", "NHC"),
            )  # fmt: skip
            value, gate = jax.numpy.split(gates + w[f"{n}.bias"], 2, 2)
            inner = jax.numpy.tanh(value) * jax.nn.sigmoid(gate)
            total = total + inner @ w[f"{n}.skip"]
            h = h + inner @ w[f"{n}.keep"] if n + 1 < layers else h
        logits = jax.nn.relu(jax.nn.relu(total) @ w["inner"]) @ w["out"]
        right = jax.numpy.take_along_axis(logits, y[:, :, None], 2)[:, :, 0]
        return [((jax.nn.logsumexp(logits, 2) - right).mean(), "")]

    def batch(rng: np.random.Generator, count: int) -> Arrays:
        sound = rng.integers(0, levels, (count, time + 1)).astype(np.int32)
        return sound[:, :-1].copy(), sound[:, 1:].copy()

    return Net(w, [("int32", (None, time))] * 2, in_three_forms(staticgraph, torch, jax), batch)


def volumes(size: int, width: int, classes: int = 5) -> Net:
    """The loss of the classes of volumes, by two convolutions with pooling along three axes."""
    w = Weights()
    widths = (1, width, 2 * width)
    for n in range(2):
        w.random(f"conv{n}", 3, 3, 3, widths[n], widths[n + 1])
        w.zeros(f"bias{n}", widths[n + 1])
    inputs = (size // 4) ** 3 * widths[2]
    w.random("out", inputs, classes, gain=1)

    def staticgraph(sg: Any, w: Any, x: Any, y: Any) -> Any:
        for n in range(2):
            x = sg.nn.relu(sg.nn.conv3d(x, w[f"conv{n}"], [1] * 5, "SAME") + w[f"bias{n}"])
            x = sg.nn.max_pool3d(x, [1, 2, 2, 2, 1], [1, 2, 2, 2, 1], "VALID")
        logits = sg.matmul(sg.reshape(x, [-1, inputs]), w["out"])
        each = sg.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits)
        return [(sg.reduce_mean(each), "")]

    def torch(torch: Any, w: Any, x: Any, y: Any) -> Any:
        f = torch.nn.functional
        for n in range(2):
            x = f.max_pool3d(f.relu(f.conv3d(x, w[f"conv{n}"], w[f"bias{n}"], padding=1)), 2)
        return [(f.cross_entropy(x.permute(0, 2, 3, 4, 1).flatten(1) @ w["out"], y), "")]

    def jax(jax: Any, w: Any, x: Any, y: Any) -> Any:
        lax, axes = jax.lax, ("NDHWC", "DHWIO", "NDHWC")
        for n in range(2):
            x = lax.conv_general_dilated(x, w[f"conv{n}"], (1, 1, 1), "SAME", dimension_numbers=axes)
            x = jax.nn.relu(x + w[f"bias{n}"])
            x = lax.reduce_window(x, -jax.numpy.inf, lax.max, (1, 2, 2, 2, 1), (1, 2, 2, 2, 1), "VALID")
        logits = x.reshape(len(x), -1) @ w["out"]
        right = jax.numpy.take_along_axis(logits, y[:, None], 1)[:, 0]
        return [((jax.nn.logsumexp(logits, 1) - right).mean(), "")]

    def batch(rng: np.random.Generator, count: int) -> Arrays:
        drawn = rng.normal(size=(count, size, size, size, 1)).astype(np.float32)
        return drawn, rng.integers(0, classes, count).astype(np.int32)

    feeds = [("float32", (None, size, size, size, 1)), ("int32", (None,))]
    return Net(w, feeds, in_three_forms(staticgraph, torch, jax), batch)


NETS = {
    "wavenet": Entry(
        "WaveNet, training", wavenet,
        {SMALL: ((3, 4, 3, 9, 5), 2), CPU: ((32, 64, 8, 1024, 256), 2), GPU: ((64, 256, 10, 8192, 256), 8)},
    ),
    "volumes": Entry(
        "net for volumes, training", volumes,
        {SMALL: ((4, 2), 2), CPU: ((16, 16), 4), GPU: ((64, 32), 16)},
    ),
}  # fmt: skip
