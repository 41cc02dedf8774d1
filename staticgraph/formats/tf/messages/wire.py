"""The wire format of protocol buffers: variable-length integers, tags, and lengths, read within bounds.

A message is a sequence of fields: a tag, which is `number << 3 | wire type`, and a value, whose size follows
from its wire type. Bytes from a file may be anything: every read is told where they end, and fails with a
`DecodeError` there.
"""

from __future__ import annotations

import struct

import numpy as np

from staticgraph.compiler.graph.errors import DataLossError

VARINT, FIXED64, BYTES, START_GROUP, END_GROUP, FIXED32 = range(6)
MASK64 = (1 << 64) - 1
MAX_DEPTH = 100  # of messages within messages; deeper ones are taken for an attack, as protocol buffers do
_BYTES = [bytes((value,)) for value in range(0x80)]
_FEW = 32  # numbers, below which a loop beats NumPy's calls


class DecodeError(DataLossError, ValueError):
    """Bytes or text that are not a message of the type they are read as."""


def encode_varint(value: int) -> bytes:
    """A number of at most 64 bits, seven bits to a byte, the lowest first.

    >>> list(encode_varint(300))
    [172, 2]
    """
    if 0 <= value < 0x80:
        return _BYTES[value]
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def encode_varints(values: list[int]) -> bytes:
    """Many numbers, one after the other."""
    if values and max(values) < 0x80:
        return bytes(values)
    return b"".join(map(encode_varint, values))


def encode_tag(number: int, wire: int) -> bytes:
    """Encode the tag that stands before the value of a field."""
    return encode_varint(number << 3 | wire)


def encode_bytes(data: bytes) -> bytes:
    """Bytes after their length."""
    length = len(data)
    return (_BYTES[length] if length < 0x80 else encode_varint(length)) + data


def read_varint(data: bytes, at: int, end: int) -> tuple[int, int]:
    """The number at `at`, its lowest 64 bits, and where it ends."""
    if at < end and (value := data[at]) < 0x80:  # most are this short
        return value, at + 1
    value = shift = 0
    while at < end:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & MASK64, at
        shift += 7
        if shift == 70:
            raise DecodeError(f"a number at byte {at} is longer than 10 bytes")
    raise DecodeError(f"the bytes end within a number, at byte {end}")


def read_varints(data: bytes, at: int, end: int) -> list[int]:
    """All numbers between two positions."""
    if end - at < _FEW:
        values = []
        while at < end:
            value, at = read_varint(data, at, end)
            values.append(value)
        return values
    packed = np.frombuffer(data, np.uint8, end - at, at)
    last = np.flatnonzero(packed < 0x80)
    if not last.size or last[-1] != packed.size - 1:
        raise DecodeError(f"the bytes end within a number, at byte {end}")
    first = np.concatenate([[0], last[:-1] + 1])
    length = last - first + 1
    if length.max() > 10:
        raise DecodeError(f"a number between bytes {at} and {end} is longer than 10 bytes")
    total = np.zeros(last.size, np.uint64)
    for byte in range(int(length.max())):
        has = length > byte
        total[has] |= (packed[first[has] + byte] & 0x7F).astype(np.uint64) << np.uint64(7 * byte)
    return total.tolist()


def read_tag(data: bytes, at: int, end: int) -> tuple[int, int, int]:
    """The field number and the wire type at `at`, and where the value begins."""
    tag, at = read_varint(data, at, end)
    number = tag >> 3
    if not 0 < number < 1 << 29:
        raise DecodeError(f"{number} at byte {at} is not a field number")
    return number, tag & 7, at


def read_length(data: bytes, at: int, end: int) -> tuple[int, int]:
    """Return the beginning and end of the bytes whose length is at `at`."""
    length, at = read_varint(data, at, end)
    if length > end - at:
        raise DecodeError(f"{length} bytes are announced at byte {at}, but only {end - at} follow")
    return at, at + length


def read_fixed(format: str, data: bytes, at: int, end: int) -> tuple[float | int, int]:
    """A number of a fixed size in `struct`'s words, and where it ends."""
    size = struct.calcsize(format)
    if size > end - at:
        raise DecodeError(f"the bytes end within a number of {size} bytes, at byte {end}")
    return struct.unpack_from(format, data, at)[0], at + size


def skip(data: bytes, wire: int, number: int, at: int, end: int, depth: int) -> int:
    """Return the end of the value at `at`, which belongs to an unknown field."""
    match wire:
        case 0:
            return read_varint(data, at, end)[1]
        case 1:
            return read_fixed("<q", data, at, end)[1]
        case 2:
            return read_length(data, at, end)[1]
        case 5:
            return read_fixed("<i", data, at, end)[1]
        case 3:
            return _skip_group(data, number, at, end, depth + 1)
    raise DecodeError(f"wire type {wire} of field {number} at byte {at} does not exist here")


def _skip_group(data: bytes, number: int, at: int, end: int, depth: int) -> int:
    """Return the end of a group, the oldest kind of message. A tag of its own ends a group."""
    check_depth(depth, at)
    while True:
        inner, wire, at = read_tag(data, at, end)
        if wire == END_GROUP:
            if inner != number:
                raise DecodeError(f"group {number} is closed as group {inner}, at byte {at}")
            return at
        at = skip(data, wire, inner, at, end, depth)


def check_depth(depth: int, at: int) -> None:
    """DecodeError if messages lie too deep within each other."""
    if depth > MAX_DEPTH:
        raise DecodeError(f"messages lie more than {MAX_DEPTH} deep within each other, at position {at}")
