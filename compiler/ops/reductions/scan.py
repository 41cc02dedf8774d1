"""Running totals and linear recurrences along an axis."""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from staticgraph.compiler.graph.dtypes import COMPLEX, FLOATING, NUMERIC, float32
from staticgraph.compiler.graph.errors import OperandError
from staticgraph.compiler.graph.opdef import ops
from staticgraph.compiler.graph.shapes import TensorType, merge, normalize_axis
from staticgraph.compiler.graph.sizes import AnySize, at_most, proven, same
from staticgraph.compiler.kernel import scalar
from staticgraph.compiler.kernel.expr import Const, Expr, Index, Local
from staticgraph.compiler.kernel.form import Scan
from staticgraph.compiler.kernel.stmt import Let, Loop, Stmt, Store, Update
from staticgraph.compiler.ops.kinds import (
    Described,
    Out,
    View,
    holomorphic,
    in_float32,
    rounded_once,
    routine,
)
from staticgraph.compiler.ops.samples import Sample, real
from staticgraph.compiler.ops.statements.loops import counters, first_of, nested


def _type(
    x: TensorType, axis: int | None = 0, exclusive: bool = False, reverse: bool = False
) -> TensorType:
    if x.shape is not None and axis is not None:
        normalize_axis(axis, len(x.shape), kind=OperandError)
    return x


def scanned(
    out: Out,
    x: View,
    axis: int,
    exclusive: bool,
    reverse: bool,
    start: float,
    combine: Callable[[Expr, Expr], Expr],
) -> tuple[Stmt, ...] | Described:
    """The first element along `axis`, then each from the one before it, for all positions side by side."""
    axis = normalize_axis(axis, x.rank)
    body = _statements(out, x, axis, exclusive, reverse, start, combine)
    if not proven(operator.ge, x.shape[axis], 2):
        return body
    left, right = Local("left", x.dtype), Local("right", x.dtype)
    at, first = counters(x.shape), Const(start, x.dtype) if exclusive else None
    return Described(
        body, Scan(out.buffer, at, axis, x[at], left, right, combine(left, right), first, reverse)
    )


def _position(at: tuple[Index, ...], axis: int, n: AnySize, reverse: bool, k: Expr) -> tuple[Expr, ...]:
    """Element `k` of the `n` along `axis`, counted from the end if `reverse`."""
    return at[:axis] + ((n - 1) - k if reverse else k,) + at[axis + 1 :]


def _statements(
    out: Out,
    x: View,
    axis: int,
    exclusive: bool,
    reverse: bool,
    start: float,
    combine: Callable[[Expr, Expr], Expr],
) -> tuple[Stmt, ...]:
    n = x.shape[axis]
    if same(n, 0):
        return ()
    at = counters(x.shape)
    position = partial(_position, at, axis, n, reverse)
    step, inner = Index("step", n - 1), at[axis + 1 :]
    start_at, begun = first_of(n)
    here, before, first = position(step + 1), position(step + 0), position(start_at)
    head = Const(start, x.dtype) if exclusive else x[first]
    item = x[before if exclusive else here]
    if not inner:
        total = Local("total", x.dtype)  # at hand, where memory would make each step wait
        grow = Update(total, combine(total, item)), Store(out.buffer, here, total)
        line = Let(total, head), Store(out.buffer, first, total), Loop(step, grow)
        return nested((*at[:axis], *begun), line)
    body = (
        *nested((*begun, *inner), (Store(out.buffer, first, head),)),
        Loop(step, nested(inner, (Store(out.buffer, here, combine(out[before], item)),))),
    )
    return nested(at[:axis], body)


def _numpy_scan(accumulate: Callable[..., Any], start: float) -> Callable[..., np.ndarray]:
    def reference(x: np.ndarray, axis: int = 0, exclusive: bool = False, reverse: bool = False) -> np.ndarray:
        x = np.flip(x, axis) if reverse else x
        if exclusive:
            head = np.full_like(np.take(x, np.arange(min(1, x.shape[axis])), axis), start)
            x = np.concatenate(
                [head, np.take(x, np.arange(x.shape[axis] - 1), axis)] if x.shape[axis] else [x], axis
            )
        total = accumulate(x, axis=axis, dtype=x.dtype)
        return np.flip(total, axis) if reverse else total

    return rounded_once(reference)


_SAMPLES = [
    Sample(real(5, low=0.5)),
    Sample(real(2, 3, 4, low=0.5), axis=1, exclusive=True),
    Sample(real(3, 4, low=0.5), axis=-1, reverse=True),
    Sample(real(3, 2, low=0.5), exclusive=True, reverse=True),
    Sample(real(0, 2)),
    Sample(real(1, 2, low=0.5), exclusive=True),
]


