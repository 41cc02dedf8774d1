"""The rows: a net, and the sizes of its steps in order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Callable, Tuple

import numpy as np

from benchmarks.sizes import nets

Sizes = Tuple[int, ...]


@dataclass(frozen=True)
class Story:
    """A net and the sizes of its steps; `small` is a pair of both for tests."""

    title: str
    net: Callable[[], nets.Net]
    sizes: Sizes
    small: Tuple[Callable[[], nets.Net], Sizes]

    @property
    def open(self) -> bool:
        """Several sizes take part; otherwise it is about the first step."""
        return len(set(self.sizes)) > 1


def _random(count: int, low: int, high: int) -> Sizes:
    return tuple(map(int, np.random.default_rng(300).integers(low, high + 1, count)))


def _small_mobile() -> nets.Net:
    return nets.mobilenet(8, ((1, 4, 1, 1), (2, 4, 2, 2)), 8)


STORIES = {
    "cnn_39": Story(
        "small CNN and Adam, batches of 1 to 39 once each",
        lambda: nets.cnn(16, 32, 64),
        tuple(range(1, 40)),
        (lambda: nets.cnn(2, 3, 4), (1, 2, 3)),
    ),
    "cnn_300": Story(
        "CNN and Adam, 300 batches of random size 1 to 128",
        lambda: nets.cnn(32, 64, 128),
        _random(300, 1, 128),
        (lambda: nets.cnn(2, 3, 4), (3, 1, 3)),
    ),
    "tagger": Story(
        "LSTM tagger and Adam, 200 batches of random length 5 to 60",
        lambda: nets.tagger(128, 16),
        _random(200, 5, 60),
        (lambda: nets.tagger(4, 2, 9, 3), (5, 2, 5)),
    ),
    "gpt": Story(
        "GPT, 2 layers of 64, 200 tokens with a growing context",
        lambda: nets.gpt(64, 2, 4, 256),
        tuple(range(1, 201)),
        (lambda: nets.gpt(4, 1, 2, 9, 5), (1, 2, 3)),
    ),
    "segmenter": Story(
        "fully convolutional net and Adam, 100 pairs of images of random side 16 to 96",
        lambda: nets.segmenter(24),
        _random(100, 16, 96),
        (lambda: nets.segmenter(4), (6, 5, 9)),
    ),
    "unet": Story(
        "U-Net training, first step",
        lambda: nets.unet(64, 16, 3),
        (4,),
        (lambda: nets.unet(8, 2, 2), (2,)),
    ),
    "dcgan": Story(
        "DCGAN training, first step",
        lambda: nets.dcgan(32),
        (16,),
        (lambda: nets.dcgan(2), (3,)),
    ),
    "mobilenet": Story(
        "MobileNetV2 training, first step",
        lambda: nets.mobilenet(32),
        (8,),
        (_small_mobile, (2,)),
    ),
}
