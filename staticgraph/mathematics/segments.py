"""Reductions over segments, counts and histograms, with TensorFlow 1's names.

Where an op has TensorFlow's signature it is the public function itself, and its docstring the manual.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from staticgraph.arrays.casts import for_sums, of_dtype, widened
from staticgraph.building.framework import checked, control_dependencies, name_scope
from staticgraph.building.inputs import convert_to_tensor
from staticgraph.building.operation_counts import constants, counts_as
from staticgraph.compiler import ops
from staticgraph.compiler.graph.dtypes import as_dtype, float64, int32, int64
from staticgraph.compiler.graph.errors import misuse, require
from staticgraph.compiler.graph.graph import get_default_graph
from staticgraph.compiler.graph.recording.op_count import counted_as
from staticgraph.compiler.graph.static_value import static_value
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.mathematics.reductions import reduce_max, reduce_prod

unsorted_segment_max = ops.unsorted_segment_max
unsorted_segment_min = ops.unsorted_segment_min
unsorted_segment_prod = ops.unsorted_segment_prod
unsorted_segment_sum = ops.unsorted_segment_sum


def segment_sum(data: Any, segment_ids: Any, name: str | None = None) -> Tensor:
    """The sum of the slices with equal `segment_ids`; 0 for an id left out.

    Args:
        data: A tensor of numbers, shape [n, ...].
        segment_ids: The id of each slice, int32 or int64 of shape [n], in rising order. The last one decides
            how many segments there are: one more than it says.
        name: The name of the operation.

    Returns:
        A tensor of shape [segments, ...].

    Raises:
        InvalidArgumentError: A run finds an id that is negative, or less than the one before.

    >>> import staticgraph as sg
    >>> sg.Session().run(sg.segment_sum([2, 3, 4], [0, 0, 2]))
    array([5, 0, 4], dtype=int32)
    """
    return ops.segment_sum(data, segment_ids, name=name)


def segment_prod(data: Any, segment_ids: Any, name: str | None = None) -> Tensor:
    """The product of the slices with equal `segment_ids`; 1 for an id left out. See `segment_sum`.

    >>> import staticgraph as sg
    >>> sg.Session().run(sg.segment_prod([2, 3, 4], [0, 0, 1]))
    array([6, 4], dtype=int32)
    """
    return ops.segment_prod(data, segment_ids, name=name)


def segment_max(data: Any, segment_ids: Any, name: str | None = None) -> Tensor:
    """The largest of the slices with equal `segment_ids`; 0 for an id left out. See `segment_sum`.

    >>> import staticgraph as sg
    >>> sg.Session().run(sg.segment_max([2, 3, 4], [0, 0, 1]))
    array([3, 4], dtype=int32)
    """
    return ops.segment_max(data, segment_ids, name=name)


def segment_min(data: Any, segment_ids: Any, name: str | None = None) -> Tensor:
    """The smallest of the slices with equal `segment_ids`; 0 for an id left out. See `segment_sum`.

    >>> import staticgraph as sg
    >>> sg.Session().run(sg.segment_min([2, 3, 4], [0, 0, 1]))
    array([2, 4], dtype=int32)
    """
    return ops.segment_min(data, segment_ids, name=name)


def segment_mean(data: Any, segment_ids: Any, name: str | None = None) -> Tensor:
    """The mean of the slices with equal `segment_ids`; 0 for an id left out. See `segment_sum`.

    That of integers is rounded towards zero.

    >>> import staticgraph as sg
    >>> sg.Session().run(sg.segment_mean([2.0, 3.0, 4.0], [0, 0, 1]))
    array([2.5, 4. ], dtype=float32)
    """
    return ops.segment_mean(data, segment_ids, name=name)


def unsorted_segment_mean(data: Any, segment_ids: Any, num_segments: Any, name: str | None = None) -> Tensor:
    """The mean of the slices of each segment; 0 if there are none. Negative ids are dropped.

    That of integers is of float64.

    >>> import staticgraph as sg
    >>> sg.unsorted_segment_mean(sg.ones([3, 2]), [0, 2, 0], 4).shape.as_list()
    [4, 2]
    """
    with name_scope(name, "UnsortedSegmentMean", [data, segment_ids]):
        data = convert_to_tensor(data)
        wide = for_sums(data)
        counts = _counts(wide, segment_ids, num_segments)
        mean = ops.unsorted_segment_sum(wide, segment_ids, num_segments) / counts
        return mean if data.dtype.is_integer else of_dtype(mean, data.dtype)


def unsorted_segment_sqrt_n(
    data: Any, segment_ids: Any, num_segments: Any, name: str | None = None
) -> Tensor:
    """The sum of the slices of each segment, divided by the square root of how many they are."""
    with name_scope(name, "UnsortedSegmentSqrtN", [data, segment_ids]):
        data = convert_to_tensor(data)
        wide = widened(data)
        roots = ops.sqrt(_counts(wide, segment_ids, num_segments))
        return of_dtype(ops.unsorted_segment_sum(wide, segment_ids, num_segments) / roots, data.dtype)


def _counts(data: Tensor, segment_ids: Any, num_segments: Any) -> Tensor:
    """Return the slices per segment, at least 1, in a shape that broadcasts against the segments."""
    ids = convert_to_tensor(segment_ids)
    with checked("unsorted_segment"):
        require(
            data.shape.ndims is not None and ids.shape.ndims is not None,
            "the ranks of data and segment_ids must be known",
        )
    ones = ops.ones_like(ids)
    counts = ops.cast(ops.unsorted_segment_sum(ones, ids, num_segments), dtype=data.dtype)
    rank = (data.shape.ndims or 0) - (ids.shape.ndims or 0)
    return ops.maximum(ops.reshape(counts, shape=[-1, *[1] * rank]), 1)


def bincount(
    arr: Any, weights: Any = None, minlength: Any = None, maxlength: Any = None, dtype: Any = int32
) -> Tensor:
    """Count how often 0, 1, ... up to the largest number in `arr` occur, or add up their `weights`.

    The length of the result follows from `arr`, which must be known when the graph is compiled.

    Args:
        arr: Numbers of at least 0, which are converted to int32.
        weights: A weight for each element of `arr`. If given, the weights of equal numbers are added up.
        minlength: The least length of the result.
        maxlength: The greatest length of the result. Larger numbers in `arr` are left out.
        dtype: The dtype of the counts. Sums of weights have the dtype of the weights.

    Returns:
        A vector of counts or of sums.

    >>> import staticgraph as sg
    >>> sg.bincount([1, 1, 4]).shape.as_list()
    [5]
    """
    counts = 12 + constants(arr, weights, minlength, maxlength) + (weights is None)
    counts += (minlength is not None) + (maxlength is not None)
    with name_scope(None, "bincount", [arr, weights]), counted_as(get_default_graph(), counts):
        arr = convert_to_tensor(arr, dtype=int32, name="arr")
        some = ops.cast(ops.greater(reduce_prod(ops.shape_of(arr, out_type=int32)), 0), dtype=int64)
        # In int64: one more than the greatest int32 is none. Of negative numbers the op tells which they are.
        size = ops.maximum(some * (ops.cast(reduce_max(arr), dtype=int64) + 1), 0)
        if minlength is not None:
            size = ops.maximum(_length(minlength, "minlength"), size)
        if maxlength is not None:
            size = ops.minimum(_length(maxlength, "maxlength"), size)
        if weights is None:
            weights = convert_to_tensor([], dtype=as_dtype(dtype))
        return ops.bincount(arr, convert_to_tensor(weights, name="weights"), size=size)


def _length(value: Any, name: str) -> Tensor:
    return ops.cast(convert_to_tensor(value, dtype=int32, name=name), dtype=int64)


def histogram_fixed_width_bins(
    values: Any, value_range: Any, nbins: Any = 100, dtype: Any = int32, name: str | None = None
) -> Tensor:
    """The number of the bin of each value, where `nbins` equal bins divide `value_range`.

    Values below the range are in the first bin, those above it in the last.
    """
    with name_scope(name, "histogram_fixed_width_bins", [values, value_range, nbins]):
        values = convert_to_tensor(values, name="values")
        value_range = convert_to_tensor(value_range, dtype=values.dtype, name="value_range")
        low, high = value_range[0], value_range[1]
        # In double precision a value at the edge between two bins is in the upper one.
        share = ops.cast(values - low, dtype=float64) / ops.cast(high - low, dtype=float64)
        number = ops.floor(ops.cast(nbins, dtype=float64) * share)
        last = ops.cast(nbins, dtype=float64) - 1.0
        return ops.cast(ops.minimum(ops.maximum(number, 0.0), last), dtype=as_dtype(dtype))


def _ascending(limits: Tensor) -> Tensor:
    """Return a range, which is an error, or one of the run, if its lower end is not below the upper one."""
    text = "value_range must be [lower, upper] with lower < upper, and is "
    known = static_value(limits)
    if known is None:
        holds = limits[0] < limits[1]
        with control_dependencies([ops.assert_true(holds, [limits], shown=(text, None))]):
            return ops.identity(limits)
    ends = np.ravel(known).tolist()
    if len(ends) == 2 and not ends[0] < ends[1]:  # others are refused where they are used
        raise misuse(ValueError, f"{text}{ends}")
    return limits


@counts_as(1, "values", "value_range", "nbins")
def histogram_fixed_width(
    values: Any, value_range: Any, nbins: Any = 100, dtype: Any = int32, name: str | None = None
) -> Tensor:
    """Count the values in each of `nbins` equal bins of `value_range`. Others count in the outer bins.

    Args:
        values: A tensor of numbers.
        value_range: The lower and the upper end of the range, of the dtype of `values`.
        nbins: The number of bins.
        dtype: The dtype of the counts.
        name: The name scope.

    Returns:
        A vector of `nbins` counts.

    Raises:
        ValueError: The lower end of the range is not below the upper one.
        InvalidArgumentError: A run finds that out.

    >>> import staticgraph as sg
    >>> sg.histogram_fixed_width([-1.0, 0.0, 1.5, 2.0, 5.0, 15.0], [0.0, 5.0], nbins=5).shape.as_list()
    [5]
    """
    with name_scope(name, "histogram_fixed_width", [values, value_range, nbins]):
        values = convert_to_tensor(values, name="values")
        value_range = _ascending(convert_to_tensor(value_range, dtype=values.dtype, name="value_range"))
        bins = ops.reshape(histogram_fixed_width_bins(values, value_range, nbins), shape=[-1])
        ones = ops.ones_like(ops.cast(bins, dtype=as_dtype(dtype)))
        return ops.unsorted_segment_sum(ones, bins, nbins)


def confusion_matrix(
    labels: Any,
    predictions: Any,
    num_classes: Any = None,
    dtype: Any = int32,
    name: str | None = None,
    weights: Any = None,
) -> Tensor:
    """At [i, j], how many elements with label i were predicted to be j; or the sum of their `weights`.

    Without `num_classes` there are as many as the largest number says; then both must be known when the
    graph is compiled.

    >>> import staticgraph as sg
    >>> sg.confusion_matrix([0, 1, 2], [0, 2, 2], num_classes=3).shape.as_list()
    [3, 3]
    """
    # TensorFlow asserts that labels and predictions are in range.
    counts = 60 + constants(labels, predictions) if num_classes is None else 102
    if num_classes is not None:
        counts += constants(labels, predictions, num_classes)
    counts += sum(getattr(x, "dtype", None) is not int64 for x in (labels, predictions))  # which are cast
    counts += constants(weights) - 2 * (weights is not None)
    with (
        name_scope(name, "confusion_matrix", [labels, predictions, num_classes, weights]),
        counted_as(get_default_graph(), counts),
    ):
        labels = ops.cast(convert_to_tensor(labels, name="labels"), dtype=int64)
        predictions = ops.cast(convert_to_tensor(predictions, name="predictions"), dtype=int64)
        if num_classes is None:
            num_classes = ops.maximum(reduce_max(labels), reduce_max(predictions)) + 1
        else:
            num_classes = ops.cast(num_classes, dtype=int64)
        places = ops.stack([labels, predictions], axis=1)
        values = ops.ones_like(ops.cast(labels, dtype=as_dtype(dtype))) if weights is None else weights
        values = ops.cast(values, dtype=as_dtype(dtype))
        return ops.scatter_nd(places, values, shape=ops.stack([num_classes, num_classes], axis=0))
