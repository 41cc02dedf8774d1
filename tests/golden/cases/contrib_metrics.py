"""`tf.contrib.metrics` over three steps: predictions stand before labels."""

from tests.golden.draws import bools, ints, real
from tests.golden.runner import answer, error, streams

PROBABILITIES = real(8, low=0.0, high=1.0)
WEIGHTS = real(8, low=0.0, high=2.0)
TRUTH = bools(8)
CLASSES = ints(8, low=0, high=3, dtype="int64")
SCORES = real(4, 5)
LABELS = ints(4, 3, low=0, high=4, dtype="int64")
ONE = ints(4, low=0, high=4, dtype="int64")
LIMITS = [0.1, 0.5, 0.75]


def metric(function, *further, **options):
    return lambda tf, *args: getattr(tf.contrib.metrics, "streaming_" + function)(
        *(args[:2] + further + args[2:]), **options
    )


def compared(name, *further, **options):
    """Two vectors of numbers, with weights."""
    return streams(name, metric(name, *further, **options), PROBABILITIES, PROBABILITIES, WEIGHTS)


def decided(name, *further, predictions=TRUTH):
    """Numbers or decisions beside the truth, with weights."""
    return streams(name, metric(name, *further), predictions, TRUTH, WEIGHTS)


def mapped(tf):
    pairs = {name: tf.metrics.mean([value]) for name, value in (("a", 1.0), ("b", 2.0))}
    values, updates = tf.contrib.metrics.aggregate_metric_map(pairs)
    listed = tf.contrib.metrics.aggregate_metrics(*[pairs["a"], pairs["b"]])
    return [sorted(values), sorted(updates), [[t.name for t in each] for each in listed]]


def less(tf, x):
    return tf.contrib.metrics.streaming_percentage_less(x, 0.4)


ONE_CLASS = metric("sparse_precision_at_k", 2, class_id=1)
YES_OR_NO = (
    "precision",
    "recall",
    "true_positives",
    "true_negatives",
    "false_positives",
    "false_negatives",
)
AT_THRESHOLDS = (
    "precision_at_thresholds",
    "recall_at_thresholds",
)

CASES = [
    compared("mean_absolute_error"),
    compared("mean_squared_error"),
    compared("root_mean_squared_error"),
    streams(
        "mean_relative_error", metric("mean_relative_error"), PROBABILITIES, PROBABILITIES, real(8, low=0.5)
    ),
    streams("mean_cosine_distance", metric("mean_cosine_distance", 0), PROBABILITIES, PROBABILITIES),
    streams("accuracy", metric("accuracy"), CLASSES, CLASSES, WEIGHTS),
    streams("mean_iou", metric("mean_iou", 4), CLASSES, CLASSES, WEIGHTS),
    streams("mean", metric("mean"), PROBABILITIES, WEIGHTS),
    streams("mean_tensor", metric("mean_tensor"), PROBABILITIES, WEIGHTS),
    streams("percentage_less", less, PROBABILITIES),
    [decided(name) for name in YES_OR_NO],
    [decided(name, LIMITS, predictions=PROBABILITIES) for name in AT_THRESHOLDS],
    decided("specificity_at_sensitivity", 0.7, predictions=PROBABILITIES),
    decided("sensitivity_at_specificity", 0.7, predictions=PROBABILITIES),
    decided("auc", predictions=PROBABILITIES),
    streams("recall_at_k", metric("recall_at_k", 2), SCORES, ONE),
    streams("sparse_recall_at_k", metric("sparse_recall_at_k", 2), SCORES, LABELS),
    streams("sparse_precision_at_k, one class", ONE_CLASS, SCORES, LABELS),
    streams("sparse_precision_at_top_k", metric("sparse_precision_at_top_k"), LABELS, LABELS),
    streams("sparse_average_precision_at_k", metric("sparse_average_precision_at_k", 3), SCORES, LABELS),
    answer("aggregate_metric_map", mapped),
    error("aggregate no metric", lambda tf: tf.contrib.metrics.aggregate_metrics()),
]
