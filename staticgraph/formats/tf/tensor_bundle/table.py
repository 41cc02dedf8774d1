"""Sorted tables of keys and values in one file: the index of TensorFlow's checkpoints.

    block: entries, then where some of them begin          its checksum follows each block
    entry: how much of the key is that of the entry before, the rest of the key, the value
    index block: the last key of each block, and where that block lies
    footer, 48 bytes: where the index block lies, and a number that marks the format

Tables are written as one block, and read in any number of them. Compressed blocks are not supported:
TensorFlow 1.15 writes none.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping

from staticgraph.compiler.graph.errors import InvalidFileError
from staticgraph.formats.tf.messages import wire
from staticgraph.formats.tf.tensor_bundle.crc32c import masked_crc32c

_MAGIC = struct.pack("<Q", 0xDB4775248B80FB57)
_FOOTER = 48
_TRAILER = 5  # the kind of compression, and a checksum
_LONGEST = 1 << 16  # bytes of a key
_GROWTH, _ROOM = 4, 64 << 20  # all keys, of which many may share a beginning, may take so much memory


def is_table(data: bytes) -> bool:
    """Return True if a file, or its end, is that of a table."""
    return data[-len(_MAGIC) :] == _MAGIC


def read_table(data: bytes) -> dict[bytes, bytes]:
    """All entries. InvalidFileError if the bytes are no table."""
    if len(data) < _FOOTER or not is_table(data):
        raise InvalidFileError("it is not a table of keys and values")
    footer = len(data) - _FOOTER
    try:
        _, at = _handle(data, footer, len(data))
        index, _ = _handle(data, at, len(data))
        return _all_entries(data, index, footer)
    except wire.DecodeError as error:
        raise InvalidFileError(f"its numbers cannot be read: {error}") from None


def _all_entries(data: bytes, index: tuple[int, int], footer: int) -> dict[bytes, bytes]:
    """The entries of all blocks. Blocks and keys must be in order: else a short file could tell endlessly."""
    found: dict[bytes, bytes] = {}
    last, end, room = None, 0, _GROWTH * len(data) + _ROOM
    for _, where in _entries(_block(data, index, footer)):
        block = _handle(where, 0, len(where))[0]
        if block[0] < end:
            raise InvalidFileError("its blocks are not one after the other")
        for key, value in _entries(_block(data, block, footer)):
            if last is not None and key <= last:
                raise InvalidFileError("its keys are not in order")
            room -= len(key)
            if room < 0:
                raise InvalidFileError("its keys take too much memory")
            found[key] = value
            last = key
        end = sum(block)
    return found


def _handle(data: bytes, at: int, end: int) -> tuple[tuple[int, int], int]:
    """Offset and size of a block, and where what follows begins."""
    offset, at = wire.read_varint(data, at, end)
    size, at = wire.read_varint(data, at, end)
    return (offset, size), at


def _block(data: bytes, handle: tuple[int, int], end: int) -> bytes:
    offset, size = handle
    stop = offset + size
    if stop + _TRAILER > end:
        raise InvalidFileError("a block lies outside of the file")
    (checksum,) = struct.unpack_from("<I", data, stop + 1)
    if masked_crc32c(data[offset : stop + 1]) != checksum:
        raise InvalidFileError("the checksum of a block is wrong")
    if data[stop] != 0:
        raise InvalidFileError("a block is compressed, which is not supported")
    return data[offset:stop]


def _entries(block: bytes) -> Iterator[tuple[bytes, bytes]]:
    if len(block) < 4:
        raise InvalidFileError("a block is too short")
    (restarts,) = struct.unpack_from("<I", block, len(block) - 4)
    end = len(block) - 4 * (restarts + 1)
    if end < 0:
        raise InvalidFileError("a block has more parts than bytes")
    at, key = 0, b""
    while at < end:
        shared, at = wire.read_varint(block, at, end)
        rest, at = wire.read_varint(block, at, end)
        size, at = wire.read_varint(block, at, end)
        if shared > len(key) or rest + size > end - at or shared + rest > _LONGEST:
            raise InvalidFileError("an entry of a block is longer than that")
        key = key[:shared] + block[at : at + rest]
        yield key, block[at + rest : at + rest + size]
        at += rest + size


def table_bytes(entries: Mapping[bytes, bytes]) -> bytes:
    """The file of a table.

    >>> read_table(table_bytes({b"b": b"2", b"a": b"1"}))
    {b'a': b'1', b'b': b'2'}
    """
    keys = sorted(entries)
    out = bytearray()
    data = _append(out, _packed([(key, entries[key]) for key in keys]))
    nothing = _append(out, _packed([]))
    index = _append(out, _packed([(keys[-1], data)] if keys else []))
    return bytes(out + (nothing + index).ljust(_FOOTER - len(_MAGIC), b"\0") + _MAGIC)


def _packed(entries: list[tuple[bytes, bytes]]) -> bytes:
    out, before = bytearray(), b""
    for key, value in entries:
        shared = _common(before, key)
        out += b"".join(map(wire.encode_varint, (shared, len(key) - shared, len(value))))
        out += key[shared:] + value
        before = key
    return bytes(out) + struct.pack("<II", 0, 1)


def _common(first: bytes, second: bytes) -> int:
    """Return the length of the common prefix."""
    length = min(len(first), len(second))
    return next((at for at in range(length) if first[at] != second[at]), length)


def _append(out: bytearray, block: bytes) -> bytes:
    """Add a block; where it lies, as its index says it."""
    offset, whole = len(out), block + b"\0"
    out += whole + struct.pack("<I", masked_crc32c(whole))
    return wire.encode_varint(offset) + wire.encode_varint(len(block))