def _cumsum_grad(
    g: Any, y: Any, x: Any, axis: int = 0, exclusive: bool = False, reverse: bool = False
) -> tuple[Any]:
    return (cumsum(g, axis=axis, exclusive=exclusive, reverse=not reverse),)


@routine(
    tf="Cumsum", type=_type, numpy=_numpy_scan(np.cumsum, 0), operands=("axis",), partial=("axis",),
    dtypes=NUMERIC, grad=_cumsum_grad, grad_takes=("axis",), samples=_SAMPLES, totals_in_float32=True,
)
def cumsum(
    outs: tuple[Out, ...], x: View, *, axis: int = 0, exclusive: bool = False, reverse: bool = False
) -> tuple[Stmt, ...] | Described:
    """Sums of the elements up to each one, along `axis`.

    `exclusive`: without the element itself, so that the first
    sum is 0. `reverse`: from the last element backwards.
    """
    return scanned(outs[0], x, axis, exclusive, reverse, 0, lambda total, value: total + value)


def _next(x: Any, axis: int, reverse: bool) -> Any:
    """For each element the one after it in the order of a scan; 0 after the last one."""
    axis = normalize_axis(axis, x.rank)
    n = x.shape[axis]
    kept = ops.slice(
        x,
        begin=[0 if reverse or d != axis else at_most(n, 1) for d in range(x.rank)],
        size=[n - at_most(n, 1) if d == axis else size for d, size in enumerate(x.shape)],
    )
    missing = (at_most(n, 1), 0) if reverse else (0, at_most(n, 1))
    return ops.pad(kept, paddings=[missing if d == axis else (0, 0) for d in range(x.rank)])


def _cumprod_grad(
    g: Any, y: Any, x: Any, axis: int = 0, exclusive: bool = False, reverse: bool = False
) -> tuple[Any]:
    """The product before each element times r, with r_i = g_i + x_(i+1) r_(i+1). It divides by nothing.

    If `exclusive`, r_i is s_(i+1), with s_i = g_i + x_i s_(i+1): no result has the last element.
    """
    if exclusive:
        from_here = linear_recurrence(g, x, axis=axis, reverse=not reverse)
        return (y * _next(from_here, axis, reverse),)
    before = cumprod(x, axis=axis, exclusive=True, reverse=reverse)
    return (before * linear_recurrence(g, _next(x, axis, reverse), axis=axis, reverse=not reverse),)


@routine(
    tf="Cumprod", type=_type, numpy=_numpy_scan(np.cumprod, 1), operands=("axis",), partial=("axis",),
    dtypes=NUMERIC, grad=in_float32(holomorphic(_cumprod_grad)), samples=_SAMPLES, totals_in_float32=True,
)
def cumprod(
    outs: tuple[Out, ...], x: View, *, axis: int = 0, exclusive: bool = False, reverse: bool = False
) -> tuple[Stmt, ...] | Described:
    """Products of the elements up to each one, along `axis`; `exclusive` and `reverse` as for `cumsum`."""
    return scanned(outs[0], x, axis, exclusive, reverse, 1, lambda total, value: total * value)


def _numpy_recurrence(x: np.ndarray, factors: np.ndarray, axis: int = 0, reverse: bool = False) -> np.ndarray:
    out = np.moveaxis(x, axis, 0).copy()
    factors = np.moveaxis(factors, axis, 0)
    order = range(len(out))[:: -1 if reverse else 1]
    for before, here in pairwise(order):
        out[here] = np.where(factors[here] == 0, out[here], out[here] + factors[here] * out[before])
    return np.moveaxis(out, 0, axis)


def _recurrence_grad(
    g: Any, y: Any, x: Any, factors: Any, axis: int = 0, reverse: bool = False
) -> tuple[Any, Any]:
    by_x = linear_recurrence(g, _next(factors, axis, reverse), axis=axis, reverse=not reverse)
    return by_x, by_x * _next(y, axis, not reverse)


def _recurrence_type(x: TensorType, factors: TensorType, axis: int = 0, reverse: bool = False) -> TensorType:
    shape = merge(x.shape, factors.shape, "factors must have the shape of x:")
    return _type(TensorType(x.dtype, shape), axis)


