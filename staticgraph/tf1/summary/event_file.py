"""Event files: the records that TensorBoard reads, appended to a file of its own name in a folder."""

from __future__ import annotations

import os
import socket
import threading
import time
import weakref
from collections.abc import Iterator
from typing import Any

from staticgraph.compiler.graph.checks.arguments import path_of
from staticgraph.compiler.graph.errors import SaveError, misuse
from staticgraph.compiler.support.forks import brief
from staticgraph.formats.tf.messages.event import EVENTS, Event
from staticgraph.runtime.disk.atomic import writing
from staticgraph.tf1.io.tf_record import framed, tf_record_iterator

_VERSION = "brain.Event:2"
_MOST_WAITING = 1 << 20  # bytes in memory; more are written at once


class EventFileWriter:
    """Appends events to a new file in `logdir`, which is made where it does not exist.

    Events wait in memory and are written every `flush_secs` seconds, at the latest when the program ends;
    there is no queue, so that `max_queue` changes nothing. The file is made with the first event. A process
    forked from this one writes a file of its own, and nothing twice.
    """

    def __init__(
        self, logdir: Any, max_queue: int = 10, flush_secs: float = 120, filename_suffix: str | None = None
    ) -> None:
        self._logdir = path_of(logdir, "logdir")
        try:
            os.makedirs(self._logdir, exist_ok=True)
        except OSError as error:
            text = f"events cannot be written to {self._logdir}: {os.strerror(error.errno or 0)}"
            raise misuse(SaveError, text, "give a folder that this program may write to") from None
        self._suffix = filename_suffix or ""
        self._flush_secs = flush_secs
        self._closed = False
        self._start()

    def _start(self) -> None:
        self._file = EventFile(self._logdir, self._suffix)
        self._finish = weakref.finalize(self, self._file.close)
        self._next_flush = 0.0

    def get_logdir(self) -> str:
        """The folder of the file."""
        return self._logdir

    def add_event(self, event: Event) -> None:
        """Add one event. A closed writer takes none."""
        self.add_record(event.SerializeToString())

    def add_record(self, event: bytes) -> None:
        """Add one serialised event. A closed writer takes none."""
        if self._closed:
            return
        if self._file.is_inherited():
            self._start()
        self._file.add(event)
        if time.monotonic() >= self._next_flush:
            self._file.flush()
            self._next_flush = time.monotonic() + self._flush_secs

    def flush(self) -> None:
        """Write all events that wait."""
        self._file.flush()

    def close(self) -> None:
        """Write all events that wait, and close the file."""
        self._finish()
        self._closed = True

    def reopen(self) -> None:
        """After `close`, let further events go into another new file."""
        if self._closed:
            self._start()
            self._closed = False


def summary_iterator(path: Any) -> Iterator[Event]:
    """The events of a file, in the order in which they were written.

    >>> import os, tempfile
    >>> from staticgraph import summary
    >>> folder = tempfile.mkdtemp()
    >>> with summary.FileWriter(folder) as writer:
    ...     writer.add_summary(summary.Summary(value=[{"tag": "loss", "simple_value": 0.5}]), 3)
    >>> [event.step for event in summary.summary_iterator(os.path.join(folder, os.listdir(folder)[0]))]
    [0, 3]
    """
    return map(Event.FromString, tf_record_iterator(path))


class EventFile:
    """One file, and the bytes that wait to be written to it.

    Args:
        folder: The folder of the file.
        suffix: The end of its name.
        prefix: The beginning of its name.
    """

    def __init__(self, folder: str, suffix: str, prefix: str = "events") -> None:
        self._folder = self.path = folder
        self.suffix = suffix
        self._prefix = prefix
        self._process = os.getpid()
        self._second = int(time.time())
        self._lock = brief(threading.RLock())
        self._waiting = bytearray()
        self._descriptor: int | None = None

    def is_inherited(self) -> bool:
        """Return True if the file belongs to another process, from which this one was forked."""
        return os.getpid() != self._process

    def add(self, event: bytes) -> None:
        with self._lock:
            if self._descriptor is None:
                self._descriptor = self._new()
                first = Event(wall_time=self._second, file_version=_VERSION)
                self._waiting += framed(first.SerializeToString())
            self._waiting += framed(event)
            if len(self._waiting) > _MOST_WAITING:
                self._write()

    def flush(self) -> None:
        if not self.is_inherited():
            with self._lock:
                self._write()

    def close(self) -> None:
        if not self.is_inherited():
            with self._lock:
                self._write()
                if self._descriptor is not None:
                    os.close(self._descriptor)
                    self._descriptor = None

    def _write(self) -> None:
        with writing(self.path):
            while self._waiting and self._descriptor is not None:
                del self._waiting[: os.write(self._descriptor, self._waiting)]

    def _new(self) -> int:
        """Make the file, whose name tells the second: a later one where another writer has that."""
        second = self._second
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
        while True:
            name = f"{self._prefix}.out.{EVENTS}.{second:010d}.{socket.gethostname()}{self.suffix}"
            self.path = os.path.join(self._folder, name)
            try:
                return os.open(self.path, flags, 0o666)
            except FileExistsError:
                second += 1
