"""Nets, written once for all frameworks: each of them gives its own operations as `o`.

Images are NHWC and their weights HWIO, dense weights [in, out], sequences [time, batch]; a framework with
other habits converts. A convolution with a window of k has a margin of (k - 1) // 2 at each side.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Callable, Dict, List, Optional, Tuple

import numpy as np

Arrays = Tuple[np.ndarray, ...]
Shape = Tuple[Optional[int], ...]


@dataclass(frozen=True)
class Net:
    """Weights, and what a step computes.

    Attributes:
        weights: Initial values by name.
        feeds: The dtype and shape of each feed; None is an open size.
        compute: From operations, weights and feeds to pairs of a loss and the beginning of the names of the
            weights that it trains; to a result or a list of them if nothing is trained.
        batch: From a random generator and a size to the arrays of a step.
        rate: Of the optimizer; 0 for inference.
        optimizer: "adam" or "descent".
        moves: `compute` gives a pair: the result, and the next values of weights by name.
    """

    weights: Dict[str, np.ndarray]
    feeds: List[Tuple[str, Shape]]
    compute: Callable[..., Any]
    batch: Callable[[np.random.Generator, int], Arrays]
    rate: float = 1e-3
    optimizer: str = "adam"
    moves: bool = False


class Weights(Dict[str, np.ndarray]):
    """Random weights; the layers of a net say what they need."""

    def __init__(self) -> None:
        super().__init__()
        self.rng = np.random.default_rng(7)

    def random(self, name: str, *shape: int, gain: float = 1.4) -> None:
        """Add normal numbers for sums of as many products as all axes but the last have elements."""
        fan = int(np.prod(shape[:-1]))
        self[name] = (self.rng.normal(size=shape) * gain / math.sqrt(fan)).astype(np.float32)

    def zeros(self, name: str, *shape: int) -> None:
        """Add zeros."""
        self[name] = np.zeros(shape, np.float32)

    def norm(self, name: str, width: int) -> None:
        """Add scales of one and shifts of zero."""
        self[name + ".scale"], self[name + ".shift"] = np.ones(width, np.float32), np.zeros(width, np.float32)


def _images(size: int, channels: int, labels: Shape, classes: int) -> Callable[..., Arrays]:
    """Random images with labels of a shape, whose first size is that of the batch."""

    def batch(rng: np.random.Generator, count: int) -> Arrays:
        images = rng.normal(size=(count, size, size, channels)).astype(np.float32)
        return images, rng.integers(0, classes, (count, *labels[1:])).astype(np.int32)

    return batch


def cnn(first: int, second: int, hidden: int) -> Net:
    """Two convolutions with max pooling and two dense layers, for images of 28x28."""
    w = Weights()
    w.random("conv1", 3, 3, 1, first)
    w.zeros("bias1", first)
    w.random("conv2", 3, 3, first, second)
    w.zeros("bias2", second)
    w.random("dense", 49 * second, hidden)
    w.zeros("bias3", hidden)
    w.random("out", hidden, 10, gain=1)
    w.zeros("bias4", 10)

    def compute(o: Any, w: Any, x: Any, y: Any) -> Any:
        for n in "12":
            x = o.pool(o.relu(o.bias(o.conv(x, w["conv" + n]), w["bias" + n])))
        x = o.relu(o.bias(o.matmul(o.flat(x), w["dense"]), w["bias3"]))
        return [(o.cross_entropy(y, o.bias(o.matmul(x, w["out"]), w["bias4"])), "")]

    feeds: List[Tuple[str, Shape]] = [("float32", (None, 28, 28, 1)), ("int32", (None,))]
    return Net(w, feeds, compute, _images(28, 1, (None,), 10))


def tagger(width: int, batch: int, words: int = 1000, tags: int = 20) -> Net:
    """An LSTM over sentences of an open length, a tag for each word."""
    w = Weights()
    w.random("table", words, width, gain=1)
    w.random("wx", width, 4 * width, gain=1)
    w.random("wh", width, 4 * width, gain=1)
    w.zeros("b", 4 * width)
    w.random("out", width, tags, gain=1)
    w.zeros("bias", tags)

    def compute(o: Any, w: Any, x: Any, y: Any) -> Any:
        h = o.lstm(o.lookup(w["table"], x), w["wx"], w["wh"], w["b"])
        logits = o.bias(o.matmul(o.reshape(h, (-1, width)), w["out"]), w["bias"])
        return [(o.cross_entropy(o.reshape(y, (-1,)), logits), "")]

    def sentences(rng: np.random.Generator, length: int) -> Arrays:
        return tuple(rng.integers(0, most, (length, batch)).astype(np.int32) for most in (words, tags))

    feeds: List[Tuple[str, Shape]] = [("int32", (None, batch))] * 2
    return Net(w, feeds, compute, sentences)


def gpt(width: int, layers: int, heads: int, most: int, words: int = 256) -> Net:
    """A decoder that gives the logits of the next word after a context of an open length."""
    w = Weights()
    w.random("words", words, width, gain=1)
    w.random("places", most, width, gain=1)
    for n in map(str, range(layers)):
        w.norm(n + ".attention", width)
        w.random(n + ".qkv", width, 3 * width, gain=1)
        w.random(n + ".mix", width, width, gain=1)
        w.norm(n + ".inner", width)
        w.random(n + ".up", width, 4 * width)
        w.random(n + ".down", 4 * width, width, gain=1)
    w.norm("last", width)

    def normed(o: Any, w: Any, x: Any, name: str) -> Any:
        return o.layer_norm(x, w[name + ".scale"], w[name + ".shift"])

    def compute(o: Any, w: Any, x: Any) -> Any:
        h = o.lookup(w["words"], x) + o.first_rows(w["places"], x)
        for n in map(str, range(layers)):
            mixed = o.attention(o.matmul(normed(o, w, h, n + ".attention"), w[n + ".qkv"]), heads)
            h = h + o.matmul(mixed, w[n + ".mix"])
            inner = o.relu(o.matmul(normed(o, w, h, n + ".inner"), w[n + ".up"]))
            h = h + o.matmul(inner, w[n + ".down"])
        return o.matmul(normed(o, w, o.last_row(h), "last"), o.transposed(w["words"]))

    def context(rng: np.random.Generator, length: int) -> Arrays:
        return (rng.integers(0, words, length).astype(np.int32),)

    return Net(w, [("int32", (None,))], compute, context, 0)


def unet(size: int, width: int, levels: int) -> Net:
    """A U-Net with two convolutions a level, that tells two kinds of pixels from each other."""
    w = Weights()
    widths = [width << level for level in range(levels + 1)]
    inputs = 3
    for level, outputs in enumerate(widths):
        w.random(f"down{level}a", 3, 3, inputs, outputs)
        w.random(f"down{level}b", 3, 3, outputs, outputs)
        inputs = outputs
    for level in reversed(range(levels)):
        w.random(f"wider{level}", 2, 2, widths[level], widths[level + 1])
        w.random(f"up{level}a", 3, 3, 2 * widths[level], widths[level])
        w.random(f"up{level}b", 3, 3, widths[level], widths[level])
    for name in [name for name in w if name[:2] in ("do", "up")]:
        w.zeros(name + ".bias", w[name].shape[-1])
    w.random("out", 1, 1, width, 2, gain=1)

    def twice(o: Any, w: Any, x: Any, name: str) -> Any:
        for part in "ab":
            x = o.relu(o.bias(o.conv(x, w[name + part]), w[name + part + ".bias"]))
        return x

    def compute(o: Any, w: Any, x: Any, y: Any) -> Any:
        kept = []
        for level in range(levels):
            kept.append(twice(o, w, x, f"down{level}"))
            x = o.pool(kept[-1])
        x = twice(o, w, x, f"down{levels}")
        for level in reversed(range(levels)):
            wider = o.conv_transpose(x, w[f"wider{level}"], size >> level)
            x = twice(o, w, o.channels([kept[level], wider]), f"up{level}")
        logits = o.channels_last(o.conv(x, w["out"]))
        return [(o.cross_entropy(o.reshape(y, (-1,)), o.reshape(logits, (-1, 2))), "")]

    feeds: List[Tuple[str, Shape]] = [("float32", (None, size, size, 3)), ("int32", (None, size, size))]
    return Net(w, feeds, compute, _images(size, 3, (None, size, size), 2))


def segmenter(width: int) -> Net:
    """Convolutions that tell two kinds of pixels from each other, in two images of any height and width."""
    w = Weights()
    for name, inputs in (("first", 3), ("second", width), ("third", width)):
        w.random(name, 3, 3, inputs, width)
        w.zeros(name + ".bias", width)
    w.random("out", 1, 1, width, 2, gain=1)

    def compute(o: Any, w: Any, x: Any, y: Any) -> Any:
        for name in ("first", "second", "third"):
            x = o.relu(o.bias(o.conv(x, w[name]), w[name + ".bias"]))
        logits = o.channels_last(o.conv(x, w["out"]))
        return [(o.cross_entropy(o.reshape(y, (-1,)), o.reshape(logits, (-1, 2))), "")]

    def batch(rng: np.random.Generator, side: int) -> Arrays:
        images = rng.normal(size=(2, side, side, 3)).astype(np.float32)
        return images, rng.integers(0, 2, (2, side, side)).astype(np.int32)

    feeds: List[Tuple[str, Shape]] = [("float32", (2, None, None, 3)), ("int32", (2, None, None))]
    return Net(w, feeds, compute, batch)


def dcgan(width: int) -> Net:
    """A generator and a discriminator of images of 32x32, both trained in a step."""
    w = Weights()
    widths = [4 * width, 2 * width, width, 3]
    w.random("g.dense", 100, 16 * widths[0])
    for n in range(3):
        w.norm(f"g.norm{n}", widths[n])
        w.random(f"g.conv{n}", 4, 4, widths[n + 1], widths[n], gain=0.3)
        w.random(f"d.conv{n}", 4, 4, widths[3 - n], widths[2 - n])
        w.norm(f"d.norm{n}", widths[2 - n])
    w.random("d.dense", 16 * widths[0], 1, gain=1)

    def generate(o: Any, w: Any, z: Any) -> Any:
        x = o.images(o.matmul(z, w["g.dense"]), 4, widths[0])
        for n in range(3):
            x = o.relu(o.norm(x, w[f"g.norm{n}.scale"], w[f"g.norm{n}.shift"]))
            x = o.conv_transpose(x, w[f"g.conv{n}"], 8 << n)
        return o.tanh(x)

    def judge(o: Any, w: Any, x: Any) -> Any:
        for n in range(3):
            x = o.conv(x, w[f"d.conv{n}"], 2)
            x = o.leaky_relu(o.norm(x, w[f"d.norm{n}.scale"], w[f"d.norm{n}.shift"]))
        return o.matmul(o.flat(x), w["d.dense"])

    def compute(o: Any, w: Any, x: Any, z: Any) -> Any:
        made = generate(o, w, z)
        real, false = judge(o, w, x), judge(o, w, made)
        return [(o.binary(real, 1.0) + o.binary(false, 0.0), "d."), (o.binary(false, 1.0), "g.")]

    def batch(rng: np.random.Generator, count: int) -> Arrays:
        shapes = (count, 32, 32, 3), (count, 100)
        return tuple(rng.normal(size=shape).astype(np.float32) for shape in shapes)

    feeds: List[Tuple[str, Shape]] = [("float32", (None, 32, 32, 3)), ("float32", (None, 100))]
    return Net(w, feeds, compute, batch, 2e-4)


MOBILE = (
    (1, 16, 1, 1),
    (6, 24, 2, 1),
    (6, 32, 3, 2),
    (6, 64, 4, 2),
    (6, 96, 3, 1),
    (6, 160, 3, 2),
    (6, 320, 1, 1),
)


def mobilenet(size: int, stages: Tuple[Tuple[int, int, int, int], ...] = MOBILE, last: int = 1280) -> Net:
    """MobileNetV2 for small images; a stage has an expansion, channels, a number of blocks and a stride."""
    w = Weights()
    blocks: List[Tuple[str, int, bool]] = []  # name, stride, and if the input is added

    def layer(name: str, *shape: int) -> None:
        w.random(name, *shape)
        w.norm(name, shape[2] if name.endswith("depth") else shape[3])

    layer("stem", 3, 3, 3, 32)
    inputs = 32
    for number, (expansion, outputs, repeats, stride) in enumerate(stages):
        for repeat in range(repeats):
            name, inner = f"{number}.{repeat}.", expansion * inputs
            blocks.append((name, 1 if repeat else stride, inputs == outputs and (repeat > 0 or stride == 1)))
            if expansion > 1:
                layer(name + "expand", 1, 1, inputs, inner)
            layer(name + "depth", 3, 3, inner, 1)
            layer(name + "project", 1, 1, inner, outputs)
            inputs = outputs
    layer("head", 1, 1, inputs, last)
    w.random("out", last, 10, gain=1)

    def normed(o: Any, w: Any, x: Any, name: str) -> Any:
        return o.norm(x, w[name + ".scale"], w[name + ".shift"])

    def compute(o: Any, w: Any, x: Any, y: Any) -> Any:
        x = o.relu6(normed(o, w, o.conv(x, w["stem"]), "stem"))
        for name, stride, added in blocks:
            h = x
            if name + "expand" in w:
                h = o.relu6(normed(o, w, o.conv(h, w[name + "expand"]), name + "expand"))
            h = o.relu6(normed(o, w, o.depthwise(h, w[name + "depth"], stride), name + "depth"))
            h = normed(o, w, o.conv(h, w[name + "project"]), name + "project")
            x = x + h if added else h
        x = o.relu6(normed(o, w, o.conv(x, w["head"]), "head"))
        return [(o.cross_entropy(y, o.matmul(o.mean(x), w["out"])), "")]

    feeds: List[Tuple[str, Shape]] = [("float32", (None, size, size, 3)), ("int32", (None,))]
    return Net(w, feeds, compute, _images(size, 3, (None,), 10))
