"""Random ops: pure functions of a state that the session keeps, with TensorFlow 1's streams.

The state of an operation is its first argument here: counter, seed and second seed, of dtype uint64. The
counter grows by `advance` of the record with every run. Seeds are data, not attributes of the kernel, so that
operations of equal shape share one. Operations whose two seeds are 0 are meant to differ from process to
process: their counter starts anywhere.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from staticgraph.compiler.graph.dtypes import FLOATING, DType, float32, float64, int32, int64, uint32, uint64
from staticgraph.compiler.graph.errors import DtypeError, require
from staticgraph.compiler.graph.opdef import Effect, Kind, OpDef, ops
from staticgraph.compiler.graph.shapes import TensorType, operand_shape
from staticgraph.compiler.kernel import scalar
from staticgraph.compiler.kernel.expr import Const, Expr, Index, Local
from staticgraph.compiler.kernel.stmt import (
    If,
    Let,
    Loop,
    LoopKind,
    Stmt,
    Store,
    Update,
    While,
)
from staticgraph.compiler.ops.arrays.movement import raveled, unraveled
from staticgraph.compiler.ops.kinds import Out, View, indexed
from staticgraph.compiler.ops.random_numbers import philox
from staticgraph.compiler.ops.samples import Draw, Sample

BOUND = 2.0  # truncated normal numbers are nearer to 0 than this
STATE = Draw((3,), 0, 1 << 40, dtype="uint64")  # tests draw the state like any other input


def drawn(kind: Kind, **fields: Any) -> Callable[[Callable[..., Any]], OpDef]:
    """A random op, computed as ops of `kind` are. Its function gets the op's random state before the tensors.

    In the user's graph the op has no such input. The state joins when the op is compiled, so `type` takes
    both forms. Without `advance`, TensorFlow's blocks for each number of the result are set aside.
    """
    skip = 1 if kind is Kind.COMPOSITE else 2
    usual = {"effect": Effect.RANDOM, "differentiable": False, "advance": _reserved}
    return indexed(kind, skip)(**usual | fields)


def _reserved(types: Sequence[TensorType], shape: Sequence[int], /, **_: Any) -> int:
    return math.prod(shape) * philox.RESERVED


def _shaped_type(*state: TensorType, shape: Any, dtype: DType, **_: Any) -> TensorType:
    require(dtype in FLOATING, f"dtype is {dtype}, and must be floating", kind=DtypeError)
    return TensorType(dtype, operand_shape(shape, "shape"))


def block_of(number: Expr, state: View, per_block: int) -> tuple[list[Expr], Expr]:
    """The words for the element with this number, and the element's place among those of its block."""
    block = number // per_block
    words = philox.words(state[0] + scalar.cast(block, uint64), state[1], state[2])
    return words, number - block * per_block


