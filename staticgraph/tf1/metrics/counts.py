"""Metrics of yes and no: the four cells of the confusion matrix, precision and recall."""

from __future__ import annotations

from typing import Any

from staticgraph.compiler import ops
from staticgraph.compiler.graph.dtypes import bool_, float32
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.state.scopes import variable_scope
from staticgraph.tf1.metrics.streaming import (
    Metric,
    Total,
    as_type,
    listed,
    matched,
    running_total,
    spread,
    streamed,
)

# What label and prediction are in each cell.
CELLS = {
    "true_positives": (True, True),
    "false_negatives": (True, False),
    "true_negatives": (False, False),
    "false_positives": (False, True),
}


def _counted(cell: str, labels: Tensor, predictions: Tensor, weights: Any) -> Total:
    label, prediction = CELLS[cell]
    found = ops.logical_and(ops.equal(labels, label), ops.equal(predictions, prediction))
    hits = ops.cast(found, dtype=float32)
    hits = hits if weights is None else ops.multiply(hits, spread(weights, hits))
    return running_total(ops.reduce_sum(hits), "count")


def _booleans(labels: Any, predictions: Any) -> tuple[Tensor, Tensor]:
    return matched(as_type(labels, bool_), as_type(predictions, bool_))


def _cell(
    cell: str, labels: Any, predictions: Any, weights: Any, metrics_collections: Any,
    updates_collections: Any, name: str | None,
) -> Metric:  # fmt: skip
    with variable_scope(name, cell, (predictions, labels, weights)):
        total = _counted(cell, *_booleans(labels, predictions), weights)
        value = ops.identity(total.value, name="Identity")
        return listed(value, total.updated, metrics_collections, updates_collections)


def true_positives(
    labels: Any, predictions: Any, weights: Any = None, metrics_collections: Any = None,
    updates_collections: Any = None, name: str | None = None,
) -> Metric:  # fmt: skip
    """The sum of the weights of elements where label and
    prediction are true: `(value, update_op)`, see `mean`.

    Both are cast to bool: whatever is not zero is true.
    """
    return _cell(
        "true_positives", labels, predictions, weights, metrics_collections, updates_collections, name
    )


def false_negatives(
    labels: Any, predictions: Any, weights: Any = None, metrics_collections: Any = None,
    updates_collections: Any = None, name: str | None = None,
) -> Metric:  # fmt: skip
    """As `true_positives`, where the label is true and the prediction is not."""
    return _cell(
        "false_negatives", labels, predictions, weights, metrics_collections, updates_collections, name
    )


def true_negatives(
    labels: Any, predictions: Any, weights: Any = None, metrics_collections: Any = None,
    updates_collections: Any = None, name: str | None = None,
) -> Metric:  # fmt: skip
    """As `true_positives`, where neither is true."""
    return _cell(
        "true_negatives", labels, predictions, weights, metrics_collections, updates_collections, name
    )


def false_positives(
    labels: Any, predictions: Any, weights: Any = None, metrics_collections: Any = None,
    updates_collections: Any = None, name: str | None = None,
) -> Metric:  # fmt: skip
    """As `true_positives`, where the prediction is true and the label is not."""
    return _cell(
        "false_positives", labels, predictions, weights, metrics_collections, updates_collections, name
    )


def precision(
    labels: Any, predictions: Any, weights: Any = None, metrics_collections: Any = None,
    updates_collections: Any = None, name: str | None = None,
) -> Metric:  # fmt: skip
    """Of what was predicted true, the share that is true; 0 where nothing was: `(value, update_op)`.

    >>> import staticgraph as sg
    >>> value, update_op = sg.metrics.precision([1, 0, 1, 0], [1, 1, 1, 0])
    >>> with sg.Session() as sess:
    ...     _ = sess.run(sg.local_variables_initializer())
    ...     print(sess.run(update_op).round(4))
    0.6667
    """
    others = "false_positives"
    return _share(
        "precision", others, labels, predictions, weights, metrics_collections, updates_collections, name
    )


def recall(
    labels: Any, predictions: Any, weights: Any = None, metrics_collections: Any = None,
    updates_collections: Any = None, name: str | None = None,
) -> Metric:  # fmt: skip
    """Of what is true, the share that was predicted true; 0 where nothing is: `(value, update_op)`."""
    others = "false_negatives"
    return _share(
        "recall", others, labels, predictions, weights, metrics_collections, updates_collections, name
    )


def _share(
    default: str, others: str, labels: Any, predictions: Any, weights: Any, metrics_collections: Any,
    updates_collections: Any, name: str | None,
) -> Metric:  # fmt: skip
    """true positives / (true positives + others)."""
    with variable_scope(name, default, (predictions, labels, weights)):
        labels, predictions = _booleans(labels, predictions)
        totals = []
        for cell in ("true_positives", others):
            with variable_scope(None, cell, (predictions, labels, weights)):
                totals.append(_counted(cell, labels, predictions, weights))
        return streamed(_fraction, totals, metrics_collections, updates_collections)


def _fraction(hits: Tensor, others: Tensor, name: str) -> Tensor:
    return ops.div_no_nan(hits, ops.add(hits, others), name=name)
