"""Random ops: pure functions of a state that the session keeps, with TensorFlow 1's streams.

The state of an operation is its first argument here: counter, seed and second seed, of dtype uint64. The
counter grows by `philox.advance` with every run. Seeds are data, not attributes of the kernel, so that
operations of equal shape share one. Operations whose two seeds are 0 are meant to differ from process to
process: their counter starts anywhere.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from staticgraph.compiler.graph.dtypes import FLOATING, DType, float32, float64, int32, int64, uint32, uint64
from staticgraph.compiler.graph.errors import DtypeError, require
from staticgraph.compiler.graph.opdef import Kind, ops
from staticgraph.compiler.graph.shapes import TensorType, operand_shape
from staticgraph.compiler.graph.sizes import is_open
from staticgraph.compiler.kernel import scalar
from staticgraph.compiler.kernel.binary_search import how_many
from staticgraph.compiler.kernel.expr import Const, Expr, Index, Local, substitute
from staticgraph.compiler.kernel.form import Scan, StagedForm
from staticgraph.compiler.kernel.stmt import (
    Buffer,
    If,
    Let,
    Loop,
    LoopKind,
    Stmt,
    Store,
    Update,
    While,
)
from staticgraph.compiler.ops import philox
from staticgraph.compiler.ops.exchanges import exchanged
from staticgraph.compiler.ops.kinds import Described, Out, View, drawn
from staticgraph.compiler.ops.loops import nested
from staticgraph.compiler.ops.movement import raveled, unraveled
from staticgraph.compiler.ops.samples import Draw, Sample, real

BOUND = 2.0  # truncated normal numbers are nearer to 0 than this
STATE = Draw((3,), 0, 1 << 40, dtype="uint64")  # tests draw the state like any other input


def _shaped_type(*state: TensorType, shape: Any, dtype: DType, **_: Any) -> TensorType:
    require(dtype in FLOATING, f"dtype is {dtype}, and must be floating", kind=DtypeError)
    return TensorType(dtype, operand_shape(shape, "shape"))


def block_of(number: Expr, state: View, per_block: int) -> tuple[list[Expr], Expr]:
    """The words for the element with this number, and the element's place among those of its block."""
    block = number // per_block
    words = philox.words(state[0] + scalar.cast(block, uint64), state[1], state[2])
    return words, number - block * per_block


