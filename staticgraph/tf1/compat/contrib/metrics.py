"""`tf.contrib.metrics`: what was predicted comes first and the labels second, other than in `tf.metrics`."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import staticgraph as sg
from staticgraph.building.signatures import arguments
from staticgraph.compiler.graph.errors import misuse
from staticgraph.tf1.metrics.streaming import named

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


def _streaming(metric: Callable[..., Any], doc: str) -> Callable[..., Any]:
    """Metric of `sg.metrics` with the predictions first, and without the parameters after `name`."""
    names = list(inspect.signature(metric).parameters)
    names = [*reversed(names[:2]), *names[2:]] if names[0] == "labels" else names
    parameters = [inspect.signature(metric).parameters[name] for name in names[: names.index("name") + 1]]
    signature = inspect.Signature(parameters)

    def streaming(*args: Any, **kwargs: Any) -> Any:
        return metric(**arguments(streaming.__name__, signature, args, kwargs))

    streaming.__signature__ = signature  # type: ignore[attr-defined]
    return named(streaming, f"streaming_{metric.__name__}", doc)


streaming_mean = _streaming(sg.metrics.mean, "The mean of all values of all batches.")
streaming_accuracy = _streaming(
    sg.metrics.accuracy, "The share of predictions that equal their labels, over all batches."
)
streaming_precision = _streaming(
    sg.metrics.precision, "The share of true ones among what was predicted to be true."
)
streaming_recall = _streaming(sg.metrics.recall, "The share of the true ones that were predicted to be true.")
streaming_mean_absolute_error = _streaming(
    sg.metrics.mean_absolute_error, "The mean of `abs(predictions - labels)` over all batches."
)
streaming_mean_squared_error = _streaming(
    sg.metrics.mean_squared_error, "The mean of `(predictions - labels) ** 2` over all batches."
)
streaming_root_mean_squared_error = _streaming(
    sg.metrics.root_mean_squared_error, "The root of `streaming_mean_squared_error`."
)
streaming_auc = _streaming(
    sg.metrics.auc, "The area under a curve of predictions in [0, 1]: see `metrics.auc`."
)
