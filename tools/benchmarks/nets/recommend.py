"""Recommendation (DLRM): tables of embeddings, products of all pairs of them, and dense layers."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from benchmarks.nets.net import CPU, GPU, SMALL, Entry, in_three_forms
from benchmarks.sizes.nets import Arrays, Net, Weights


def dlrm(numbers: int, tables: int, rows: int, width: int, hidden: int) -> Net:
    """The loss of clicks, learned by gradient descent, which leaves rows alone that are not looked up."""
    w = Weights()
    for n in range(tables):
        w[f"table{n}"] = w.rng.normal(size=(rows, width)).astype(np.float32) * np.float32(0.3)
    pairs = np.tril_indices(tables + 1, -1)
    layers = {"bottom": (numbers, hidden, width), "top": (width + len(pairs[0]), hidden, hidden, 1)}
    for name, widths in layers.items():
        for n, (inputs, outputs) in enumerate(pairwise(widths)):
            w.random(f"{name}{n}", inputs, outputs)
            w.zeros(f"{name}{n}.bias", outputs)

    def dense(w: Any, x: Any, name: str, relu: Any) -> Any:
        """Layers, the last one of the top without relu."""
        last = len(layers[name]) - 2
        for n in range(last + 1):
            x = x @ w[f"{name}{n}"] + w[f"{name}{n}.bias"]
            x = x if name == "top" and n == last else relu(x)
        return x

    flat = (pairs[0] * (tables + 1) + pairs[1]).astype(np.int32)  # of a pair in the products of all with all

    def staticgraph(sg: Any, w: Any, x: Any, ids: Any, y: Any) -> Any:
        small = dense(w, x, "bottom", sg.nn.relu)
        found = [sg.nn.embedding_lookup(w[f"table{n}"], ids[:, n]) for n in range(tables)]
        vectors = sg.stack([small, *found], 1)
        products = sg.reshape(sg.matmul(vectors, vectors, transpose_b=True), [-1, (tables + 1) ** 2])
        logits = dense(w, sg.concat([small, sg.gather(products, flat, axis=1)], 1), "top", sg.nn.relu)[:, 0]
        return [(sg.reduce_mean(sg.nn.sigmoid_cross_entropy_with_logits(labels=y, logits=logits)), "")]

    def torch(torch: Any, w: Any, x: Any, ids: Any, y: Any) -> Any:
        f = torch.nn.functional
        small = dense(w, x, "bottom", f.relu)
        found = [f.embedding(ids[:, n], w[f"table{n}"], sparse=True) for n in range(tables)]
        vectors = torch.stack([small, *found], 1)
        products = torch.bmm(vectors, vectors.transpose(1, 2)).flatten(1)
        chosen = products[:, torch.from_numpy(flat).to(x.device).long()]
        logits = dense(w, torch.cat([small, chosen], 1), "top", f.relu)[:, 0]
        return [(f.binary_cross_entropy_with_logits(logits, y), "")]

    def jax(jax: Any, w: Any, x: Any, ids: Any, y: Any) -> Any:
        jnp = jax.numpy
        small = dense(w, x, "bottom", jax.nn.relu)
        vectors = jnp.stack([small, *(w[f"table{n}"][ids[:, n]] for n in range(tables))], 1)
        products = (vectors @ vectors.transpose(0, 2, 1)).reshape(len(x), -1)
        logits = dense(w, jnp.concatenate([small, products[:, flat]], 1), "top", jax.nn.relu)[:, 0]
        return [((jnp.logaddexp(0.0, logits) - logits * y).mean(), "")]

    def batch(rng: np.random.Generator, count: int) -> Arrays:
        return (
            rng.normal(size=(count, numbers)).astype(np.float32),
            rng.integers(0, rows, (count, tables)).astype(np.int32),
            rng.integers(0, 2, count).astype(np.float32),
        )

    feeds = [("float32", (None, numbers)), ("int32", (None, tables)), ("float32", (None,))]
    return Net(w, feeds, in_three_forms(staticgraph, torch, jax), batch, 0.1, optimizer="descent")


NETS = {
    "dlrm": Entry(
        "DLRM, training", dlrm,
        {
            SMALL: ((3, 2, 5, 4, 4), 3),
            CPU: ((13, 8, 20_000, 32, 128), 512),
            GPU: ((13, 26, 200_000, 64, 512), 8192),
        },
    ),
}  # fmt: skip
