"""Running totals along an axis."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from staticgraph.compiler.graph.dtypes import FLOATING, NUMERIC, int64
from staticgraph.compiler.graph.errors import OperandError
from staticgraph.compiler.graph.opdef import ops
from staticgraph.compiler.graph.shapes import TensorType, normalize_axis
from staticgraph.compiler.kernel import scalar
from staticgraph.compiler.kernel.expr import Const, Expr, Index, Local
from staticgraph.compiler.kernel.form import Scan
from staticgraph.compiler.kernel.stmt import Let, Loop, Stmt, Store, Update
from staticgraph.compiler.ops.complex_numbers import holomorphic
from staticgraph.compiler.ops.kinds import Described, Out, View, routine
from staticgraph.compiler.ops.samples import Sample, real
from staticgraph.compiler.ops.scatter import counters, nested


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
    if x.shape[axis] < 2:
        return body
    left, right = Local("left", x.dtype), Local("right", x.dtype)
    at, first = counters(x.shape), Const(start, x.dtype) if exclusive else None
    return Described(
        body, Scan(out.buffer, at, axis, x[at], left, right, combine(left, right), first, reverse)
    )


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
    if n == 0:
        return ()
    at = counters(x.shape)

    def position(k: Expr) -> tuple[Expr, ...]:
        return at[:axis] + ((n - 1) - k if reverse else k,) + at[axis + 1 :]

    step, inner = Index("step", n - 1), at[axis + 1 :]
    here, before, first = position(step + 1), position(step + 0), position(Const(0, int64))
    head = Const(start, x.dtype) if exclusive else x[first]
    item = x[before if exclusive else here]
    if not inner:
        total = Local("total", x.dtype)  # at hand, where memory would make each step wait
        grow = Update(total, combine(total, item)), Store(out.buffer, here, total)
        return nested(at[:axis], (Let(total, head), Store(out.buffer, first, total), Loop(step, grow)))
    body = (
        *nested(inner, (Store(out.buffer, first, head),)),
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

    return reference


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
    tf="Cumsum",
    type=_type,
    numpy=_numpy_scan(np.cumsum, 0),
    operands=("axis",),
    partial=("axis",),
    dtypes=NUMERIC,
    grad=_cumsum_grad,
    samples=_SAMPLES,
)
def cumsum(
    outs: tuple[Out, ...], x: View, *, axis: int = 0, exclusive: bool = False, reverse: bool = False
) -> tuple[Stmt, ...] | Described:
    """Sums of the elements up to each one, along `axis`.

    `exclusive`: without the element itself, so that the first
    sum is 0. `reverse`: from the last element backwards.
    """
    return scanned(outs[0], x, axis, exclusive, reverse, 0, lambda total, value: total + value)


def _cumprod_grad(
    g: Any, y: Any, x: Any, axis: int = 0, exclusive: bool = False, reverse: bool = False
) -> tuple[Any]:
    """TF1's formula; it divides by the elements, so that it is NaN where one of them is 0."""
    return (cumsum(g * y, axis=axis, exclusive=exclusive, reverse=not reverse) / x,)


@routine(
    tf="Cumprod", type=_type, numpy=_numpy_scan(np.cumprod, 1), operands=("axis",), partial=("axis",),
    dtypes=NUMERIC,
    grad=holomorphic(_cumprod_grad), samples=_SAMPLES,
)  # fmt: skip
def cumprod(
    outs: tuple[Out, ...], x: View, *, axis: int = 0, exclusive: bool = False, reverse: bool = False
) -> tuple[Stmt, ...] | Described:
    """Products of the elements up to each one, along `axis`; `exclusive` and `reverse` as for `cumsum`."""
    return scanned(outs[0], x, axis, exclusive, reverse, 1, lambda total, value: total * value)


def _logaddexp(a: Any, b: Any) -> Any:
    high, low = scalar.maximum(a, b), scalar.minimum(a, b)
    # Of two equal infinities the difference is NaN, and the result is the infinity itself.
    return scalar.select(
        scalar.eq(high, low), high + Const(np.log(2), a.dtype), high + scalar.log1p(scalar.exp(low - high))
    )


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
    """Each x receives the sum of g * exp(x - y) over the results that it is part of."""
    weights = g * ops.exp(-y)
    return (cumsum(weights, axis=axis, exclusive=exclusive, reverse=not reverse) * ops.exp(x),)


@routine(
    tf="CumulativeLogsumexp",
    type=_type,
    numpy=_cumulative_logsumexp,
    operands=("axis",),
    partial=("axis",),
    dtypes=FLOATING,
    grad=_cumulative_logsumexp_grad,
    samples=[Sample(real(5)), Sample(real(2, 3, 2), axis=1), Sample(real(3, 4), axis=-1, reverse=True)],
)
def cumulative_logsumexp(
    outs: tuple[Out, ...], x: View, *, axis: int = 0, exclusive: bool = False, reverse: bool = False
) -> tuple[Stmt, ...] | Described:
    """The logarithm of the sum of the exponentials of the elements up to each one, along `axis`.

    `exclusive` and `reverse` as for `cumsum`; an empty sum is the lowest finite number.
    """
    start = float(x.dtype.min)
    return scanned(outs[0], x, axis, exclusive, reverse, start, _logaddexp)
