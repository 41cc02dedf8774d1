"""A graph net: messages along edges, summed at their targets, tell the classes of nodes."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.nets.net import CPU, GPU, SMALL, Entry, in_three_forms
from benchmarks.sizes.nets import Arrays, Net, Weights


def graph_net(features: int, width: int, layers: int, classes: int, degree: int) -> Net:
    """The loss of the classes of all nodes; a batch is a graph of so many nodes."""
    w = Weights()
    w.random("into", features, width)
    for n in range(layers):
        w.random(f"{n}.from", width, width, gain=1)
        w.random(f"{n}.to", width, width, gain=1)
        w.zeros(f"{n}.bias", width)
        w.random(f"{n}.keep", width, width, gain=1)
        w.random(f"{n}.take", width, width, gain=1 / degree**0.5)
    w.random("out", width, classes, gain=1)

    def staticgraph(sg: Any, w: Any, x: Any, source: Any, target: Any, y: Any) -> Any:
        h = sg.nn.relu(sg.matmul(x, w["into"]))
        for n in range(layers):
            sent = sg.gather(sg.matmul(h, w[f"{n}.from"]), source)
            got = sg.gather(sg.matmul(h, w[f"{n}.to"]), target)
            message = sg.nn.relu(sent + got + w[f"{n}.bias"])
            total = sg.unsorted_segment_sum(message, target, sg.shape(x)[0])
            h = h + sg.nn.relu(sg.matmul(h, w[f"{n}.keep"]) + sg.matmul(total, w[f"{n}.take"]))
        logits = sg.matmul(h, w["out"])
        each = sg.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits)
        return [(sg.reduce_mean(each), "")]

    def torch(torch: Any, w: Any, x: Any, source: Any, target: Any, y: Any) -> Any:
        f = torch.nn.functional
        h = f.relu(x @ w["into"])
        for n in range(layers):
            sent = (h @ w[f"{n}.from"]).index_select(0, source)
            got = (h @ w[f"{n}.to"]).index_select(0, target)
            message = f.relu(sent + got + w[f"{n}.bias"])
            total = torch.zeros_like(h).index_add(0, target, message)
            h = h + f.relu(h @ w[f"{n}.keep"] + total @ w[f"{n}.take"])
        return [(f.cross_entropy(h @ w["out"], y), "")]

    def jax(jax: Any, w: Any, x: Any, source: Any, target: Any, y: Any) -> Any:
        h = jax.nn.relu(x @ w["into"])
        for n in range(layers):
            sent, got = (h @ w[f"{n}.from"])[source], (h @ w[f"{n}.to"])[target]
            message = jax.nn.relu(sent + got + w[f"{n}.bias"])
            total = jax.ops.segment_sum(message, target, x.shape[0])
            h = h + jax.nn.relu(h @ w[f"{n}.keep"] + total @ w[f"{n}.take"])
        logits = h @ w["out"]
        right = jax.numpy.take_along_axis(logits, y[:, None], 1)[:, 0]
        return [((jax.nn.logsumexp(logits, 1) - right).mean(), "")]

    def batch(rng: np.random.Generator, count: int) -> Arrays:
        edges = [rng.integers(0, count, degree * count).astype(np.int32) for _ in range(2)]
        nodes = rng.normal(size=(count, features)).astype(np.float32)
        return nodes, *edges, rng.integers(0, classes, count).astype(np.int32)

    feeds = [("float32", (None, features)), ("int32", (None,)), ("int32", (None,)), ("int32", (None,))]
    return Net(w, feeds, in_three_forms(staticgraph, torch, jax), batch)


NETS = {
    "graph_net": Entry(
        "graph net, training", graph_net,
        {SMALL: ((3, 4, 2, 3, 2), 5), CPU: ((32, 64, 3, 10, 8), 2000), GPU: ((64, 128, 4, 20, 16), 100_000)},
    ),
}  # fmt: skip
