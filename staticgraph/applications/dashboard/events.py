"""Events of many records at once: one of each shape is parsed, all others of that shape are decoded by NumPy.

A training writes the same event again and again, with another step and other numbers in the same places.
Records that equal a parsed one everywhere else need no parser: their numbers are columns of bytes.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from enum import Enum
from itertools import islice

import numpy as np

from staticgraph.applications.dashboard.records import Batch
from staticgraph.compiler.support.dataclass import dataclass
from staticgraph.formats.tf.messages.wire import (
    BYTES,
    FIXED32,
    FIXED64,
    VARINT,
    DecodeError,
    read_fixed,
    read_length,
    read_tag,
    read_varint,
    skip,
)

_FEW = 4  # records of a length, below which each is parsed
_MOST_SHAPES = 64  # of one length in one batch; what is left is parsed one by one
_LONG = 4096  # bytes of a record, from which it is parsed by itself
_LONGEST_TAG = 1000  # characters of a tag that are kept
_MOST_VALUES = 10_000  # of one event; a file may announce millions in a few bytes each

# Field numbers of the messages Event, Summary.Value and TensorProto.
_WALL, _STEP, _GRAPH, _SUMMARY, _SESSION_LOG = 1, 2, 4, 5, 7
_VALUE = 1
_TAG, _SIMPLE, _IMAGE, _HISTOGRAM, _AUDIO, _TENSOR = 1, 2, 4, 5, 6, 8
_DTYPE, _CONTENT, _FLOATS = 1, 4, 5
_FLOAT, _STRING = 1, 7  # of DataType
_START = 1  # of SessionLog.SessionStatus


class Kind(Enum):
    """Kind of a value of an event."""

    SCALAR = "scalar"
    IMAGE = "image"
    HISTOGRAM = "histogram"
    AUDIO = "audio"
    TEXT = "text"
    TENSOR = "tensor"
    GRAPH = "graph"
    START = "start"


@dataclass(frozen=True, slots=True)
class Value:
    """One value of an event: where it lies in its piece of the file.

    Attributes:
        tag: Its name.
        kind: Its kind. START has no bytes: a training began at this step.
        start: Position of the value: of 4 bytes of a scalar, of the message of anything else.
        end: Position behind it.
    """

    tag: str
    kind: Kind
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Parsed:
    """One event, and where its numbers lie."""

    wall: tuple[int, int]
    step: tuple[int, int]
    values: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Column:
    """Numbers of one tag, in the order in which they were written.

    Attributes:
        tag: The name of the numbers.
        steps: int64.
        walls: Seconds since 1970, float64.
        numbers: float32.
    """

    tag: str
    steps: np.ndarray
    walls: np.ndarray
    numbers: np.ndarray


@dataclass(frozen=True, slots=True)
class Single:
    """One value that is not a number, by its place in the file."""

    value: Value
    step: int
    wall: float


def decode(batch: Batch) -> Iterator[tuple[int, Column | Single]]:
    """Yield what the records of a batch hold, each with the index of its first record.

    A record that is no event is left out. What is yielded is not sorted; the index tells the order.
    """
    data, starts, lengths = batch.data, batch.starts, batch.lengths
    whole = np.frombuffer(data, np.uint8)
    for length in np.unique(lengths).tolist():
        left = np.flatnonzero(lengths == length)
        for _ in range(_MOST_SHAPES):
            if len(left) < _FEW or length > _LONG:
                break
            first = int(starts[left[0]])
            parsed = _parsed(data, first, first + length)
            if parsed is None or any(value.kind is not Kind.SCALAR for value in parsed.values):
                yield from _one(data, int(left[0]), parsed)
                left = left[1:]
                continue
            rows = whole[starts[left][:, None] + np.arange(length)]
            same = _alike(rows, parsed, first)
            yield from _columns(left[same], rows[same], parsed, first)
            left = left[~same]
        for index in left.tolist():
            start = int(starts[index])
            yield from _one(data, index, _parsed(data, start, start + length))


def _alike(rows: np.ndarray, parsed: Parsed, first: int) -> np.ndarray:
    """Return which records equal the first one wherever it has no number, bool [records]."""
    fixed = np.ones(rows.shape[1], bool)
    for start, end in (parsed.wall, parsed.step, *((value.start, value.end) for value in parsed.values)):
        fixed[start - first : end - first] = False
    same = (rows[:, fixed] == rows[0, fixed]).all(axis=1)
    start, end = parsed.step
    if end > start:  # the last byte of the step alone has no further bit
        more = rows[:, start - first : end - first] >= 0x80
        same &= more[:, :-1].all(axis=1) & ~more[:, -1]
    return same


def _columns(
    index: np.ndarray, rows: np.ndarray, parsed: Parsed, first: int
) -> Iterator[tuple[int, Column | Single]]:
    """Yield the numbers of records of one shape."""
    walls = _cut(rows, parsed.wall, first, "<f8", len(index))
    start, end = parsed.step
    steps = np.zeros(len(index), np.uint64)
    for place in range(end - start):
        steps |= (rows[:, start - first + place] & np.uint8(0x7F)).astype(np.uint64) << np.uint64(7 * place)
    for value in parsed.values:
        numbers = _cut(rows, (value.start, value.end), first, "<f4", len(index))
        yield int(index[0]), Column(value.tag, steps.view(np.int64), walls, numbers)


def _cut(rows: np.ndarray, span: tuple[int, int], first: int, dtype: str, count: int) -> np.ndarray:
    """Return the numbers in some columns of bytes; zeros if the event does not have them."""
    start, end = span
    if start == end:
        return np.zeros(count, dtype)
    return rows[:, start - first : end - first].copy().view(dtype)[:, 0]


def _one(data: bytes, index: int, parsed: Parsed | None) -> Iterator[tuple[int, Column | Single]]:
    """Yield the values of one event."""
    if parsed is None:
        return
    wall = struct.unpack_from("<d", data, parsed.wall[0])[0] if parsed.wall[1] > parsed.wall[0] else 0.0
    step = _signed(read_varint(data, *parsed.step)[0]) if parsed.step[1] > parsed.step[0] else 0
    for value in parsed.values:
        if value.kind is Kind.SCALAR:
            number = np.frombuffer(data, "<f4", 1, value.start)
            yield index, Column(value.tag, np.array([step]), np.array([wall]), number)
        else:
            yield index, Single(value, step, wall)


def _signed(number: int) -> int:
    return number - (1 << 64) if number >> 63 else number


def _parsed(data: bytes, start: int, end: int) -> Parsed | None:
    """Parse an event; None if the bytes are none."""
    wall, step, values = (start, start), (start, start), []
    try:
        at = start
        while at < end:
            number, wire, at = read_tag(data, at, end)
            if number == _WALL and wire == FIXED64:
                wall = at, at + 8
            elif number == _STEP and wire == VARINT:
                step = at, read_varint(data, at, end)[1]
            elif number == _GRAPH and wire == BYTES:
                values.append(Value("", Kind.GRAPH, *read_length(data, at, end)))
            elif number == _SUMMARY and wire == BYTES:
                room = _MOST_VALUES - len(values)
                values += islice(_summary(data, *read_length(data, at, end)), room)
            elif number == _SESSION_LOG and wire == BYTES and _is_start(data, *read_length(data, at, end)):
                values.append(Value("", Kind.START, at, at))
            at = skip(data, wire, number, at, end, 0)
    except DecodeError:
        return None
    return Parsed(wall, step, tuple(values))


def _is_start(data: bytes, at: int, end: int) -> bool:
    """Return True if the log of a session says that it began."""
    while at < end:
        number, wire, at = read_tag(data, at, end)
        if number == 1 and wire == VARINT:
            return read_varint(data, at, end)[0] == _START
        at = skip(data, wire, number, at, end, 0)
    return False


def _summary(data: bytes, at: int, end: int) -> Iterator[Value]:
    """Yield the values of a summary."""
    while at < end:
        number, wire, at = read_tag(data, at, end)
        if number == _VALUE and wire == BYTES:
            value = _value(data, *read_length(data, at, end))
            if value is not None:
                yield value
        at = skip(data, wire, number, at, end, 0)


_KINDS = {_IMAGE: Kind.IMAGE, _HISTOGRAM: Kind.HISTOGRAM, _AUDIO: Kind.AUDIO, _TENSOR: Kind.TENSOR}


def _value(data: bytes, at: int, end: int) -> Value | None:
    """Parse a Summary.Value; None if it holds nothing that is shown."""
    tag, kind, span = "", None, (at, at)
    while at < end:
        number, wire, at = read_tag(data, at, end)
        if number == _TAG and wire == BYTES:
            tag = _text(data, *read_length(data, at, end))
        elif number == _SIMPLE and wire == FIXED32:
            kind, span = Kind.SCALAR, (at, read_fixed("<f", data, at, end)[1])
        elif number in _KINDS and wire == BYTES:
            kind, span = _KINDS[number], read_length(data, at, end)
        at = skip(data, wire, number, at, end, 0)
    if kind is Kind.TENSOR:
        kind, span = _tensor(data, *span)
    return None if kind is None else Value(tag, kind, *span)


def _tensor(data: bytes, start: int, end: int) -> tuple[Kind, tuple[int, int]]:
    """Tell a number of TensorFlow 2, and texts, from other tensors."""
    at, dtype, content = start, 0, (start, start)
    while at < end:
        number, wire, at = read_tag(data, at, end)
        if number == _DTYPE and wire == VARINT:
            dtype = read_varint(data, at, end)[0]
        elif number in (_CONTENT, _FLOATS) and wire == BYTES:
            content = read_length(data, at, end)
        elif number == _FLOATS and wire == FIXED32:
            content = at, read_fixed("<f", data, at, end)[1]
        at = skip(data, wire, number, at, end, 0)
    if dtype == _FLOAT and content[1] - content[0] == 4:
        return Kind.SCALAR, content
    return (Kind.TEXT if dtype == _STRING else Kind.TENSOR), (start, end)


def _text(data: bytes, start: int, end: int) -> str:
    return data[start : min(end, start + 4 * _LONGEST_TAG)].decode(errors="replace")[:_LONGEST_TAG]
