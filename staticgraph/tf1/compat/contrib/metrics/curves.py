"""`tf.contrib.metrics` of probabilities: points and best points of curves over many thresholds."""

from __future__ import annotations

import math
from typing import Any

import staticgraph as sg
from staticgraph.compiler.graph.errors import misuse
from staticgraph.tf1.metrics.confusion import evenly
from staticgraph.tf1.metrics.streaming import Metric, Name, metric, streamed
from staticgraph.tf1.metrics.thresholds import around, counts_at, require_share

_LEAST = 1e-7  # is added to what is divided by
_CELLS = ("true_positives", "false_positives", "false_negatives")


@metric
def f1_score(
    labels: Any, predictions: Any, weights: Any = None, num_thresholds: int = 200, name: Name = None
) -> Metric:
    """The best F1 score over thresholds: twice the product of precision and recall, over their sum.

    Args:
        labels: Conditions or 0 and 1.
        predictions: Probabilities of the same shape.
        weights: A weight for each prediction; None for 1.
        num_thresholds: How many evenly spaced thresholds are tried.
        metrics_collections, updates_collections: Collections that the value and the update join.
        name: The name of the variable scope.

    Returns:
        The value, and the operation that takes a batch into it.
    """

    def compute(hits: Any, false: Any, missed: Any, name: str) -> Any:
        precision = sg.div(hits, _LEAST + hits + false, name=f"precision_{name}")
        recall = sg.div(hits, _LEAST + hits + missed, name=f"recall_{name}")
        return sg.reduce_max(2.0 * precision * recall / (precision + recall + _LEAST))

    with sg.variable_scope(name, "f1", (labels, predictions, weights)):
        thresholds = around(evenly(num_thresholds))
        return streamed(compute, counts_at(labels, predictions, weights, thresholds, _CELLS))


@metric
def precision_at_recall(
    labels: Any,
    predictions: Any,
    target_recall: float,
    weights: Any = None,
    num_thresholds: int = 200,
    name: Name = None,
) -> Metric:
    """The precision at the largest threshold that has a recall of `target_recall` or more.

    Args:
        labels, predictions, weights, num_thresholds, metrics_collections, updates_collections, name: As for
            `f1_score`.
        target_recall: A number from 0 to 1.

    Returns:
        The value, and the operation that takes a batch into it.

    Raises:
        ValueError: `target_recall` is not in [0, 1].
    """
    require_share("precision_at_recall", "target_recall", target_recall)

    def compute(hits: Any, false: Any, missed: Any, name: str) -> Any:
        recall = hits / (hits + missed + _LEAST)
        at = sg.reduce_sum(sg.cast(sg.greater_equal(recall, target_recall), sg.int64)) - 1
        return sg.div(hits[at] + _LEAST, hits[at] + false[at] + _LEAST, name=name)

    with sg.variable_scope(name, "precision_at_recall", (predictions, labels, weights)):
        thresholds = around(evenly(num_thresholds))
        return streamed(compute, counts_at(labels, predictions, weights, thresholds, _CELLS))


@metric
def recall_at_precision(
    labels: Any,
    predictions: Any,
    precision: float,
    weights: Any = None,
    num_thresholds: int = 200,
    name: Name = None,
    strict_mode: bool = False,
) -> Metric:
    """The recall at the threshold whose precision is nearest to a given one.

    Args:
        labels, predictions, weights, num_thresholds, metrics_collections, updates_collections, name: As for
            `f1_score`.
        precision: A number from 0 to 1.
        strict_mode: Take the threshold with the least precision that is not below; 0 if there is none.

    Returns:
        The value, and the operation that takes a batch into it.

    Raises:
        ValueError: `precision` is not in [0, 1].
    """
    require_share("recall_at_precision", "precision", precision)

    def compute(hits: Any, false: Any, missed: Any, name: str) -> Any:
        excess = hits / (hits + false + _LEAST) - precision
        if not strict_mode:
            at = sg.argmin(sg.abs(excess), 0)
            return sg.div(hits[at], hits[at] + missed[at] + _LEAST, name=name)
        reached = sg.greater_equal(excess, 0.0)
        at = sg.argmin(sg.where(reached, excess, sg.fill(sg.shape(excess), math.inf)), 0)
        recall = sg.div(hits[at], hits[at] + missed[at] + _LEAST)
        return sg.where(reached[at], recall, sg.zeros_like(recall), name=name)

    with sg.variable_scope(name, "recall_at_precision", (predictions, labels, weights)):
        thresholds = around(evenly(num_thresholds))
        return streamed(compute, counts_at(labels, predictions, weights, thresholds, _CELLS))


