"""The confusion matrix: its cells, and the values that metrics compute of it.

The formulas are those of `sg.metrics`, of Keras and of contrib: what differs, such as the number that keeps a
divisor from zero, is an argument.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from staticgraph.arrays.indexing import where
from staticgraph.building.inputs import convert_to_tensor
from staticgraph.compiler import ops
from staticgraph.compiler.graph.checks.arguments import list_of, real_of
from staticgraph.compiler.graph.dtypes import DType, float32, int32
from staticgraph.compiler.graph.errors import misuse, shown
from staticgraph.compiler.graph.tensor import Tensor

_MOST_THRESHOLDS = 1 << 20  # each is a row of a tensor as long as the predictions

# What label and prediction are in each cell.
CELLS = {
    "true_positives": (True, True),
    "false_negatives": (True, False),
    "true_negatives": (False, False),
    "false_positives": (False, True),
}

# The height of a curve between two of its points, by the method of summation.
HEIGHTS: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "trapezoidal": lambda left, right: (left + right) / 2.0,
    "minoring": ops.minimum,
    "majoring": ops.maximum,
}


def in_cell(cell: str, labels: Tensor, predictions: Tensor, weights: Any, dtype: DType = float32) -> Tensor:
    """The weight of each element that is in `cell`, and 0 for others. `weights` are of the same shape."""
    label, prediction = CELLS[cell]
    found = ops.logical_and(ops.equal(labels, label), ops.equal(predictions, prediction))
    hits = ops.cast(found, dtype=dtype)
    return hits if weights is None else ops.multiply(hits, weights)


def in_cells_at(
    thresholds: Sequence[float], labels: Tensor, predictions: Tensor, weights: Tensor | None
) -> Callable[[str], Tensor]:
    """Return a function from a cell to the weight in it at each threshold.

    A prediction counts as true at a threshold if it is greater. `labels` are bool, of the shape of
    `predictions` and of `weights`.
    """
    dtype = predictions.dtype
    given = [real_of(each, "a threshold") for each in list_of(thresholds, "thresholds")]
    limits = convert_to_tensor(np.asarray(given, dtype.numpy)[:, None])
    predicted = ops.greater(ops.reshape(predictions, shape=(1, -1)), limits)
    actual = ops.reshape(labels, shape=(1, -1))
    weights = None if weights is None else ops.reshape(weights, shape=(1, -1))
    return lambda cell: ops.reduce_sum(in_cell(cell, actual, predicted, weights, dtype), axis=(1,))


def evenly(number: int) -> list[float]:
    """The thresholds strictly between 0 and 1 of `number` that divide the interval evenly."""
    if not isinstance(number, int | np.integer) or not 0 < number <= _MOST_THRESHOLDS:
        text = f"num_thresholds is {shown(number)}, and must be a whole number from 1 to {_MOST_THRESHOLDS:,}"
        raise misuse(ValueError, text)
    return [(i + 1) * 1.0 / (number - 1) for i in range(number - 2)]


def ratio(part: Any, whole: Any, name: str | None = None) -> Tensor:
    """part / whole, and 0 where the whole is not positive."""
    return ops.div_no_nan(part, ops.maximum(whole, 0.0), name=name)


def share(part: Tensor, rest: Tensor, name: str | None = None) -> Tensor:
    """part / (part + rest), and 0 where both are 0: precision of hits and false alarms, recall, ..."""
    return ops.div_no_nan(part, ops.add(part, rest), name=name)


def nearest(values: Tensor, wanted: float, last: bool = False) -> Tensor:
    """The place of the value that is nearest to `wanted`: the first of several, or the `last`."""
    distance = ops.abs(values - wanted)
    if not last:
        return ops.argmin(distance, axis=0, output_type=int32)
    ties = ops.cast(ops.equal(distance, ops.reduce_min(distance)), dtype=int32)
    return ops.argmax(ops.cumsum(ties, axis=0), axis=0, output_type=int32)


def area(x: Tensor, y: Tensor, method: str, name: str | None = None) -> Tensor:
    """The area under a curve through points whose x fall; `method` is one of HEIGHTS."""
    return ops.reduce_sum((x[:-1] - x[1:]) * HEIGHTS[method](y[:-1], y[1:]), name=name)


def interpolated_area(tp: Tensor, fn: Tensor, fp: Tensor) -> Tensor:
    """The area under precision over recall. Between two thresholds true positives grow linearly with all
    positives, and precision does not: its integral has a logarithm (Davis and Goadrich, 2006).
    """
    found = tp[:-1] - tp[1:]
    positive = tp + fp
    more, fewer = positive[:-1], positive[1:]
    slope = ratio(found, more - fewer, name="prec_slope")
    intercept = tp[1:] - slope * fewer
    both = ops.logical_and(ops.greater(more, 0.0), ops.greater(fewer, 0.0))
    growth = ops.select(both, ratio(more, fewer), ops.ones_like(fewer))
    areas = ratio(slope * (found + intercept * ops.log(growth)), tp[1:] + fn[1:], name="pr_auc_increment")
    return ops.reduce_sum(areas, name="interpolate_pr_auc")


def mean_overlap(matrix: Tensor, dtype: DType = float32) -> Tensor:
    """The mean over classes of hits / (hits + misses + false alarms); classes that do not occur do not count.

    `matrix` has a row per label and a column per prediction.
    """
    predicted = ops.cast(ops.reduce_sum(matrix, axis=(0,)), dtype=dtype)
    labelled = ops.cast(ops.reduce_sum(matrix, axis=(1,)), dtype=dtype)
    both = ops.cast(ops.diag_part(matrix), dtype=dtype)
    either = predicted + labelled - both
    occurs = ops.greater(either, 0.0)
    overlaps = both / where(occurs, either, ops.ones_like(either))
    total, number = ops.reduce_sum(overlaps, name="mean_iou"), ops.reduce_sum(ops.cast(occurs, dtype=dtype))
    return where(ops.greater(number, 0.0), total / number, ops.zeros_like(total))
