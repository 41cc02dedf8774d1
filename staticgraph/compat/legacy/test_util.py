"""`tensorflow.python.framework.test_util`: what TF1's own tests say of the manner in which they run.

There is one manner here, that of a graph, so that each of these leaves a test or a class as it is.
"""

from __future__ import annotations

from typing import Any

from staticgraph.compat.legacy.testing import TestCase

__all__ = [
    "TensorFlowTestCase",
    "deprecated_graph_mode_only",
    "disable_xla",
    "run_all_in_graph_and_eager_modes",
    "run_deprecated_v1",
    "run_in_graph_and_eager_modes",
    "run_v1_only",
]

TensorFlowTestCase = TestCase


def run_deprecated_v1(test: Any) -> Any:
    """The test, which runs in a graph."""
    return test


deprecated_graph_mode_only = run_all_in_graph_and_eager_modes = run_deprecated_v1


def run_in_graph_and_eager_modes(test: Any = None, **options: Any) -> Any:
    """The test, or a decorator that gives it; only the half that uses a graph is run."""
    return run_deprecated_v1 if test is None else test


def run_v1_only(description: str, test: Any = None) -> Any:
    """The test, or a decorator that gives it. `description` says why."""
    return run_deprecated_v1 if test is None else test


disable_xla = run_v1_only
