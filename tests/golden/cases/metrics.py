"""Metrics over three steps: the value and the update of each, and the names of what they are made of."""

import numpy as np

from tests.golden.draws import bools, given, ints, real
from tests.golden.runner import answer, error, streams

PROBABILITIES = real(8, low=0.0, high=1.0)
WEIGHTS = real(8, low=0.0, high=2.0)
CLASSES = ints(8, low=0, high=3, dtype="int64")
SCORES = real(4, 5)
LABELS = ints(4, 3, low=0, high=4, dtype="int64")
ROWS = real(4, low=0.1)
LIMITS = [0.1, 0.5, 0.75]


def metric(function, **options):
    return lambda tf, *args: getattr(tf.metrics, function)(*args, **options)


def weighted(function, **options):
    """The last of the drawn inputs are the weights."""
    return lambda tf, *args: getattr(tf.metrics, function)(*args[:-1], weights=args[-1], **options)


def each(function, *draws, **options):
    """Without weights, and with one for each element."""
    return [
        streams(function, metric(function, **options), *draws),
        streams("%s, weights" % function, weighted(function, **options), *draws, WEIGHTS),
        streams("%s, one weight" % function, metric(function, weights=0.5, **options), *draws),
    ]


def ranked(function, label, *draws, **options):
    """Without weights, and with one for each row."""
    return [
        streams("%s, %s" % (function, label), metric(function, **options), *draws),
        streams("%s, %s, weights" % (function, label), weighted(function, **options), *draws, ROWS),
    ]


def of_sparse_labels(function, indices, values, dense_shape, **options):
    """Labels of which examples have different numbers."""

    def build(tf, scores, *weights):
        labels = tf.SparseTensorValue(indices, np.array(values, np.int64), dense_shape)
        given = weights[0] if weights else None
        return getattr(tf.metrics, function)(labels, scores, weights=given, **options)

    return build


UNEVEN = [[0, 0], [0, 1], [0, 2], [2, 0], [3, 0], [3, 1]], [4, 0, 2, 1, 3, 7], [4, 3]


def of_unknown_rank(tf, x):
    return tf.placeholder_with_default(x, None)


def collected(tf):
    """Return the collections after two metrics of one kind, one of them listed by the user."""
    tf.metrics.mean([1.0], metrics_collections=["values"], updates_collections=["updates", "more"])
    tf.metrics.mean([1.0])
    keys = ("values", "updates", "more", "local_variables", "metric_variables", "variables",
            "trainable_variables")
    return [[item.name for item in tf.get_collection(key)] for key in keys]


def scoped(tf):
    """Names inside a name scope, inside a variable scope, and of a metric with a name of its own."""
    with tf.name_scope("outer"):
        first = tf.metrics.accuracy([1], [1])
    with tf.variable_scope("inner"):
        second = tf.metrics.accuracy([1], [1], name="mine")
    third = tf.metrics.precision([1], [1], name="mine")
    return [tensor.name for pair in (first, second, third) for tensor in pair] + [
        variable.name for variable in tf.local_variables()
    ]


CELLS = ("true_positives", "false_positives", "true_negatives", "false_negatives")
CURVES = [
    (curve, method)
    for curve in ("ROC", "PR")
    for method in ("trapezoidal", "minoring", "majoring", "careful_interpolation")
]

