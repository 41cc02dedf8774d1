"""Philox4x32-10, the counter-based random generator of TensorFlow, and how its bits become numbers.

A block of four 32-bit words is a function of a 64-bit key and a 128-bit counter (Salmon et al., 2011). As in
TensorFlow, the key is `seed`, the upper half of the counter `seed2`, and the lower half runs. So any element
can be computed by itself, in any order, on any device. Each formula stands here twice: over scalars of a
kernel and over NumPy arrays.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from staticgraph.compiler.graph.dtypes import (
    DType,
    bfloat16,
    float16,
    float32,
    float64,
    uint16,
    uint32,
    uint64,
)
from staticgraph.compiler.kernel import scalar
from staticgraph.compiler.kernel.expr import Expr

RESERVED = 256  # blocks that TensorFlow sets aside per number, so that a sampler may reject
ROUNDS = 10
MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
WEYL = (0x9E3779B9, 0xBB67AE85)
TINY = 1e-7  # uniform numbers below it count as this before the logarithm of a normal number is taken

_LOW = 0xFFFFFFFF


def per_block(dtype: DType) -> int:
    """Return the count of numbers of `dtype` that a block of four words gives."""
    return 2 if dtype.size == 8 else 4


def words(counter: Expr, seed: Expr, seed2: Expr) -> list[Expr]:
    """The four words of the block at `counter`; all arguments are of dtype uint64."""
    key = [seed & _LOW, seed >> 32]
    # In vector lanes, words stay as wide as their products. What is in the upper halves does not matter.
    a, b, c, d = counter, counter >> 32, seed2, seed2 >> 32
    for _ in range(ROUNDS):
        first, third = ((word & _LOW) * m for word, m in zip((a, c), MULTIPLIERS, strict=True))
        a, b, c, d = (third >> 32) ^ b ^ key[0], third, (first >> 32) ^ d ^ key[1], first
        key = [k + w for k, w in zip(key, WEYL, strict=True)]
    return [scalar.cast(word, uint32) for word in (a, b, c, d)]


def uniform(block: list[Expr], dtype: DType) -> list[Expr]:
    """The numbers in [0, 1) that a block gives: its bits are the mantissas of numbers in [1, 2), less 1."""
    if dtype is float64:
        return [
            scalar.bitcast(
                (scalar.cast(high, uint64) & 0xFFFFF) << 32 | scalar.cast(low, uint64) | (1023 << 52), float64
            )
            - 1.0
            for high, low in (block[:2], block[2:])
        ]
    if dtype is float32:
        return [scalar.bitcast(word & 0x7FFFFF | 0x3F800000, float32) - 1.0 for word in block]
    mask, one = {float16: (0x3FF, 0x3C00), bfloat16: (0x7F, 0x3F80)}[dtype]
    return [scalar.bitcast(scalar.cast(word & mask | one, uint16), dtype) - 1.0 for word in block]


def normal(block: list[Expr], dtype: DType) -> list[Expr]:
    """Standard normal numbers by the method of Box and Muller: sine, cosine, sine, cosine."""
    wide = float64 if dtype is float64 else float32
    numbers = uniform(block, wide)
    out = []
    for u, v in zip(numbers[::2], numbers[1::2], strict=True):
        radius = scalar.sqrt(scalar.log(scalar.maximum(u, TINY)) * -2.0)
        angle = scalar.cast(scalar.cast(v, float64) * (2 * math.pi), wide)
        out += [
            scalar.cast(scalar.sin(angle) * radius, dtype),
            scalar.cast(scalar.cos(angle) * radius, dtype),
        ]
    return out


def pick(values: list[Expr], lane: Expr) -> Expr:
    """`values[lane]`."""
    chosen = values[-1]
    for i in reversed(range(len(values) - 1)):
        chosen = scalar.select(scalar.eq(lane, i), values[i], chosen)
    return chosen


def numpy_words(counters: np.ndarray, seed: int, seed2: int) -> np.ndarray:
    """The blocks at `counters`, one row of four words each."""
    m = np.uint64
    low, shift = m(_LOW), m(32)
    c = counters.astype(m)
    a, b = c & low, c >> shift
    x, y = np.full_like(c, seed2 & _LOW), np.full_like(c, seed2 >> 32 & _LOW)
    k, q = seed & _LOW, seed >> 32 & _LOW
    for _ in range(ROUNDS):
        p, r = a * m(MULTIPLIERS[0]), x * m(MULTIPLIERS[1])
        a, b, x, y = (r >> shift) ^ b ^ m(k), r & low, (p >> shift) ^ y ^ m(q), p & low
        k, q = (k + WEYL[0]) & _LOW, (q + WEYL[1]) & _LOW
    return np.stack([a, b, x, y], axis=-1).astype(np.uint32)


def numpy_uniform(block: np.ndarray, dtype: DType) -> np.ndarray:
    """`uniform` of blocks: the last axis of four words becomes one of numbers."""
    if dtype is float64:
        high, low = block[..., ::2].astype(np.uint64), block[..., 1::2].astype(np.uint64)
        return ((high % np.uint64(1 << 20)) * np.float64(2.0**32) + low) / np.float64(2.0**52)
    bits = {float16: 10, bfloat16: 7, float32: 23}[dtype]
    return ((block % np.uint32(1 << bits)) / np.float64(1 << bits)).astype(dtype.numpy)


def numpy_normal(block: np.ndarray, dtype: DType) -> np.ndarray:
    """`normal` of blocks."""
    wide: Any = np.float64 if dtype is float64 else np.float32
    numbers = numpy_uniform(block, float64 if dtype is float64 else float32)
    radius = np.sqrt(wide(-2) * np.log(np.maximum(numbers[..., ::2], wide(TINY))))
    angle = (2 * np.pi * numbers[..., 1::2].astype(np.float64)).astype(wide)
    pairs = np.stack([np.sin(angle) * radius, np.cos(angle) * radius], axis=-1)
    return dtype.round(pairs.reshape(*numbers.shape))
