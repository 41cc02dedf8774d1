"""Metrics of classes: mean intersection over union, mean accuracy per class."""

from __future__ import annotations

from typing import Any

from staticgraph.compiler import ops
from staticgraph.compiler.graph.dtypes import float32, float64, int64
from staticgraph.compiler.graph.recording.op_count import count_more
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.mathematics.segments import confusion_matrix
from staticgraph.state.scopes import variable_scope
from staticgraph.state.state_ops import scatter_add
from staticgraph.tf1.metrics.confusion import mean_overlap, ratio
from staticgraph.tf1.metrics.streaming import (
    Metric,
    Name,
    as_type,
    matched,
    metric,
    metric_variable,
    of_all_replicas,
    running_total,
)


def _flat(x: Tensor) -> Tensor:
    return x if x.shape.ndims == 1 else ops.reshape(x, shape=(-1,))


@metric
def mean_iou(
    labels: Any, predictions: Any, num_classes: int, weights: Any = None, name: Name = None
) -> Metric:
    """The mean over classes of true positives / (true positives + false positives + false negatives).

    `labels` and `predictions` are integers of one shape, less than `num_classes`; classes that occur in
    neither do not count. `value` is a float32 number. `update_op` is the confusion matrix up to now, float64
    of shape [num_classes, num_classes] with a row per label.

    >>> import staticgraph as sg
    >>> value, update_op = sg.metrics.mean_iou([0, 0, 1, 1], [0, 1, 1, 1], num_classes=2)
    >>> with sg.Session() as sess:
    ...     _ = sess.run(sg.local_variables_initializer())
    ...     _ = sess.run(update_op)
    ...     print(sess.run(value).round(4))
    0.5833
    """
    with variable_scope(name, "mean_iou", (predictions, labels, weights)):
        labels, predictions = (_flat(as_type(x, int64)) for x in matched(labels, predictions))
        weights = None if weights is None else as_type(weights, float64)
        if weights is not None and weights.shape.ndims != 0:
            weights = _flat(weights)
        matrix = confusion_matrix(labels, predictions, num_classes, weights=weights, dtype=float64)
        count_more(matrix.graph, 6)
        total = running_total(matrix, "total_confusion_matrix", float64, [num_classes, num_classes])
        value = mean_overlap(total.value)
        return value, total.updated


@metric
def mean_per_class_accuracy(
    labels: Any, predictions: Any, num_classes: int, weights: Any = None, name: Name = None
) -> Metric:
    """The mean over classes of the share of a class's elements that were predicted as such.

    `labels` and `predictions` are integers of one shape, less than `num_classes`; a class that never occurs
    counts as 0. `value` is a float32 number, `update_op` the shares up to now, of shape [num_classes].
    """
    with variable_scope(name, "mean_accuracy", (predictions, labels, weights)):
        labels, predictions = (_flat(as_type(x, int64)) for x in matched(labels, predictions))
        total, count = (metric_variable([num_classes], float32, name) for name in ("total", "count"))
        seen = ops.cast(ops.ones_like(labels), dtype=float32)
        correct = ops.cast(ops.equal(predictions, labels), dtype=float32)
        if weights is not None:
            weights = as_type(weights, float32)
            weights = weights if weights.shape.ndims == 0 else _flat(weights)
            seen, correct = ops.multiply(seen, weights), ops.multiply(correct, weights)
        all_seen, all_correct = scatter_add(total, labels, seen), scatter_add(count, labels, correct)
        shares = ratio(of_all_replicas(count), of_all_replicas(total))
        value = ops.reduce_mean(shares, name="mean_accuracy")
        update_op = ratio(all_correct, all_seen, name="update_op")
        return value, update_op
