"""`CheckpointSaverHook`: saves checkpoints while training."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from staticgraph.building.framework import GraphKeys, get_collection
from staticgraph.compiler.graph.errors import misuse
from staticgraph.formats.tf.log import log
from staticgraph.tf1.summary import FileWriterCache
from staticgraph.tf1.training.coordinator import Coordinator
from staticgraph.tf1.training.event_files import session_log, write_graph_files
from staticgraph.tf1.training.hooks.run_hook import (
    SessionRunArgs,
    SessionRunContext,
    SessionRunHook,
    SessionRunValues,
    require_global_step,
)
from staticgraph.tf1.training.hooks.timer import SecondOrStepTimer


class CheckpointSaverListener:
    """A base class of what is told by a `CheckpointSaverHook`; each method does nothing."""

    def begin(self) -> None:
        """Called with the hook's `begin`, when the graph can still change."""

    def before_save(self, session: Any, global_step_value: int) -> None:
        """Called before a checkpoint is written."""

    def after_save(self, session: Any, global_step_value: int) -> bool | None:
        """Called after a checkpoint is written. True asks for a stop."""
        return None

    def end(self, session: Any, global_step_value: int) -> None:
        """Called after the last checkpoint."""


class CheckpointSaverHook(SessionRunHook):
    """Saves a checkpoint at the start, every `save_secs` seconds or `save_steps` steps, and at the end.

    `checkpoint_dir` and `checkpoint_basename` make the prefix, to which the global step is added. `saver`, or
    that of `scaffold`, or the one in the collection `GraphKeys.SAVERS` writes them. `listeners` are told.

    ValueError for both a saver and a scaffold, and unless exactly one interval is given.
    """

    def __init__(
        self,
        checkpoint_dir: str,
        save_secs: float | None = None,
        save_steps: int | None = None,
        saver: Any = None,
        checkpoint_basename: str = "model.ckpt",
        scaffold: Any = None,
        listeners: Sequence[CheckpointSaverListener] | None = None,
    ) -> None:
        log.info("Create CheckpointSaverHook.")
        if saver is not None and scaffold is not None:
            raise misuse(ValueError, "You cannot provide both saver and scaffold.")
        self._folder = checkpoint_dir
        self._prefix = os.path.join(checkpoint_dir, checkpoint_basename)
        self._given_saver = saver
        self._scaffold = scaffold
        self._timer = SecondOrStepTimer(save_secs, save_steps)
        self._listeners = list(listeners or ())

    def begin(self) -> None:
        self._writer = FileWriterCache.get(self._folder)
        self._global_step = require_global_step(self)
        for listener in self._listeners:
            listener.begin()

    def after_create_session(self, session: Any, coord: Coordinator) -> None:
        write_graph_files(session.graph, self._folder, self._writer)
        step = session.run(self._global_step)
        self._save(session, step)
        self._timer.update_last_triggered_step(step)

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        return SessionRunArgs(self._global_step)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        step = run_values.results
        if self._timer.should_trigger_for_step(step):
            self._timer.update_last_triggered_step(step)
            if self._save(run_context.session, step):
                run_context.request_stop()

    def end(self, session: Any) -> None:
        step = session.run(self._global_step)
        if step != self._timer.last_triggered_step():
            self._save(session, step)
        for listener in self._listeners:
            listener.end(session, step)

    def _save(self, session: Any, step: int) -> bool:
        """Write a checkpoint; returns whether a listener asks for a stop."""
        log.info("Saving checkpoints for %d into %s.", step, self._prefix)
        for listener in self._listeners:
            listener.before_save(session, step)
        self._saver().save(session, self._prefix, global_step=step)
        self._writer.add_session_log(session_log("CHECKPOINT", self._prefix), step)
        stopping = [listener for listener in self._listeners if listener.after_save(session, step)]
        if stopping:
            log.info("Training stops, as these listeners ask for it: %s", stopping)
        return bool(stopping)

    def _saver(self) -> Any:
        if self._given_saver is not None:
            return self._given_saver
        if self._scaffold is not None:
            return self._scaffold.saver
        savers = get_collection(GraphKeys.SAVERS)
        if len(savers) != 1:
            message = f"the collection {GraphKeys.SAVERS} has {len(savers)} savers, one is needed"
            hint = "pass saver= or scaffold= to CheckpointSaverHook"
            raise misuse(RuntimeError, message, hint)
        return savers[0]