CASES = [
    [streams("mean", metric("mean"), real(3, 2)),
     streams("mean, weights", weighted("mean"), real(3, 2), real(3, 1, low=0.0)),
     streams("mean, weights of all", weighted("mean"), real(3, 2), real(3, 2, low=0.0)),
     streams("mean, weights of zero", metric("mean", weights=0.0), real(3, 2)),
     streams("mean, weights of a lower rank", weighted("mean"), real(3, 1), real(3)),
     streams("mean, weights of a higher rank", weighted("mean"), real(3), real(3, 1)),
     streams("mean of integers", metric("mean"), ints(5)),
     streams("mean of bools", metric("mean"), bools(5)),
     streams("mean_tensor", metric("mean_tensor"), real(3, 2)),
     streams("mean_tensor, weights", weighted("mean_tensor"), real(3, 2), real(3, 1, low=0.0)),
     streams("percentage_below", metric("percentage_below", threshold=0.3), real(9)),
     streams("percentage_below, weights", weighted("percentage_below", threshold=0.3), real(8), WEIGHTS)],
    each("accuracy", CLASSES, CLASSES),
    streams("accuracy of other types", metric("accuracy"), CLASSES, ints(8, low=0, high=3)),
    streams("accuracy of floats", metric("accuracy"), given([0.0, 1.0, 1.0]), given([0.0, 1.0, 0.0])),
    streams("accuracy of a column of labels", metric("accuracy"), ints(8, 1, low=0, high=1),
            ints(8, low=0, high=1)),
    streams("accuracy of a column of predictions", metric("accuracy"), ints(8, low=0, high=1),
            ints(8, 1, low=0, high=1)),
    streams("accuracy, column and weights", weighted("accuracy"), ints(8, 1, low=0, high=1),
            ints(8, low=0, high=1), real(8, 1, low=0.0)),
    [each(name, real(8), real(8)) for name in ("mean_absolute_error", "mean_squared_error",
                                               "root_mean_squared_error")],
    streams("mean_relative_error", metric("mean_relative_error"), real(6), real(6),
            given([1.0, 0.0, 2.0, -1.0, 0.5, 4.0])),
    streams("mean_relative_error, weights", weighted("mean_relative_error"), real(8), real(8), real(8),
            WEIGHTS),
    streams("mean_cosine_distance", metric("mean_cosine_distance", dim=1), real(4, 3), real(4, 3)),
    streams("mean_cosine_distance, weights", weighted("mean_cosine_distance", dim=1), real(4, 3), real(4, 3),
            real(4, 1, low=0.0)),
    [each(name, bools(8), bools(8)) for name in (*CELLS, "precision", "recall")],
    [streams("%s of integers" % name, metric(name), ints(8, low=0, high=2), ints(8, low=0, high=2))
     for name in (*CELLS, "precision", "recall")],
    streams("precision of nothing", metric("precision"), given([True, False]), given([False, False])),
    streams("recall of nothing", metric("recall"), given([False, False]), given([True, False])),
    [each("%s_at_thresholds" % name, bools(8), PROBABILITIES, thresholds=LIMITS)
     for name in (*CELLS, "precision", "recall")],
    each("auc", bools(8), PROBABILITIES),
    [streams("auc, %s, %s" % key, metric("auc", curve=key[0], summation_method=key[1], num_thresholds=20),
             bools(8), PROBABILITIES) for key in CURVES],
    streams("auc, own thresholds", metric("auc", thresholds=[0.7, 0.2, 0.5]), bools(8), PROBABILITIES),
    streams("auc of a column", metric("auc"), bools(8, 1), PROBABILITIES),
    each("sensitivity_at_specificity", bools(8), PROBABILITIES, specificity=0.6),
    each("specificity_at_sensitivity", bools(8), PROBABILITIES, sensitivity=0.6, num_thresholds=30),
    each("mean_iou", CLASSES, CLASSES, num_classes=4)[:2],
    streams("mean_iou of images", metric("mean_iou", num_classes=3), ints(2, 3, 3, low=0, high=2),
            ints(2, 3, 3, low=0, high=2)),
    streams("mean_iou of a class that never occurs", metric("mean_iou", num_classes=5), CLASSES, CLASSES),
    each("mean_per_class_accuracy", CLASSES, CLASSES, num_classes=5)[:2],
    [ranked(name, "k = %d" % k, LABELS, SCORES, k=k)
     for name in ("precision_at_k", "recall_at_k", "average_precision_at_k") for k in (1, 2, 4)],
    [ranked(name, "one label each", ints(4, low=0, high=4, dtype="int64"), SCORES, k=2)
     for name in ("precision_at_k", "recall_at_k", "average_precision_at_k")],
    [ranked(name, "one class", LABELS, SCORES, k=3, class_id=2)
     for name in ("precision_at_k", "recall_at_k")],
    [ranked(name, "labels beyond the classes", ints(4, 3, low=-1, high=7, dtype="int64"), SCORES, k=3)
     for name in ("precision_at_k", "recall_at_k", "average_precision_at_k")],
    [ranked(name, "of three axes", ints(2, 3, 2, low=0, high=4, dtype="int64"), real(2, 3, 5), k=3)[:1]
     for name in ("precision_at_k", "recall_at_k", "average_precision_at_k")],
    [streams(name, metric(name), LABELS, ints(4, 2, low=0, high=4, dtype="int64"))
     for name in ("precision_at_top_k", "recall_at_top_k")],
    streams("sparse_precision_at_k", metric("sparse_precision_at_k", k=2), LABELS, SCORES),
    streams("sparse_average_precision_at_k", metric("sparse_average_precision_at_k", k=2), LABELS, SCORES),
    [streams("%s, sparse labels, k = %d%s" % (name, k, "" if weights == () else ", weights"),
             of_sparse_labels(name, *UNEVEN, k=k), SCORES, *weights)
     for name in ("precision_at_k", "recall_at_k", "average_precision_at_k") for k in (1, 3)
     for weights in ((), (ROWS,))],
    [streams("%s, one sparse label each" % name,
             of_sparse_labels(name, [[0], [1], [3]], [4, 0, 2], [4], k=2), SCORES)
     for name in ("precision_at_k", "recall_at_k")],
    [streams("mean, weights of unknown rank: %s" % (shape,),
             lambda tf, x, w: tf.metrics.mean(x, of_unknown_rank(tf, w)), real(3, 1), real(*shape, low=0.1))
     for shape in ((), (3,), (1, 1), (3, 1), (3, 1, 1))],
    answer("collections", collected),
    answer("scopes", scoped),
    error("weights that do not fit", lambda tf: tf.metrics.mean(tf.zeros([3, 2]), tf.zeros([2, 2]))[0]),
    error("labels that do not fit", lambda tf: tf.metrics.accuracy(tf.zeros([3]), tf.zeros([4]))[0]),
    error("curve that is none", lambda tf: tf.metrics.auc([True], [0.5], curve="none")[0]),
    error("summation that is none", lambda tf: tf.metrics.auc(tf.constant([True]), tf.constant([0.5]),
                                                               summation_method="none")[0]),
    error("specificity beyond one", lambda tf: tf.metrics.sensitivity_at_specificity([True], [0.5], 1.5)[0]),
    error("sensitivity below zero", lambda tf: tf.metrics.specificity_at_sensitivity([True], [0.5], -0.5)[0]),
    error("k of zero", lambda tf: tf.metrics.average_precision_at_k([[1]], [[0.5, 0.2]], 0)[0]),
    error("labels of a wrong rank", lambda tf: tf.metrics.recall_at_k(tf.zeros([4, 2, 2], tf.int64),
                                                                      tf.zeros([4, 5]), 2)[0]),
]
