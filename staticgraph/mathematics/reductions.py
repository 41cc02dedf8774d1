"""Reductions along axes, with TensorFlow 1's names."""

from __future__ import annotations

from typing import Any

import numpy as np

from staticgraph.building.composites import for_composites
from staticgraph.building.framework import name_scope
from staticgraph.building.inputs import constant, convert_to_tensor
from staticgraph.building.signatures import needed, renamed
from staticgraph.compiler import ops
from staticgraph.compiler.graph.checks.arguments import flag_of
from staticgraph.compiler.graph.dtypes import as_dtype, bool_, float64, int32, int64, string
from staticgraph.compiler.graph.operators import Symbolic
from staticgraph.compiler.graph.recording.op_count import count_more
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.compiler.support.lazy_names import functions_of

# Of variances and of sums of exponentials.
_casts = functions_of("staticgraph.arrays.casts", "of_dtype widened")


def _axes(x: Tensor, axis: Any) -> Any:
    """`axis`, or for None a constant that lists all axes."""
    if axis is not None:
        return axis
    rank = x.shape.ndims
    if rank is None:
        return None
    return constant(np.arange(rank, dtype=np.int32), dtype=int32, name="Const")


def _reduce(
    op: Any, x: Any, axis: Any, keepdims: Any, name: str | None, reduction_indices: Any, keep_dims: Any
) -> Tensor:
    axis = renamed("axis", axis, "reduction_indices", reduction_indices)
    keepdims = flag_of(renamed("keepdims", keepdims, "keep_dims", keep_dims), "keepdims")
    truth = op.name in ("reduce_any", "reduce_all")
    variable = not isinstance(x, Tensor) and isinstance(x, Symbolic)
    x = convert_to_tensor(x, name="input_tensor", preferred_dtype=bool_ if truth else None)
    if axis is None and (x.shape.ndims is None or variable):
        count_more(x.graph, 3 if variable else 4)  # TensorFlow works out the axes: a range up to the rank
    return op(x, axis=_axes(x, axis), keepdims=keepdims, name=name)


@for_composites
def reduce_sum(
    input_tensor: Any,
    axis: Any = None,
    keepdims: bool | None = None,
    name: str | None = None,
    reduction_indices: Any = None,
    keep_dims: bool | None = None,
) -> Tensor:
    """The sum of the elements along `axis`, an int or a list of ints; along all axes where it is None.

    With `keepdims` the axes stay, with size 1. `reduction_indices` and `keep_dims` are the older names.

    >>> import staticgraph as sg
    >>> x = sg.placeholder(sg.float32, [None, 3])
    >>> sg.reduce_sum(x).shape, sg.reduce_sum(x, axis=1).shape, sg.reduce_sum(x, 0, keepdims=True).shape
    (TensorShape([]), TensorShape([Dimension(None)]), TensorShape([Dimension(1), Dimension(3)]))
    """
    return _reduce(ops.reduce_sum, input_tensor, axis, keepdims, name, reduction_indices, keep_dims)


@for_composites
def reduce_mean(
    input_tensor: Any,
    axis: Any = None,
    keepdims: bool | None = None,
    name: str | None = None,
    reduction_indices: Any = None,
    keep_dims: bool | None = None,
) -> Tensor:
    """The mean of the elements along `axis`, see `reduce_sum`. That of integers is rounded towards zero.

    Their sum has 64 bits, and does not wrap around as it does in TensorFlow 1.15.

    >>> sg.Session().run(sg.reduce_mean([[1.0, 2.0], [3.0, 6.0]], axis=0))
    array([2., 4.], dtype=float32)
    """
    return _reduce(ops.reduce_mean, input_tensor, axis, keepdims, name, reduction_indices, keep_dims)


@for_composites
def reduce_prod(
    input_tensor: Any,
    axis: Any = None,
    keepdims: bool | None = None,
    name: str | None = None,
    reduction_indices: Any = None,
    keep_dims: bool | None = None,
) -> Tensor:
    """The product of the elements along `axis`, see `reduce_sum`.

    >>> sg.Session().run(sg.reduce_prod([[1, 2], [3, 4]], axis=1))
    array([ 2, 12], dtype=int32)
    """
    return _reduce(ops.reduce_prod, input_tensor, axis, keepdims, name, reduction_indices, keep_dims)


