"""The threads of a `Supervisor`: summaries, steps per second, checkpoints."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from staticgraph.train.coordinator import LooperThread
from staticgraph.train.event_files import scalar_summary, session_log
from staticgraph.train.global_step import global_step
from staticgraph.train.log import log

if TYPE_CHECKING:
    from staticgraph.train.supervisor import Supervisor


class SummaryThread(LooperThread):
    """Writes the summaries every so many seconds."""

    def __init__(self, sv: Supervisor, sess: Any) -> None:
        super().__init__(sv.coord, sv.save_summaries_secs)
        self._sv = sv
        self._sess = sess

    def run_loop(self) -> None:
        sv = self._sv
        steps = [] if sv.global_step is None else [sv.global_step]
        summary, *at = self._sess.run([sv.summary_op, *steps])
        step = at[0] if at else None
        log.info("Recording summary at step %s.", step)
        sv.summary_writer.add_summary(summary, step)


class StepCounterThread(LooperThread):
    """Writes how many steps are made per second."""

    def __init__(self, sv: Supervisor, sess: Any) -> None:
        super().__init__(sv.coord, sv.save_summaries_secs)
        self._sv = sv
        self._sess = sess
        self._tag = f"{sv.global_step.op.name}/sec"

    def start_loop(self) -> None:
        self._time, self._step = self._now()

    def run_loop(self) -> None:
        now, step = self._now()
        seconds = now - self._time
        rate = (step - self._step) / seconds if seconds else float("inf")
        self._time, self._step = now, step
        self._sv.summary_writer.add_summary(scalar_summary(self._tag, rate), step)
        log.info("%s: %g", self._tag, rate)

    def _now(self) -> tuple[float, int]:
        return time.monotonic(), global_step(self._sess, self._sv.global_step)


class CheckpointThread(LooperThread):
    """Saves checkpoints."""

    def __init__(self, sv: Supervisor, sess: Any) -> None:
        super().__init__(sv.coord, sv.save_model_secs)
        self._sv = sv
        self._sess = sess

    def run_loop(self) -> None:
        sv = self._sv
        log.info("Saving checkpoint to path %s", sv.save_path)
        sv.saver.save(self._sess, sv.save_path, global_step=sv.global_step)
        if sv.summary_writer is not None and sv.global_step is not None:
            step = global_step(self._sess, sv.global_step)
            sv.summary_writer.add_session_log(session_log("CHECKPOINT", sv.save_path or ""), step)
