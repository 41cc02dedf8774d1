"""`sg.watch`: values of a training, written at once to an event file that a page follows."""

from __future__ import annotations

import os
import struct
import threading
import time
from collections.abc import Mapping
from typing import Any

import numpy as np

from staticgraph.compiler.graph.errors import InvalidArgumentError, misuse, shown
from staticgraph.compiler.graph.graph import Graph
from staticgraph.compiler.graph.tensor import Operation, Tensor
from staticgraph.compiler.support.forks import brief
from staticgraph.formats.tf.messages.event import SessionLog
from staticgraph.formats.tf.messages.wire import (
    BYTES,
    FIXED32,
    FIXED64,
    MASK64,
    VARINT,
    encode_bytes,
    encode_tag,
    encode_varint,
)
from staticgraph.runtime.profiling.step_plan import StepPlan
from staticgraph.tf1.summary import encode
from staticgraph.tf1.summary.writer import FileWriter

# Tags of fields: of Event, Summary and Summary.Value.
_WALL, _STEP, _SUMMARY = encode_tag(1, FIXED64), encode_tag(2, VARINT), encode_tag(5, BYTES)
_VALUE, _TAG, _SIMPLE = encode_tag(1, BYTES), encode_tag(1, BYTES), encode_tag(2, FIXED32)
_DOUBLE = struct.Struct("<d")

_FOLDER = "runs"  # below the current folder, of runs that have no name
_RATES_EVERY = 0.5  # seconds
_SMALLER_IN_A_ROW = 3  # steps, after which they are counted anew


class PointWriter:
    """Writer of the values of one run. Each is in its file when `write` returns.

    Beside them it writes how many steps and examples a second took.

    Args:
        run: The folder of the run. A new one below `runs/`, named by the time, by default.
    """

    def __init__(self, run: Any = None) -> None:
        self._writer = FileWriter(_new_run() if run is None else run, flush_secs=0)
        self._lock = brief(threading.RLock())
        self._begun = False
        self._step = -1
        self._rates = _Rates()

    @property
    def run(self) -> str:
        """The folder of the run."""
        return self._writer.get_logdir()

    def begin(self, step: int) -> None:
        """Write that a training begins: a page forgets what an earlier one wrote here from this step on."""
        self._writer.add_session_log(SessionLog(status=SessionLog.SessionStatus.Value("START")), step)
        self._begun = True

    def write(
        self, values: Mapping[str, Any], step: Any = None, examples: int | None = None, timed: bool = True
    ) -> None:
        """Write the values of a step.

        Args:
            values: Values by tag, as `watch` takes them.
            step: The number of the step; one more than the last one by default.
            examples: How many examples the step took.
            timed: If it is a step of training, and counts for the steps per second.

        Raises:
            TypeError: A value is of a kind that is not shown, such as a tensor that was not fetched.
            InvalidArgumentError: An image is none, or `step` is not one whole number.
        """
        with self._lock:
            step = self._step + 1 if step is None else _whole(step)
            graphs = [value for value in values.values() if isinstance(value, Graph)]
            summaries = [
                _encoded(str(tag), value) for tag, value in values.items() if not isinstance(value, Graph)
            ]
            if not self._begun:
                self.begin(step)
            if timed:
                summaries += self._rates.after(step, examples or 0)
            for graph in graphs:
                self._writer.add_graph(graph, step)
            if summaries:
                self._writer.event_writer.add_record(_event(b"".join(summaries), step))
            self._writer.flush()
            self._step = step

    def close(self) -> None:
        """Close the file."""
        self._writer.close()


class _Rates:
    """Steps and examples per second, as summaries, twice a second.

    Values of epochs or validations may be written between the steps, under smaller numbers. These change
    nothing, unless several follow each other: then the steps are counted anew.
    """

    def __init__(self) -> None:
        self._time, self._step = 0.0, -1
        self._examples = self._smaller = 0

    def after(self, step: int, examples: int) -> list[bytes]:
        """Return the summaries that are due after a step."""
        now = time.monotonic()
        self._examples += examples
        self._smaller = self._smaller + 1 if step <= self._step else 0
        if self._step < 0 or self._smaller > _SMALLER_IN_A_ROW:
            self._begin(now, step)
            return []
        seconds = now - self._time
        if self._smaller or seconds < _RATES_EVERY:
            return []
        made = [_scalar("throughput/steps_per_second", (step - self._step) / seconds)]
        if self._examples:
            made.append(_scalar("throughput/examples_per_second", self._examples / seconds))
        self._begin(now, step)
        return made

    def _begin(self, now: float, step: int) -> None:
        self._time, self._step = now, step
        self._examples = self._smaller = 0


