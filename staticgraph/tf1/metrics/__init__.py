"""Metrics over many steps (TF1's `tf.metrics`): each gives `(value, update_op)` around local variables."""

from staticgraph.compiler.support.lazy_names import lazy_names

# Type checkers read `__init__.pyi`.
lazy_names(
    __name__,
    {
        "staticgraph.tf1.metrics.classes": "mean_iou mean_per_class_accuracy",
        "staticgraph.tf1.metrics.counts": (
            "false_negatives false_positives precision recall true_negatives true_positives"
        ),
        "staticgraph.tf1.metrics.means": (
            "accuracy mean mean_absolute_error mean_cosine_distance mean_relative_error mean_squared_error "
            "mean_tensor percentage_below root_mean_squared_error"
        ),
        "staticgraph.tf1.metrics.ranking": (
            "average_precision_at_k precision_at_k precision_at_top_k recall_at_k recall_at_top_k "
            "sparse_average_precision_at_k sparse_precision_at_k"
        ),
        "staticgraph.tf1.metrics.thresholds": (
            "auc false_negatives_at_thresholds false_positives_at_thresholds precision_at_thresholds "
            "recall_at_thresholds sensitivity_at_specificity specificity_at_sensitivity "
            "true_negatives_at_thresholds true_positives_at_thresholds"
        ),
    },
)
