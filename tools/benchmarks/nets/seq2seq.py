"""Translation: a GRU reads a sentence, another one writes, and looks at what was read at every word."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.nets.net import CPU, GPU, SMALL, Entry, in_three_forms
from benchmarks.sizes.nets import Arrays, Net, Weights


def _cell(library: Any, sigmoid: Any, h: Any, inputs: Any, parts: Any) -> Any:
    """The next state; gates in the order reset, update, new, of inputs and of the state."""
    (xr, xz, xn), (hr, hz, hn) = inputs, parts
    new = library.tanh(xn + sigmoid(xr + hr) * hn)
    return new + sigmoid(xz + hz) * (h - new)


def seq2seq(units: int, time: int, words: int) -> Net:
    """The loss of the right words, each written after the right ones before."""
    w = Weights()
    for name in ("read", "write"):
        w.random(name + ".table", words, units, gain=units**0.5)
        w.random(name + ".wx", units, 3 * units, gain=1)
        w.random(name + ".wh", units, 3 * units, gain=1)
        w.zeros(name + ".b", 3 * units)
    w.random("query", units, units, gain=1)
    w.random("seen", units, 3 * units, gain=1)
    w.random("out", 2 * units, words, gain=1)
    w.zeros("bias", words)

    def staticgraph(sg: Any, w: Any, x: Any, y: Any, z: Any) -> Any:
        def projected(ids: Any, name: str) -> Any:
            flat = sg.nn.embedding_lookup(w[name + ".table"], sg.reshape(ids, [-1]))
            made = sg.matmul(flat, w[name + ".wx"]) + w[name + ".b"]
            return sg.reshape(made, [time, -1, 3 * units])

        def gru(h: Any, inputs: Any, name: str) -> Any:
            parts = sg.split(sg.matmul(h, w[name + ".wh"]), 3, 1)
            return _cell(sg, sg.sigmoid, h, sg.split(inputs, 3, 1), parts)

        start = sg.zeros([sg.shape(x)[1], units])
        states = sg.scan(lambda h, inputs: gru(h, inputs, "read"), projected(x, "read"), start)
        memory = sg.transpose(states, [1, 0, 2])

        def write(state: Any, inputs: Any) -> Any:
            h = state[0]
            scores = sg.matmul(memory, sg.matmul(h, w["query"])[:, :, None])[:, :, 0]
            seen = sg.matmul(sg.nn.softmax(scores)[:, None, :], memory)[:, 0]
            return gru(h, inputs + sg.matmul(seen, w["seen"]), "write"), seen

        both = sg.concat(sg.scan(write, projected(y, "write"), (states[-1], start)), 2)
        logits = sg.matmul(sg.reshape(both, [-1, 2 * units]), w["out"]) + w["bias"]
        each = sg.nn.sparse_softmax_cross_entropy_with_logits(labels=sg.reshape(z, [-1]), logits=logits)
        return [(sg.reduce_mean(each), "")]

    def torch(torch: Any, w: Any, x: Any, y: Any, z: Any) -> Any:
        f = torch.nn.functional
        start = torch.zeros(x.shape[1], units, device=x.device)
        weights = [w["read.wx"].T, w["read.wh"].T, w["read.b"], torch.zeros_like(w["read.b"])]
        read = f.embedding(x, w["read.table"])
        states, last = torch.gru(read, start[None], weights, True, 1, 0.0, True, False, False)
        memory, h = states.transpose(0, 1), last[0]
        inputs = f.embedding(y, w["write.table"]) @ w["write.wx"] + w["write.b"]
        written = []
        for step in inputs.unbind():
            scores = (memory @ (h @ w["query"])[:, :, None])[:, :, 0]
            seen = (f.softmax(scores, 1)[:, None, :] @ memory)[:, 0]
            step = step + seen @ w["seen"]
            h = _cell(torch, torch.sigmoid, h, step.chunk(3, 1), (h @ w["write.wh"]).chunk(3, 1))
            written.append(torch.cat([h, seen], 1))
        logits = torch.cat(written) @ w["out"] + w["bias"]
        return [(f.cross_entropy(logits, z.reshape(-1)), "")]

    def jax(jax: Any, w: Any, x: Any, y: Any, z: Any) -> Any:
        jnp = jax.numpy

        def projected(ids: Any, name: str) -> Any:
            return w[name + ".table"][ids] @ w[name + ".wx"] + w[name + ".b"]

        def gru(h: Any, inputs: Any, name: str) -> Any:
            parts = jnp.split(h @ w[name + ".wh"], 3, 1)
            return _cell(jnp, jax.nn.sigmoid, h, jnp.split(inputs, 3, 1), parts)

        def read(h: Any, inputs: Any) -> Any:
            h = gru(h, inputs, "read")
            return h, h

        last, states = jax.lax.scan(read, jnp.zeros((x.shape[1], units)), projected(x, "read"))
        memory = states.transpose(1, 0, 2)

        def write(h: Any, inputs: Any) -> Any:
            scores = (memory @ (h @ w["query"])[:, :, None])[:, :, 0]
            seen = (jax.nn.softmax(scores)[:, None, :] @ memory)[:, 0]
            h = gru(h, inputs + seen @ w["seen"], "write")
            return h, jnp.concatenate([h, seen], 1)

        both = jax.lax.scan(write, last, projected(y, "write"))[1]
        logits = both.reshape(-1, 2 * units) @ w["out"] + w["bias"]
        right = jnp.take_along_axis(logits, z.reshape(-1, 1), 1)[:, 0]
        return [((jax.nn.logsumexp(logits, 1) - right).mean(), "")]

    def batch(rng: np.random.Generator, count: int) -> Arrays:
        read, text = (rng.integers(0, words, (time + more, count)).astype(np.int32) for more in (0, 1))
        return read, text[:-1].copy(), text[1:].copy()

    return Net(w, [("int32", (time, None))] * 3, in_three_forms(staticgraph, torch, jax), batch)


NETS = {
    "seq2seq": Entry(
        "GRU translation with attention, training", seq2seq,
        {SMALL: ((4, 3, 7), 2), CPU: ((128, 20, 1000), 32), GPU: ((512, 50, 8000), 128)},
    ),
}  # fmt: skip
