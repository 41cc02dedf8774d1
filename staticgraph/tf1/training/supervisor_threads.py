"""The threads of a `Supervisor`: summaries, steps per second, checkpoints."""

from __future__ import annotations

import time
from typing import Any

from staticgraph.formats.tf.log import log
from staticgraph.tf1.training.coordinator import Coordinator, LooperThread
from staticgraph.tf1.training.event_files import scalar_summary, session_log
from staticgraph.train.step_count import global_step


class SummaryThread(LooperThread):
    """Writes the summaries every so many seconds.

    Args:
        coord: The coordinator of the threads.
        secs: Seconds between two writes.
        sess: The session that runs `summary_op`.
        summary_op: Gives the summary to write.
        writer: The `FileWriter` that writes it.
        step: The global step, or None.
    """

    def __init__(
        self, coord: Coordinator, secs: float, sess: Any, summary_op: Any, writer: Any, step: Any
    ) -> None:
        super().__init__(coord, secs)
        self._sess = sess
        self._fetches = [summary_op] if step is None else [summary_op, step]
        self._writer = writer

    def run_loop(self) -> None:
        summary, *at = self._sess.run(self._fetches)
        step = at[0] if at else None
        log.info("Recording summary at step %s.", step)
        self._writer.add_summary(summary, step)


class StepCounterThread(LooperThread):
    """Writes how many steps are made per second; the arguments are those of `SummaryThread`."""

    def __init__(self, coord: Coordinator, secs: float, sess: Any, writer: Any, step: Any) -> None:
        super().__init__(coord, secs)
        self._sess = sess
        self._writer = writer
        self._global_step = step
        self._tag = f"{step.op.name}/sec"

    def start_loop(self) -> None:
        self._time, self._step = self._now()

    def run_loop(self) -> None:
        now, step = self._now()
        seconds = now - self._time
        rate = (step - self._step) / seconds if seconds else float("inf")
        self._time, self._step = now, step
        self._writer.add_summary(scalar_summary(self._tag, rate), step)
        log.info("%s: %g", self._tag, rate)

    def _now(self) -> tuple[float, int]:
        return time.monotonic(), global_step(self._sess, self._global_step)


class CheckpointThread(LooperThread):
    """Saves checkpoints to `path` every so many seconds; the other arguments are those of `SummaryThread`."""

    def __init__(
        self, coord: Coordinator, secs: float, sess: Any, saver: Any, path: Any, writer: Any, step: Any
    ) -> None:
        super().__init__(coord, secs)
        self._sess = sess
        self._saver = saver
        self._path = path
        self._writer = writer
        self._global_step = step

    def run_loop(self) -> None:
        log.info("Saving checkpoint to path %s", self._path)
        self._saver.save(self._sess, self._path, global_step=self._global_step)
        if self._writer is not None and self._global_step is not None:
            step = global_step(self._sess, self._global_step)
            self._writer.add_session_log(session_log("CHECKPOINT", self._path or ""), step)
