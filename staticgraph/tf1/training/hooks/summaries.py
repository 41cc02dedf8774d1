"""Hooks that write to event files: summaries, and how many steps are made per second."""

from __future__ import annotations

from typing import Any

from staticgraph.compiler.graph.errors import misuse
from staticgraph.formats.tf.log import log
from staticgraph.tf1.summary import FileWriterCache
from staticgraph.tf1.training.event_files import scalar_summary, session_log
from staticgraph.tf1.training.hooks.run_hook import (
    SessionRunArgs,
    SessionRunContext,
    SessionRunHook,
    SessionRunValues,
    require_global_step,
)
from staticgraph.tf1.training.hooks.timer import SecondOrStepTimer

_MOST_WARNINGS = 5


class SummarySaverHook(SessionRunHook):
    """Writes summaries at the first run, and every `save_steps` steps or `save_secs` seconds after it.

    `output_dir`: the folder of the event file, or `summary_writer`: what writes it. `summary_op`: a tensor of
    serialised summaries or a list of them, or `scaffold`: whose summary_op it is.

    ValueError unless exactly one of `scaffold` and `summary_op` is given, and one interval.
    """

    def __init__(
        self,
        save_steps: int | None = None,
        save_secs: float | None = None,
        output_dir: str | None = None,
        summary_writer: Any = None,
        scaffold: Any = None,
        summary_op: Any = None,
    ) -> None:
        if (scaffold is None) == (summary_op is None):
            raise misuse(ValueError, "Exactly one of scaffold or summary_op must be provided.")
        self._timer = SecondOrStepTimer(save_secs, save_steps)
        self._folder = output_dir
        self._writer = summary_writer
        self._scaffold = scaffold
        self._summary_op = summary_op

    def begin(self) -> None:
        if self._writer is None and self._folder:
            self._writer = FileWriterCache.get(self._folder)
        self._next_step: int | None = None
        self._global_step = require_global_step(self)

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        self._due = self._next_step is None or self._timer.should_trigger_for_step(self._next_step)
        wanted = self._summaries() if self._due else []
        return SessionRunArgs({"global_step": self._global_step, "summaries": wanted})

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        if self._writer is None:
            return
        step = run_values.results["global_step"]
        if self._next_step is None:
            self._writer.add_session_log(session_log("START"), step)
        if self._due:
            self._timer.update_last_triggered_step(step)
            for summary in run_values.results["summaries"]:
                self._writer.add_summary(summary, step)
        self._next_step = step + 1

    def end(self, session: Any = None) -> None:
        if self._writer is not None:
            self._writer.flush()

    def _summaries(self) -> list[Any]:
        wanted = self._summary_op if self._scaffold is None else self._scaffold.summary_op
        if wanted is None:
            return []
        return wanted if isinstance(wanted, list) else [wanted]


class StepCounterHook(SessionRunHook):
    """Logs how many steps are made per second, and writes it to an event file.

    `every_n_steps` or `every_n_secs`: how often. `output_dir`: the folder of the event file, or
    `summary_writer`: what writes it; neither: the log only. The tag is the global step's name and `/sec`.

    ValueError unless exactly one interval is given.
    """

    def __init__(
        self,
        every_n_steps: int | None = 100,
        every_n_secs: float | None = None,
        output_dir: str | None = None,
        summary_writer: Any = None,
    ) -> None:
        if (every_n_steps is None) == (every_n_secs is None):
            raise misuse(ValueError, "exactly one of every_n_steps and every_n_secs should be provided.")
        self._timer = SecondOrStepTimer(every_n_secs, every_n_steps)
        self._folder = output_dir
        self._writer = summary_writer
        self._step_before: int | None = None
        self._warnings = 0

    def begin(self) -> None:
        if self._writer is None and self._folder:
            self._writer = FileWriterCache.get(self._folder)
        self._global_step = require_global_step(self)
        self._tag = f"{self._global_step.op.name}/sec"

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        return SessionRunArgs(self._global_step)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        step = run_values.results
        if self._timer.should_trigger_for_step(step):
            seconds, steps = self._timer.update_last_triggered_step(step)
            if seconds is not None and steps is not None:
                self._write(steps / seconds if seconds else float("inf"), step)
        if step == self._step_before:
            self._warn(step)
        self._step_before = step

    def _write(self, rate: float, step: int) -> None:
        if self._writer is not None:
            self._writer.add_summary(scalar_summary(self._tag, rate), step)
        log.info("%s: %g", self._tag, rate)

    def _warn(self, step: int) -> None:
        self._warnings += 1
        if self._warnings <= _MOST_WARNINGS:
            log.warning(
                "The global step stays at %d: pass global_step=tf.train.get_global_step() to minimize() or"
                " apply_gradients().",
                step,
            )
