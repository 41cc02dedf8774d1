"""Hooks that look at values: they log tensors, or stop training if a loss is NaN."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from staticgraph.building.framework import get_default_graph
from staticgraph.compiler.graph.errors import misuse
from staticgraph.formats.tf.log import log
from staticgraph.tf1.training.hooks.run_hook import (
    SessionRunArgs,
    SessionRunContext,
    SessionRunHook,
    SessionRunValues,
)
from staticgraph.tf1.training.hooks.timer import SecondOrStepTimer


class LoggingTensorHook(SessionRunHook):
    """Logs values of tensors at the level INFO, as `loss = 0.5, step = 100 (0.250 sec)`.

    `tensors`: a dict of tags and tensors or names of tensors, or a list of them. `every_n_iter`: log at the
    first run and every so many after it; `every_n_secs`: every so many seconds instead. `at_end`: log once
    more at the end, or then only, where no interval is given. `formatter`: makes the text from a dict of
    values.

    ValueError unless an interval or `at_end` is given, and for both intervals.
    """

    def __init__(
        self,
        tensors: Mapping[str, Any] | Sequence[Any],
        every_n_iter: int | None = None,
        every_n_secs: float | None = None,
        at_end: bool = False,
        formatter: Callable[[dict[Any, Any]], str] | None = None,
    ) -> None:
        intervals = [given for given in (every_n_iter, every_n_secs) if given is not None]
        if len(intervals) > 1 or not (intervals or at_end):
            message = "either at_end and/or exactly one of every_n_iter and every_n_secs must be provided."
            raise misuse(ValueError, message)
        if every_n_iter is not None and every_n_iter <= 0:
            raise misuse(ValueError, f"invalid every_n_iter={every_n_iter}.")
        self._tensors = dict(tensors) if isinstance(tensors, Mapping) else {t: t for t in tensors}
        self._tags = sorted(tensors) if isinstance(tensors, Mapping) else list(tensors)
        self._timer = SecondOrStepTimer(every_n_secs, every_n_iter) if intervals else None
        self._at_end = at_end
        self._formatter = formatter

    def begin(self) -> None:
        if self._timer is not None:
            self._timer.reset()
        self._iteration = 0
        self._fetches = {tag: fetched(tensor) for tag, tensor in self._tensors.items()}

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs | None:
        self._due = self._timer is not None and self._timer.should_trigger_for_step(self._iteration)
        return SessionRunArgs(self._fetches) if self._due else None

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        if self._due:
            self._log(run_values.results)
        self._iteration += 1

    def end(self, session: Any) -> None:
        if self._at_end:
            self._log(session.run(self._fetches))

    def _log(self, values: dict[Any, Any]) -> None:
        seconds = None
        if self._timer is not None:
            seconds, _ = self._timer.update_last_triggered_step(self._iteration)
        with np.printoptions(suppress=True):
            if self._formatter is not None:
                text = self._formatter(values)
            else:
                text = ", ".join(f"{tag} = {values[tag]!s}" for tag in self._tags)
                text += "" if seconds is None else f" ({seconds:.3f} sec)"
        log.info("%s", text)


class NanLossDuringTrainingError(RuntimeError):
    """The loss is not a number."""

    def __str__(self) -> str:
        return "NaN loss during training."


class NanTensorHook(SessionRunHook):
    """Ends training where a loss is not a number.

    `loss_tensor`: a scalar. `fail_on_nan_loss`: raise NanLossDuringTrainingError; otherwise ask for a stop.
    """

    def __init__(self, loss_tensor: Any, fail_on_nan_loss: bool = True) -> None:
        self._loss = loss_tensor
        self._fails = fail_on_nan_loss

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        return SessionRunArgs(self._loss)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        if not np.isnan(run_values.results):
            return
        if self._fails:
            log.error("Model diverged with loss = NaN.")
            raise NanLossDuringTrainingError
        log.warning("Model diverged with loss = NaN.")
        run_context.request_stop()


def fetched(item: Any) -> Any:
    """Return what to fetch for `item`: `item` itself, or the tensor of that name.

    The name of an operation stands for its output. Raises ValueError if the operation
    has several outputs, or if `item` is not of the default graph.
    """
    graph = get_default_graph()
    if not isinstance(item, str):
        if getattr(item, "graph", None) is not graph:
            raise misuse(ValueError, f"{item!r} is not of the default graph")
        return item
    if ":" in item:
        return graph.as_graph_element(item)
    element = graph.as_graph_element(f"{item}:0")
    if len(element.op.outputs) > 1:
        message = f"{item!r} is the name of an operation with {len(element.op.outputs)} outputs"
        raise misuse(ValueError, message, f"say which one, such as '{item}:0'")
    return element
