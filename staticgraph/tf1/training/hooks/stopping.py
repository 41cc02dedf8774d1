"""Hooks that say when training begins and ends."""

from __future__ import annotations

import time
from typing import Any

from staticgraph.compiler.graph.errors import misuse
from staticgraph.formats.tf.log import log
from staticgraph.tf1.training.coordinator import Coordinator
from staticgraph.tf1.training.hooks.run_hook import (
    SessionRunArgs,
    SessionRunContext,
    SessionRunHook,
    SessionRunValues,
    require_global_step,
)

_PAUSE = 0.5  # seconds until the global step is looked at again
_LOG_EVERY = 1000  # steps


class StopAtStepHook(SessionRunHook):
    """Asks for a stop when the global step has reached `last_step`, or has grown by `num_steps`.

    After a recovery the last step stays what it was. ValueError unless exactly one of them is given.
    """

    def __init__(self, num_steps: int | None = None, last_step: int | None = None) -> None:
        if num_steps is None and last_step is None:
            raise misuse(ValueError, "One of num_steps or last_step must be specified.")
        if num_steps is not None and last_step is not None:
            raise misuse(ValueError, "Only one of num_steps or last_step can be specified.")
        self._num_steps = num_steps
        self._last_step = last_step

    def begin(self) -> None:
        self._global_step = require_global_step(self)

    def after_create_session(self, session: Any, coord: Coordinator) -> None:
        if self._last_step is None and self._num_steps is not None:
            self._last_step = session.run(self._global_step) + self._num_steps

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        return SessionRunArgs(self._global_step)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        if self._last_step is not None and run_values.results >= self._last_step:
            run_context.request_stop()


class GlobalStepWaiterHook(SessionRunHook):
    """Holds back the first run until the global step, which others advance, has reached `wait_until_step`."""

    def __init__(self, wait_until_step: int) -> None:
        self._wait_until_step = wait_until_step

    def begin(self) -> None:
        self._is_started = False
        self._global_step = require_global_step(self)

    def before_run(self, run_context: SessionRunContext) -> None:
        if not self._is_started and self._wait_until_step > 0:
            self._wait(run_context.session)
        self._is_started = True

    def _wait(self, session: Any) -> None:
        log.info("Waiting for global step %d before starting training.", self._wait_until_step)
        logged = 0
        while (step := session.run(self._global_step)) < self._wait_until_step:
            if step - logged > _LOG_EVERY:
                log.info("Waiting for global step %d; it is at %d.", self._wait_until_step, step)
                logged = step
            time.sleep(_PAUSE)
