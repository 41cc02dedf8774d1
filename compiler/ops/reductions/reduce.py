"""Reductions: elements combined along axes, all of them where `axis` is None."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from staticgraph.compiler.graph.dtypes import (
    BOOLEAN,
    FLOATING,
    NUMERIC,
    REAL,
    as_dtype,
    bool_,
    int32,
    sum_dtype,
)
from staticgraph.compiler.graph.opdef import method, ops
from staticgraph.compiler.graph.shapes import TensorType, normalize_axes
from staticgraph.compiler.graph.sizes import AnySize, is_open, positive
from staticgraph.compiler.kernel import scalar
from staticgraph.compiler.ops.kinds import composite, conjugate, in_float32, reduced_shape, reduction, sizes
from staticgraph.compiler.ops.samples import Sample, distinct, real, truth

Axis = int | tuple[int, ...] | None


def _samples(draw: Callable[..., Any]) -> list[Sample]:
    return [
        Sample(draw(3, 4)),
        Sample(draw(2, 3, 5), axis=1),
        Sample(draw(2, 3, 5), axis=(0, -1), keepdims=True),
        Sample(draw(2, 3), axis=()),
        Sample(draw()),
    ]


def accumulated(function: Callable[..., Any]) -> Callable[..., Any]:
    """A NumPy reduction done in the dtype of its input for integers, in double precision otherwise."""

    def reduce(x: np.ndarray, **where: Any) -> np.ndarray:
        wide = {"f": np.float64, "c": np.complex128}.get(x.dtype.kind, x.dtype)
        return np.asarray(function(x, dtype=wide, **where)).astype(x.dtype)

    return reduce


def kept(y: Any, x: Any, axis: Axis) -> Any:
    """`y`, which is `x` reduced along `axis`, with the reduced axes in place as axes of size one."""
    return ops.reshape(y, shape=_kept_sizes(x, axis))


def _kept_sizes(x: Any, axis: Axis) -> Any:
    """Return the shape of `x` with ones for the reduced axes. The axes may be a tensor."""
    known = axis is None or isinstance(axis, int | tuple)
    shape = reduced_shape(x.type.shape, axis, keepdims=True) if known else None
    if shape is not None and None not in shape:
        return shape
    if shape is not None and shape.count(None) == 1 and 0 not in shape:
        return tuple(-1 if n is None else n for n in shape)
    order = range(x.type.rank)
    if known:
        gone: Any = np.array([int(d in normalize_axes(axis, len(order))) for d in order], np.int32)
    else:
        each = ops.reshape(axis, shape=[-1, 1]) % len(order)
        gone = ops.reduce_sum(ops.cast(ops.equal(each, list(order)), dtype=int32), axis=0)
    return ops.shape_of(x) * (1 - gone) + gone


def spread(y: Any, x: Any, axis: Axis) -> Any:
    """`y`, which is `x` reduced along `axis`, repeated to the shape of `x`."""
    return ops.broadcast_to(kept(y, x, axis), shape=sizes(x), name="Tile")  # what TensorFlow repeats by


def count_along(shape: Sequence[int], axis: Axis) -> int:
    """Return the count of elements that are combined into one."""
    return math.prod(shape[d] for d in normalize_axes(axis, len(shape)))


def _prod_grad(g: Any, y: Any, x: Any, axis: Axis, keepdims: bool) -> tuple[Any]:
    """Each element times the product of all others: no division, so that zeros are right."""
    axes = normalize_axes(axis, x.rank)
    order = [d for d in range(x.rank) if d not in axes] + list(axes)
    moved = ops.transpose(x, perm=order)
    rows = ops.reshape(
        moved, shape=(x.size // positive(count_along(x.shape, axis)), count_along(x.shape, axis))
    )
    others = ops.cumprod(rows, axis=1, exclusive=True) * ops.cumprod(
        rows, axis=1, exclusive=True, reverse=True
    )
    others = ops.transpose(ops.reshape(others, shape=moved.shape), perm=np.argsort(order).tolist())
    return (spread(g, x, axis) * conjugate(others),)


def _extremum_grad(g: Any, y: Any, x: Any, axis: Axis, keepdims: bool) -> tuple[Any]:
    """Equal extremes share the cotangent."""
    chosen = ops.cast(ops.equal(x, kept(y, x, axis)), dtype=x.dtype)
    shares = ops.reduce_sum(chosen, axis=axis, keepdims=True)
    return (chosen * (kept(g, x, axis) / shares),)


@reduction(
    tf="Sum", numpy=accumulated(np.sum), combine="add", dtypes=NUMERIC, samples=_samples(real),
    grad=lambda g, y, x, axis, keepdims: (spread(g, x, axis),), grad_takes=(),
)
def reduce_sum(total: Any, x: Any) -> Any:
    """Sum of the elements along `axis`; 0 if there are none."""
    return total + x


def _part(x: Any, axis: int, start: AnySize, size: int) -> Any:
    begin = tuple(start if d == axis else 0 for d in range(x.rank))
    return ops.slice(x, begin=begin, size=tuple(size if d == axis else n for d, n in enumerate(x.shape)))


def _complex_product(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """The product of complex numbers: one half of an axis times the other, until one number is left.

    Code for that depends on the length. An open axis is multiplied in order.
    """
    shape = reduced_shape(x.shape, axis, keepdims)
    for d in normalize_axes(axis, x.rank):
        n = x.shape[d]
        if is_open((n,)):
            # Before one number more stands the product of all, which is 1 if there are none.
            longer = ops.pad(x, paddings=[(0, int(e == d)) for e in range(x.rank)])
            x = _part(ops.cumprod(longer, axis=d, exclusive=True), d, n, 1)
            continue
        if n == 0:
            x = ops.pad(x, paddings=[(0, int(e == d)) for e in range(x.rank)]) + 1.0
        while n > 1:
            half = n // 2
            made = _part(x, d, 0, half) * _part(x, d, half, half)
            x = ops.concat([made, _part(x, d, 2 * half, 1)], axis=d) if n % 2 else made
            n = half + n % 2
    return x if keepdims else ops.reshape(x, shape=shape)


@reduction(
    tf="Prod", numpy=accumulated(np.prod), expand=_complex_product, combine="mul", dtypes=NUMERIC,
    samples=_samples(real), grad=in_float32(_prod_grad),
)
def reduce_prod(product: Any, x: Any) -> Any:
    """Product of the elements along `axis`; 1 if there are none."""
    return product * x


def _extremum(function: Any, empty: Callable[[np.ndarray], Any]) -> Callable[..., Any]:
    def reduce(x: np.ndarray, axis: tuple[int, ...], keepdims: bool) -> Any:
        if x.dtype == object:  # of open sizes
            return function(x, axis=axis, keepdims=keepdims)
        return np.asarray(function(x, axis=axis, keepdims=keepdims, initial=empty(x)))

    return reduce


def _lowest(x: np.ndarray) -> Any:
    return -np.inf if x.dtype.kind == "f" else np.iinfo(x.dtype).min


def _highest(x: np.ndarray) -> Any:
    return np.inf if x.dtype.kind == "f" else np.iinfo(x.dtype).max


@reduction(
    tf="Max", numpy=_extremum(np.max, _lowest), combine="maximum", dtypes=REAL, samples=_samples(distinct),
    grad=_extremum_grad, grad_takes=("axis",), elements_of=(0,),
)
def reduce_max(best: Any, x: Any) -> Any:
    """Largest element along `axis`; -inf, or the least integer, if there are none.

    Equal ones share the gradient.
    """
    return scalar.maximum(best, x)


@reduction(
    tf="Min", numpy=_extremum(np.min, _highest), combine="minimum", dtypes=REAL, samples=_samples(distinct),
    grad=_extremum_grad, grad_takes=("axis",), elements_of=(0,),
)
def reduce_min(best: Any, x: Any) -> Any:
    """Smallest element along `axis`; inf, or the greatest integer, if there are none.

    Equal ones share the gradient.
    """
    return scalar.minimum(best, x)


@reduction(
    tf="Any", numpy=np.any, combine="or", dtypes=BOOLEAN, samples=_samples(truth), differentiable=False,
)
def reduce_any(found: Any, x: Any) -> Any:
    """Test if any element along `axis` is true."""
    return found | x


@reduction(
    tf="All", numpy=np.all, combine="and", dtypes=BOOLEAN, samples=_samples(truth), differentiable=False,
)
def reduce_all(holds: Any, x: Any) -> Any:
    """Test if all elements along `axis` are true."""
    return holds & x


def _reduced_type(input_tensor: TensorType, axis: Axis, keepdims: bool) -> TensorType:
    return TensorType(input_tensor.dtype, reduced_shape(input_tensor.shape, axis, keepdims))


def _mean_grad(g: Any, y: Any, x: Any, axis: Axis, keepdims: bool) -> tuple[Any]:
    shape = x.type.shape
    axes = normalize_axes(axis, len(shape))
    if all(shape[d] is not None for d in axes):
        return (spread(g, x, axis) / positive(count_along(shape, axis)),)
    count = ops.reduce_prod(ops.gather(ops.shape_of(x), list(axes)))
    return (spread(g, x, axis) / ops.cast(ops.maximum(count, 1), dtype=g.dtype),)


def _mean(x: np.ndarray, axis: Axis, keepdims: bool) -> np.ndarray:
    axes, count = normalize_axes(axis, x.ndim), count_along(x.shape, axis)
    if x.dtype.kind in "fc":
        total = np.sum(
            x, axis=axes, keepdims=keepdims, dtype=np.complex128 if x.dtype.kind == "c" else np.float64
        )
        return np.asarray(total / np.float64(count)).astype(x.dtype)
    total = np.asarray(np.sum(x, axis=axes, keepdims=keepdims, dtype=sum_dtype(as_dtype(x.dtype)).numpy))
    return scalar.truncdiv(total, np.full(total.shape, count, total.dtype)).astype(x.dtype)


@composite(
    tf="Mean", wide=True, type=_reduced_type, numpy=_mean, dtypes=NUMERIC,
    operands={"axis": "reduction_indices"}, samples=_samples(real), grad=_mean_grad, grad_takes=("axis",),
)
def reduce_mean(input_tensor: Any, *, axis: Any = None, keepdims: bool = False) -> Any:
    """Mean of the elements along `axis`: NaN if there are none.

    Of integers, the quotient without its fraction. Their sum is of 64 bits and does not wrap around:
    TensorFlow 1.15 gives 0 for the mean of 100 numbers 2 of int8, and crashes at 256 of them.
    """
    dtype, count = input_tensor.dtype, count_along(input_tensor.shape, axis)
    if not dtype.is_integer:
        return ops.reduce_sum(input_tensor, axis=axis, keepdims=keepdims) / count
    total = ops.reduce_sum(ops.cast(input_tensor, dtype=sum_dtype(dtype)), axis=axis, keepdims=keepdims)
    return ops.cast(scalar.truncdiv(total, count), dtype=dtype)


def _norm(x: np.ndarray, axis: Axis, keepdims: bool) -> np.ndarray:
    wide = x.astype(np.complex128 if x.dtype.kind == "c" else np.float64)
    axes = normalize_axes(axis, x.ndim)
    return np.asarray(np.sqrt(np.sum(np.abs(wide) ** 2, axis=axes, keepdims=keepdims))).astype(x.dtype)


@composite(
    tf="EuclideanNorm", wide=True, type=_reduced_type, numpy=_norm, dtypes=FLOATING,
    operands={"axis": "reduction_indices"}, samples=_samples(lambda *shape: real(*shape, low=0.5, high=2.0)),
    grad=lambda g, y, x, axis, keepdims: (x * kept(g / y, x, axis),), grad_takes=("axis",),
)
def euclidean_norm(input: Any, *, axis: Any = None, keepdims: bool = False) -> Any:
    """Square root of the sum of squares along `axis`."""
    return ops.sqrt(ops.reduce_sum(input * input, axis=axis, keepdims=keepdims))


@composite(
    tf="L2Loss", wide=True, type=lambda t: TensorType(t.dtype, ()), dtypes=FLOATING,
    numpy=lambda t: np.asarray(np.sum(np.square(t.astype(np.float64))) / 2).astype(t.dtype),
    samples=[Sample(real(3, 4)), Sample(real()), Sample(real(0, 2))],
    grad=lambda g, y, t: (g * t,), grad_takes=(),
)
def l2_loss(t: Any) -> Any:
    """Half the sum of all squares, sum(t ** 2) / 2.

    >>> sg.Session().run(sg.nn.l2_loss([1.0, 2.0, 3.0])).item()
    7.0
    """
    return ops.reduce_sum(t * t) * 0.5


def _as_method(name: str, op: Any, truth_only: bool = False) -> Callable[..., Any]:
    def reduce(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
        if truth_only and x.dtype is not bool_:
            x = ops.not_equal(x, 0)
        return op(x, axis=axis, keepdims=keepdims)

    reduce.__qualname__ = name  # Python's own complaints tell it
    return reduce


for _name, _op in (
    ("sum", reduce_sum),
    ("prod", reduce_prod),
    ("max", reduce_max),
    ("min", reduce_min),
    ("mean", reduce_mean),
):
    method(_name)(_as_method(_name, _op))
for _name, _op in (("any", reduce_any), ("all", reduce_all)):
    method(_name)(_as_method(_name, _op, truth_only=True))
