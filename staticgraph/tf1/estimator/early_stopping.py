"""Hooks that end a training early, by what its evaluations found."""

from __future__ import annotations

import glob
import operator
import os
from collections.abc import Callable
from typing import Any

from staticgraph import train
from staticgraph.building.framework import GraphKeys
from staticgraph.compiler.graph.dtypes import bool_
from staticgraph.compiler.graph.errors import misuse
from staticgraph.formats.tf.log import log
from staticgraph.state.initializers import Constant
from staticgraph.state.scopes import AUTO_REUSE, get_variable, variable_scope
from staticgraph.tf1 import summary
from staticgraph.tf1.estimator.estimator import Estimator


def make_early_stopping_hook(
    estimator: Estimator,
    should_stop_fn: Callable[[], bool],
    run_every_secs: float | None = 60,
    run_every_steps: int | None = None,
) -> train.SessionRunHook:
    """Make a hook that ends a training when a function says so.

    The chief asks the function, and tells the other workers by a variable of the graph.

    Args:
        estimator: The estimator that trains.
        should_stop_fn: `should_stop_fn()` is true when the training is to end.
        run_every_secs: The seconds between two questions. Give this or `run_every_steps`, the other is None.
        run_every_steps: The steps between two questions.

    Raises:
        TypeError: `estimator` is not an `Estimator`, or the function is not callable.
        ValueError: Both intervals are given, or neither is.
    """
    if not isinstance(estimator, Estimator):
        kind = type(estimator).__name__
        raise misuse(TypeError, f"`estimator` must have type `tf.estimator.Estimator`. Got: {kind}")
    if run_every_secs is not None and run_every_steps is not None:
        text = "Only one of `run_every_secs` and `run_every_steps` must be set."
        raise misuse(ValueError, text, "run_every_secs=None with run_every_steps")
    if estimator.config.is_chief:
        return _StopIfAsked(should_stop_fn, run_every_secs, run_every_steps)
    return _StopIfTold()


def stop_if_higher_hook(
    estimator: Estimator,
    metric_name: str,
    threshold: float,
    eval_dir: str | None = None,
    min_steps: int = 0,
    run_every_secs: float | None = 60,
    run_every_steps: int | None = None,
) -> train.SessionRunHook:
    """Make a hook that ends a training when a metric of its evaluations is higher than a threshold.

    Args:
        estimator: The estimator that trains.
        metric_name: The metric, such as "accuracy".
        threshold: The training ends above it.
        eval_dir: The folder of the event files of evaluations. Default: `estimator.eval_dir()`.
        min_steps: Evaluations of earlier steps do not count.
        run_every_secs: The seconds between two looks at the files. Give this or `run_every_steps`.
        run_every_steps: The steps between two looks.
    """
    found = _over(operator.gt, estimator, metric_name, threshold, eval_dir, min_steps)
    return make_early_stopping_hook(estimator, found, run_every_secs, run_every_steps)


def stop_if_lower_hook(
    estimator: Estimator,
    metric_name: str,
    threshold: float,
    eval_dir: str | None = None,
    min_steps: int = 0,
    run_every_secs: float | None = 60,
    run_every_steps: int | None = None,
) -> train.SessionRunHook:
    """Make a hook that ends a training when a metric is lower than a threshold, see `stop_if_higher_hook`."""
    found = _over(operator.lt, estimator, metric_name, threshold, eval_dir, min_steps)
    return make_early_stopping_hook(estimator, found, run_every_secs, run_every_steps)


def stop_if_no_increase_hook(
    estimator: Estimator,
    metric_name: str,
    max_steps_without_increase: int,
    eval_dir: str | None = None,
    min_steps: int = 0,
    run_every_secs: float | None = 60,
    run_every_steps: int | None = None,
) -> train.SessionRunHook:
    """Make a hook that ends a training when a metric has not increased for some steps.

    Args:
        estimator: The estimator that trains.
        metric_name: The metric, such as "accuracy".
        max_steps_without_increase: The training ends so many steps after the highest value.
        eval_dir: The folder of the event files of evaluations. Default: `estimator.eval_dir()`.
        min_steps: Evaluations of earlier steps do not count.
        run_every_secs: The seconds between two looks at the files. Give this or `run_every_steps`.
        run_every_steps: The steps between two looks.
    """
    found = _stale(operator.gt, estimator, metric_name, max_steps_without_increase, eval_dir, min_steps)
    return make_early_stopping_hook(estimator, found, run_every_secs, run_every_steps)


