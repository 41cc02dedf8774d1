"""Gamma and Poisson distributed numbers by rejection, with TensorFlow 1.15's streams.

Each number has a stretch of `philox.RESERVED` blocks for itself and draws from it until a candidate is
accepted, so that numbers do not depend on each other. Numbers of one distribution follow each other in the
stream, whatever their place in the result. Candidates are float64 whatever the dtype of the result.

Gamma: the method of Marsaglia and Tsang (2000). Poisson: products of uniform numbers for rates below 10, else
transformed rejection (Hoermann, 1993). As in TensorFlow, a block of two numbers gives its second one first.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from staticgraph.compiler.graph.dtypes import DType, as_dtype, float16, float32, float64, int32, int64, uint64
from staticgraph.compiler.graph.errors import DtypeError, require
from staticgraph.compiler.graph.opdef import Kind, ops
from staticgraph.compiler.graph.shapes import TensorType, operand_shape
from staticgraph.compiler.kernel import scalar
from staticgraph.compiler.kernel.expr import Const, Expr, Local
from staticgraph.compiler.kernel.stmt import If, Let, LoopKind, Stmt, Store, Update, While
from staticgraph.compiler.ops.arrays.movement import raveled
from staticgraph.compiler.ops.kinds import Out, View
from staticgraph.compiler.ops.random_numbers import philox
from staticgraph.compiler.ops.random_numbers.random import STATE, drawn
from staticgraph.compiler.ops.samples import Draw, Sample, real
from staticgraph.compiler.ops.statements.loops import counters, nested

_FLOATS = frozenset({float16, float32, float64})
_NUMBERS = _FLOATS | {int32, int64}
_SQUEEZE = 0.0331  # of Marsaglia and Tsang: accepts most candidates without a logarithm
_FEW = 10.0  # below this rate, uniform numbers are multiplied

_Numbers = Callable[[list[Expr], DType], list[Expr]]


# Streams: in a kernel, and of all numbers at once in NumPy.


class _Stream:
    """The random numbers of one element of the result, as statements of its kernel."""

    def __init__(self, state: View, number: Expr) -> None:
        self._seeds, self._block = (state[1], state[2]), Local("block", uint64)
        start = state[0] + scalar.cast(number, uint64) * philox.RESERVED
        self.lets: list[Stmt] = [Let(self._block, start)]

    def source(self, name: str, numbers: _Numbers) -> tuple[Local, tuple[Stmt, ...]]:
        """Return a local, and statements that give it the next of the `numbers` that a block makes."""
        value, kept, left = Local(name, float64), Local(f"{name}_kept", float64), Local(f"{name}_left", int64)
        zero = Const(0, float64)
        self.lets += [Let(value, zero), Let(kept, zero), Let(left, Const(0, int64))]
        first, second = numbers(philox.words(self._block, *self._seeds), float64)
        fresh = (Update(value, second), Update(kept, first), Update(self._block, self._block + 1))
        is_fresh = Local(f"{name}_is_fresh", int64)
        return value, (
            Let(is_fresh, 1 - left), Update(value, kept), Update(left, is_fresh),
            If(scalar.eq(is_fresh, 1), fresh),
        )  # fmt: skip


class _Streams:
    """The random numbers of all elements of a result, drawn for some of them at a time."""

    def __init__(self, state: np.ndarray, count: int) -> None:
        self._seeds = int(state[1]), int(state[2])
        self._block = state[0] + np.arange(count, dtype=np.uint64) * np.uint64(philox.RESERVED)
        self._kept = {numbers: np.zeros(count) for numbers in (philox.numpy_normal, philox.numpy_uniform)}
        self._left = {numbers: np.zeros(count, bool) for numbers in self._kept}

    def next(self, numbers: Any, which: np.ndarray) -> np.ndarray:
        """Return the next number of each of the elements `which`."""
        kept, left = self._kept[numbers], self._left[numbers]
        values, is_fresh = kept[which], ~left[which]
        fresh = which[is_fresh]
        pairs = numbers(philox.numpy_words(self._block[fresh], *self._seeds), float64)
        values[is_fresh], kept[fresh] = pairs[:, 1], pairs[:, 0]
        self._block[fresh] += np.uint64(1)
        left[which] = is_fresh
        return values


def _placed(numbers: np.ndarray, shape: Any, parameters: np.ndarray, dtype: DType) -> np.ndarray:
    """Return numbers that are in the order of the stream as a result of a shape and a dtype."""
    samples = math.prod(shape)
    placed = numbers.reshape(parameters.size, samples).T.reshape((*shape, *parameters.shape))
    if dtype is float16:
        placed = placed.astype(np.float32)
    return np.asarray(placed.astype(dtype.numpy))


def _rounded(value: Expr, dtype: DType) -> Expr:
    """Return a float64 number as one of `dtype`, by way of float32 for float16 as TensorFlow does it."""
    return scalar.cast(scalar.cast(value, float32) if dtype is float16 else value, dtype)


def _type(parameter: TensorType, dtype: DType, shape: Any) -> TensorType:
    leading = operand_shape(shape, "shape")
    if leading is None or parameter.shape is None:
        return TensorType(dtype, None)
    return TensorType(dtype, (*leading, *parameter.shape))


_Write = Callable[[_Stream, Expr], tuple[Local, tuple[Stmt, ...]]]


def _each_number(
    out: Out, state: View, parameter: View, shape: Any, write: _Write
) -> tuple[Stmt, ...]:
    """Statements that store a number at every position.

    Args:
        out: The result.
        state: The state of the op.
        parameter: The parameters of the distributions.
        shape: The shape of the numbers of each distribution.
        write: Makes, for the stream of a number and its parameter as float64, a local and the statements that
            give it the number.
    """
    at = counters(out.shape)
    sample, own = at[: len(shape)], at[len(shape) :]
    samples = math.prod(shape)
    number = raveled(own, parameter.shape) * samples if own else Const(0, int64)
    stream = _Stream(state, number + raveled(sample, shape) if sample else number)
    result, search = write(stream, scalar.cast(parameter[own], float64))
    store = Store(out.buffer, at, _rounded(result, out.dtype))
    return nested(at, (*stream.lets, *search, store), LoopKind.PARALLEL)


# Gamma.


def _gamma_type(*types: TensorType, shape: Any, **_: Any) -> TensorType:
    return _type(types[-1], types[-1].dtype, shape)


def _numpy_gamma(state: np.ndarray, alpha: np.ndarray, shape: Any, seed: int, seed2: int) -> np.ndarray:
    a = np.repeat(alpha.astype(np.float64).ravel(), math.prod(shape))
    streams, out = _Streams(state, a.size), np.empty(a.size)
    with np.errstate(all="ignore"):
        small, exponential = a < 1, a == 1
        d = a + np.where(small, 2 / 3, -1 / 3)
        c = 1 / 3 / np.sqrt(d)
        alone = np.flatnonzero(exponential)
        out[alone] = -np.log1p(-streams.next(philox.numpy_uniform, alone))
        left = np.flatnonzero(~exponential)
        while left.size:
            x = streams.next(philox.numpy_normal, left)
            v = 1 + c[left] * x
            inside = ~(v <= 0)
            which, x, v = left[inside], x[inside], v[inside] ** 3
            u = streams.next(philox.numpy_uniform, which)
            limit = 0.5 * x * x + d[which] * (1 - v + np.log(v))
            good = (u < 1 - _SQUEEZE * (x * x) * (x * x)) | (np.log(u) < limit)
            done = which[good]
            out[done] = d[done] * v[good]
            lifted = done[small[done]]
            out[lifted] *= streams.next(philox.numpy_uniform, lifted) ** (1 / a[lifted])
            left = np.setdiff1d(left, done, assume_unique=True)
    return _placed(out, shape, alpha, as_dtype(alpha.dtype))


def _gamma_grad(g: Any, y: Any, *inputs: Any, shape: Any, **_: Any) -> tuple[Any, ...]:
    """Each number moves so that its probability of being less stays the same."""
    alpha = inputs[-1]
    samples = tuple(range(y.type.rank - alpha.type.rank))
    by_alpha = g * ops.random_gamma_grad(alpha, y)
    return *(None for _ in inputs[:-1]), ops.reduce_sum(by_alpha, axis=samples) if samples else by_alpha


@drawn(
    Kind.ROUTINE, tf="RandomGamma", type=_gamma_type, numpy=_numpy_gamma,
    operands=("shape",), partial=("shape",), dtypes=_FLOATS, grad=_gamma_grad, grad_takes=(),
    differentiable=lambda count, **_: (count - 1,),
    samples=[Sample(STATE, real(3, low=0.1, high=3.0), shape=(4,), seed=1, seed2=2),
             Sample(STATE, Draw((2, 1), fixed=(1.0, 20.0)), shape=(2, 3), seed=9),
             Sample(STATE, real(low=0.1, high=0.9), shape=(), seed=1 << 33, seed2=4),
             Sample(STATE, real(2, 0, low=0.5), shape=(3,), seed2=4)],
)
def random_gamma(
    outs: tuple[Out, ...], state: View, alpha: View, *, shape: Any, seed: int = 0, seed2: int = 0
) -> tuple[Stmt, ...]:
    """`shape` numbers of gamma distribution for each `alpha`: density proportional to x^(alpha - 1) e^-x."""

    def write(stream: _Stream, a: Expr) -> tuple[Local, tuple[Stmt, ...]]:
        result, is_left = Local("result", float64), Local("is_left", int64)
        d, c, v = (Local(name, float64) for name in ("d", "c", "v"))
        x, next_normal = stream.source("normal", philox.normal)
        u, next_uniform = stream.source("uniform", philox.uniform)
        small, end = scalar.lt(a, 1.0), Update(is_left, Const(0, int64))
        squared = x * x
        limit = squared * 0.5 + d * (1.0 - v + scalar.log(v))
        accepted = scalar.lt(u, 1.0 - squared * _SQUEEZE * squared) | scalar.lt(scalar.log(u), limit)
        lift = (*next_uniform, Update(result, result * scalar.pow(u, 1.0 / a)))
        accept = (Update(result, d * v), If(small, lift), end)
        candidate = (Update(v, v * v * v), *next_uniform, If(accepted, accept))
        body = (*next_normal, Let(v, c * x + 1.0), If(scalar.invert(scalar.le(v, 0.0)), candidate))
        exponential = (*next_uniform, Update(result, -scalar.log1p(-u)), end)
        return result, (
            Let(result, Const(0, float64)),
            Let(is_left, Const(1, int64)),
            Let(d, a + scalar.select(small, Const(2 / 3, float64), Const(-1 / 3, float64))),
            Let(c, 1 / 3 / scalar.sqrt(d)),
            If(scalar.eq(a, 1.0), exponential),
            While(scalar.eq(is_left, 1), body),
        )

    return _each_number(outs[0], state, alpha, shape, write)


# Poisson.


def _poisson_type(*types: TensorType, shape: Any, dtype: DType, **_: Any) -> TensorType:
    require(dtype in _NUMBERS, f"dtype is {dtype}, and must be a floating or int32 or int64", kind=DtypeError)
    return _type(types[-1], dtype, shape)


def _numpy_poisson(
    state: np.ndarray, rate: np.ndarray, shape: Any, seed: int, seed2: int, dtype: DType
) -> np.ndarray:
    r = np.repeat(rate.astype(np.float64).ravel(), math.prod(shape))
    streams = _Streams(state, r.size)
    with np.errstate(all="ignore"):
        out = np.where(r < _FEW, _numpy_few(r, streams), _numpy_many(r, streams, float(dtype.max)))
    return _placed(out, shape, rate, dtype)


def _numpy_few(rate: np.ndarray, streams: _Streams) -> np.ndarray:
    """Return how many uniform numbers can be multiplied while the product is above exp(-rate)."""
    counts, product, least = np.zeros(rate.size), np.ones(rate.size), np.exp(-rate)
    left = np.flatnonzero(rate < _FEW)
    while left.size:
        product[left] *= streams.next(philox.numpy_uniform, left)
        left = left[product[left] > least[left]]
        counts[left] += 1
    return counts


def _numpy_many(rate: np.ndarray, streams: _Streams, highest: float) -> np.ndarray:
    out, left = np.zeros(rate.size), np.flatnonzero((rate >= _FEW) & (rate <= highest))
    lgamma = np.vectorize(math.lgamma, otypes=[np.float64])
    while left.size:
        u = streams.next(philox.numpy_uniform, left) - 0.5
        v = streams.next(philox.numpy_uniform, left)
        r = rate[left]
        b = 0.931 + 2.53 * np.sqrt(r)
        a = -0.059 + 0.02483 * b
        shifted = 0.5 - np.abs(u)
        k = np.floor((2 * a / shifted + b) * u + r + 0.43)
        inside = (shifted >= 0.07) & (v <= 0.9277 - 3.6224 / (b - 2))
        outside = (k < 0) | ((shifted < 0.013) & (v > shifted))
        s = np.log(v * (1.1239 + 1.1328 / (b - 3.4)) / (a / (shifted * shifted) + b))
        t = -r + k * np.log(r) - lgamma(np.maximum(k, 0) + 1)
        good = (k <= highest) & (inside | (~outside & (s <= t)))
        out[left[good]] = k[good]
        left = left[~good]
    return out


@drawn(
    Kind.ROUTINE, tf="RandomPoissonV2", type=_poisson_type, numpy=_numpy_poisson,
    operands=("shape",), partial=("shape",), dtypes=_NUMBERS, no_gradient_known=True,
    requires=lambda state, rate, dtype, **_: [
        ops.at_most(rate, limit=float(dtype.max), of="random_poisson", operand="rate")
    ],
    samples=[Sample(STATE, real(3, low=0.1, high=9.0), shape=(4,), seed=1, seed2=2),
             Sample(STATE, Draw((2, 1), 11.0, 80.0), shape=(2, 3), seed=9, dtype=int32),
             Sample(STATE, Draw((4,), fixed=(-1.0, 0.0, 10.0, 300.0)), shape=(), seed2=4, dtype=float64),
             Sample(STATE, Draw((2, 0), 1.0, 5.0), shape=(3,), seed2=4, dtype=float16)],
)
def random_poisson(
    outs: tuple[Out, ...], state: View, rate: View, *, shape: Any, seed: int = 0, seed2: int = 0,
    dtype: DType = int64,
) -> tuple[Stmt, ...]:
    """`shape` numbers of Poisson distribution for each `rate`, as `dtype`.

    No number of `dtype` is less than the highest rate.
    """

    def write(stream: _Stream, r: Expr) -> tuple[Local, tuple[Stmt, ...]]:
        result, is_left = Local("result", float64), Local("is_left", int64)
        u, next_uniform = stream.source("uniform", philox.uniform)
        many = scalar.ge(r, _FEW) & scalar.le(r, float(dtype.max))
        return result, (
            Let(result, Const(0, float64)),
            Let(is_left, scalar.cast(scalar.lt(r, _FEW), int64)),
            *_few(r, result, is_left, u, next_uniform),
            Update(is_left, scalar.cast(many, int64)),
            *_many(r, result, is_left, u, next_uniform, float(dtype.max)),
        )

    return _each_number(outs[0], state, rate, shape, write)


def _few(
    rate: Expr, result: Local, is_left: Local, u: Local, next_uniform: tuple[Stmt, ...]
) -> tuple[Stmt, ...]:
    product, least = Local("product", float64), Local("least", float64)
    more = scalar.gt(product, least)
    body = (
        *next_uniform, Update(product, product * u),
        If(more, (Update(result, result + 1.0),)), Update(is_left, scalar.cast(more, int64)),
    )  # fmt: skip
    start = Let(product, Const(1, float64)), Let(least, scalar.exp(-rate))
    return *start, While(scalar.eq(is_left, 1), body)


def _many(
    rate: Expr, result: Local, is_left: Local, u: Local, next_uniform: tuple[Stmt, ...], highest: float
) -> tuple[Stmt, ...]:
    names = ("rate", "log_rate", "a", "b", "limit", "inverse", "place", "shifted", "k")
    r, log_rate, a, b, limit, inverse, place, shifted, k = (Local(name, float64) for name in names)
    start = (
        Let(r, scalar.maximum(rate, _FEW)),  # as it is if the loop runs
        Let(log_rate, scalar.log(r)),
        Let(b, scalar.sqrt(r) * 2.53 + 0.931),
        Let(a, b * 0.02483 - 0.059),
        Let(limit, 0.9277 - 3.6224 / (b - 2.0)),
        Let(inverse, 1.1328 / (b - 3.4) + 1.1239),
    )
    s = scalar.log(u * inverse / (a / (shifted * shifted) + b))
    t = -r + k * log_rate - scalar.lgamma(scalar.maximum(k, 0.0) + 1.0)
    accept = Update(result, k), Update(is_left, Const(0, int64))
    inside = scalar.ge(shifted, 0.07) & scalar.le(u, limit)
    possible = scalar.ge(k, 0.0) & (scalar.ge(shifted, 0.013) | scalar.le(u, shifted))
    unlikely = If(scalar.eq(is_left, 1) & possible, (If(scalar.le(s, t), accept),))
    body = (
        *next_uniform, Let(place, u - 0.5), Let(shifted, 0.5 - scalar.abs(place)), *next_uniform,
        Let(k, scalar.floor((a * 2.0 / shifted + b) * place + r + 0.43)),
        If(scalar.le(k, highest), (If(inside, accept), unlikely)),
    )  # fmt: skip
    return *start, While(scalar.eq(is_left, 1), body)