@routine(
    type=_recurrence_type, numpy=rounded_once(_numpy_recurrence), dtypes=FLOATING | COMPLEX,
    grad=holomorphic(_recurrence_grad),
    samples=[Sample(real(5), real(5)), Sample(real(2, 3, 4), real(2, 3, 4), axis=1, reverse=True),
             Sample(real(3, 4), real(3, 4), axis=-1), Sample(real(0, 2), real(0, 2)),
             Sample(real(1, 2), real(1, 2), reverse=True)],
    totals_in_float32=True,
)
def linear_recurrence(
    outs: tuple[Out, ...], x: View, factors: View, *, axis: int = 0, reverse: bool = False
) -> tuple[Stmt, ...]:
    """y with y_i = x_i + factors_i * y_(i-1) along `axis`; the first factor does not count.

    A factor of 0 begins anew: what came before has no effect, even if it is NaN or infinite.
    `reverse`: from the last element backwards.
    """
    (out,), axis = outs, normalize_axis(axis, x.rank)
    n = x.shape[axis]
    if same(n, 0):
        return ()
    at, step = counters(x.shape), Index("step", n - 1)
    position = partial(_position, at, axis, n, reverse)
    start, begun = first_of(n)
    first, before, here = position(start), position(step + 0), position(step + 1)
    inner = at[axis + 1 :]
    factor = factors[here]
    total = scalar.select(scalar.eq(factor, Const(0, x.dtype)), x[here], x[here] + factor * out[before])
    grow = Store(out.buffer, here, total)
    heads = nested(inner, (Store(out.buffer, first, x[first]),))
    body = *nested(begun, heads), Loop(step, nested(inner, (grow,)))
    return nested(at[:axis], body)


def _logaddexp(a: Any, b: Any) -> Any:
    high, low = scalar.maximum(a, b), scalar.minimum(a, b)
    # Of two equal infinities the difference is NaN, and the result is the infinity itself.
    return scalar.select(
        scalar.eq(high, low), high + Const(np.log(2), a.dtype), high + scalar.log1p(scalar.exp(low - high))
    )


@rounded_once
def _cumulative_logsumexp(
    x: np.ndarray, axis: int = 0, exclusive: bool = False, reverse: bool = False
) -> np.ndarray:
    accumulate = _numpy_scan(
        lambda x, axis, dtype: np.logaddexp.accumulate(x, axis, dtype), float(np.finfo(x.dtype).min)
    )
    return accumulate(x, axis, exclusive, reverse)


def _cumulative_logsumexp_grad(
    g: Any, y: Any, x: Any, axis: int = 0, exclusive: bool = False, reverse: bool = False
) -> tuple[Any]:
    """exp(x_j - y_j) times the sum of g_i * exp(y_j - y_i) over the results that x_j is part of.

    Results grow along the axis, so that no exponential is greater than 1. An exclusive result is one late.
    Differences of results need more digits than 16 bits have.
    """
    if x.dtype.size == 2:
        wide = ops.cast(x, dtype=float32)
        y = cumulative_logsumexp(wide, axis=axis, exclusive=exclusive, reverse=reverse)
        (slope,) = _cumulative_logsumexp_grad(
            ops.cast(g, dtype=float32), y, wide, axis=axis, exclusive=exclusive, reverse=reverse
        )
        return (ops.cast(slope, dtype=x.dtype),)
    decay = _ratio(y, _next(y, axis, reverse))
    sums = linear_recurrence(g, decay, axis=axis, reverse=not reverse)
    if exclusive:
        sums = _next(sums, axis, reverse)
        y = cumulative_logsumexp(x, axis=axis, reverse=reverse)
    return (_ratio(x, y) * sums,)


def _ratio(less: Any, more: Any) -> Any:
    """exp(less - more); 1 if both are the same infinity."""
    return ops.exp(ops.select(ops.less(less, more), less - more, 0.0))


@routine(
    tf="CumulativeLogsumexp", type=_type, numpy=_cumulative_logsumexp, operands=("axis",), partial=("axis",),
    dtypes=FLOATING, grad=_cumulative_logsumexp_grad,
    samples=[Sample(real(5)), Sample(real(2, 3, 2), axis=1), Sample(real(3, 4), axis=-1, reverse=True)],
    totals_in_float32=True,
)
def cumulative_logsumexp(
    outs: tuple[Out, ...], x: View, *, axis: int = 0, exclusive: bool = False, reverse: bool = False
) -> tuple[Stmt, ...] | Described:
    """The logarithm of the sum of the exponentials of the elements up to each one, along `axis`.

    `exclusive` and `reverse` as for `cumsum`; an empty sum is the lowest finite number.
    """
    start = float(x.dtype.min)
    return scanned(outs[0], x, axis, exclusive, reverse, start, _logaddexp)
