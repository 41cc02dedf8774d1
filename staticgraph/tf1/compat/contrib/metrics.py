"""`tf.contrib.metrics`: what was predicted comes first and the labels second, other than in `tf.metrics`."""

from __future__ import annotations

from typing import Any

import staticgraph as sg
from staticgraph.building.signatures import adapted
from staticgraph.compiler.graph.errors import misuse

__all__ = [
    "accuracy",
    "streaming_accuracy",
    "streaming_auc",
    "streaming_mean",
    "streaming_mean_absolute_error",
    "streaming_mean_squared_error",
    "streaming_precision",
    "streaming_recall",
    "streaming_root_mean_squared_error",
]


def accuracy(predictions: Any, labels: Any, weights: Any = None, name: str | None = None) -> Any:
    """The share of `predictions` that equal `labels`, of this batch alone; weighted if there are weights."""
    with sg.name_scope(name, "accuracy", values=[predictions, labels]):
        predictions, labels = sg.convert_to_tensor(predictions), sg.convert_to_tensor(labels)
        if predictions.dtype != labels.dtype:
            raise misuse(
                ValueError, f"predictions are {predictions.dtype} and labels {labels.dtype}: cast one of them"
            )
        right = sg.cast(sg.equal(predictions, labels), sg.float32)
        if weights is None:
            return sg.reduce_mean(right)
        weights = sg.broadcast_to(sg.cast(weights, sg.float32), sg.shape(right))
        return sg.reduce_sum(right * weights) / sg.reduce_sum(weights)


_COLLECTIONS = "metrics_collections updates_collections name"
_ORDER = f"predictions labels weights {_COLLECTIONS}"
_AUC = "predictions labels weights num_thresholds metrics_collections updates_collections curve name"

streaming_mean = adapted(sg.metrics.mean, f"values weights {_COLLECTIONS}", "streaming_mean")
streaming_accuracy = adapted(sg.metrics.accuracy, _ORDER, "streaming_accuracy")
streaming_precision = adapted(sg.metrics.precision, _ORDER, "streaming_precision")
streaming_recall = adapted(sg.metrics.recall, _ORDER, "streaming_recall")
streaming_mean_absolute_error = adapted(
    sg.metrics.mean_absolute_error, _ORDER, "streaming_mean_absolute_error"
)
streaming_mean_squared_error = adapted(sg.metrics.mean_squared_error, _ORDER, "streaming_mean_squared_error")
streaming_root_mean_squared_error = adapted(
    sg.metrics.root_mean_squared_error, _ORDER, "streaming_root_mean_squared_error"
)
streaming_auc = adapted(sg.metrics.auc, _AUC, "streaming_auc")
