"""NumPy's methods of tensors, with NumPy's meanings: `x.astype(...)`, `x.std(axis=0)`.

Those that are single ops, such as `x.sum()`, are registered beside the ops.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from staticgraph.arrays import array_ops, casts, indexing, sorting
from staticgraph.building import inputs
from staticgraph.compiler.graph.opdef import method
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.linear_algebra import linalg
from staticgraph.mathematics import math_ops, reductions

Axes = int | Sequence[int] | None


@method("astype")
def astype(x: Tensor, dtype: Any) -> Tensor:
    """`x` converted to a dtype.

    >>> import staticgraph as sg
    >>> sg.constant([1.5]).astype("int32").dtype
    sg.int32
    """
    return casts.cast(x, dtype)


@method("boolean_mask")
def boolean_mask(x: Tensor, mask: Any, axis: int | None = None) -> Tensor:
    """The slices of `x` for which `mask` is true; `x[mask]` calls it."""
    return indexing.boolean_mask(x, mask, axis=axis)


@method("copy")
def copy(x: Tensor) -> Tensor:
    """A tensor with the value of `x`."""
    return inputs.identity(x)


@method("dot")
def dot(x: Tensor, y: Any) -> Tensor:
    """The sum of products over the last axis of `x` and the last but one, or the only one, of `y`.

    >>> import staticgraph as sg
    >>> sg.ones([2, 3]).dot(sg.ones([3])).shape
    TensorShape([Dimension(2)])
    """
    y = inputs.convert_to_tensor(y, dtype=x.dtype)
    if x.shape.ndims == 0 or y.shape.ndims == 0:
        return x * y
    return linalg.tensordot(x, y, axes=[[-1], [-2 if (y.shape.ndims or 2) > 1 else -1]])


@method("std")
def std(x: Tensor, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """The standard deviation along `axis`."""
    return reductions.reduce_std(x, axis, keepdims)


@method("var")
def var(x: Tensor, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """The variance along `axis`."""
    return reductions.reduce_variance(x, axis, keepdims)


@method("clip")
def clip(x: Tensor, min: Any, max: Any) -> Tensor:
    """`x` with values below `min` and above `max` replaced by these."""
    return math_ops.clip_by_value(x, min, max)


@method("round")
def round(x: Tensor) -> Tensor:
    """The nearest whole numbers; halves go to the even one."""
    return math_ops.round(x)


def _flat(x: Tensor, axis: int | None) -> tuple[Tensor, int]:
    return (array_ops.reshape(x, [-1]), 0) if axis is None else (x, axis)


@method("argmax")
def argmax(x: Tensor, axis: int | None = None) -> Tensor:
    """The place of the first largest element along `axis`, or in the flattened tensor."""
    x, axis = _flat(x, axis)
    return sorting.argmax(x, axis)


@method("argmin")
def argmin(x: Tensor, axis: int | None = None) -> Tensor:
    """The place of the first smallest element along `axis`, or in the flattened tensor."""
    x, axis = _flat(x, axis)
    return sorting.argmin(x, axis)


@method("cumsum")
def cumsum(x: Tensor, axis: int | None = None) -> Tensor:
    """Sums of the elements up to each one along `axis`, or in the flattened tensor."""
    x, axis = _flat(x, axis)
    return sorting.cumsum(x, axis)


@method("cumprod")
def cumprod(x: Tensor, axis: int | None = None) -> Tensor:
    """Products of the elements up to each one along `axis`, or in the flattened tensor."""
    x, axis = _flat(x, axis)
    return sorting.cumprod(x, axis)


@method("take")
def take(x: Tensor, indices: Any, axis: int | None = None) -> Tensor:
    """The elements at `indices` along `axis`, or in the flattened tensor."""
    x, axis = _flat(x, axis)
    return indexing.gather(x, indices, axis=axis)


@method("sort")
def sort(x: Tensor, axis: int = -1) -> Tensor:
    """The elements in ascending order along `axis`."""
    return sorting.sort(x, axis)


@method("argsort")
def argsort(x: Tensor, axis: int = -1) -> Tensor:
    """The places of the elements in ascending order along `axis`."""
    return sorting.argsort(x, axis)


@method("trace")
def trace(x: Tensor) -> Tensor:
    """The sum of the diagonal."""
    return linalg.trace(x)
