"""Positions of the features of a training example in its bytes, and their values as arrays.

Only requested features are read, and no message is made, since a data set has millions of examples.
"""

from __future__ import annotations

import numpy as np

from staticgraph.compiler.graph.dtypes import DType, float32, int64, string
from staticgraph.compiler.graph.errors import InvalidArgumentError
from staticgraph.formats.tf.messages import wire
from staticgraph.formats.tf.messages.wire import BYTES, FIXED32, VARINT, DecodeError

Span = tuple[int, int]  # where a message begins and ends
Spans = dict[bytes, Span]
_NOWHERE: Span = (0, 0)
_RUN = 1 << 3 | BYTES  # the tag of a run of numbers

_KINDS = {1: string, 2: float32, 3: int64}  # by the field of a `Feature`


def example(data: bytes) -> Spans:
    """The features of an `Example` by name."""
    found: Spans = {}
    for number, span in _messages(data, (0, len(data))):
        if number == 1:
            found.update(_entries(data, span))
    return found


def sequence_example(data: bytes) -> tuple[Spans, dict[bytes, list[Span]]]:
    """The context of a `SequenceExample`, and the features of each of its lists, step by step."""
    context: Spans = {}
    lists: dict[bytes, list[Span]] = {}
    for number, span in _messages(data, (0, len(data))):
        if number == 1:
            context.update(_entries(data, span))
        elif number == 2:
            for name, steps in _entries(data, span).items():
                lists[name] = [step for kind, step in _messages(data, steps) if kind == 1]
    return context, lists


def values(data: bytes, span: Span | None, dtype: DType) -> np.ndarray | None:
    """The values of a feature; None if it has no type. InvalidArgumentError if it has another one."""
    kind, where = None, _NOWHERE
    for number, inner in _messages(data, span or _NOWHERE):
        if number in _KINDS:
            kind, where = _KINDS[number], inner
    if kind is None:
        return None
    if kind is not dtype:
        raise InvalidArgumentError(f"is {kind.name}, and {dtype.name} is expected")
    if dtype is string:
        parts = [data[a:b] for number, (a, b) in _messages(data, where) if number == 1]
        out = np.empty(len(parts), object)
        out[:] = parts
        return out
    return _floats(data, where) if dtype is float32 else _integers(data, where)


def _messages(data: bytes, span: Span) -> list[tuple[int, Span]]:
    """The fields between two positions that have a length, each with its number; others are passed over."""
    found = []
    at, end = span
    while at < end:
        tag = data[at]
        # Most tags and lengths are one byte each: calls for these would take most of the time.
        if tag < 0x80 and tag & 7 == BYTES and tag >= 8 and at + 1 < end and data[at + 1] < 0x80:
            begin = at + 2
            at = begin + data[at + 1]
            if at <= end:
                found.append((tag >> 3, (begin, at)))
                continue
            at = begin - 2
        number, kind, at = wire.read_tag(data, at, end)
        if kind == BYTES:
            begin, at = wire.read_length(data, at, end)
            found.append((number, (begin, at)))
        else:
            at = wire.skip(data, kind, number, at, end, 0)
    return found


def _entries(data: bytes, span: Span) -> Spans:
    """A map from names to messages; of two entries of one name the last counts."""
    found: Spans = {}
    for number, entry in _messages(data, span):
        if number == 1:
            parts = dict(_messages(data, entry))
            begin, end = parts.get(1, _NOWHERE)
            found[data[begin:end]] = parts.get(2, _NOWHERE)
    return found


def _packed(data: bytes, at: int, end: int) -> int:
    """Return where the numbers of a list begin if they are one run of few bytes, as most are; else 0."""
    return at + 2 if end - at >= 2 and data[at] == _RUN and data[at + 1] == end - at - 2 < 0x80 else 0


def _floats(data: bytes, span: Span) -> np.ndarray:
    parts = []
    at, end = span
    if (begin := _packed(data, at, end)) and (end - begin) % 4 == 0:
        return np.frombuffer(data, "<f4", (end - begin) // 4, begin)
    while at < end:
        number, kind, at = wire.read_tag(data, at, end)
        if number == 1 and kind == BYTES:
            begin, at = wire.read_length(data, at, end)
            if (at - begin) % 4:
                raise DecodeError(f"{at - begin} bytes are no numbers of four bytes each, at byte {begin}")
            parts.append(np.frombuffer(data, "<f4", (at - begin) // 4, begin))
        elif number == 1 and kind == FIXED32:
            value, at = wire.read_fixed("<f", data, at, end)
            parts.append(np.array([value], np.float32))
        else:
            at = wire.skip(data, kind, number, at, end, 0)
    if len(parts) == 1:
        return parts[0]
    return np.concatenate(parts).astype(np.float32) if parts else np.zeros(0, np.float32)


def _integers(data: bytes, span: Span) -> np.ndarray:
    found: list[int] = []
    at, end = span
    if begin := _packed(data, at, end):
        found, at = wire.read_varints(data, begin, end), end
    while at < end:
        number, kind, at = wire.read_tag(data, at, end)
        if number == 1 and kind == BYTES:
            begin, at = wire.read_length(data, at, end)
            found += wire.read_varints(data, begin, at)
        elif number == 1 and kind == VARINT:
            value, at = wire.read_varint(data, at, end)
            found.append(value)
        else:
            at = wire.skip(data, kind, number, at, end, 0)
    return np.array(found, np.uint64).view(np.int64)
