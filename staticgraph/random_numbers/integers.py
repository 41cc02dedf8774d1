"""TensorFlow's random integers, one at a time: what its shuffling draws."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from typing import Any

import numpy as np

from staticgraph.building.framework import get_seed
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.compiler.ops.random_numbers.philox import numpy_words

_BLOCKS = 256  # are computed at once


class RandomNumbers:
    """A stream of 32-bit integers that two seeds decide; without seeds, (0, 0), it may be any."""

    def __init__(self, seed: int, seed2: int) -> None:
        if seed == seed2 == 0:
            seed, seed2 = drawn_seeds()
        self._seeds = seed % 2**64, seed2 % 2**64
        self._numbers = self._stream()

    def __iter__(self) -> Iterator[int]:
        """The numbers that follow, without an end."""
        return self._numbers

    def next(self) -> int:
        """The next number."""
        return next(self._numbers)

    def _stream(self) -> Iterator[int]:
        for block in itertools.count(0, _BLOCKS):
            counters = np.arange(block, block + _BLOCKS, dtype=np.uint64)
            yield from numpy_words(counters, *self._seeds).ravel().tolist()


def drawn_seeds() -> tuple[int, int]:
    """Return two seeds of 64 bits that the operating system draws."""
    first, second = (int.from_bytes(os.urandom(8), "little") for _ in range(2))
    return first, second


def seeds_of(seed: Any) -> tuple[Any, Any]:
    """The two seeds of something random that is made now with this seed; (0, 0) where none is set.

    A tensor is a seed too: the second one then is a tensor.
    """
    if isinstance(seed, Tensor):
        return get_seed(1)[0], seed
    first, second = get_seed(seed)
    return first or 0, second or 0
