"""All of tf.contrib.metrics over three batches: values before and after each update."""

import numpy as np
import tensorflow as tf

metrics = tf.contrib.metrics
rng = np.random.RandomState(0)
scores = tf.placeholder(tf.float32, [6])
truth = tf.placeholder(tf.int64, [6])
weights = tf.placeholder(tf.float32, [6])
table = tf.placeholder(tf.float32, [6, 4])
classes = tf.placeholder(tf.int64, [6])
hard = scores > 0.5
best = tf.argmax(table, 1)
targets = tf.cast(truth, tf.float32)
column = tf.expand_dims(classes, 1)
top = tf.nn.top_k(table, 2)[1]
thresholds = [0.25, 0.5, 0.75]
found = {
    "mean": metrics.streaming_mean(scores, weights),
    "mean_tensor": metrics.streaming_mean_tensor(table),
    "less": metrics.streaming_percentage_less(scores, 0.4, weights),
    "accuracy": metrics.streaming_accuracy(best, classes),
    "precision": metrics.streaming_precision(hard, truth),
    "recall": metrics.streaming_recall(hard, truth, weights),
    "tp": metrics.streaming_true_positives(hard, truth),
    "tn": metrics.streaming_true_negatives(hard, truth),
    "fp": metrics.streaming_false_positives(hard, truth, weights),
    "fn": metrics.streaming_false_negatives(hard, truth),
    "absolute": metrics.streaming_mean_absolute_error(scores, targets),
    "squared": metrics.streaming_mean_squared_error(scores, targets),
    "root": metrics.streaming_root_mean_squared_error(scores, targets, weights),
    "relative": metrics.streaming_mean_relative_error(scores, targets, targets + 1.0),
    "cosine": metrics.streaming_mean_cosine_distance(tf.nn.l2_normalize(table, 1), tf.one_hot(classes, 4), 1),
    "iou": metrics.streaming_mean_iou(best, classes, 4),
    "auc": metrics.streaming_auc(scores, truth, num_thresholds=20, curve="PR"),
    "precision_at": metrics.streaming_precision_at_thresholds(scores, truth, thresholds),
    "recall_at": metrics.streaming_recall_at_thresholds(scores, truth, thresholds, weights),
    "sensitivity": metrics.streaming_sensitivity_at_specificity(scores, truth, 0.5, num_thresholds=11),
    "specificity": metrics.streaming_specificity_at_sensitivity(scores, truth, 0.5, num_thresholds=11),
    "tp_at": metrics.streaming_true_positives_at_thresholds(scores, truth, thresholds),
    "fp_at": metrics.streaming_false_positives_at_thresholds(scores, truth, thresholds, weights),
    "tn_at": metrics.streaming_true_negatives_at_thresholds(scores, truth, thresholds),
    "fn_at": metrics.streaming_false_negatives_at_thresholds(scores, truth, thresholds),
    "fpr": metrics.streaming_false_positive_rate(hard, truth, weights),
    "fnr": metrics.streaming_false_negative_rate(hard, truth),
    "fnr_at": metrics.streaming_false_negative_rate_at_thresholds(scores, truth, thresholds, weights),
    "fpr_at": metrics.streaming_false_positive_rate_at_thresholds(scores, truth, thresholds),
    "precision_at_k": metrics.streaming_sparse_precision_at_k(table, column, 2),
    "recall_at_k": metrics.streaming_sparse_recall_at_k(table, column, 2, class_id=1),
    "old_recall_at_k": metrics.streaming_recall_at_k(table, classes, 2, weights),
    "precision_at_top_k": metrics.streaming_sparse_precision_at_top_k(tf.cast(top, tf.int64), column),
    "recall_at_top_k": metrics.sparse_recall_at_top_k(column, tf.cast(top, tf.int64)),
    "average_precision": metrics.streaming_sparse_average_precision_at_k(table, column, 3),
    "f1": metrics.f1_score(truth, scores, weights, num_thresholds=20),
    "precision_at_recall": metrics.precision_at_recall(truth, scores, 0.6, num_thresholds=20),
    "recall_at_precision": metrics.recall_at_precision(truth, scores, 0.6, num_thresholds=20),
    "recall_at_precision_strict": metrics.recall_at_precision(
        truth, scores, 0.65, num_thresholds=20, strict_mode=True
    ),
    "recall_at_precision_none": metrics.recall_at_precision(
        1 - truth, scores, 0.99, num_thresholds=20, strict_mode=True
    ),
    "roc": metrics.streaming_curve_points(truth, scores, num_thresholds=5),
    "pr": metrics.streaming_curve_points(truth, scores, weights, num_thresholds=5, curve="PR"),
    "count": metrics.count(scores),
    "weight": metrics.count(table, tf.expand_dims(weights, 1)),
    "covariance": metrics.streaming_covariance(scores, targets),
    "covariance_weighted": metrics.streaming_covariance(scores, targets, weights),
    "pearson": metrics.streaming_pearson_correlation(scores, targets),
    "pearson_weighted": metrics.streaming_pearson_correlation(scores, targets, weights),
    "kappa": metrics.cohen_kappa(classes, best, 4),
    "kappa_weighted": metrics.cohen_kappa(column, tf.expand_dims(best, 1), 4, tf.expand_dims(weights, 1)),
}
values, updates = metrics.aggregate_metric_map(found)
print(len(metrics.aggregate_metrics(*found.values())), sorted(values) == sorted(found))
print(sorted({v.op.name.split("/")[0] for v in tf.local_variables()}))
confusion = metrics.confusion_matrix(classes, best, 4)


def show(name, kind, value):
    if value is not None:
        print(name, kind, value.shape, ["%.4f" % x for x in np.asarray(value, np.float64).ravel()[:10]])


with tf.Session() as sess:
    sess.run(tf.local_variables_initializer())
    for step in range(3):
        feeds = {
            scores: rng.rand(6),
            truth: rng.randint(2, size=6),
            weights: rng.rand(6).round(1),
            table: rng.rand(6, 4),
            classes: rng.randint(4, size=6),
        }
        fetched = sess.run(updates, feeds)
        now = sess.run(values, feeds)
        for name in sorted(found):
            if step != 1:
                show(name, step, fetched[name])
            show(name, "value", now[name])
    print(sess.run(confusion, feeds).tolist())
for wrong in (
    lambda: metrics.precision_at_recall(truth, scores, 1.5),
    lambda: metrics.recall_at_precision(truth, scores, -0.5),
    lambda: metrics.streaming_curve_points(truth, scores, curve="ABC"),
    lambda: metrics.cohen_kappa(classes, best, 1),
    lambda: metrics.aggregate_metrics(),
):
    try:
        wrong()
    except ValueError:
        print("refused")
