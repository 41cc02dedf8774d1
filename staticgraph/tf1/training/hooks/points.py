"""A hook that writes values of a training for the page of `python -m staticgraph watch`."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from staticgraph.tf1.summary.points import PointWriter
from staticgraph.tf1.training.coordinator import Coordinator
from staticgraph.tf1.training.hooks.run_hook import (
    SessionRunArgs,
    SessionRunContext,
    SessionRunHook,
    SessionRunValues,
    require_global_step,
)
from staticgraph.tf1.training.hooks.timer import SecondOrStepTimer
from staticgraph.tf1.training.hooks.watching import fetched


class WatchHook(SessionRunHook):
    """Writes values of tensors at the global step, and the graph, so that they are seen at once.

    `python -m staticgraph watch` and TensorBoard show them.

    Args:
        tensors: Tensors, or names of tensors, by tag; or a list of them, whose names are the tags.
        run: Folder of the run, such as the `checkpoint_dir` of the session. A new one below `runs/` by
            default.
        every_n_steps: At how many steps the tensors are fetched; 1 by default.
        every_n_secs: After how many seconds instead.
        examples: How many examples a step takes, for the throughput; unknown by default.

    Raises:
        ValueError: Both intervals are given, or a tensor is not of the default graph.
        RuntimeError: There is no global step.

    >>> import tempfile
    >>> w = sg.Variable(8.0)
    >>> loss = sg.square(w, name="loss")
    >>> step = sg.train.get_or_create_global_step()
    >>> train = sg.train.GradientDescentOptimizer(0.1).minimize(loss, global_step=step)
    >>> hook = sg.train.WatchHook({"loss": loss}, run=tempfile.mkdtemp())
    >>> with sg.train.MonitoredTrainingSession(hooks=[hook]) as sess:
    ...     for _ in range(3):
    ...         _ = sess.run(train)
    """

    def __init__(
        self,
        tensors: Mapping[str, Any] | Sequence[Any],
        run: str | os.PathLike[str] | None = None,
        every_n_steps: int | None = None,
        every_n_secs: float | None = None,
        examples: int | None = None,
    ) -> None:
        if every_n_steps is None and every_n_secs is None:
            every_n_steps = 1
        self._timer = SecondOrStepTimer(every_n_secs, every_n_steps)
        if isinstance(tensors, Mapping):
            self._tensors = dict(tensors)
        else:
            self._tensors = {t if isinstance(t, str) else t.name.partition(":")[0]: t for t in tensors}
        self._run = run
        self._examples = examples
        self._writer: PointWriter | None = None

    def begin(self) -> None:
        self._global_step = require_global_step(self)
        self._fetches = {tag: fetched(tensor) for tag, tensor in self._tensors.items()}
        self._timer.reset()
        self._step: int | None = None

    def after_create_session(self, session: Any, coord: Coordinator) -> None:
        step = int(session.run(self._global_step))
        if self._writer is None:
            self._writer = PointWriter(self._run)
        self._writer.begin(step + 1)  # the step that comes first
        self._writer.write({"graph": session.graph}, step, timed=False)
        self._step = None

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        self._due = self._step is None or self._timer.should_trigger_for_step(self._step + 1)
        return SessionRunArgs((self._global_step, self._fetches if self._due else {}))

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        step, values = run_values.results
        step = int(step)
        if self._due and self._writer is not None:
            taken = step - self._step if self._step is not None else 1
            self._timer.update_last_triggered_step(step)
            self._writer.write(values, step, self._examples and self._examples * taken)
        self._step = step

    def end(self, session: Any) -> None:
        if self._writer is not None:
            self._writer.close()