def watch(
    values: Mapping[str, Any] | None = None,
    /,
    *,
    step: Any = None,
    run: str | os.PathLike[str] | None = None,
    examples: int | None = None,
    **named: Any,
) -> None:
    """Write values of a training step, for `python -m staticgraph watch` and for TensorBoard.

    A number is a point of a curve, a string is a text, an array of uint8 with shape [height, width],
    [height, width, channels] or [number, height, width, channels] an image (1, 3 or 4 channels), any other
    array a histogram. A graph (`sess.graph`) and a plan (`sess.plan(...)`) are shown, too. The values are in
    the event file of the run when the function returns.

    Args:
        values: Values by tag, such as "train/loss". Curves are grouped by what is before the slash.
        step: Number of the step, a whole number; by default one more than at the last call for the same run.
        run: Folder of the run. By default a new one below `runs/`, named by the time when it began, for
            all calls of the process.
        examples: How many examples the step took, for the throughput.
        **named: More values by tag.

    Raises:
        TypeError: A value cannot be shown, for example a tensor: fetch it first.
        InvalidArgumentError: An image is none, or `step` is not one whole number.
        SaveError: The folder cannot be written.

    >>> import os, tempfile
    >>> run = os.path.join(tempfile.mkdtemp(), "first")
    >>> for step in range(3):
    ...     sg.watch(loss=1 / (step + 1), run=run)
    >>> sg.watch({"weights/kernel": np.ones((3, 3))}, step=2, run=run)
    >>> [file] = os.listdir(run)
    >>> events = sg.summary.summary_iterator(os.path.join(run, file))
    >>> [(event.step, value.tag) for event in events for value in event.summary.value]
    [(0, 'loss'), (1, 'loss'), (2, 'loss'), (2, 'weights/kernel')]
    """
    if values is not None and not isinstance(values, Mapping):
        text = f"watch is given {shown(values)} without a name"
        raise misuse(TypeError, text, "watch(loss=value), or a dict of names and values")
    given = {**(values or {}), **named}
    with _lock:
        key = None if run is None else os.path.abspath(os.fspath(run))
        writer = _writers.get(key)
        if writer is None:
            writer = _writers[key] = PointWriter(key)
    writer.write(given, step, examples)


_writers: dict[str | None, PointWriter] = {}
_lock = brief(threading.RLock())


def _new_run() -> str:
    """A folder that is not there yet."""
    name = time.strftime("%Y-%m-%d_%H.%M.%S")
    number, path = 1, os.path.join(_FOLDER, name)
    while os.path.exists(path):
        number, path = number + 1, os.path.join(_FOLDER, f"{name}_{number + 1}")
    return path


def _event(summary: bytes, step: int) -> bytes:
    """Encode an event of now. Written by hand, since a step of training may take no longer than a message."""
    wall = _DOUBLE.pack(time.time())
    return b"".join((_WALL, wall, _STEP, encode_varint(step & MASK64), _SUMMARY, encode_bytes(summary)))


def _scalar(tag: str, value: Any) -> bytes:
    """Encode the summary of one number, as `encode.scalar` does."""
    with np.errstate(over="ignore"):  # to infinity
        number = np.float32(value).tobytes()
    return _VALUE + encode_bytes(b"".join((_TAG, encode_bytes(tag.encode()), _SIMPLE, number)))


def _whole(step: Any) -> int:
    array = np.asarray(step)
    if array.size != 1 or array.dtype.kind not in "iu":
        raise InvalidArgumentError(f"a step is one whole number, and {shown(step)} was given")
    return int(array.reshape(()))


def _encoded(tag: str, value: Any) -> bytes:
    """Encode one value as a summary of its kind."""
    if isinstance(value, int | float | np.floating):
        return _scalar(tag, value)
    if isinstance(value, str):
        return encode.text(tag, value)
    if isinstance(value, StepPlan):
        return encode.text(tag, str(value))
    if isinstance(value, Tensor | Operation) or hasattr(value, "initializer"):
        hint = "fetch it with the step: value, _ = sess.run([loss, train]); sg.watch(loss=value)"
        raise misuse(TypeError, f"{tag} is part of a graph, which has no value outside of a run", hint)
    array = np.asarray(value)
    if array.dtype.kind not in "biuf" and array.dtype.name != "bfloat16":
        text = f"{tag} cannot be shown: it is {shown(value)}"
        raise misuse(TypeError, text, "give numbers, arrays, strings, a graph or a plan")
    if array.size == 1 and array.ndim == 0:
        return _scalar(tag, array)
    if array.dtype == np.uint8 and array.ndim in (2, 3, 4):
        return encode.image(tag, _images(array))
    numbers = array.astype(np.float64)
    return encode.histogram(tag, numbers[np.isfinite(numbers)])


def _images(array: np.ndarray) -> np.ndarray:
    """An image, or several, as [number, height, width, channels]."""
    if array.ndim == 2:
        return array[None, :, :, None]
    return array[None] if array.ndim == 3 else array
