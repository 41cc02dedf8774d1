"""The training: steps, validation after each epoch, snapshots, and a clean end however it comes.

After Ctrl-C, or a request to end, the step is finished and a snapshot written.
"""

from __future__ import annotations

import math
import os
import signal
import time
from contextlib import closing
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any

import numpy as np

from staticgraph.applications.solver.data import Data, full_batches
from staticgraph.applications.solver.description import Description
from staticgraph.applications.solver.errors import DivergedError, told
from staticgraph.applications.solver.network import Network
from staticgraph.applications.solver.report import Log, Progress, Result, Values
from staticgraph.applications.solver.snapshots import Snapshots, restore, write
from staticgraph.applications.solver.sources import Examples
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.runtime.session import Session


def train(described: Description, data: Data, network: Network, snapshot: Path | None = None) -> Result:
    """Train to the end, from the start or from a snapshot; then measure all examples and save the graph."""
    _check_folders(described)
    with Session(graph=network.graph) as session, Stop() as stop:
        step = 0
        if snapshot is None:
            session.run(network.initialize)
        else:
            step = restore(snapshot, network, session)
        with closing(Log(described, network, step)) as log:
            return _Training(described, data, network, session, stop, log, step).run()


def _check_folders(described: Description) -> None:
    """Find out before the training whether what it makes can be written."""
    if described.snapshot.every is not None:
        snapshots_of(described).make_folder()
    folder = described.output.parent
    if described.output.is_dir():
        raise described.error(f"{described.output} is a folder", "train", "output")
    if not folder.is_dir() or not os.access(folder, os.W_OK):
        what = "cannot be written" if folder.is_dir() else "is no folder"
        text = f"the trained graph would go to {described.output}, and {folder} {what}"
        raise described.error(text, "train", "output", hint="choose another: --set train.output=PATH")


class _Training:
    def __init__(
        self,
        described: Description,
        data: Data,
        network: Network,
        session: Session,
        stop: Stop,
        log: Log,
        step: int,
    ) -> None:
        self.described, self.data, self.network = described, data, network
        self.session, self.stop, self.log, self.step = session, stop, log, step
        self.snapshots = snapshots_of(described)
        self.start = time.monotonic()
        self.progress = Progress(-(-network.steps // data.steps))

    def run(self) -> Result:
        if self.step < self.network.steps:
            self.train()
        measured: dict[str, Values] = {}
        if self.stop.asked is None:
            self.check_weights()
            parts = {"training": self.data.training, "validation": self.data.validation}
            measured = {part: self.measured(examples) for part, examples in parts.items()}
        if self.stop.asked is not None:
            self.progress.broken()
            return self.result(self.snapshot(), stopped=self.stop.asked.name, status=self.stop.status)
        write(self.described.output, self.network, self.session)
        return self.result(self.described.output, **measured)

    def result(self, file: Path, **how: Any) -> Result:
        network, seconds = self.network, time.monotonic() - self.start
        classes = self.data.classes
        return Result(file, self.step, network.steps, network.weights, seconds, classes=classes, **how)

    def train(self) -> None:
        """Steps up to the last one, or until a signal comes."""
        per_epoch, total = self.data.steps, self.network.steps
        for batch in self.data.batches(self.step):
            epoch, within = divmod(self.step, per_epoch)
            last = min((epoch + 1) * per_epoch, total)
            if self.progress.idle:
                self.progress.epoch(epoch, within, last - epoch * per_epoch)
            self.one(batch)
            if self.step == last:
                self.validate()
            every = self.described.snapshot.every
            if every is not None and self.step % every == 0 and self.stop.asked is None:
                self.snapshot()
            if self.step == total or self.stop.asked is not None:
                return

    def one(self, batch: Examples) -> None:
        """One step."""
        network = self.network
        fetches = [network.trained, network.rate, network.step]
        values, rate, _ = self.session.run(fetches, self.feeds(batch))
        self.step += 1
        if not math.isfinite(values["loss"]):
            raise self.diverged(f"the loss is {values['loss']} after step {self.step}")
        self.progress.step(values)
        if self.step % self.log.every == 0:
            self.log.add("train", self.step, values | {"learning_rate": rate})

    def feeds(self, batch: Examples) -> dict[Tensor, np.ndarray]:
        return {self.network.inputs: batch.inputs, self.network.labels: batch.labels}

    def validate(self) -> None:
        """Show how good the net is on what it does not train on."""
        values = self.measured(self.data.validation)
        if self.stop.asked is None:
            self.progress.end(values)
            self.log.add("validation", self.step, values)

    def measured(self, examples: Examples) -> dict[str, float]:
        """The means of the loss and of the metrics. Of no use where a signal has come meanwhile."""
        totals = dict.fromkeys(self.network.validated, 0.0)
        seen = 0
        for batch, count in full_batches(examples, self.data.table.batch_size):
            if self.stop.asked is not None and seen:
                break
            found = self.session.run(self.network.validated, self.feeds(batch))
            seen += count
            for name, values in found.items():
                totals[name] += float(np.sum(values[:count], dtype=np.float64))
        return {name: total / seen for name, total in totals.items()}

    def snapshot(self) -> Path:
        """Write a snapshot. What cannot be gone on from is none."""
        self.check_weights()
        return self.snapshots.write(self.network, self.session, self.step)

    def check_weights(self) -> None:
        """A step changes weights after it has computed its loss, which may be the last finite one."""
        with self.session.held() as store:
            for name, variable in self.network.graph.variables.items():
                if variable.dtype.is_floating and not np.isfinite(store.read(variable.op)).all():
                    raise self.diverged(f"{name} has a NaN or an infinite number after step {self.step}")

    def diverged(self, text: str) -> DivergedError:
        self.progress.broken()
        newest = self.snapshots.newest
        advice = "lower optimizer.learning_rate, or set train.clip_norm"
        if self.described.data.normalize == "none":
            advice += ", or data.normalize"
        advice += "; SG_CHECK_NAN=1 names the operation"
        kept = f"; the newest snapshot is {newest}" if newest else ""
        place = self.described.place(*self.described.optimizer.keys)
        return DivergedError(told(text + kept, place, advice))


def snapshots_of(described: Description) -> Snapshots:
    """The snapshots of a description."""
    return Snapshots(described.snapshots, described.path.stem, described.snapshot.keep)


_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Stop:
    """A context that notes the first signal; a second one ends the program as usual."""

    def __init__(self) -> None:
        self.asked: signal.Signals | None = None
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Stop:
        try:
            self._before = {number: signal.signal(number, self._note) for number in _SIGNALS}
        except ValueError:  # only the main thread has signals; elsewhere the caller decides
            self._before = {}
        return self

    def _note(self, number: int, frame: FrameType | None) -> None:
        self.asked = signal.Signals(number)
        self._restore()

    def _restore(self) -> None:
        for number, before in self._before.items():
            signal.signal(number, before)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._restore()

    @property
    def status(self) -> int:
        """Exit status of the program: 128 plus the number of the signal, as in shells, or 0 without one."""
        return 0 if self.asked is None else 128 + self.asked