def _blocks(state: np.ndarray, count: int, per_block: int) -> np.ndarray:
    counters = state[0] + np.arange(-(-count // per_block), dtype=np.uint64)
    return philox.numpy_words(counters, int(state[1]), int(state[2]))


def _numpy_uniform(state: np.ndarray, shape: Any, seed: int, seed2: int, dtype: DType) -> np.ndarray:
    n = math.prod(shape)
    blocks = _blocks(state, n, philox.per_block(dtype))
    return philox.numpy_uniform(blocks, dtype).reshape(-1)[:n].reshape(shape)


def _numpy_normal(state: np.ndarray, shape: Any, seed: int, seed2: int, dtype: DType) -> np.ndarray:
    n = math.prod(shape)
    blocks = _blocks(state, n, philox.per_block(dtype))
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
    Kind.SOURCE, tf="RandomStandardNormal", type=_shaped_type, numpy=_numpy_normal, operands=("shape",),
    partial=("shape",), samples=_float_samples(),
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
    Kind.ROUTINE, tf="TruncatedNormal", type=_shaped_type, numpy=_numpy_truncated, operands=("shape",),
    partial=("shape",), samples=_float_samples(),
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
    blocks = _blocks(state, n, 2 if wide else 4)
    unsigned = np.uint64 if wide else np.uint32
    bits = blocks.view(np.uint64) if wide else blocks
    span = unsigned(max(int(maxval) - int(minval), 1))
    low: Any = minval.astype(unsigned)
    return (low + bits.reshape(-1)[:n] % span).astype(minval.dtype).reshape(shape)


@drawn(
    Kind.SOURCE, tf="RandomUniformInt", type=_integer_type, numpy=_numpy_integer, operands=("shape",),
    partial=("shape",), dtypes=frozenset({int32, int64}),
    requires=lambda state, minval, maxval, **_: [
        ops.below(minval, maxval, of="random_uniform_int", operand="minval")
    ],
    samples=[
        Sample(STATE, Draw((), -5, 0), Draw((), 1, 100), shape=(3, 5), seed=3, seed2=4),
        Sample(STATE, Draw((), 0, 0), Draw((), 7, 7), shape=(), seed=3),
        Sample(STATE, Draw((), 2, 5), Draw((), 6, 9), shape=(17,), seed2=5),
    ],
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


def _multinomial_type(*types: TensorType, num_samples: Any, output_dtype: DType, **_: Any) -> TensorType:
    logits = types[-1]
    require(logits.rank in (None, 2), f"logits has rank {logits.rank}, 2 is needed")
    require(
        output_dtype in (int32, int64),
        f"output_dtype is {output_dtype}, and must be int32 or int64",
        kind=DtypeError,
    )
    require(logits.shape is None or logits.shape[1] != 0, "logits has no classes")
    rows = None if logits.shape is None else logits.shape[0]
    return TensorType(output_dtype, (rows, num_samples))


def _numpy_multinomial(
    state: np.ndarray, logits: np.ndarray, num_samples: int, seed: int, seed2: int, output_dtype: DType
) -> np.ndarray:
    wide, usable = logits.astype(np.float64), np.isfinite(logits)
    top = np.max(wide, axis=1, keepdims=True, where=usable, initial=-1e300)
    cdf = np.cumsum(np.where(usable, np.exp(wide - top), 0), axis=1)
    rows = len(logits)
    blocks = _blocks(state, rows * num_samples, 2)
    numbers = (
        philox.numpy_uniform(blocks, float64).reshape(-1)[: rows * num_samples].reshape(rows, num_samples)
    )
    out = [np.searchsorted(c, u * c[-1], side="right") for c, u in zip(cdf, numbers, strict=True)]
    return np.array(out, output_dtype.numpy).reshape(rows, num_samples)


@drawn(
    Kind.ROUTINE,
    tf="Multinomial",
    type=_multinomial_type,
    numpy=_numpy_multinomial,
    operands=("num_samples",),
    partial=("num_samples",),
    dtypes=FLOATING,
    samples=[
        Sample(STATE, real(2, 5), num_samples=7, seed=1, seed2=2),
        Sample(STATE, real(1, 3), num_samples=2, seed=9, output_dtype=int32),
        Sample(STATE, real(3, 1), num_samples=5, seed2=4),
    ],
)
def multinomial(
    outs: tuple[Out, ...], state: View, logits: View, *, num_samples: Any, seed: int = 0, seed2: int = 0,
    output_dtype: DType = int64,
) -> tuple[Stmt, ...] | Described:
    """`num_samples` classes per row, drawn with probabilities softmax(logits), as `output_dtype`."""
    (out,), (rows, classes) = outs, logits.shape
    row, sample = Index("row", rows), Index("sample", num_samples)
    over = {name: Index(name, classes) for name in ("peak", "sum", "scan")}
    best, total, running = (Local(name, float64) for name in ("best", "total", "running"))
    wanted, chosen = Local("wanted", float64), Local("chosen", int64)

    def usable(j: Index) -> Expr:
        return scalar.lt(scalar.abs(logits[row, j]), math.inf)

    def weight(j: Index) -> Expr:
        return scalar.select(
            usable(j), scalar.exp(scalar.cast(logits[row, j], float64) - best), Const(0, float64)
        )

    highest = scalar.maximum(best, scalar.cast(logits[row, over["peak"]], float64))
    words, lane = block_of(row * num_samples + sample, state, 2)
    number = philox.pick(philox.uniform(words, float64), lane)
    passed = scalar.cast(scalar.le(running, wanted), int64)
    body = (
        Loop(
            row,
            (
                Let(best, Const(-1e300, float64)),
                Loop(over["peak"], (Update(best, scalar.select(usable(over["peak"]), highest, best)),)),
                Let(total, Const(0, float64)),
                Loop(over["sum"], (Update(total, total + weight(over["sum"])),)),
                Loop(
                    sample,
                    (
                        Let(wanted, number * total),
                        Let(running, Const(0, float64)),
                        Let(chosen, Const(0, int64)),
                        Loop(
                            over["scan"],
                            (
                                Update(running, running + weight(over["scan"])),
                                Update(chosen, chosen + passed),
                            ),
                        ),
                        Store(out.buffer, (row, sample), scalar.cast(chosen, output_dtype)),
                    ),
                ),
            ),
            LoopKind.PARALLEL,
        ),
    )
    if is_open((*out.shape, classes)) or not out.shape[0] or not classes:
        return body
    j = Index("class", classes)
    peaks, sums = (Out(name, logits.shape, float64) for name in ("class_peaks", "class_sums"))
    left, right = Local("left", float64), Local("right", float64)
    finite = scalar.select(usable(j), scalar.cast(logits[row, j], float64), Const(-1e300, float64))
    highest_yet = Scan(peaks.buffer, (row, j), 1, finite, left, right, scalar.maximum(left, right))
    peak = peaks[row, classes - 1]
    added = substitute(weight(j), {best: peak})
    sums_yet = Scan(sums.buffer, (row, j), 1, added, left, right, left + right)
    lets, place = how_many(classes, lambda i: scalar.le(sums[row, i], wanted))
    draw = (
        Let(wanted, number * sums[row, classes - 1]), *lets,
        Store(out.buffer, (row, sample), scalar.cast(place, output_dtype)),
    )
    find = nested((row, sample), draw, LoopKind.PARALLEL)
    scratch = {each.buffer: Buffer(float64, logits.shape, written=True) for each in (peaks, sums)}
    return Described(body, StagedForm((highest_yet, sums_yet, find), scratch))


def _numpy_permutation(state: np.ndarray, size: int, seed: int, seed2: int) -> np.ndarray:
    order = np.arange(size, dtype=np.int64)
    words = _blocks(state, size, 4).reshape(-1)
    for i in range(size - 1):
        j = i + int(words[i]) % (size - i)
        order[i], order[j] = order[j], order[i]
    return order


@drawn(
    Kind.ROUTINE, type=lambda *state, size, **_: TensorType(int64, (size,)), numpy=_numpy_permutation,
    samples=[Sample(STATE, size=n, seed=5, seed2=n) for n in (9, 1, 0)],
)
def random_permutation(
    outs: tuple[Out, ...], state: View, *, size: int, seed: int = 0, seed2: int = 0
) -> tuple[Stmt, ...] | Described:
    """The numbers 0..size-1 in random order, by exchanging each with one of those that follow."""
    (out,) = outs
    fill, i = Index("fill", size), Index("i", max(0, size - 1))
    mine, other, place = Local("mine", int64), Local("other", int64), Local("place", int64)
    words, lane = block_of(i, state, 4)
    left = scalar.cast(size - i, uint32)
    target = i + scalar.cast(philox.pick(words, lane) % left, int64)
    body = (
        Loop(fill, (Store(out.buffer, (fill,), fill),)),
        Loop(
            i,
            (
                Let(place, scalar.minimum(target, size - 1)),  # as it is anyway
                Let(mine, out[i]),
                Let(other, out[place]),
                Store(out.buffer, (i,), other),
                Store(out.buffer, (place,), mine),
            ),
        ),
    )
    return Described(body, exchanged(out, i, target)) if size > 1 else body


def _numpy_shuffle(state: np.ndarray, value: np.ndarray, seed: int, seed2: int) -> np.ndarray:
    return value[_numpy_permutation(state, len(value), seed, seed2)] if value.ndim else value


@drawn(
    Kind.COMPOSITE, tf="RandomShuffle", type=lambda *types, **_: types[-1], numpy=_numpy_shuffle,
    no_gradient_known=True,
    samples=[
        Sample(STATE, real(7), seed=1, seed2=2),
        Sample(STATE, real(4, 3), seed=1, seed2=3),
        Sample(STATE, real(), seed=1),
    ],
)
def random_shuffle(state: Any, value: Any, *, seed: int = 0, seed2: int = 0) -> Any:
    """The rows of `value`, its parts along the first axis, in random order."""
    if value.rank == 0:
        return value
    attrs = {"size": value.shape[0], "seed": seed, "seed2": seed2}
    return ops.gather(value, state.recorder.apply(random_permutation, (state,), attrs), axis=0)
