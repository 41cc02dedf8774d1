"""`tf.contrib.metrics`: what was predicted comes first and the labels second, other than in `tf.metrics`."""

from __future__ import annotations

from typing import Any

import staticgraph as sg
from staticgraph.building.signatures import adapted
from staticgraph.compiler.graph.errors import misuse

__all__ = [
    "accuracy",
    "aggregate_metric_map",
    "aggregate_metrics",
    "confusion_matrix",
    "sparse_recall_at_top_k",
    "streaming_accuracy",
    "streaming_auc",
    "streaming_false_negatives",
    "streaming_false_negatives_at_thresholds",
    "streaming_false_positives",
    "streaming_false_positives_at_thresholds",
    "streaming_mean",
    "streaming_mean_absolute_error",
    "streaming_mean_cosine_distance",
    "streaming_mean_iou",
    "streaming_mean_relative_error",
    "streaming_mean_squared_error",
    "streaming_mean_tensor",
    "streaming_percentage_less",
    "streaming_precision",
    "streaming_precision_at_thresholds",
    "streaming_recall",
    "streaming_recall_at_k",
    "streaming_recall_at_thresholds",
    "streaming_root_mean_squared_error",
    "streaming_sensitivity_at_specificity",
    "streaming_sparse_average_precision_at_k",
    "streaming_sparse_precision_at_k",
    "streaming_sparse_precision_at_top_k",
    "streaming_sparse_recall_at_k",
    "streaming_specificity_at_sensitivity",
    "streaming_true_negatives",
    "streaming_true_negatives_at_thresholds",
    "streaming_true_positives",
    "streaming_true_positives_at_thresholds",
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
_AT = f"predictions labels thresholds weights {_COLLECTIONS}"
_AT_K = f"predictions labels k class_id weights {_COLLECTIONS}"
_AT_TOP_K = f"top_k_predictions=predictions_idx labels class_id weights {_COLLECTIONS}"
_WITH = "predictions labels {} weights " + _COLLECTIONS
_NEAR = f"predictions labels {{}} weights num_thresholds {_COLLECTIONS}"


def _streaming(function: Any, order: str = _ORDER, name: str = "") -> Any:
    """A metric of `tf.metrics` by the name and with the order of arguments that contrib has."""
    return adapted(function, order, name or f"streaming_{function.__name__}")


_metrics = sg.metrics
streaming_mean = _streaming(_metrics.mean, f"values weights {_COLLECTIONS}")
streaming_mean_tensor = _streaming(_metrics.mean_tensor, f"values weights {_COLLECTIONS}")
streaming_percentage_less = _streaming(
    _metrics.percentage_below, f"values threshold weights {_COLLECTIONS}", "streaming_percentage_less"
)
streaming_accuracy = _streaming(_metrics.accuracy)
streaming_precision = _streaming(_metrics.precision)
streaming_recall = _streaming(_metrics.recall)
streaming_true_positives = _streaming(_metrics.true_positives)
streaming_true_negatives = _streaming(_metrics.true_negatives)
streaming_false_positives = _streaming(_metrics.false_positives)
streaming_false_negatives = _streaming(_metrics.false_negatives)
streaming_mean_absolute_error = _streaming(_metrics.mean_absolute_error)
streaming_mean_squared_error = _streaming(_metrics.mean_squared_error)
streaming_root_mean_squared_error = _streaming(_metrics.root_mean_squared_error)
streaming_mean_relative_error = _streaming(_metrics.mean_relative_error, _WITH.format("normalizer"))
streaming_mean_cosine_distance = _streaming(_metrics.mean_cosine_distance, _WITH.format("dim"))
streaming_mean_iou = _streaming(_metrics.mean_iou, _WITH.format("num_classes"))
streaming_auc = _streaming(_metrics.auc, _AUC)
streaming_precision_at_thresholds = _streaming(_metrics.precision_at_thresholds, _AT)
streaming_recall_at_thresholds = _streaming(_metrics.recall_at_thresholds, _AT)
streaming_sensitivity_at_specificity = _streaming(
    _metrics.sensitivity_at_specificity, _NEAR.format("specificity")
)
streaming_specificity_at_sensitivity = _streaming(
    _metrics.specificity_at_sensitivity, _NEAR.format("sensitivity")
)
_CELL = "predictions labels thresholds weights"
streaming_true_positives_at_thresholds = _streaming(_metrics.true_positives_at_thresholds, _CELL)
streaming_true_negatives_at_thresholds = _streaming(_metrics.true_negatives_at_thresholds, _CELL)
streaming_false_positives_at_thresholds = _streaming(_metrics.false_positives_at_thresholds, _CELL)
streaming_false_negatives_at_thresholds = _streaming(_metrics.false_negatives_at_thresholds, _CELL)
streaming_sparse_precision_at_k = _streaming(
    _metrics.precision_at_k, _AT_K, "streaming_sparse_precision_at_k"
)
streaming_sparse_recall_at_k = _streaming(_metrics.recall_at_k, _AT_K, "streaming_sparse_recall_at_k")
streaming_sparse_precision_at_top_k = _streaming(
    _metrics.precision_at_top_k, _AT_TOP_K, "streaming_sparse_precision_at_top_k"
)
sparse_recall_at_top_k = _streaming(
    _metrics.recall_at_top_k,
    f"labels top_k_predictions=predictions_idx class_id weights {_COLLECTIONS}",
    "sparse_recall_at_top_k",
)
streaming_sparse_average_precision_at_k = _streaming(
    _metrics.average_precision_at_k, _WITH.format("k"), "streaming_sparse_average_precision_at_k"
)
confusion_matrix = adapted(
    sg.confusion_matrix, "labels predictions num_classes dtype name weights", "confusion_matrix"
)


def streaming_recall_at_k(
    predictions: Any,
    labels: Any,
    k: int,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Any:
    """The share of examples whose label is among the `k` largest predictions.

    Args:
        predictions: Scores, [batch, classes].
        labels: Integers, [batch].
        k: How many predictions count.
        weights: A weight for each example; None for 1.
        metrics_collections, updates_collections: Collections that the value and the update join.
        name: The name of the variable scope.

    Returns:
        The value, and the operation that takes a batch into it.
    """
    found = sg.cast(sg.nn.in_top_k(predictions, labels, k), sg.float32)
    return _metrics.mean(found, weights, metrics_collections, updates_collections, name or f"recall_at_{k}")


def aggregate_metrics(*value_update_tuples: Any) -> tuple[list[Any], list[Any]]:
    """The values of several metrics, and their updates. ValueError if there are none."""
    if not value_update_tuples:
        raise misuse(ValueError, "aggregate_metrics: there are no pairs of a value and an update")
    values, updates = zip(*value_update_tuples, strict=True)
    return list(values), list(updates)


def aggregate_metric_map(names_to_tuples: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """The values of several metrics by name, and their updates.

    Args:
        names_to_tuples: Pairs of a value and an update by name.

    >>> import staticgraph as sg
    >>> values, updates = aggregate_metric_map({"mean": streaming_mean([1.0, 2.0])})
    >>> sorted(values), sorted(updates)
    (['mean'], ['mean'])
    """
    pairs = names_to_tuples.items()
    return {name: value for name, (value, _) in pairs}, {name: update for name, (_, update) in pairs}