@for_composites
def reduce_max(
    input_tensor: Any,
    axis: Any = None,
    keepdims: bool | None = None,
    name: str | None = None,
    reduction_indices: Any = None,
    keep_dims: bool | None = None,
) -> Tensor:
    """The largest element along `axis`, see `reduce_sum`. Equal ones share the gradient.

    >>> sg.Session().run(sg.reduce_max([[1, 5], [3, 4]], axis=1))
    array([5, 4], dtype=int32)
    """
    return _reduce(ops.reduce_max, input_tensor, axis, keepdims, name, reduction_indices, keep_dims)


@for_composites
def reduce_min(
    input_tensor: Any,
    axis: Any = None,
    keepdims: bool | None = None,
    name: str | None = None,
    reduction_indices: Any = None,
    keep_dims: bool | None = None,
) -> Tensor:
    """The smallest element along `axis`, see `reduce_sum`. Equal ones share the gradient.

    >>> sg.Session().run(sg.reduce_min([[1, 5], [3, 4]], axis=1))
    array([1, 3], dtype=int32)
    """
    return _reduce(ops.reduce_min, input_tensor, axis, keepdims, name, reduction_indices, keep_dims)


@for_composites
def reduce_any(
    input_tensor: Any,
    axis: Any = None,
    keepdims: bool | None = None,
    name: str | None = None,
    reduction_indices: Any = None,
    keep_dims: bool | None = None,
) -> Tensor:
    """Return True if any element along `axis` is True, see `reduce_sum`.

    Args:
        input_tensor: A bool tensor.
        axis: An int or a list of ints; all axes by default.
        keepdims: If True, the axes stay, with size 1.
        name: The name of the operation.
        reduction_indices: The older name of `axis`.
        keep_dims: The older name of `keepdims`.

    Returns:
        A bool tensor.

    >>> sg.Session().run(sg.reduce_any([[True, False], [False, False]], axis=1))
    array([ True, False])
    """
    return _reduce(ops.reduce_any, input_tensor, axis, keepdims, name, reduction_indices, keep_dims)


@for_composites
def reduce_all(
    input_tensor: Any,
    axis: Any = None,
    keepdims: bool | None = None,
    name: str | None = None,
    reduction_indices: Any = None,
    keep_dims: bool | None = None,
) -> Tensor:
    """Return True if all elements along `axis` are True, see `reduce_sum`.

    Args:
        input_tensor: A bool tensor.
        axis: An int or a list of ints; all axes by default.
        keepdims: If True, the axes stay, with size 1.
        name: The name of the operation.
        reduction_indices: The older name of `axis`.
        keep_dims: The older name of `keepdims`.

    Returns:
        A bool tensor.

    >>> sg.Session().run(sg.reduce_all([[True, False], [True, True]], axis=1))
    array([False,  True])
    """
    return _reduce(ops.reduce_all, input_tensor, axis, keepdims, name, reduction_indices, keep_dims)


def reduce_euclidean_norm(
    input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None
) -> Tensor:
    """The square root of the sum of squares along `axis`, see `reduce_sum`.

    >>> sg.Session().run(sg.math.reduce_euclidean_norm([3.0, 4.0])).item()
    5.0
    """
    x = convert_to_tensor(input_tensor, name="input_tensor")
    if x.dtype.is_floating:
        return _reduce(ops.euclidean_norm, x, axis, keepdims, name, None, None)
    with name_scope(name, "EuclideanNorm", [x]) as scope:
        real = ops.complex_abs(x) if x.dtype.is_complex else ops.cast(x, dtype=float64)
        return ops.cast(reduce_euclidean_norm(real, axis, keepdims), dtype=x.dtype, name=scope)


