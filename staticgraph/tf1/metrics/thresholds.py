"""Metrics of probabilities: the confusion matrix at many thresholds, and curves drawn through it.

A prediction counts as true at a threshold where it is greater. Predictions are probabilities, from 0 to 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from staticgraph.building.inputs import convert_to_tensor
from staticgraph.compiler import ops
from staticgraph.compiler.graph.dtypes import bool_, float32, int32
from staticgraph.compiler.graph.errors import misuse
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.mathematics.math_ops import div
from staticgraph.state.scopes import variable_scope
from staticgraph.tf1.metrics.counts import CELLS
from staticgraph.tf1.metrics.streaming import (
    Metric,
    Total,
    as_type,
    listed,
    matched,
    ratio,
    running_total,
    spread,
    streamed,
)

_BEYOND = 1e-7  # the outermost thresholds lie so far outside of [0, 1]


def _counts(
    labels: Any, predictions: Any, weights: Any, thresholds: Sequence[float],
    cells: Sequence[str] = tuple(CELLS),
) -> list[Total]:  # fmt: skip
    """For each of `cells` the weight in it at each threshold, in variables of shape [thresholds]."""
    labels, predictions = matched(as_type(labels, bool_), as_type(predictions, float32))
    limits = convert_to_tensor(np.asarray(thresholds, np.float32)[:, None])
    predicted = ops.greater(ops.reshape(predictions, shape=(1, -1)), limits)
    actual = ops.reshape(labels, shape=(1, -1))
    weights = None if weights is None else ops.reshape(spread(weights, predictions), shape=(1, -1))
    totals = []
    for cell in cells:
        label, prediction = CELLS[cell]
        found = ops.logical_and(ops.equal(actual, label), ops.equal(predicted, prediction))
        hits = ops.cast(found, dtype=float32)
        hits = hits if weights is None else ops.multiply(hits, weights)
        totals.append(running_total(ops.reduce_sum(hits, axis=(1,)), cell, shape=[len(thresholds)]))
    return totals


def _cell(
    cell: str, labels: Any, predictions: Any, thresholds: Sequence[float], weights: Any,
    metrics_collections: Any, updates_collections: Any, name: str | None,
) -> Metric:  # fmt: skip
    with variable_scope(name, cell, (predictions, labels, weights)):
        (total,) = _counts(labels, predictions, weights, thresholds, [cell])
        value = ops.identity(total.value, name="Identity")
        return listed(value, total.updated, metrics_collections, updates_collections)


def true_positives_at_thresholds(
    labels: Any, predictions: Any, thresholds: Sequence[float], weights: Any = None,
    metrics_collections: Any = None, updates_collections: Any = None, name: str | None = None,
) -> Metric:  # fmt: skip
    """`true_positives` for each threshold, float32 of shape [thresholds]."""
    cell = "true_positives"
    return _cell(
        cell, labels, predictions, thresholds, weights, metrics_collections, updates_collections, name
    )


def false_negatives_at_thresholds(
    labels: Any, predictions: Any, thresholds: Sequence[float], weights: Any = None,
    metrics_collections: Any = None, updates_collections: Any = None, name: str | None = None,
) -> Metric:  # fmt: skip
    """`false_negatives` for each threshold, float32 of shape [thresholds]."""
    cell = "false_negatives"
    return _cell(
        cell, labels, predictions, thresholds, weights, metrics_collections, updates_collections, name
    )


def true_negatives_at_thresholds(
    labels: Any, predictions: Any, thresholds: Sequence[float], weights: Any = None,
    metrics_collections: Any = None, updates_collections: Any = None, name: str | None = None,
) -> Metric:  # fmt: skip
    """`true_negatives` for each threshold, float32 of shape [thresholds]."""
    cell = "true_negatives"
    return _cell(
        cell, labels, predictions, thresholds, weights, metrics_collections, updates_collections, name
    )


def false_positives_at_thresholds(
    labels: Any, predictions: Any, thresholds: Sequence[float], weights: Any = None,
    metrics_collections: Any = None, updates_collections: Any = None, name: str | None = None,
) -> Metric:  # fmt: skip
    """`false_positives` for each threshold, float32 of shape [thresholds]."""
    cell = "false_positives"
    return _cell(
        cell, labels, predictions, thresholds, weights, metrics_collections, updates_collections, name
    )


def precision_at_thresholds(
    labels: Any, predictions: Any, thresholds: Sequence[float], weights: Any = None,
    metrics_collections: Any = None, updates_collections: Any = None, name: str | None = None,
) -> Metric:  # fmt: skip
    """`precision` for each threshold, float32 of shape [thresholds]."""
    return _share(
        "precision", "false_positives", labels, predictions, thresholds, weights, metrics_collections,
        updates_collections, name,
    )  # fmt: skip


def recall_at_thresholds(
    labels: Any, predictions: Any, thresholds: Sequence[float], weights: Any = None,
    metrics_collections: Any = None, updates_collections: Any = None, name: str | None = None,
) -> Metric:  # fmt: skip
    """`recall` for each threshold, float32 of shape [thresholds]."""
    return _share(
        "recall", "false_negatives", labels, predictions, thresholds, weights, metrics_collections,
        updates_collections, name,
    )  # fmt: skip


def _share(
    share: str, others: str, labels: Any, predictions: Any, thresholds: Sequence[float], weights: Any,
    metrics_collections: Any, updates_collections: Any, name: str | None,
) -> Metric:  # fmt: skip
    """true positives / (true positives + others) at each threshold."""

    def compute(hits: Tensor, missed: Tensor, name: str) -> Tensor:
        return div(hits, 1e-7 + hits + missed, name=f"{share}_{name}")

    with variable_scope(name, f"{share}_at_thresholds", (predictions, labels, weights)):
        totals = _counts(labels, predictions, weights, thresholds, ["true_positives", others])
        return streamed(compute, totals, metrics_collections, updates_collections)


def _evenly(number: int) -> list[float]:
    """The thresholds strictly between 0 and 1 of `number` that divide the interval evenly."""
    return [(i + 1) * 1.0 / (number - 1) for i in range(number - 2)]


def sensitivity_at_specificity(
    labels: Any, predictions: Any, specificity: float, weights: Any = None, num_thresholds: int = 200,
    metrics_collections: Any = None, updates_collections: Any = None, name: str | None = None,
) -> Metric:  # fmt: skip
    """The recall of the true at that of `num_thresholds` thresholds
    where the recall of the false is nearest to `specificity`.
    """
    if not 0 <= specificity <= 1:
        raise misuse(ValueError, f"specificity={specificity} is not in the range from 0 to 1")

    def compute(tp: Tensor, fn: Tensor, tn: Tensor, fp: Tensor, name: str) -> Tensor:
        distance = ops.abs(tn / (tn + fp + _BEYOND) - specificity)
        at = ops.argmin(distance, axis=0, output_type=int32)
        return div(tp[at], tp[at] + fn[at] + _BEYOND, name=name)

    with variable_scope(name, "sensitivity_at_specificity", (predictions, labels, weights)):
        thresholds = [-_BEYOND, *_evenly(num_thresholds), 1.0 + _BEYOND]
        totals = _counts(labels, predictions, weights, thresholds)
        return streamed(compute, totals, metrics_collections, updates_collections)


def specificity_at_sensitivity(
    labels: Any, predictions: Any, sensitivity: float, weights: Any = None, num_thresholds: int = 200,
    metrics_collections: Any = None, updates_collections: Any = None, name: str | None = None,
) -> Metric:  # fmt: skip
    """The recall of the false at the last of `num_thresholds` thresholds
    where the recall of the true is nearest to `sensitivity`.
    """
    if not 0 <= sensitivity <= 1:
        raise misuse(ValueError, f"sensitivity={sensitivity} is not in the range from 0 to 1")

    def compute(tp: Tensor, fn: Tensor, tn: Tensor, fp: Tensor, name: str) -> Tensor:
        distance = ops.abs(tp / (tp + fn + _BEYOND) - sensitivity)
        nearest = ops.cast(ops.equal(distance, ops.reduce_min(distance)), dtype=int32)
        at = ops.argmax(ops.cumsum(nearest, axis=0), axis=0, output_type=int32)
        return div(tn[at], tn[at] + fp[at] + _BEYOND, name=name)

    with variable_scope(name, "specificity_at_sensitivity", (predictions, labels, weights)):
        thresholds = [-_BEYOND, *_evenly(num_thresholds), 1.0 - _BEYOND]
        totals = _counts(labels, predictions, weights, thresholds)
        return streamed(compute, totals, metrics_collections, updates_collections)


def auc(
    labels: Any, predictions: Any, weights: Any = None, num_thresholds: int = 200,
    metrics_collections: Any = None, updates_collections: Any = None, curve: str = "ROC",
    name: str | None = None, summation_method: str = "trapezoidal",
    thresholds: Sequence[float] | None = None,
) -> Metric:  # fmt: skip
    """The area under a curve, "ROC" or "PR" (precision over recall): `(value, update_op)`, see `mean`.

    The curve has a point for each of `num_thresholds` thresholds, evenly spaced unless given in `thresholds`.
    Between them the area is summed by "trapezoidal", "minoring" or "majoring" rule; "careful_interpolation"
    is right for PR. ValueError for another curve or rule.

    >>> import staticgraph as sg
    >>> value, update_op = sg.metrics.auc([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    >>> with sg.Session() as sess:
    ...     _ = sess.run(sg.local_variables_initializer())
    ...     print(sess.run(update_op).round(4))
    0.75
    """
    if curve not in ("ROC", "PR"):
        raise misuse(ValueError, f"curve={curve!r} is neither 'ROC' nor 'PR'")
    if summation_method not in ("careful_interpolation", *_HEIGHTS):
        rules = ", ".join(("careful_interpolation", *_HEIGHTS))
        raise misuse(ValueError, f"summation_method={summation_method!r} is not one of {rules}")

    def compute(tp: Tensor, fn: Tensor, tn: Tensor, fp: Tensor, name: str) -> Tensor:
        if curve == "PR" and summation_method == "careful_interpolation":
            return _interpolated_area(tp, fn, fp)
        recall = (tp + 1e-6) / (tp + fn + 1e-6)
        if curve == "ROC":
            x, y = fp / (fp + tn + 1e-6), recall
        else:
            x, y = recall, (tp + 1e-6) / (tp + fp + 1e-6)
        height = _HEIGHTS.get(summation_method, _HEIGHTS["trapezoidal"])
        return ops.reduce_sum((x[:-1] - x[1:]) * height(y[:-1], y[1:]), name=name)

    inner = _evenly(num_thresholds) if thresholds is None else sorted(thresholds)
    with variable_scope(name, "auc", (labels, predictions, weights)):
        totals = _counts(labels, predictions, weights, [-_BEYOND, *inner, 1.0 + _BEYOND])
        return streamed(compute, totals, metrics_collections, updates_collections)


_HEIGHTS = {
    "trapezoidal": lambda left, right: (left + right) / 2.0,
    "minoring": ops.minimum,
    "majoring": ops.maximum,
}


def _interpolated_area(tp: Tensor, fn: Tensor, fp: Tensor) -> Tensor:
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