def streaming_curve_points(
    labels: Any = None,
    predictions: Any = None,
    weights: Any = None,
    num_thresholds: int = 200,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    curve: str = "ROC",
    name: Name = None,
) -> tuple[Any, Any]:
    """The points of a curve, one for each threshold.

    Args:
        labels, predictions, weights, num_thresholds, metrics_collections, updates_collections, name: As for
            `f1_score`.
        curve: "ROC" for the rate of false positives and recall, "PR" for recall and precision.

    Returns:
        The points [num_thresholds, 2], and the operation that takes a batch into them.

    Raises:
        ValueError: There is no such curve.
    """
    if curve not in ("ROC", "PR"):
        raise misuse(ValueError, f"streaming_curve_points: curve is ROC or PR, not {curve!r}")
    least = 1e-6
    with sg.variable_scope(name, "curve_points", (labels, predictions, weights)):
        totals = counts_at(labels, predictions, weights, around(evenly(num_thresholds)))
        hits, missed, true, false = (total.value for total in totals)
        recall = sg.div(hits + least, hits + missed + least)
        if curve == "ROC":
            xs, ys = sg.div(false, false + true + least), recall
        else:
            xs, ys = recall, sg.div(hits + least, hits + false + least)
        points, update = sg.stack([xs, ys], axis=1), sg.group(*(total.updated for total in totals))
    sg.add_to_collections(metrics_collections or (), points)
    sg.add_to_collections(updates_collections or (), update)
    return points, update


@metric
def streaming_false_positive_rate(
    predictions: Any, labels: Any, weights: Any = None, name: Name = None
) -> Metric:
    """The share of false labels that were predicted as true; 0 without any.

    Args:
        predictions: Conditions, or numbers of which 0 is false.
        labels: The same.
        weights, metrics_collections, updates_collections, name: As for `f1_score`.

    Returns:
        The value, and the operation that takes a batch into it.
    """
    with sg.variable_scope(name, "false_positive_rate", (predictions, labels, weights)):
        return _share(sg.metrics.false_positives, sg.metrics.true_negatives, labels, predictions, weights)


@metric
def streaming_false_negative_rate(
    predictions: Any, labels: Any, weights: Any = None, name: Name = None
) -> Metric:
    """The share of true labels that were predicted as false; 0 without any.

    Args:
        predictions, labels, weights, metrics_collections, updates_collections, name: As for
            `streaming_false_positive_rate`.

    Returns:
        The value, and the operation that takes a batch into it.
    """
    with sg.variable_scope(name, "false_negative_rate", (predictions, labels, weights)):
        return _share(sg.metrics.false_negatives, sg.metrics.true_positives, labels, predictions, weights)


def _share(wrong: Any, right: Any, labels: Any, predictions: Any, weights: Any) -> Metric:
    """The metric of a count of errors, over that and another count."""
    labels, predictions = sg.cast(labels, sg.bool), sg.cast(predictions, sg.bool)
    errors, errors_update = wrong(labels, predictions, weights)
    others, others_update = right(labels, predictions, weights)
    value = sg.div_no_nan(errors, errors + others, name="value")
    return value, sg.div_no_nan(errors_update, errors_update + others_update, name="update_op")


@metric
def streaming_false_positive_rate_at_thresholds(
    predictions: Any, labels: Any, thresholds: Any, weights: Any = None, name: Name = None
) -> Metric:
    """`streaming_false_positive_rate` of probabilities, for each threshold.

    Args:
        predictions, labels, weights, metrics_collections, updates_collections, name: As for `f1_score`.
        thresholds: A list of numbers from 0 to 1.

    Returns:
        The values [thresholds], and the operation that takes a batch into them.
    """
    with sg.variable_scope(name, "false_positive_rate_at_thresholds", (predictions, labels, weights)):
        cells = ("false_positives", "true_negatives")
        return _share_at("fpr", counts_at(labels, predictions, weights, thresholds, cells))


@metric
def streaming_false_negative_rate_at_thresholds(
    predictions: Any, labels: Any, thresholds: Any, weights: Any = None, name: Name = None
) -> Metric:
    """`streaming_false_negative_rate` of probabilities, for each threshold.

    Args:
        predictions, labels, thresholds, weights, metrics_collections, updates_collections, name: As for
            `streaming_false_positive_rate_at_thresholds`.

    Returns:
        The values [thresholds], and the operation that takes a batch into them.
    """
    with sg.variable_scope(name, "false_negative_rate_at_thresholds", (predictions, labels, weights)):
        cells = ("false_negatives", "true_positives")
        return _share_at("fnr", counts_at(labels, predictions, weights, thresholds, cells))


def _share_at(label: str, totals: Any) -> Metric:
    def compute(errors: Any, others: Any, name: str) -> Any:
        return sg.div(errors, _LEAST + errors + others, name=f"{label}_{name}")

    return streamed(compute, totals)
