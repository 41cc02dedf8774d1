"""Elementwise functions, reductions and comparisons under Keras's names."""

from __future__ import annotations

from typing import Any

from staticgraph.arrays import casts, sorting
from staticgraph.building.inputs import convert_to_tensor
from staticgraph.compiler.graph.dtypes import bool_
from staticgraph.compiler.graph.recording.snapshot import snapshot
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.linalg import l2_normalize as _l2_normalize
from staticgraph.mathematics import math_ops, reductions
from staticgraph.tf1.keras.settings import floatx

__all__ = [
    "abs",
    "all",
    "any",
    "argmax",
    "argmin",
    "clip",
    "cos",
    "cumprod",
    "cumsum",
    "equal",
    "exp",
    "greater",
    "greater_equal",
    "l2_normalize",
    "less",
    "less_equal",
    "log",
    "logsumexp",
    "max",
    "maximum",
    "mean",
    "min",
    "minimum",
    "not_equal",
    "pow",
    "prod",
    "round",
    "sign",
    "sin",
    "sqrt",
    "square",
    "std",
    "sum",
    "var",
]

abs = math_ops.abs
cos = math_ops.cos
cumprod = sorting.cumprod
cumsum = sorting.cumsum
equal = math_ops.equal
exp = math_ops.exp
greater = math_ops.greater
greater_equal = math_ops.greater_equal
less = math_ops.less
less_equal = math_ops.less_equal
log = math_ops.log
maximum = math_ops.maximum
minimum = math_ops.minimum
not_equal = math_ops.not_equal
round = math_ops.round
sign = math_ops.sign
sin = math_ops.sin
square = math_ops.square


def pow(x: Any, a: Any) -> Tensor:
    """`x` to the power of `a`."""
    return math_ops.pow(x, a)


def sqrt(x: Any) -> Tensor:
    """The square root; 0 for negative numbers."""
    return math_ops.sqrt(math_ops.maximum(x, 0.0))


def clip(x: Any, min_value: Any, max_value: Any) -> Tensor:
    """`x` within the two bounds; the upper one is not below the lower one, None stands for no bound."""
    x = convert_to_tensor(x)
    if min_value is None and max_value is None:
        return snapshot(x)
    low = -float("inf") if min_value is None else min_value
    high = float("inf") if max_value is None else max_value
    if isinstance(low, int | float) and isinstance(high, int | float) and high < low:
        high = low
    return math_ops.clip_by_value(x, casts.cast(low, x.dtype), casts.cast(high, x.dtype))


def _floating(x: Any) -> Tensor:
    x = convert_to_tensor(x)
    return casts.cast(x, floatx()) if x.dtype is bool_ or x.dtype.is_integer else x


def sum(x: Any, axis: Any = None, keepdims: bool = False) -> Tensor:
    """The sum along `axis`, or of all elements."""
    return reductions.reduce_sum(x, axis, keepdims)


def prod(x: Any, axis: Any = None, keepdims: bool = False) -> Tensor:
    """The product along `axis`, or of all elements."""
    return reductions.reduce_prod(x, axis, keepdims)


def max(x: Any, axis: Any = None, keepdims: bool = False) -> Tensor:
    """The largest element along `axis`, or of all."""
    return reductions.reduce_max(x, axis, keepdims)


def min(x: Any, axis: Any = None, keepdims: bool = False) -> Tensor:
    """The smallest element along `axis`, or of all."""
    return reductions.reduce_min(x, axis, keepdims)


def mean(x: Any, axis: Any = None, keepdims: bool = False) -> Tensor:
    """The mean along `axis`, or of all elements; of truth values, the share of those that are true."""
    x = convert_to_tensor(x)
    x = casts.cast(x, floatx()) if x.dtype is bool_ else x
    return reductions.reduce_mean(x, axis, keepdims)


def var(x: Any, axis: Any = None, keepdims: bool = False) -> Tensor:
    """The variance along `axis`, or of all elements."""
    return reductions.reduce_variance(_floating(x), axis, keepdims)


def std(x: Any, axis: Any = None, keepdims: bool = False) -> Tensor:
    """The standard deviation along `axis`, or of all elements."""
    return reductions.reduce_std(_floating(x), axis, keepdims)


def logsumexp(x: Any, axis: Any = None, keepdims: bool = False) -> Tensor:
    """`log(sum(exp(x)))` along `axis`, or of all elements, without overflow."""
    return reductions.reduce_logsumexp(x, axis, keepdims)


def any(x: Any, axis: Any = None, keepdims: bool = False) -> Tensor:
    """Logical OR of the elements along `axis`, each cast to bool."""
    return reductions.reduce_any(casts.cast(x, bool_), axis, keepdims)


def all(x: Any, axis: Any = None, keepdims: bool = False) -> Tensor:
    """Logical AND of the elements along `axis`, each cast to bool."""
    return reductions.reduce_all(casts.cast(x, bool_), axis, keepdims)


def argmax(x: Any, axis: int = -1) -> Tensor:
    """The place of the largest element along `axis`."""
    return sorting.argmax(x, axis)


def argmin(x: Any, axis: int = -1) -> Tensor:
    """The place of the smallest element along `axis`."""
    return sorting.argmin(x, axis)


def l2_normalize(x: Any, axis: Any = None) -> Tensor:
    """`x` divided by its Euclidean norm along `axis`."""
    return _l2_normalize(x, axis=axis)
