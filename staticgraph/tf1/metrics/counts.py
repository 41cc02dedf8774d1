"""Metrics of yes and no: the four cells of the confusion matrix, precision and recall."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from staticgraph.compiler import ops
from staticgraph.compiler.graph.dtypes import bool_, float32
from staticgraph.compiler.graph.recording.op_count import count_more, counted_as
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.state.scopes import variable_scope
from staticgraph.tf1.metrics.confusion import in_cell, share
from staticgraph.tf1.metrics.streaming import (
    Metric,
    Name,
    Total,
    as_type,
    matched,
    metric,
    named,
    running_total,
    spread,
    streamed,
)


def _counted(cell: str, labels: Tensor, predictions: Tensor, weights: Any) -> Total:
    if weights is not None:
        weights = as_type(weights, float32)
        with counted_as(predictions.graph, 6):  # TensorFlow checks the rank alone
            weights = spread(weights, predictions)
    return running_total(ops.reduce_sum(in_cell(cell, labels, predictions, weights)), "count")


def _booleans(labels: Any, predictions: Any) -> tuple[Tensor, Tensor]:
    return matched(as_type(labels, bool_), as_type(predictions, bool_))


def _cell(cell: str, doc: str) -> Callable[..., Metric]:
    """The metric of one cell of the confusion matrix."""

    @metric
    def count(labels: Any, predictions: Any, weights: Any = None, name: Name = None) -> Metric:
        with variable_scope(name, cell, (predictions, labels, weights)):
            labels, predictions = _booleans(labels, predictions)
            total = _counted(cell, labels, predictions, weights)
            count_more(predictions.graph, 2)
            value = ops.identity(total.value, name="Identity")
            return value, total.updated

    return named(count, cell, doc)


true_positives = _cell(
    "true_positives",
    """The sum of the weights of elements where label and prediction are true; see `mean`.

    Both are cast to bool: whatever is not zero is true.
    """,
)
false_negatives = _cell(
    "false_negatives", "As `true_positives`, where the label is true and the prediction is not."
)
true_negatives = _cell("true_negatives", "As `true_positives`, where neither is true.")
false_positives = _cell(
    "false_positives", "As `true_positives`, where the prediction is true and the label is not."
)


@metric
def precision(labels: Any, predictions: Any, weights: Any = None, name: Name = None) -> Metric:
    """The share of what is true in what was predicted true; 0 where nothing was: `(value, update_op)`.

    >>> import staticgraph as sg
    >>> value, update_op = sg.metrics.precision([1, 0, 1, 0], [1, 1, 1, 0])
    >>> with sg.Session() as sess:
    ...     _ = sess.run(sg.local_variables_initializer())
    ...     print(sess.run(update_op).round(4))
    0.6667
    """
    others = "false_positives"
    return _share("precision", others, labels, predictions, weights, name)


@metric
def recall(labels: Any, predictions: Any, weights: Any = None, name: Name = None) -> Metric:
    """The share of what was predicted true in what is true; 0 where nothing is: `(value, update_op)`."""
    others = "false_negatives"
    return _share("recall", others, labels, predictions, weights, name)


def _share(default: str, others: str, labels: Any, predictions: Any, weights: Any, name: Name) -> Metric:
    """true positives / (true positives + others)."""
    with variable_scope(name, default, (predictions, labels, weights)):
        labels, predictions = _booleans(labels, predictions)
        totals = []
        for cell in ("true_positives", others):
            with variable_scope(None, cell, (predictions, labels, weights)):
                totals.append(_counted(cell, labels, predictions, weights))
        count_more(labels.graph, 16)
        return streamed(share, totals)
