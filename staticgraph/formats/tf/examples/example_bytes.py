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
    kind, where = None, (0, 0)
    for number, inner in _messages(data, span or (0, 0)):
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
            begin, end = parts.get(1, (0, 0))
            found[data[begin:end]] = parts.get(2, (0, 0))
    return found


def _floats(data: bytes, span: Span) -> np.ndarray:
    parts = []
    at, end = span
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
    return np.concatenate(parts).astype(np.float32) if parts else np.zeros(0, np.float32)


def _integers(data: bytes, span: Span) -> np.ndarray:
    found: list[int] = []
    at, end = span
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
    return np.array(found, np.uint64).astype(np.int64)
