"""Readers: operations that take file names from a queue and give the records of these files (TF1's readers).

A reader belongs to the graph; how far it has got belongs to a session.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import numpy as np

from staticgraph.building.read_only import read_only
from staticgraph.compiler.graph.dtypes import int64, string
from staticgraph.compiler.graph.errors import InvalidArgumentError, misuse
from staticgraph.compiler.graph.shapes import TensorType
from staticgraph.compiler.graph.tensor import Operation, Tensor
from staticgraph.compiler.ops.kinds import host
from staticgraph.compiler.support.forks import in_child, reclaim
from staticgraph.runtime.state.resources import exclusive, resources
from staticgraph.tf1.io.file_records import fixed_records, line_without_end, open_bytes
from staticgraph.tf1.io.tf_record import TFRecordOptions, tf_record_iterator
from staticgraph.tf1.queue.base import QueueBase

Record = tuple[bytes, bytes]  # key and value


class _Progress:
    """Progress of a reader in one session."""

    def __init__(self, reader: ReaderBase) -> None:
        self._reader = reader
        self._lock = threading.RLock()  # for as long as a record takes
        in_child(self._forked)
        self.reset()

    def reset(self) -> None:
        """Begin with the next file."""
        self.produced = 0
        self.completed = 0
        self._records: Iterator[Record] | None = None

    def read(self, queue: QueueBase, most: int) -> list[Record]:
        """The next records: at least one, at most so many, all of one file."""
        with exclusive(self._lock):
            while True:
                if self._records is None:
                    (name,) = queue.contents().take(1)[0]
                    self._records = self._reader.records(name.item().decode(errors="surrogateescape"))
                found = self._some(most)
                self.produced += len(found)
                if len(found) < most:
                    self.completed += 1
                    self._records = None
                if found:
                    return found

    def _some(self, most: int) -> list[Record]:
        """As many of the present file's records as there are. A file that fails is done with."""
        assert self._records is not None
        found: list[Record] = []
        try:
            while len(found) < most and (record := next(self._records, None)) is not None:
                found.append(record)
        except Exception:
            if not found:
                self._records = None
                raise
        return found

    def shut(self) -> None:
        self._records = None

    def _forked(self) -> None:
        if reclaim(self._lock):
            self._records = None  # the file that a thread of the parent was reading


class ReaderBase:
    """Reads records of files whose names a queue holds; the kinds of readers say what a record is.

    Reading waits for names as long as the queue is open. OutOfRangeError when it is closed and empty.
    """

    TYPE = "ReaderV2"

    def __init__(self, name: str | None = None) -> None:
        self._ref: Tensor = reader_handle(reader=self, name=name or self.TYPE)

    reader_ref: Tensor = read_only("ref", "A string tensor that stands for the reader in the graph.")

    @property
    def supports_serialize(self) -> bool:
        """False, since the state of a reader cannot be saved."""
        return False

    def read(self, queue: QueueBase, name: str | None = None) -> Any:
        """The next record, as string scalars (key, value); the key tells file and place."""
        return reader_read(reader=self, queue=_queue(queue), name=name)

    def read_up_to(self, queue: QueueBase, num_records: Any, name: str | None = None) -> Any:
        """The next records of one file, from one to `num_records`, as string vectors (keys, values)."""
        return reader_read_up_to(num_records=num_records, reader=self, queue=_queue(queue), name=name)

    def num_records_produced(self, name: str | None = None) -> Tensor:
        """Return the number of records that were read, as an int64 tensor."""
        made: Tensor = reader_num_records_produced(reader=self, name=name)
        return made

    def num_work_units_completed(self, name: str | None = None) -> Tensor:
        """Return the number of files that were read to their end, as an int64 tensor."""
        made: Tensor = reader_num_work_units_completed(reader=self, name=name)
        return made

    def reset(self, name: str | None = None) -> Operation:
        """The operation that forgets the present file and the numbers."""
        made: Operation = reader_reset(reader=self, name=name)
        return made

    def records(self, name: str) -> Iterator[Record]:
        """The records of one file."""
        raise NotImplementedError

    def progress(self) -> _Progress:
        """Return the progress of the reader in the session that asks."""
        return resources().of(self, lambda: _Progress(self))


def _queue(queue: Any) -> QueueBase:
    if not isinstance(queue, QueueBase):
        raise misuse(TypeError, f"a reader takes names from a queue, not from {queue!r}")
    return queue


def _keyed(name: str, number: int) -> bytes:
    return f"{name}:{number}".encode(errors="surrogateescape")


class WholeFileReader(ReaderBase):
    """A record is a whole file, its key the name."""

    TYPE = "WholeFileReaderV2"

    def records(self, name: str) -> Iterator[Record]:
        with open_bytes(name) as file:
            yield name.encode(errors="surrogateescape"), file.read()