def blocks_of(state: np.ndarray, count: int, per_block: int) -> np.ndarray:
    """The words for `count` elements, by block."""
    counters = state[0] + np.arange(-(-count // per_block), dtype=np.uint64)
    return philox.numpy_words(counters, int(state[1]), int(state[2]))


def _numpy_uniform(state: np.ndarray, shape: Any, seed: int, seed2: int, dtype: DType) -> np.ndarray:
    n = math.prod(shape)
    blocks = blocks_of(state, n, philox.per_block(dtype))
    return philox.numpy_uniform(blocks, dtype).reshape(-1)[:n].reshape(shape)


def _numpy_normal(state: np.ndarray, shape: Any, seed: int, seed2: int, dtype: DType) -> np.ndarray:
    n = math.prod(shape)
    blocks = blocks_of(state, n, philox.per_block(dtype))
    return philox.numpy_normal(blocks, dtype).reshape(-1)[:n].reshape(shape)


def _float_samples() -> list[Sample]:
    shapes: list[tuple[int, ...]] = [(3, 5), (), (2, 0), (4,)]
    return [
        Sample(STATE, shape=shape, dtype=dtype, seed=seed, seed2=7)
        for shape, dtype, seed in zip(
            shapes, (float32, float64, float32, float64), (1, 87654321, 1 << 33, 5), strict=True
        )
    ]


@drawn(
    Kind.SOURCE, name="random_uniform", tf="RandomUniform", type=_shaped_type, numpy=_numpy_uniform,
    operands=("shape",), partial=("shape",), samples=_float_samples(),
)
def random_unit(
    at: tuple[Expr, ...], state: View, *, shape: Any, seed: int = 0, seed2: int = 0, dtype: DType = float32
) -> Expr:
    """Numbers of uniform distribution in [0, 1)."""
    words, lane = block_of(raveled(at, shape), state, philox.per_block(dtype))
    return philox.pick(philox.uniform(words, dtype), lane)


@drawn(
    Kind.SOURCE, tf="RandomStandardNormal", type=_shaped_type, numpy=_numpy_normal,
    operands=("shape",), partial=("shape",), samples=_float_samples(),
)
def random_standard_normal(
    at: tuple[Expr, ...], state: View, *, shape: Any, seed: int = 0, seed2: int = 0, dtype: DType = float32
) -> Expr:
    """Numbers of normal distribution with mean 0 and standard deviation 1."""
    words, lane = block_of(raveled(at, shape), state, philox.per_block(dtype))
    return philox.pick(philox.normal(words, dtype), lane)


def _numpy_truncated(state: np.ndarray, shape: Any, seed: int, seed2: int, dtype: DType) -> np.ndarray:
    n, size = math.prod(shape), philox.per_block(dtype)
    wide = float64 if dtype is float64 else float32
    unfinished = np.arange(-(-n // size))
    blocks = state[0] + unfinished.astype(np.uint64) * np.uint64(size * philox.RESERVED // 4)
    out, found = np.empty((len(blocks), size), wide.numpy), np.zeros(len(blocks), np.int64)
    while len(unfinished):
        words = philox.numpy_words(blocks[unfinished], int(state[1]), int(state[2]))
        for numbers in philox.numpy_normal(words, wide).T:
            good = (np.abs(numbers) < BOUND) & (found[unfinished] < size)
            groups = unfinished[good]
            out[groups, found[groups]] = numbers[good]
            found[groups] += 1
        blocks[unfinished] += np.uint64(1)
        unfinished = unfinished[found[unfinished] < size]
    return dtype.round(out.reshape(-1)[:n].reshape(shape))


@drawn(
    Kind.ROUTINE, tf="TruncatedNormal", type=_shaped_type, numpy=_numpy_truncated,
    operands=("shape",), partial=("shape",), samples=_float_samples(),
)
def truncated_normal(
    outs: tuple[Out, ...], state: View, *, shape: Any, seed: int = 0, seed2: int = 0, dtype: DType = float32
) -> tuple[Stmt, ...]:
    """Numbers of normal distribution, those with an absolute value of 2 or more drawn again.

    As in TensorFlow, each group of as many numbers as a block holds has a stretch of the stream for itself.
    """
    (out,), n, size = outs, math.prod(shape), philox.per_block(dtype)
    group = Index("group", -(-n // size))
    block, found = Local("block", uint64), Local("found", int64)
    words = philox.words(block, state[1], state[2])
    body: list[Stmt] = []
    for i, value in enumerate(philox.normal(words, float64 if dtype is float64 else float32)):
        number = group * size + found
        drawn_value = Local(f"drawn{i}", value.dtype)
        within = scalar.lt(scalar.abs(drawn_value), BOUND) & scalar.lt(found, size)
        store = Store(out.buffer, unraveled(number, shape), scalar.cast(drawn_value, dtype))
        body += [
            Let(drawn_value, value),
            If(within, (If(scalar.lt(number, n), (store,)), Update(found, found + 1))),
        ]
    start = state[0] + scalar.cast(group * (size * philox.RESERVED // 4), uint64)
    search = While(scalar.lt(found, size), (*body, Update(block, block + 1)))
    return (Loop(group, (Let(block, start), Let(found, Const(0, int64)), search), LoopKind.PARALLEL),)


def _integer_type(*types: TensorType, shape: Any, **_: Any) -> TensorType:
    low, high = types[-2:]
    for name, t in (("minval", low), ("maxval", high)):
        require(t.rank in (None, 0), f"{name} has rank {t.rank}, and must be a scalar")
    return TensorType(low.dtype, operand_shape(shape, "shape"))


def _numpy_integer(
    state: np.ndarray, minval: np.ndarray, maxval: np.ndarray, shape: Any, seed: int, seed2: int
) -> np.ndarray:
    n, wide = math.prod(shape), minval.dtype.itemsize == 8
    blocks = blocks_of(state, n, 2 if wide else 4)
    unsigned = np.uint64 if wide else np.uint32
    bits = blocks.view(np.uint64) if wide else blocks
    span = unsigned(max(int(maxval) - int(minval), 1))
    low: Any = minval.astype(unsigned)
    return (low + bits.reshape(-1)[:n] % span).astype(minval.dtype).reshape(shape)


@drawn(
    Kind.SOURCE, tf="RandomUniformInt", type=_integer_type, numpy=_numpy_integer,
    operands=("shape",), partial=("shape",), dtypes=frozenset({int32, int64}),
    requires=lambda state, minval, maxval, **_: [
        ops.below(minval, maxval, of="random_uniform_int", operand="minval")
    ],
    samples=[Sample(STATE, Draw((), -5, 0), Draw((), 1, 100), shape=(3, 5), seed=3, seed2=4),
             Sample(STATE, Draw((), 0, 0), Draw((), 7, 7), shape=(), seed=3),
             Sample(STATE, Draw((), 2, 5), Draw((), 6, 9), shape=(17,), seed2=5)],
)
def random_uniform_int(
    at: tuple[Expr, ...],
    state: View,
    minval: View,
    maxval: View,
    *,
    shape: Any,
    seed: int = 0,
    seed2: int = 0,
) -> Expr:
    """Integers of uniform distribution from `minval` up to but not including `maxval`."""
    wide = minval.dtype is int64
    words, lane = block_of(raveled(at, shape), state, 2 if wide else 4)
    unsigned = uint64 if wide else uint32
    if wide:
        words = [
            scalar.cast(low, uint64) | scalar.cast(high, uint64) << 32 for low, high in (words[:2], words[2:])
        ]
    low, high = (scalar.cast(v[()], unsigned) for v in (minval, maxval))
    return scalar.cast(low + philox.pick(words, lane) % (high - low), minval.dtype)
