"""Hooks of estimators that end a training early, or evaluate it (TF1's `tf.estimator.experimental`)."""

from staticgraph.compiler.support.lazy_names import lazy_names

# Type checkers read `__init__.pyi`.
lazy_names(
    __name__,
    {
        "staticgraph.tf1.estimator.early_stopping": (
            "make_early_stopping_hook stop_if_higher_hook stop_if_lower_hook stop_if_no_decrease_hook "
            "stop_if_no_increase_hook"
        ),
        "staticgraph.tf1.estimator.in_memory": "InMemoryEvaluatorHook",
    },
)
