"""Residual networks: the list of their convolutions, their weights, and what they cost."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, slots=True)
class Conv:
    """A square convolution, padded by half its window, that is followed by batch normalization."""

    name: str
    inputs: int
    outputs: int
    window: int
    stride: int = 1


@dataclass(frozen=True, slots=True)
class Block:
    """Convolutions one after the other; their input, through `shortcut` where there is one, is added."""

    convs: tuple[Conv, ...]
    shortcut: Conv | None


@dataclass(frozen=True, slots=True)
class Net:
    """A residual network. `pooled`: a 3x3 max pooling with stride 2 follows the stem."""

    stem: Conv
    pooled: bool
    blocks: tuple[Block, ...]

    @property
    def convs(self) -> list[Conv]:
        """Every convolution, in the order in which it is used."""
        found = [self.stem]
        for block in self.blocks:
            found += [*block.convs, *filter(None, [block.shortcut])]
        return found


def resnet18(channels: int) -> Net:
    """ResNet-18 for images of 32x32: four stages of two blocks of two 3x3 convolutions."""
    blocks = []
    inputs = channels
    for stage in range(4):
        outputs = channels << stage
        for number in range(2):
            name, stride = f"s{stage}b{number}", 2 if stage and not number else 1
            convs = (
                Conv(name + "c1", inputs, outputs, 3, stride),
                Conv(name + "c2", outputs, outputs, 3),
            )
            shortcut = Conv(name + "d", inputs, outputs, 1, stride) if inputs != outputs else None
            blocks.append(Block(convs, shortcut))
            inputs = outputs
    return Net(Conv("stem", 3, channels, 3), False, tuple(blocks))


def resnet50(channels: int) -> Net:
    """ResNet-50: stages of 3, 4, 6 and 3 bottlenecks (1x1, 3x3, 1x1)."""
    blocks = []
    inputs = channels
    for stage, count in enumerate((3, 4, 6, 3)):
        inner = channels << stage
        for number in range(count):
            name, stride = f"s{stage}b{number}", 2 if stage and not number else 1
            convs = (
                Conv(name + "c1", inputs, inner, 1),
                Conv(name + "c2", inner, inner, 3, stride),
                Conv(name + "c3", inner, 4 * inner, 1),
            )
            blocks.append(Block(convs, None if number else Conv(name + "d", inputs, 4 * inner, 1, stride)))
            inputs = 4 * inner
    return Net(Conv("stem", 3, channels, 7, 2), True, tuple(blocks))


def weights(net: Net, classes: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Per convolution NAME.w, and scale, shift, mean and variance of its batch normalization: .g .b .m .v."""
    made = {}
    for conv in net.convs:
        inputs, outputs, window = conv.inputs, conv.outputs, conv.window
        deviation = math.sqrt(2 / (inputs * window**2))
        made[conv.name + ".w"] = rng.normal(size=(window, window, inputs, outputs)) * deviation
        made[conv.name + ".g"] = np.full(outputs, 0.5 if conv.name.endswith("c3") else 1.0)
        made[conv.name + ".b"] = np.zeros(outputs)
        made[conv.name + ".m"] = 0.1 * rng.normal(size=outputs)
        made[conv.name + ".v"] = rng.uniform(0.5, 1.5, outputs)
    features = net.blocks[-1].convs[-1].outputs
    made["fc.w"] = rng.normal(size=(features, classes)) / math.sqrt(features)
    made["fc.b"] = np.zeros(classes)
    return made


def is_statistic(name: str) -> bool:
    """Return True if a weight is a running mean or variance, which is not trained."""
    return name.endswith((".m", ".v"))


def folded(net: Net, weights: dict[str, np.ndarray], epsilon: float) -> dict[str, np.ndarray]:
    """The same network for inference, as an exporter writes it: per convolution only .w and a bias .b."""
    made = {name: weights[name] for name in ("fc.w", "fc.b")}
    for name in (conv.name for conv in net.convs):
        scale = weights[name + ".g"] / np.sqrt(weights[name + ".v"] + epsilon)
        made[name + ".w"] = weights[name + ".w"] * scale
        made[name + ".b"] = weights[name + ".b"] - weights[name + ".m"] * scale
    return made


def counts(net: Net, size: int) -> tuple[int, int]:
    """Multiplications in convolutions, and values that they make, for one image."""
    products = values = 0

    def add(conv: Conv, size: int) -> None:
        nonlocal products, values
        values += conv.outputs * size**2
        products += conv.inputs * conv.outputs * (conv.window * size) ** 2

    size //= net.stem.stride
    add(net.stem, size)
    size //= 2 if net.pooled else 1
    for block in net.blocks:
        for conv in block.convs:
            size //= conv.stride
            add(conv, size)
        if block.shortcut:
            add(block.shortcut, size)
    return products, values
