"""Hooks of estimators that end a training early, or evaluate it (TF1's `tf.estimator.experimental`). Made by tools/type_stubs.py."""

from staticgraph.tf1.estimator.early_stopping import (
    make_early_stopping_hook as make_early_stopping_hook,
    stop_if_higher_hook as stop_if_higher_hook,
    stop_if_lower_hook as stop_if_lower_hook,
    stop_if_no_decrease_hook as stop_if_no_decrease_hook,
    stop_if_no_increase_hook as stop_if_no_increase_hook,
)
from staticgraph.tf1.estimator.in_memory import (
    InMemoryEvaluatorHook as InMemoryEvaluatorHook,
)
