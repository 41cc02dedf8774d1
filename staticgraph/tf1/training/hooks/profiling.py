"""`ProfilerHook`: traces of single runs."""

from __future__ import annotations

import os

from staticgraph.formats.tf.log import log
from staticgraph.formats.tf.messages import RunMetadata, RunOptions
from staticgraph.runtime.disk.atomic import write_file
from staticgraph.tf1.summary import FileWriterCache
from staticgraph.tf1.timeline import Timeline
from staticgraph.tf1.training.hooks.run_hook import (
    SessionRunArgs,
    SessionRunContext,
    SessionRunHook,
    SessionRunValues,
    require_global_step,
)
from staticgraph.tf1.training.hooks.timer import SecondOrStepTimer


class ProfilerHook(SessionRunHook):
    """Writes what a run reports of itself, every `save_steps` steps or `save_secs` seconds.

    Each report goes to the event file in `output_dir`, and as `timeline-<step>.json`, in the format of
    Chrome's `about:tracing`, beside it. It shows the kernels of the step. `show_dataflow` and `show_memory`
    change nothing.
    """

    def __init__(
        self,
        save_steps: int | None = None,
        save_secs: float | None = None,
        output_dir: str = "",
        show_dataflow: bool = True,
        show_memory: bool = False,
    ) -> None:
        self._folder = output_dir
        self._timer = SecondOrStepTimer(save_secs, save_steps)
        self._writer = FileWriterCache.get(output_dir)

    def begin(self) -> None:
        self._next_step: int | None = None
        self._global_step = require_global_step(self)

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        self._due = self._next_step is not None and self._timer.should_trigger_for_step(self._next_step)
        options = RunOptions(trace_level=RunOptions.TraceLevel.Value("FULL_TRACE")) if self._due else None
        return SessionRunArgs(self._global_step, options=options)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        step = run_values.results
        if self._next_step is None:  # the first run is not traced, but its step counts
            self._timer.update_last_triggered_step(step - 1)
        if self._due:
            self._timer.update_last_triggered_step(step)
            self._save(step, run_values.run_metadata)
        self._next_step = step + 1

    def _save(self, step: int, metadata: RunMetadata) -> None:
        path = os.path.join(self._folder, f"timeline-{step}.json")
        log.info("Saving timeline for %d into '%s'.", step, path)
        write_file(path, [Timeline(metadata.step_stats).generate_chrome_trace_format().encode()])
        self._writer.add_run_metadata(metadata, f"step_{step}")