def reduce_logsumexp(
    input_tensor: Any,
    axis: Any = None,
    keepdims: bool | None = None,
    name: str | None = None,
    reduction_indices: Any = None,
    keep_dims: bool | None = None,
) -> Tensor:
    """log(sum(exp(x))) along `axis`, see `reduce_sum`; without overflow, however large the elements.

    >>> import staticgraph as sg
    >>> sg.reduce_logsumexp(sg.constant([1000.0, 1000.0])).shape
    TensorShape([])
    """
    axis = renamed("axis", axis, "reduction_indices", reduction_indices)
    keepdims = flag_of(renamed("keepdims", keepdims, "keep_dims", keep_dims), "keepdims")
    with name_scope(name, "ReduceLogSumExp", [input_tensor]):
        given = convert_to_tensor(input_tensor)
        x = _casts.widened(given)
        largest = reduce_max(x, axis, keepdims=True)
        shift = ops.stop_gradient(ops.select(ops.is_finite(largest), largest, ops.zeros_like(largest)))
        summed = ops.log(reduce_sum(ops.exp(ops.subtract(x, shift)), axis, keepdims=keepdims))
        if not keepdims:
            shift = ops.reshape(shift, shape=ops.shape_of(summed, out_type=int32, name="Shape"))
        return _casts.of_dtype(ops.add(summed, shift), given.dtype)


def reduce_variance(
    input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None
) -> Tensor:
    """The mean of squared differences from the mean along `axis`, see `reduce_sum`."""
    with name_scope(name, "reduce_variance", [input_tensor]):
        given = convert_to_tensor(input_tensor)
        x = _casts.widened(given)
        differences = x - reduce_mean(x, axis, keepdims=True)
        return _casts.of_dtype(reduce_mean(ops.square(differences), axis, keepdims=keepdims), given.dtype)


def reduce_std(
    input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None
) -> Tensor:
    """The standard deviation along `axis`: the square root of `reduce_variance`."""
    with name_scope(name, "reduce_std", [input_tensor]):
        given = convert_to_tensor(input_tensor)
        return _casts.of_dtype(ops.sqrt(reduce_variance(_casts.widened(given), axis, keepdims)), given.dtype)


def count_nonzero(
    input_tensor: Any = None,
    axis: Any = None,
    keepdims: bool | None = None,
    dtype: Any = int64,
    name: str | None = None,
    reduction_indices: Any = None,
    keep_dims: bool | None = None,
    input: Any = None,
) -> Tensor:
    """Count the elements along `axis` that are not zero, see `reduce_sum`.

    Args:
        input_tensor: A tensor of numbers, bool or strings. Empty strings count as zero.
        axis: An int or a list of ints; all axes by default.
        keepdims: If True, the axes stay, with size 1.
        dtype: The dtype of the result.
        name: The name scope.
        reduction_indices: The older name of `axis`.
        keep_dims: The older name of `keepdims`.
        input: Another name of `input_tensor`.

    Returns:
        A tensor of counts, of dtype `dtype`.

    Raises:
        ValueError: If no tensor is given, or an argument is given under both of its names.

    >>> import staticgraph as sg
    >>> sg.count_nonzero([[1, 0], [2, 3]], axis=0)
    <sg.Tensor 'count_nonzero/Sum:0' shape=(2,) dtype=int64>
    """
    input_tensor = renamed("input", input, "input_tensor", input_tensor)
    axis = renamed("axis", axis, "reduction_indices", reduction_indices)
    keepdims = flag_of(renamed("keepdims", keepdims, "keep_dims", keep_dims), "keepdims")
    needed("count_nonzero", input=input_tensor)
    with name_scope(name, "count_nonzero", [input_tensor]):
        x = convert_to_tensor(input_tensor, name="input")
        nothing: Any = "" if x.dtype is string else np.zeros((), x.dtype.numpy)
        found = ops.cast(ops.not_equal(x, nothing), dtype=int64)
        total = reduce_sum(found, axis=axis, keepdims=keepdims)
        return total if as_dtype(dtype) is int64 else ops.cast(total, dtype=as_dtype(dtype))
