"""Reports of a training: texts to show, dicts for programs, and curves for TensorBoard."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict, field
from pathlib import Path
from typing import Any

from staticgraph.applications.solver.data import Data
from staticgraph.applications.solver.description import Description
from staticgraph.applications.solver.network import Network
from staticgraph.compiler.support.dataclass import dataclass
from staticgraph.runtime.reports.table import table
from staticgraph.tf1.keras.utils.progress import Progbar, is_screen
from staticgraph.tf1.summary import FileWriter, Summary
from staticgraph.tf1.training.event_files import session_log

Values = Mapping[str, float]
_MOST_CLASSES = 20  # whose names are shown


@dataclass(frozen=True, slots=True)
class Result:
    """Outcome of a training. `stopped` names the signal that ended it early; `file` is then a snapshot."""

    file: Path
    step: int
    steps: int
    weights: int
    seconds: float
    training: Values = field(default_factory=dict)
    validation: Values = field(default_factory=dict)
    classes: tuple[str, ...] = ()
    stopped: str | None = None
    status: int = 0

    def as_dict(self) -> dict[str, Any]:
        """For a program to read."""
        found = asdict(self)
        found.pop("status")
        return found | {"file": str(self.file), "seconds": round(self.seconds, 3)}


def layers_table(network: Network) -> str:
    """The layers with their outputs and numbers of weights."""
    head = ("layer", "type", "output", "weights", "line")
    rows = [
        (row.name, row.type, shape_text(row.shape), f"{row.parameters:,}", str(row.line or ""))
        for row in network.rows
    ]
    first = ("inputs", "", shape_text(network.inputs.shape.as_list()[1:]), "", "")
    total = f"{network.weights:,} weights"
    if network.untrained:
        total += f", {network.untrained:,} of which are not trained"
    return f"{table(head, [first, *rows], left=(0, 1))}\n{total}"


def data_text(data: Data, network: Network) -> str:
    """One line about the data and the length of the training."""
    names = f", {len(data.classes)} classes" if data.classes else ""
    epochs = network.steps / data.steps
    return (
        f"{len(data.training):,} examples to train on, {len(data.validation):,} to validate{names}; "
        f"{network.steps:,} steps of {data.table.batch_size}, {epochs:.4g} epochs"
    )


def shape_text(sizes: list[int | None]) -> str:
    """Sizes to read.

    >>> shape_text([8, 8, 32]), shape_text([])
    ('8 × 8 × 32', 'a number')
    """
    return " × ".join("?" if n is None else str(n) for n in sizes) or "a number"


def result_text(result: Result) -> str:
    """Return the outcome of a training as text."""
    if result.stopped:
        took = f"{result.step:,} of {result.steps:,} steps"
        return f"stopped by {result.stopped} after {took}; --resume goes on from {result.file}"
    parts = {"training": result.training, "validation": result.validation}
    rows = [(part, *map(_number, values.values())) for part, values in parts.items()]
    measured = table(("", *result.training), rows, left=(0,))
    names = f"classes: {', '.join(result.classes)}\n" if 0 < len(result.classes) <= _MOST_CLASSES else ""
    return f"{measured}\n{names}{result.step:,} steps in {result.seconds:.1f} s; saved as {result.file}"


def _number(value: float) -> str:
    return f"{value:.4f}" if 1e-3 < abs(value) < 1e6 or value == 0 else f"{value:.3e}"


def as_dict(data: Data, network: Network) -> dict[str, object]:
    """Return what `--check` shows, for a program to read."""
    return {
        "layers": [asdict(row) for row in network.rows],
        "weights": network.weights,
        "untrained": network.untrained,
        "training_examples": len(data.training),
        "validation_examples": len(data.validation),
        "classes": data.classes,
        "steps": network.steps,
        "steps_in_an_epoch": data.steps,
    }


class Progress:
    """A bar for each epoch on a terminal, and a line for each elsewhere."""

    def __init__(self, epochs: int) -> None:
        self._epochs = epochs
        self._bar: Progbar | None = None
        self._last: Values = {}  # of the last step, with which the bar waits for the validation

    @property
    def idle(self) -> bool:
        """True if no epoch is shown."""
        return self._bar is None

    def epoch(self, epoch: int, begun: int, steps: int) -> None:
        """Begin an epoch, counted from 0, of so many steps, some of which may be done."""
        screen = is_screen()
        print(f"epoch {epoch + 1}/{self._epochs}", end="\n" if screen else "  ", flush=True)
        self._bar = Progbar(steps, verbose=1 if screen else 2)
        self._bar.seen = begun

    def step(self, values: Values) -> None:
        """A step is done."""
        if self._bar is not None and self._bar.seen + 1 < (self._bar.target or 0):
            self._bar.add(1, values.items())
        self._last = values

    def end(self, validated: Values) -> None:
        """The epoch is done."""
        if self._bar is not None:
            shown = {f"val_{name}": value for name, value in validated.items()}
            self._bar.stateful_metrics |= shown.keys()
            self._bar.update(self._bar.target or 0, [*self._last.items(), *shown.items()])
            self._bar = None

    def broken(self) -> None:
        """The training stops within an epoch."""
        if self._bar is not None:
            print(flush=True)
            self._bar = None


class Log:
    """Curves for TensorBoard: those of training and of validation lie in folders of their own."""

    def __init__(self, described: Description, network: Network, step: int) -> None:
        self.every = described.log.every
        self._writers: dict[str, FileWriter] = {}
        if described.log.folder is None:
            return
        folder = described.file(described.log.folder)
        try:
            for part in ("train", "validation"):
                graph = network.graph if part == "train" and step == 0 else None
                writer = self._writers[part] = FileWriter(os.fspath(folder / part), graph)
                # What an earlier process wrote beyond this step is of no more use.
                writer.add_session_log(session_log("START"), step)
                writer.flush()
        except OSError as error:
            text = f"the log folder {folder} cannot be written: {error.strerror or error}"
            hint = "choose another: --set log.folder=PATH"
            raise described.error(text, "log", "folder", hint=hint) from None

    def add(self, part: str, step: int, values: Values) -> None:
        """Points of the curves of one part."""
        if part in self._writers:
            points = [{"tag": name, "simple_value": float(value)} for name, value in values.items()]
            self._writers[part].add_summary(Summary(value=points), step)
            if part == "validation":  # who looks on sees each epoch
                self.flush()

    def flush(self) -> None:
        """Write what waits."""
        for writer in self._writers.values():
            writer.flush()

    def close(self) -> None:
        """Write what waits, for the last time."""
        for writer in self._writers.values():
            writer.close()
