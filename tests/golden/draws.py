"""Inputs of a golden case: arrays drawn from its own name, so that both sides see the same numbers."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Draw:
    """One input. A floating draw takes the floating type of the case, any other has a type of its own."""

    sample: Callable[[np.random.RandomState], np.ndarray]
    dtype: str | None = None

    @property
    def floating(self):
        return self.dtype is None

    def array(self, rng, floating_dtype):
        return np.asarray(self.sample(rng)).astype(self.dtype or floating_dtype)


def real(*shape, low=-2.0, high=2.0):
    return Draw(lambda rng: rng.uniform(low, high, shape))


def positive(*shape):
    return real(*shape, low=0.2, high=3.0)


def unit(*shape):
    """Strictly inside (-1, 1), for inverse functions and probabilities."""
    return real(*shape, low=-0.9, high=0.9)


def ints(*shape, low=-9, high=9, dtype="int32"):
    return Draw(lambda rng: rng.randint(low, high + 1, shape), dtype)


def bools(*shape):
    return Draw(lambda rng: rng.randint(0, 2, shape), "bool")


def distinct(*shape):
    """All elements differ, for orderings that must not depend on how ties are broken."""
    return Draw(lambda rng: (rng.permutation(int(np.prod(shape))).reshape(shape) - 3.0) / 4.0)


def simplex(*shape):
    """Rows of positive numbers that add up to one."""

    def sample(rng):
        weights = rng.uniform(0.1, 1.0, shape)
        return weights / weights.sum(-1, keepdims=True)

    return Draw(sample)


def given(values, dtype=None):
    """Exactly these numbers."""
    return Draw(lambda rng: np.array(values), dtype)


def generator(name, position=0):
    """The generator behind one input of a case. NumPy keeps the streams of RandomState frozen for ever."""
    return np.random.RandomState((zlib.crc32(name.encode()) + 7919 * position) % 2**32)


def draw(name, *sizes):
    """Numbers of float32 between -1 and 1, drawn from a name."""
    return generator(name).uniform(-1.0, 1.0, sizes).astype("float32")


def waves(tf):
    """An initializer by which no two elements of a variable are equal."""

    def initialize(shape, dtype=None, partition_info=None):
        sizes = [int(n) for n in shape]
        numbers = np.sin(1.3 * np.arange(np.prod(sizes, dtype=int)) + 0.4 * len(sizes)) * 0.6
        return tf.constant(numbers.reshape(sizes).astype("float32"), dtype or tf.float32)

    return initialize


def contrib(tf):
    """TensorFlow's own, or that of `staticgraph.compat.tf1`."""
    if hasattr(tf, "contrib"):
        return tf.contrib
    from staticgraph.tf1.compat import tf1

    return tf1.contrib