class IdentityReader(ReaderBase):
    """A record is the name itself, and nothing is read."""

    TYPE = "IdentityReaderV2"

    def records(self, name: str) -> Iterator[Record]:
        encoded = name.encode(errors="surrogateescape")
        yield encoded, encoded


class TextLineReader(ReaderBase):
    r"""A record is a line without its end; the first `skip_header_lines` of each file are left out.

    >>> import os, tempfile
    >>> import staticgraph as sg
    >>> path = os.path.join(tempfile.mkdtemp(), "words")
    >>> with open(path, "w") as file:
    ...     _ = file.write("one\ntwo\n")
    >>> names = sg.FIFOQueue(4, sg.string)
    >>> fill, close = names.enqueue_many([[path]]), names.close()
    >>> key, line = sg.TextLineReader().read(names)
    >>> with sg.Session() as sess:
    ...     sess.run(fill)
    ...     sess.run(close)
    ...     sess.run(line), sess.run(line)
    (b'one', b'two')
    """

    TYPE = "TextLineReaderV2"

    def __init__(self, skip_header_lines: int | None = None, name: str | None = None) -> None:
        self._skip = skip_header_lines or 0
        super().__init__(name)

    def records(self, name: str) -> Iterator[Record]:
        with open_bytes(name) as file:
            for number, line in enumerate(file, 1):
                if number > self._skip:
                    yield _keyed(name, number), line_without_end(line)


class TFRecordReader(ReaderBase):
    """A record is one of a TFRecord file; DataLossError if such a file is damaged."""

    TYPE = "TFRecordReaderV2"

    def __init__(self, name: str | None = None, options: Any = None) -> None:
        self._compression = TFRecordOptions.get_compression_type_string(options)
        super().__init__(name)

    def records(self, name: str) -> Iterator[Record]:
        at = 0
        for record in tf_record_iterator(name, self._compression):
            yield _keyed(name, at), record
            at += len(record) + 16  # with its length and two checksums


class FixedLengthRecordReader(ReaderBase):
    """A record is `record_bytes` of a file, between a header and a footer; they are `hop_bytes` apart, by
    default their length. `encoding` is "", "ZLIB" or "GZIP".
    """

    TYPE = "FixedLengthRecordReaderV2"

    def __init__(
        self,
        record_bytes: int,
        header_bytes: int | None = None,
        footer_bytes: int | None = None,
        hop_bytes: int | None = None,
        name: str | None = None,
        encoding: str | None = None,
    ) -> None:
        self._layout = int(record_bytes), int(header_bytes or 0), int(footer_bytes or 0), int(hop_bytes or 0)
        self._encoding = encoding or ""
        super().__init__(name)

    def records(self, name: str) -> Iterator[Record]:
        with open_bytes(name, self._encoding) as file:
            for number, record in enumerate(fixed_records(file, *self._layout)):
                yield _keyed(name, number), record


_STRING = TensorType(string, ())
_STRINGS = TensorType(string, (None,))
_COUNT = TensorType(int64, ())


@host(tf="ReaderV2", type=lambda reader: _STRING, stateful=True)
def reader_handle(*, reader: ReaderBase) -> Any:
    """Stands for a reader in the graph."""
    return reader.reader_ref.op.name


@host(tf="ReaderReadV2", type=lambda reader, queue: (_STRING, _STRING), stateful=True)
def reader_read(*, reader: ReaderBase, queue: QueueBase) -> Any:
    """The next record of a reader, whose files are named by the elements of `queue`."""
    return reader.progress().read(queue, 1)[0]


@host(
    tf="ReaderReadUpToV2",
    type=lambda num_records, reader, queue: (_STRINGS, _STRINGS),
    stateful=True,
    operands={"num_records": "num_records"},
    partial=("num_records",),
)
def reader_read_up_to(*, num_records: Any, reader: ReaderBase, queue: QueueBase) -> Any:
    """At most `num_records` of the next records of a reader; elements of `queue` name its files."""
    if num_records < 1:
        raise InvalidArgumentError(f"num_records is {num_records}, it must be above zero")
    keys, values = zip(*reader.progress().read(queue, num_records), strict=True)
    return list(keys), list(values)


@host(tf="ReaderNumRecordsProducedV2", type=lambda reader: _COUNT, stateful=True)
def reader_num_records_produced(*, reader: ReaderBase) -> Any:
    """Return the number of records that a reader has read."""
    return np.asarray(reader.progress().produced, np.int64)


@host(tf="ReaderNumWorkUnitsCompletedV2", type=lambda reader: _COUNT, stateful=True)
def reader_num_work_units_completed(*, reader: ReaderBase) -> Any:
    """Return the number of files that a reader has read to their end."""
    return np.asarray(reader.progress().completed, np.int64)


@host(tf="ReaderResetV2", type=lambda reader: (), stateful=True)
def reader_reset(*, reader: ReaderBase) -> Any:
    """Makes a reader forget what it has read."""
    reader.progress().reset()
    return ()
