"""Elementwise functions, reductions and comparisons under Keras's names."""

from __future__ import annotations

from typing import Any

from staticgraph.arrays import casts, sorting
from staticgraph.building.inputs import convert_to_tensor
from staticgraph.building.signatures import adapted
from staticgraph.compiler.graph.dtypes import bool_
from staticgraph.compiler.graph.recording.calls import snapshot
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.linear_algebra.linalg import l2_normalize as _l2_normalize
from staticgraph.mathematics import math_ops, reductions
from staticgraph.tf1.keras.settings import floatx

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

argmax = adapted(sorting.argmax, "x=input axis", axis=-1)
argmin = adapted(sorting.argmin, "x=input axis", axis=-1)
_REDUCED = "x=input_tensor axis keepdims"
logsumexp = adapted(reductions.reduce_logsumexp, _REDUCED, "logsumexp", keepdims=False)
max = adapted(reductions.reduce_max, _REDUCED, "max", keepdims=False)
min = adapted(reductions.reduce_min, _REDUCED, "min", keepdims=False)
prod = adapted(reductions.reduce_prod, _REDUCED, "prod", keepdims=False)
sum = adapted(reductions.reduce_sum, _REDUCED, "sum", keepdims=False)


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


def any(x: Any, axis: Any = None, keepdims: bool = False) -> Tensor:
    """Logical OR of the elements along `axis`, each cast to bool."""
    return reductions.reduce_any(casts.cast(x, bool_), axis, keepdims)


def all(x: Any, axis: Any = None, keepdims: bool = False) -> Tensor:
    """Logical AND of the elements along `axis`, each cast to bool."""
    return reductions.reduce_all(casts.cast(x, bool_), axis, keepdims)


def l2_normalize(x: Any, axis: Any = None) -> Tensor:
    """`x` divided by its Euclidean norm along `axis`."""
    return _l2_normalize(x, axis=axis)
