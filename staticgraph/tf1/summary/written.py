"""`tf.contrib.summary`: summaries that a run writes into an event file itself, without a `FileWriter`.

The operation of a summary is a function of Python: it makes the message that `tf.summary` makes, and adds it
to the file of the writer that was the default when the graph was built.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

import staticgraph as sg
from staticgraph.compiler.graph.errors import FailedPreconditionError, misuse
from staticgraph.compiler.graph.recording.op_count import counted_as
from staticgraph.formats.tf.messages.event import Event
from staticgraph.formats.tf.messages.summary import SummaryMetadata
from staticgraph.formats.tf.messages.tensors import make_tensor_proto
from staticgraph.tf1.summary import FileWriter, encode
from staticgraph.train.step_count import get_or_create_global_step

_INITIALIZERS = "_SUMMARY_WRITER_V2"
_SUMMARIES = "_SUMMARY_V2"
_SETTINGS = "_contrib_summary_settings"

# Operations of TensorFlow: of a summary, and how many more if a tensor decides if it is written.
_MADE, _OF_WRITER, _DECIDED = 7, 6, 8


class SummaryWriter:
    """An event file that the operations of a graph write.

    Args:
        logdir: The folder of the file; None for a writer that writes nothing.
        max_queue: Changes nothing: there is no queue.
        flush_millis: Milliseconds after which events are written.
        filename_suffix: The end of the file's name.
    """

    def __init__(
        self, logdir: Any, max_queue: Any = None, flush_millis: Any = None, filename_suffix: Any = None
    ) -> None:
        self.logdir = logdir
        self._seconds = 120.0 if flush_millis is None else _number(flush_millis, "flush_millis") / 1000
        self._suffix = ".v2" if filename_suffix is None else filename_suffix
        self._file: FileWriter | None = None

    @contextmanager
    def as_default(self) -> Iterator[SummaryWriter | None]:
        """Context in which summaries of the default graph go to this writer."""
        with _set(writer=self if self.logdir is not None else None):
            yield self if self.logdir is not None else None

    def set_as_default(self) -> None:
        """Let summaries of the default graph go to this writer from here on."""
        _settings()["writer"] = self if self.logdir is not None else None

    def init(self) -> Any:
        """Return the operation that makes the file."""
        return self._operation(self._begin, "CreateSummaryFileWriter")

    def flush(self) -> Any:
        """Return the operation that writes all events that wait."""
        return self._operation(lambda: self.opened().flush(), "FlushSummaryWriter")

    def close(self) -> Any:
        """Return the operation that writes all events that wait, and closes the file."""
        return self._operation(lambda: self.opened().close(), "CloseSummaryWriter")

    def opened(self) -> FileWriter:
        """Return the writer of the file. FailedPreconditionError if no run has made the file."""
        if self._file is None:
            text = f"the summary writer of {self.logdir} has no file yet"
            raise FailedPreconditionError(f"{text}; run summary_writer_initializer_op() first")
        return self._file

    def _begin(self) -> None:
        if self._file is None:
            self._file = FileWriter(self.logdir, flush_secs=self._seconds, filename_suffix=self._suffix)

    def _operation(self, do: Callable[[], None], name: str) -> Any:
        if self.logdir is None:
            return sg.no_op()
        return sg.py_func(do, [], [], name=name)


def create_file_writer(
    logdir: Any,
    max_queue: Any = None,
    flush_millis: Any = None,
    filename_suffix: Any = None,
    name: str | None = None,
) -> SummaryWriter:
    """Return a writer of an event file in `logdir`, which `summary_writer_initializer_op` makes.

    Args:
        logdir: A folder; None for a writer that writes nothing.
        max_queue: Changes nothing: there is no queue.
        flush_millis: Milliseconds after which events are written; two minutes by default.
        filename_suffix: The end of the file's name, `.v2` by default.
        name: Changes nothing.

    Returns:
        A `SummaryWriter`.

    Raises:
        ValueError: `flush_millis` is no number that is known now.

    >>> import tempfile
    >>> import staticgraph as sg
    >>> from staticgraph.compat.tf1 import contrib
    >>> writer = contrib.summary.create_file_writer(tempfile.mkdtemp())
    >>> with writer.as_default(), contrib.summary.always_record_summaries():
    ...     _ = contrib.summary.scalar("loss", 0.5)
    >>> with sg.Session() as sess:
    ...     _ = sess.run([contrib.summary.summary_writer_initializer_op(), sg.global_variables_initializer()])
    ...     sess.run(contrib.summary.all_summary_ops())
    [np.True_]
    """
    writer = SummaryWriter(logdir, max_queue, flush_millis, filename_suffix)
    if logdir is not None:
        with counted_as(sg.get_default_graph(), _OF_WRITER):
            sg.add_to_collection(_INITIALIZERS, writer.init())
    return writer


create_summary_file_writer = create_file_writer


def summary_writer_initializer_op() -> list[Any]:
    """Return the operations that make the files of all writers of the default graph."""
    return list(sg.get_collection(_INITIALIZERS))


def all_summary_ops() -> list[Any]:
    """Return the operations of all summaries of the default graph."""
    return list(sg.get_collection(_SUMMARIES))


def initialize(graph: Any = None, session: Any = None) -> None:
    """Make the files of all writers of the default graph, and write a graph into the default one.

    Args:
        graph: The graph to write, if any.
        session: A session; the default one if None.

    Raises:
        ValueError: There is no session.
    """
    session = sg.get_default_session() if session is None else session
    if session is None:
        raise misuse(ValueError, "there is no default session", "summary.initialize(session=sess)")
    session.run(summary_writer_initializer_op())
    writer = _settings()["writer"]
    if graph is not None and writer is not None:
        writer.opened().add_graph(graph)


def flush(writer: SummaryWriter | None = None, name: str | None = None) -> Any:
    """Return the operation that writes what waits in `writer`, by default in the default one."""
    chosen = _settings()["writer"] if writer is None else writer
    return sg.no_op() if chosen is None else chosen.flush()


@contextmanager
def always_record_summaries() -> Iterator[None]:
    """Context whose summaries are written by each run of them."""
    with _set(record=True):
        yield


@contextmanager
def never_record_summaries() -> Iterator[None]:
    """Context whose summaries are not written."""
    with _set(record=False):
        yield


@contextmanager
def record_summaries_every_n_global_steps(n: Any, global_step: Any = None) -> Iterator[None]:
    """Context whose summaries are written if the number of the step is divisible by `n`.

    Args:
        n: An integer.
        global_step: The number of the step; by default the variable of the graph.
    """
    step = get_or_create_global_step() if global_step is None else global_step
    with sg.device("cpu:0"):
        due = sg.equal(sg.math.floormod(sg.identity(step), sg.cast(n, step.dtype.base_dtype)), 0)
    with _set(record=due):
        yield


def should_record_summaries() -> Any:
    """Return if summaries are written here: a bool tensor. Without one of the contexts they are not."""
    return sg.convert_to_tensor(_settings()["record"])


def scalar(name: str, tensor: Any, family: str | None = None, step: Any = None) -> Any:
    """Write a number.

    Args:
        name: The name of the summary; scopes stand before it in the tag.
        tensor: A scalar.
        family: The first part of the tag, by which TensorBoard groups.
        step: The number of the step; by default the global step of the graph.

    Returns:
        A bool tensor: if something was written. An operation that does nothing if there is no writer.
    """
    return _written(name, family, step, tensor, encode.scalar)


def histogram(name: str, tensor: Any, family: str | None = None, step: Any = None) -> Any:
    """Write the distribution of the elements of a tensor; arguments are those of `scalar`."""
    return _written(name, family, step, tensor, encode.histogram)


def image(
    name: str,
    tensor: Any,
    bad_color: Any = None,
    max_images: int = 3,
    family: str | None = None,
    step: Any = None,
) -> Any:
    """Write the first `max_images` images of a tensor of shape [batch, height, width, channels].

    Args:
        name: The name of the summary, as in `scalar`.
        tensor: The images.
        bad_color: Four numbers up to 255, for pixels that are not finite; red by default.
        max_images: The number of images.
        family: The first part of the tag.
        step: The number of the step.

    Returns:
        A bool tensor, as `scalar` does.
    """
    color = {} if bad_color is None else {"bad_color": tuple(int(part) for part in bad_color)}
    return _written(
        name, family, step, tensor, lambda tag, pixels: encode.image(tag, pixels, max_images, **color), 1
    )


def audio(
    name: str,
    tensor: Any,
    sample_rate: Any,
    max_outputs: int = 3,
    family: str | None = None,
    step: Any = None,
) -> Any:
    """Write the first `max_outputs` sounds of a tensor of shape [batch, frames, channels].

    Args:
        name: The name of the summary, as in `scalar`.
        tensor: float32, between -1 and 1.
        sample_rate: Frames per second, a number.
        max_outputs: The number of sounds.
        family: The first part of the tag.
        step: The number of the step.

    Returns:
        A bool tensor, as `scalar` does.
    """
    rate = float(_number(sample_rate, "sample_rate"))
    return _written(
        name, family, step, tensor, lambda tag, sound: encode.audio(tag, sound, rate, max_outputs), 1
    )


def generic(name: str, tensor: Any, metadata: Any = None, family: str | None = None, step: Any = None) -> Any:
    """Write a whole tensor, for the plugin that `metadata`, a `SummaryMetadata` or one in bytes, names."""
    if isinstance(metadata, SummaryMetadata):
        metadata = metadata.SerializeToString()
    described = metadata or b""
    return _written(
        name,
        family,
        step,
        tensor,
        lambda tag, value: encode.tensor(tag, make_tensor_proto(value), described),
        1,
    )


def import_event(tensor: Any, name: str | None = None) -> Any:
    """Return the operation that writes an `Event`, which is given as a string."""
    writer = _settings()["writer"]
    if writer is None:
        return sg.no_op()
    event = sg.convert_to_tensor(tensor, sg.string)
    return sg.py_func(lambda text: writer.opened().add_event(Event.FromString(text)), [event], [], name=name)


def _written(
    name: str,
    family: str | None,
    step: Any,
    tensor: Any,
    encoded: Callable[[str, Any], bytes],
    parameters: int = 0,
) -> Any:
    """The operation that writes what `encoded` makes of a tag and a value.

    Args:
        name: The name of the summary.
        family: The first part of the tag.
        step: The number of the step, or None.
        tensor: What is written.
        encoded: From the tag and the value to the message.
        parameters: The number of constants that TensorFlow makes of further parameters.
    """
    writer, record = _settings()["writer"], _settings()["record"]
    if writer is None:
        return sg.no_op()
    if step is None:
        step = get_or_create_global_step()
    elif not isinstance(step, sg.Tensor):
        parameters += 1
    named = (name if family is None else f"{family}/{name}").replace(" ", "_")
    count = 4 if record is False else _MADE + parameters + (0 if record is True else _DECIDED)
    with counted_as(sg.get_default_graph(), count), sg.name_scope(named, None, [tensor]) as scope:
        tag = scope.rstrip("/") if family is None else f"{family}/{scope.rstrip('/')}"

        def write(decided: Any, value: Any, at: Any) -> np.bool_:
            if decided:
                writer.opened().add_summary(encoded(tag, value), at)
            return np.bool_(decided)

        if record is False:
            made = sg.constant(False)
        else:
            made = sg.py_func(write, [record, sg.convert_to_tensor(tensor), step], sg.bool, name="write")
            made.set_shape([])
    sg.add_to_collection(_SUMMARIES, made)
    return made


def _settings() -> dict[str, Any]:
    """Return the default writer of the default graph, and if summaries are written."""
    found = sg.get_collection_ref(_SETTINGS)
    if not found:
        found.append({"writer": None, "record": False})
    settings: dict[str, Any] = found[0]
    return settings


@contextmanager
def _set(**changes: Any) -> Iterator[None]:
    settings = _settings()
    before = dict(settings)
    settings.update(changes)
    try:
        yield
    finally:
        settings.update(before)


def _number(value: Any, what: str) -> Any:
    """Return a number that may be given as a constant."""
    known = sg.get_static_value(value) if isinstance(value, sg.Tensor) else value
    if known is None or np.ndim(known) != 0 or not np.issubdtype(np.asarray(known).dtype, np.number):
        raise misuse(ValueError, f"{what} is {value}, it must be a number that is known now")
    return known
