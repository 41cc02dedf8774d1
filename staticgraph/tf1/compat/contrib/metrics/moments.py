"""`tf.contrib.metrics`: counts, covariances and the agreement of two raters, over many batches."""

from __future__ import annotations

from typing import Any

import staticgraph as sg
from staticgraph.compiler.graph.errors import misuse
from staticgraph.tf1.metrics.streaming import (
    Metric,
    Name,
    matched,
    metric,
    metric_variable,
    running_total,
    spread,
    streamed,
)


@metric
def count(values: Any, weights: Any = None, name: Name = None) -> Metric:
    """The number of elements, or the sum of their weights.

    Args:
        values: A tensor.
        weights: A weight for each element; None for 1.
        metrics_collections, updates_collections: Collections that the value and the update join.
        name: The name of the variable scope.

    Returns:
        The value, and the operation that takes a batch into it.
    """
    with sg.variable_scope(name, "count", (values, weights)):
        values = sg.convert_to_tensor(values)
        seen = sg.size(values) if weights is None else sg.reduce_sum(spread(weights, values))
        total = running_total(sg.cast(seen, sg.float32), "count")
        return sg.identity(total.value), total.updated


@metric
def streaming_covariance(predictions: Any, labels: Any, weights: Any = None, name: Name = None) -> Metric:
    """The sample covariance of predictions and labels, by the stable update of Chan et al.

    Args:
        predictions: Numbers.
        labels: Numbers of the same shape.
        weights: A weight for each pair; None for 1.
        metrics_collections, updates_collections: Collections that the value and the update join.
        name: The name of the variable scope.

    Returns:
        The value, which is NaN for one pair or none, and the operation that takes a batch into it.
    """
    with sg.variable_scope(name, "covariance", (predictions, labels, weights)):
        labels, predictions = matched(labels, predictions)
        weight = sg.ones_like(predictions) if weights is None else spread(weights, predictions)
        names = ("count", "mean_prediction", "mean_label", "comoment")
        seen, mean_x, mean_y, comoment = (metric_variable([], sg.float32, each) for each in names)
        total = _covariance(comoment.to_tensor(), seen.to_tensor(), "covariance")

        amount = sg.reduce_sum(weight)
        batch_x = sg.div_no_nan(sg.reduce_sum(predictions * weight), amount)
        batch_y = sg.div_no_nan(sg.reduce_sum(labels * weight), amount)
        shift_x, shift_y = batch_x - mean_x.to_tensor(), batch_y - mean_y.to_tensor()
        before, after = seen.to_tensor(), seen.to_tensor() + amount
        within = sg.reduce_sum((predictions - batch_x) * (labels - batch_y) * weight)
        between = shift_x * shift_y * sg.div_no_nan(before * amount, after)
        new_x = mean_x.assign_add(sg.div_no_nan(shift_x * amount, after))
        new_y = mean_y.assign_add(sg.div_no_nan(shift_y * amount, after))
        new_count, new_comoment = seen.assign(after), comoment.assign_add(within + between)
        with sg.control_dependencies([new_x, new_y]):
            return total, _covariance(new_comoment, new_count, "update_op")


def _covariance(comoment: Any, count: Any, name: str) -> Any:
    too_few = sg.less_equal(count, 1.0)
    return sg.where(too_few, sg.constant(float("nan")), sg.truediv(comoment, count - 1.0), name=name)


@metric
def streaming_pearson_correlation(
    predictions: Any, labels: Any, weights: Any = None, name: Name = None
) -> Metric:
    """The correlation of predictions and labels, from -1 to 1.

    Args:
        predictions, labels, weights, metrics_collections, updates_collections, name: As for
            `streaming_covariance`.

    Returns:
        The value, which is NaN for one pair or none, and the operation that takes a batch into it.
    """
    with sg.variable_scope(name, "pearson_r", (predictions, labels, weights)):
        labels, predictions = matched(labels, predictions)
        both, both_update = streaming_covariance(predictions, labels, weights, name="covariance")
        of_x, x_update = streaming_covariance(predictions, predictions, weights, name="variance_predictions")
        of_y, y_update = streaming_covariance(labels, labels, weights, name="variance_labels")
        value = sg.truediv(both, sg.sqrt(of_x) * sg.sqrt(of_y), name="pearson_r")
        return value, sg.truediv(both_update, sg.sqrt(x_update) * sg.sqrt(y_update), name="update_op")


@metric
def cohen_kappa(
    labels: Any, predictions_idx: Any, num_classes: int, weights: Any = None, name: Name = None
) -> Metric:
    """Cohen's kappa: how much more labels and predictions agree than by chance; 1 for complete agreement.

    Args:
        labels: Classes, [batch] or [batch, 1].
        predictions_idx: Classes, the same.
        num_classes: How many classes there are, 2 or more.
        weights: A weight for each pair; None for 1.
        metrics_collections, updates_collections: Collections that the value and the update join.
        name: The name of the variable scope.

    Returns:
        The value, and the operation that takes a batch into it, float64.

    Raises:
        ValueError: There are less than two classes.
    """
    if num_classes < 2:
        raise misuse(ValueError, f"cohen_kappa: num_classes must be 2 or more, it is {num_classes}")

    def compute(agreed: Any, of_predictions: Any, of_labels: Any, name: str) -> Any:
        agreed, rows, columns = (sg.cast(x, sg.float64) for x in (agreed, of_predictions, of_labels))
        total = sg.reduce_sum(rows)
        by_chance = sg.reduce_sum(sg.div_no_nan(rows * columns, total))
        return sg.div_no_nan(sg.reduce_sum(agreed) - by_chance, total - by_chance, name=name)

    with sg.variable_scope(name, "cohen_kappa", (labels, predictions_idx, weights)):
        labels, predictions = matched(labels, predictions_idx)
        labels, predictions = sg.reshape(labels, [-1]), sg.reshape(predictions, [-1])
        weight = None if weights is None else sg.convert_to_tensor(weights)
        kind = sg.int64 if weight is None or weight.dtype.is_integer else sg.float32
        weight = None if weight is None else spread(weight, labels, kind)
        table = sg.confusion_matrix(labels, predictions, num_classes, weights=weight, dtype=kind)
        shape = [num_classes]
        totals = [
            running_total(sg.diag_part(table), "po", kind, shape),
            running_total(sg.reduce_sum(table, axis=0), "pe_row", kind, shape),
            running_total(sg.reduce_sum(table, axis=1), "pe_col", kind, shape),
        ]
        return streamed(compute, totals)
