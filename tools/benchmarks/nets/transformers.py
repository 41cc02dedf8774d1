"""Stacks of attention: a decoder that is trained (GPT), and an encoder that tells what a text is (BERT)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from benchmarks.nets.net import CPU, GPU, SMALL, Entry, in_three_forms
from benchmarks.sizes.nets import Arrays, Net, Weights

FAR = -1e9  # a score that softmax makes zero


def _block(w: Weights, name: str, width: int) -> None:
    """Weights of attention and of two dense layers."""
    for part, inputs, outputs in (
        ("qkv", width, 3 * width), ("mix", width, width),
        ("up", width, 4 * width), ("down", 4 * width, width),
    ):  # fmt: skip
        w.random(f"{name}.{part}", inputs, outputs, gain=0.7)
        w.zeros(f"{name}.{part}.bias", outputs)
    w.norm(name + ".one", width)
    w.norm(name + ".two", width)


class _Staticgraph:
    """The layers with staticgraph."""

    def __init__(self, sg: Any, w: Any) -> None:
        self.sg, self.w = sg, w

    def dense(self, x: Any, name: str) -> Any:
        return self.sg.tensordot(x, self.w[name], 1) + self.w[name + ".bias"]

    def norm(self, x: Any, name: str) -> Any:
        mean, variance = self.sg.nn.moments(x, [-1], keepdims=True)
        scaled = (x - mean) * self.sg.rsqrt(variance + 1e-5)
        return scaled * self.w[name + ".scale"] + self.w[name + ".shift"]

    def attention(self, x: Any, name: str, heads: int, mask: Any) -> Any:
        sg, (time, width) = self.sg, (int(n) for n in x.shape[1:])
        qkv = sg.reshape(self.dense(x, name + ".qkv"), [-1, time, 3, heads, width // heads])
        q, k, v = sg.unstack(sg.transpose(qkv, [2, 0, 3, 1, 4]))
        scores = sg.matmul(q, k, transpose_b=True) / math.sqrt(width // heads) + mask
        mixed = sg.transpose(sg.matmul(sg.nn.softmax(scores), v), [0, 2, 1, 3])
        return self.dense(sg.reshape(mixed, [-1, time, width]), name + ".mix")


class _Torch:
    """The layers with PyTorch."""

    def __init__(self, torch: Any, w: Any) -> None:
        self.f, self.w = torch.nn.functional, w

    def dense(self, x: Any, name: str) -> Any:
        return x @ self.w[name] + self.w[name + ".bias"]

    def norm(self, x: Any, name: str) -> Any:
        scale = self.w[name + ".scale"]
        return self.f.layer_norm(x, scale.shape, scale, self.w[name + ".shift"], 1e-5)

    def attention(self, x: Any, name: str, heads: int, mask: Any) -> Any:
        batch, time, width = x.shape
        qkv = self.dense(x, name + ".qkv").view(batch, time, 3, heads, width // heads)
        q, k, v = qkv.permute(2, 0, 3, 1, 4)
        causal = {"is_causal": True} if mask is None else {"attn_mask": mask}
        mixed = self.f.scaled_dot_product_attention(q, k, v, **causal)
        return self.dense(mixed.transpose(1, 2).reshape(batch, time, width), name + ".mix")


class _Jax:
    """The layers with JAX."""

    def __init__(self, jax: Any, w: Any) -> None:
        self.jax, self.w = jax, w

    def dense(self, x: Any, name: str) -> Any:
        return x @ self.w[name] + self.w[name + ".bias"]

    def norm(self, x: Any, name: str) -> Any:
        centred = x - x.mean(-1, keepdims=True)
        scaled = centred * self.jax.lax.rsqrt((centred * centred).mean(-1, keepdims=True) + 1e-5)
        return scaled * self.w[name + ".scale"] + self.w[name + ".shift"]

    def attention(self, x: Any, name: str, heads: int, mask: Any) -> Any:
        batch, time, width = x.shape
        qkv = self.dense(x, name + ".qkv").reshape(batch, time, 3, heads, width // heads)
        q, k, v = qkv.transpose(2, 0, 3, 1, 4)
        scores = q @ k.transpose(0, 1, 3, 2) / math.sqrt(width // heads) + mask
        mixed = (self.jax.nn.softmax(scores) @ v).transpose(0, 2, 1, 3)
        return self.dense(mixed.reshape(batch, time, width), name + ".mix")


def gpt(width: int, layers: int, heads: int, time: int, words: int) -> Net:
    """A decoder with causal attention that learns the next word; the table of words gives the logits, too."""
    w = Weights()
    w["words"] = w.rng.normal(size=(words, width)).astype(np.float32) * np.float32(0.1)
    w["places"] = w.rng.normal(size=(time, width)).astype(np.float32) * np.float32(0.1)
    for n in range(layers):
        _block(w, str(n), width)
    w.norm("last", width)
    past = np.triu(np.full((time, time), FAR, np.float32), 1)

    def blocks(o: Any, h: Any, gelu: Any, mask: Any) -> Any:
        for n in map(str, range(layers)):
            h = h + o.attention(o.norm(h, n + ".one"), n, heads, mask)
            h = h + o.dense(gelu(o.dense(o.norm(h, n + ".two"), n + ".up")), n + ".down")
        return o.norm(h, "last")

    def staticgraph(sg: Any, w: Any, x: Any, y: Any) -> Any:
        h = sg.nn.embedding_lookup(w["words"], x) + w["places"]
        h = blocks(_Staticgraph(sg, w), h, lambda x: sg.nn.gelu(x, approximate=True), past)
        logits = sg.matmul(sg.reshape(h, [-1, width]), w["words"], transpose_b=True)
        each = sg.nn.sparse_softmax_cross_entropy_with_logits(labels=sg.reshape(y, [-1]), logits=logits)
        return [(sg.reduce_mean(each), "")]

    def torch(torch: Any, w: Any, x: Any, y: Any) -> Any:
        f = torch.nn.functional
        h = f.embedding(x, w["words"]) + w["places"]
        h = blocks(_Torch(torch, w), h, lambda x: f.gelu(x, approximate="tanh"), None)
        return [(f.cross_entropy(h.view(-1, width) @ w["words"].T, y.view(-1)), "")]

    def jax(jax: Any, w: Any, x: Any, y: Any) -> Any:
        h = w["words"][x] + w["places"]
        h = blocks(_Jax(jax, w), h, jax.nn.gelu, past)
        logits = h.reshape(-1, width) @ w["words"].T
        right = jax.numpy.take_along_axis(logits, y.reshape(-1, 1), 1)[:, 0]
        return [((jax.nn.logsumexp(logits, 1) - right).mean(), "")]

    def batch(rng: np.random.Generator, count: int) -> Arrays:
        text = rng.integers(0, words, (count, time + 1)).astype(np.int32)
        return text[:, :-1].copy(), text[:, 1:].copy()

    return Net(w, [("int32", (None, time))] * 2, in_three_forms(staticgraph, torch, jax), batch)


def bert(width: int, layers: int, heads: int, time: int, words: int, classes: int = 3) -> Net:
    """An encoder of two segments with padding at the end, and a class for each text."""
    w = Weights()
    for name, rows in (("words", words), ("places", time), ("segments", 2)):
        w.random(name, rows, width, gain=math.sqrt(rows) * 0.5)
    w.norm("first", width)
    for n in range(layers):
        _block(w, str(n), width)
    for name, outputs in (("pool", width), ("out", classes)):
        w.random(name, width, outputs, gain=1)
        w.zeros(name + ".bias", outputs)

    def encoded(o: Any, h: Any, gelu: Any, mask: Any) -> Any:
        h = o.norm(h, "first")
        for n in map(str, range(layers)):
            h = o.norm(h + o.attention(h, n, heads, mask), n + ".one")
            h = o.norm(h + o.dense(gelu(o.dense(h, n + ".up")), n + ".down"), n + ".two")
        return h

    def staticgraph(sg: Any, w: Any, x: Any, segments: Any, lengths: Any) -> Any:
        h = sg.nn.embedding_lookup(w["words"], x) + w["places"]
        h = h + sg.nn.embedding_lookup(w["segments"], segments)
        mask = (1.0 - sg.sequence_mask(lengths, time, dtype=sg.float32))[:, None, None, :] * FAR
        o = _Staticgraph(sg, w)
        h = encoded(o, h, lambda x: sg.nn.gelu(x, approximate=False), mask)
        return sg.nn.softmax(o.dense(sg.tanh(o.dense(h[:, 0], "pool")), "out"))

    def torch(torch: Any, w: Any, x: Any, segments: Any, lengths: Any) -> Any:
        f = torch.nn.functional
        h = f.embedding(x, w["words"]) + w["places"] + f.embedding(segments, w["segments"])
        seen = torch.arange(time, device=x.device)[None, :] < lengths[:, None]
        o = _Torch(torch, w)
        h = encoded(o, h, f.gelu, seen[:, None, None, :])
        return f.softmax(o.dense(torch.tanh(o.dense(h[:, 0], "pool")), "out"), -1)

    def jax(jax: Any, w: Any, x: Any, segments: Any, lengths: Any) -> Any:
        jnp = jax.numpy
        h = w["words"][x] + w["places"] + w["segments"][segments]
        seen = jnp.arange(time)[None, :] < lengths[:, None]
        o = _Jax(jax, w)
        mask = jnp.where(seen, 0.0, FAR)[:, None, None, :]
        h = encoded(o, h, lambda x: jax.nn.gelu(x, approximate=False), mask)
        return jax.nn.softmax(o.dense(jnp.tanh(o.dense(h[:, 0], "pool")), "out"))

    def batch(rng: np.random.Generator, count: int) -> Arrays:
        text = rng.integers(0, words, (count, time)).astype(np.int32)
        segments = (np.arange(time) >= rng.integers(1, time, (count, 1))).astype(np.int32)
        return text, segments, rng.integers(time // 2, time + 1, count).astype(np.int32)

    feeds = [("int32", (None, time))] * 2 + [("int32", (None,))]
    return Net(w, feeds, in_three_forms(staticgraph, torch, jax), batch, 0)


NETS = {
    "gpt": Entry(
        "GPT stack, training", gpt,
        {SMALL: ((8, 2, 2, 6, 11), 2), CPU: ((128, 4, 4, 128, 512), 4), GPU: ((768, 12, 12, 512, 8192), 8)},
    ),
    "bert": Entry(
        "BERT, inference", bert,
        {SMALL: ((8, 2, 2, 6, 11), 2), CPU: ((256, 4, 4, 128, 1000), 4), GPU: ((768, 12, 12, 256, 9999), 32)},
    ),
}  # fmt: skip
