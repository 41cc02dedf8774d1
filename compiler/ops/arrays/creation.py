"""Tensors made from a shape or from a few numbers."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from staticgraph.compiler.graph.dtypes import (
    ANY,
    FLOATING,
    REAL,
    DType,
    as_dtype,
    blank,
    float32,
    float64,
    int32,
    int64,
    uint64,
)
from staticgraph.compiler.graph.errors import DtypeError, require
from staticgraph.compiler.graph.opdef import OPS, Effect, ops
from staticgraph.compiler.graph.shapes import TensorType, compatible, operand_shape, shape_text
from staticgraph.compiler.graph.sizes import AnySize, Size, bounds, positive, proven
from staticgraph.compiler.kernel import scalar
from staticgraph.compiler.kernel.expr import Expr, number
from staticgraph.compiler.ops.arrays.movement import raveled
from staticgraph.compiler.ops.kinds import View, composite, movement, same_type, source, structural
from staticgraph.compiler.ops.samples import Draw, Sample, fixed, real

_MOST_STEPS = 1 << 56  # of a range, a number for all that is more: a run tells that there is no memory for it


def _fill_type(value: TensorType, dims: Any) -> TensorType:
    require(
        compatible(value.shape, ()),
        f"the value must be a number, not of shape {shape_text(value.shape)}",
        hint="tile and broadcast_to repeat an array",
    )
    return TensorType(value.dtype, operand_shape(dims, "dims"))


@movement(
    tf="Fill", type=_fill_type, numpy=lambda value, dims: np.full(dims, value, np.asarray(value).dtype),
    operands=("dims",), partial=("dims",), dtypes=ANY, strings=True,
    grad=lambda g, y, value, dims: (ops.reduce_sum(g),), grad_takes=(),
    samples=[Sample(real(), dims=(2, 3)), Sample(real(), dims=()), Sample(real(), dims=(0,)),
             Sample(real(), dims=(7,))],
)
def fill(at: tuple[Expr, ...], value: View, *, dims: Any) -> Expr:
    """A tensor of shape `dims` with `value` everywhere."""
    return value[()]


def _extents_type(sizes: Any, shape: Any, dtype: DType) -> TensorType:
    require(dtype.is_integer, f"dtype is {dtype}, and must be an integer", kind=DtypeError)
    whole = isinstance(sizes, tuple) and all(isinstance(n, int | Size) for n in sizes)
    require(whole and sizes, "sizes are integers, one at least")
    known = operand_shape(shape, "shape")
    full = known is not None and None not in known and math.prod(n or 0 for n in known) == len(sizes)
    require(full, f"{len(sizes)} sizes do not fill the shape {shape_text(known)}")
    return TensorType(dtype, known)


@source(
    type=_extents_type,
    numpy=lambda sizes, shape, dtype: np.array(sizes, dtype.numpy).reshape(shape),
    samples=None,  # the builder makes it, of sizes that are known when a step is captured
)
def extents(at: tuple[Expr, ...], *, sizes: Any, shape: Any, dtype: DType) -> Expr:
    """The `sizes` of axes as an array. Some of them are open: known in a run, not before."""
    position, found = raveled(at, shape), number(sizes[0], int64)
    for place, size in enumerate(sizes[1:], 1):
        found = scalar.select(scalar.read("eq", position, place), number(size, int64), found)
    return scalar.cast(found, dtype)


@structural(
    type=lambda dtype, shape: TensorType(dtype, shape),
    numpy=lambda dtype, shape: np.zeros(shape, dtype.numpy),
    differentiable=False,
    effect=Effect.MARK,  # not a constant: nothing may be computed from it
    internal=True,
)
def unset(*, dtype: DType, shape: Any) -> Any:
    """Memory whose elements are written before they are read."""


_LIKE = [Sample(real(2, 3)), Sample(real()), Sample(real(0, 2))]


@composite(
    tf="ZerosLike", type=same_type, numpy=lambda x: blank(x.shape, x.dtype), dtypes=ANY, strings=True,
    differentiable=False, samples=_LIKE,
)
def zeros_like(x: Any) -> Any:
    """Zeros in the shape and dtype of `x`, whose elements it does not need."""
    return fill(x.recorder.constant(0, x.dtype), dims=x.shape)


@composite(tf="OnesLike", type=same_type, numpy=np.ones_like, dtypes=ANY, differentiable=False, samples=_LIKE)
def ones_like(x: Any) -> Any:
    """Ones in the shape and dtype of `x`, whose elements it does not need."""
    return fill(x.recorder.constant(1, x.dtype), dims=x.shape)


def range_length(start: Any, limit: Any, delta: Any, dtype: DType) -> int:
    """Return the length of the result of `range`. It is computed in the dtype, as in TensorFlow."""
    require(delta != 0, "delta is 0")
    rising = delta > 0
    require(start <= limit if rising else start >= limit,
            f"from {start} to {limit} no steps of {delta} lead: the sign of delta must fit")
    if all(isinstance(n, int | Size) for n in (start, limit, delta)):
        return -((start - limit) // delta) if rising else -((limit - start) // -delta)
    with np.errstate(over="ignore"):
        steps = np.ceil(np.abs(np.subtract(limit, start, dtype=dtype.numpy) / dtype.numpy.type(delta)))
    return int(min(float(steps), _MOST_STEPS))


def _range_type(start: Any, limit: Any, delta: Any, dtype: DType) -> TensorType:
    require(dtype in REAL, f"dtype is {dtype}, and must be a real number", kind=DtypeError)
    for name, n in (("start", start), ("limit", limit), ("delta", delta)):
        inside = dtype.is_floating or name == "limit" or n is None or dtype.min <= n <= dtype.max
        fits = n is None or isinstance(n, Size) or (math.isfinite(n) and inside)
        require(fits, f"{name} is {n}, and does not fit into {dtype}", kind=DtypeError)
    known = None not in (start, limit, delta)
    return TensorType(dtype, (range_length(start, limit, delta, dtype) if known else None,))


def _range(start: Any, limit: Any, delta: Any, dtype: DType) -> np.ndarray:
    steps = np.arange(range_length(start, limit, delta, dtype), dtype=dtype.numpy)
    return steps * dtype.numpy.type(delta) + dtype.numpy.type(start)


def _interval_of_range(y: Any, *_: Any) -> tuple[float, float]:
    ends = [bounds(y.node.attrs[name]) for name in ("start", "limit")]
    return min(least for least, _ in ends), max(greatest for _, greatest in ends)


def _steps(start: np.ndarray, limit: np.ndarray, delta: np.ndarray) -> np.ndarray:
    length = range_length(start.item(), limit.item(), delta.item(), as_dtype(start.dtype))
    return np.array(min(length, _MOST_STEPS), np.int64)


def check_numbers(*types: TensorType) -> None:
    """Refuse arrays where a range has numbers, for a type rule."""
    for given in types:
        require(given.shape in (None, ()), f"a range has numbers, not an array of {shape_text(given.shape)}")


def _count_type(*numbers: TensorType) -> TensorType:
    check_numbers(*numbers)
    return TensorType(int64, ())


def _number(value: int) -> Draw:
    return fixed(np.array(value))


@composite(
    type=_count_type, numpy=_steps, dtypes=REAL, differentiable=False,
    requires=lambda start, limit, delta: [ops.steps_lead(start, limit, delta, of="range")],
    samples=[Sample(_number(0), _number(5), _number(2)), Sample(_number(3), _number(3), _number(1)),
             Sample(_number(1), _number(20), _number(7))],
)
def range_count(start: Any, limit: Any, delta: Any) -> Any:
    """The number of steps of `delta` from `start` up to `limit` exclusively, if a run tells it.

    Whole numbers are without a sign: those between the ends of int64 are more than an int64 holds.
    """
    if start.dtype.is_floating:
        steps = ops.cast(ops.ceil(ops.abs((limit - start) / delta)), dtype=float64)
        most = np.float64(_MOST_STEPS)
        return ops.cast(ops.select(steps < most, steps, most), dtype=int64)
    rising = ops.greater(delta, ops.zeros_like(delta))
    first, last, step = (ops.cast(n, dtype=uint64) for n in (start, limit, delta))
    apart = ops.select(rising, last - first, first - last)
    size = ops.maximum(ops.select(rising, step, ops.zeros_like(step) - step), np.uint64(1))
    whole = ops.floor_div(apart, size)
    steps = whole + ops.cast(ops.not_equal(apart, whole * size), dtype=uint64)
    return ops.cast(ops.minimum(steps, np.uint64(_MOST_STEPS)), dtype=int64)


@source(
    tf="Range", counted="range_count", type=_range_type, numpy=_range,
    operands=("start", "limit", "delta"), partial=("start", "limit", "delta"),
    samples=[Sample(start=0, limit=5, delta=1, dtype=int32), Sample(start=10, limit=0, delta=-3, dtype=int64),
             Sample(start=0.5, limit=3.0, delta=0.25, dtype=float32),
             Sample(start=2, limit=2, delta=1, dtype=int32)],
    name="range", interval=_interval_of_range,
)
def range_(at: tuple[Expr, ...], *, start: float, limit: float, delta: float, dtype: DType) -> Expr:
    """start, start + delta, start + 2 * delta, ... up to `limit` exclusively."""
    return scalar.cast(at[0], dtype) * number(delta, dtype) + number(start, dtype)


def positions(x: Any, n: AnySize, dtype: DType = int32) -> Any:
    """The numbers 0 to n-1, in the builder that the value `x` is in."""
    return x.recorder.record(OPS["range"], {"start": 0, "limit": n, "delta": 1, "dtype": dtype})


def numbers_below(like: Any, n: AnySize) -> Any:
    """The numbers 0 to n-1 in the dtype of `like`: a constant, unless the size is open."""
    if isinstance(n, Size):
        return positions(like, n, like.dtype)
    return np.arange(n, dtype=like.dtype.numpy)


def _lin_space_type(start: TensorType, stop: TensorType, num: Any) -> TensorType:
    fits = compatible(start.shape, ()) and compatible(stop.shape, ())
    require(fits, f"start {shape_text(start.shape)} and stop {shape_text(stop.shape)} must be numbers")
    require(num is None or num > 0, f"num is {num}, and must be positive")
    return TensorType(start.dtype, (num,))


def _lin_space(start: np.ndarray, stop: np.ndarray, num: int) -> np.ndarray:
    wide = np.result_type(start.dtype, np.float32)
    return np.linspace(start, stop, num, dtype=wide).astype(start.dtype)


@composite(
    tf="LinSpace", wide=True, type=_lin_space_type, numpy=_lin_space, operands=("num",), partial=("num",),
    dtypes=FLOATING,
    samples=[Sample(real(), real(), num=5), Sample(real(), real(), num=1), Sample(real(), real(), num=2)],
)
def lin_space(start: Any, stop: Any, *, num: int) -> Any:
    """`num` numbers at equal distances, from `start` to `stop` inclusively; only `start` where num is 1."""
    steps = start.recorder.constant(positive(num - 1), int64)
    made = start + positions(start, num, start.dtype) * ((stop - start) / ops.cast(steps, dtype=start.dtype))
    # The steps add up to nearly the whole way, so that the last number is given.
    place = positions(start, num)
    last = ops.equal(place, num - 1)
    if not proven(operator.gt, num, 1):
        last = ops.logical_and(last, ops.greater(place, 0))
    return ops.select(last, stop, made)
