"""`tensorflow.python.framework.test_util`: what TF1's own tests say of the manner in which they run.

There is one manner here, that of a graph, so that each of these leaves a test or a class as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any

import staticgraph as sg
from staticgraph.tf1.compat.testing.cases import TestCase

__all__ = [
    "NCHWToNHWC",
    "NHWCToNCHW",
    "TensorFlowTestCase",
    "deprecated_graph_mode_only",
    "disable_xla",
    "device",
    "force_gpu",
    "run_all_in_graph_and_eager_modes",
    "run_deprecated_v1",
    "run_in_graph_and_eager_modes",
    "run_v1_only",
    "skip_if",
    "use_gpu",
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


def use_gpu(test: Any) -> Any:
    """The test, which runs wherever it can."""
    return test


force_gpu = use_gpu


@contextmanager
def device(use_gpu: bool) -> Iterator[None]:
    """A context that puts operations where they are anyway."""
    yield


def skip_if(condition: Any) -> Callable[[Any], Any]:
    """A decorator: a test is skipped where a condition, or a function that gives one, holds then."""

    def decorated(test: Any) -> Any:
        @wraps(test)
        def maybe(*args: Any, **kwargs: Any) -> Any:
            return None if (condition() if callable(condition) else condition) else test(*args, **kwargs)

        return maybe

    return decorated


def NHWCToNCHW(input_tensor: Any) -> Any:
    """Pictures, or the shape of pictures, with the channels before height and width. Of volumes too."""
    return _moved(input_tensor, {4: [0, 3, 1, 2], 5: [0, 4, 1, 2, 3]})


def NCHWToNHWC(input_tensor: Any) -> Any:
    """The inverse of `NHWCToNCHW`."""
    return _moved(input_tensor, {4: [0, 2, 3, 1], 5: [0, 2, 3, 4, 1]})


def _moved(value: Any, orders: dict[int, list[int]]) -> Any:
    if isinstance(value, sg.Tensor):
        return sg.transpose(value, orders[len(value.shape)])
    return [value[axis] for axis in orders[len(value)]]