def stop_if_no_decrease_hook(
    estimator: Estimator,
    metric_name: str,
    max_steps_without_decrease: int,
    eval_dir: str | None = None,
    min_steps: int = 0,
    run_every_secs: float | None = 60,
    run_every_steps: int | None = None,
) -> train.SessionRunHook:
    """Make a hook that ends a training when a metric has not decreased for some steps.

    See `stop_if_no_increase_hook`.
    """
    found = _stale(operator.lt, estimator, metric_name, max_steps_without_decrease, eval_dir, min_steps)
    return make_early_stopping_hook(estimator, found, run_every_secs, run_every_steps)


def read_eval_metrics(eval_dir: str) -> dict[int, dict[str, float]]:
    """Return the metrics of each evaluated step, in order, of the event files in a folder."""
    found: dict[int, dict[str, float]] = {}
    for path in sorted(glob.glob(os.path.join(glob.escape(eval_dir), "events.out.tfevents.*"))):
        for event in summary.summary_iterator(path):
            for value in event.summary.value:
                if value.HasField("simple_value"):
                    found.setdefault(event.step, {})[value.tag] = value.simple_value
    return dict(sorted(found.items()))


def _values(estimator: Estimator, name: str, eval_dir: str | None, min_steps: int) -> list[tuple[int, float]]:
    """The steps and values of a metric."""
    metrics = read_eval_metrics(estimator.eval_dir() if eval_dir is None else eval_dir)
    counted = [(step, found) for step, found in metrics.items() if step >= min_steps]
    for step, found in counted:
        if name not in found:
            text = f"the evaluation of step {step} has no metric {name!r}"
            raise misuse(KeyError, text, f"it has {', '.join(sorted(found))}")
    return [(step, found[name]) for step, found in counted]


def _over(
    is_beyond: Callable[[float, float], bool],
    estimator: Estimator,
    name: str,
    threshold: float,
    eval_dir: str | None,
    min_steps: int,
) -> Callable[[], bool]:
    def should_stop() -> bool:
        for step, value in _values(estimator, name, eval_dir, min_steps):
            if is_beyond(value, threshold):
                text = 'At step %s, metric "%s" has value %s, beyond the threshold %s for early stopping.'
                log.info(text, step, name, value, threshold)
                return True
        return False

    return should_stop


def _stale(
    is_better: Callable[[float, float], bool],
    estimator: Estimator,
    name: str,
    most: int,
    eval_dir: str | None,
    min_steps: int,
) -> Callable[[], bool]:
    def should_stop() -> bool:
        best: tuple[int, float] | None = None
        for step, value in _values(estimator, name, eval_dir, min_steps):
            if best is None or is_better(value, best[1]):
                best = step, value
            if step - best[0] >= most:
                text = 'Metric "%s" is no better for %s steps, and %s are allowed: early stopping.'
                log.info(text, name, step - best[0], most)
                return True
        return False

    return should_stop


def _stop_variable() -> Any:
    """The variable by which the chief tells all workers to stop."""
    with variable_scope("signal_early_stopping", reuse=AUTO_REUSE):
        return get_variable(
            "STOP",
            [],
            bool_,
            Constant(False),
            collections=[GraphKeys.GLOBAL_VARIABLES],
            trainable=False,
        )


class _StopIfAsked(train.SessionRunHook):
    """Stop when a function says so, and tell the other workers."""

    def __init__(self, should_stop: Callable[[], bool], secs: float | None, steps: int | None) -> None:
        if not callable(should_stop):
            raise misuse(TypeError, "`should_stop_fn` must be callable.")
        self._should_stop = should_stop
        self._timer = train.SecondOrStepTimer(secs, steps)

    def begin(self) -> None:
        self._step = train.get_global_step()
        self._tell = _stop_variable().assign(True)

    def before_run(self, run_context: Any) -> Any:
        return train.SessionRunArgs(self._step)

    def after_run(self, run_context: Any, run_values: Any) -> None:
        step = run_values.results
        if not self._timer.should_trigger_for_step(step):
            return
        self._timer.update_last_triggered_step(step)
        if self._should_stop():
            log.info("Requesting early stopping at global step %d", step)
            run_context.session.run(self._tell)
            run_context.request_stop()


class _StopIfTold(train.SessionRunHook):
    """Stop when the chief says so."""

    def begin(self) -> None:
        self._told = _stop_variable()

    def before_run(self, run_context: Any) -> Any:
        return train.SessionRunArgs(self._told)

    def after_run(self, run_context: Any, run_values: Any) -> None:
        if run_values.results:
            log.info("Early stopping requested, suspending run.")
            run_context.request_stop()
