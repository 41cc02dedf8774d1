"""Zip archives that other programs wrote: their members by name, in bounded memory.

`container` reads only what it would have written itself. Here the headers of a zip file are taken as they
are, as far as they agree: members may be compressed, but neither overlap nor grow beyond what a caller
allows.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from typing import Any

from staticgraph.compiler.graph.errors import InvalidFileError
from staticgraph.compiler.support.dataclass import dataclass

_END, _END_MARK = struct.Struct("<4s4H2IH"), b"PK\5\6"
_LOCATOR, _LOCATOR_MARK = struct.Struct("<4sIQI"), b"PK\6\7"
_END64, _END64_MARK = struct.Struct("<4sQ2H2I4Q"), b"PK\6\6"
_ENTRY, _ENTRY_MARK = struct.Struct("<4s6H3I5H2I"), b"PK\1\2"
_LOCAL, _LOCAL_MARK = struct.Struct("<4s5H3I2H"), b"PK\3\4"
_COMMENT = 1 << 16  # bytes that may follow the end
_MANY = 0xFFFFFFFF  # stands for a number that is in the 64-bit form of a header
_UNREADABLE = 1 << 0 | 1 << 5 | 1 << 6 | 1 << 13  # flags: encrypted, or a patch
_UTF8 = 1 << 11
_STORED, _DEFLATED = 0, 8
_MOST = 1 << 16  # members of a file


@dataclass(frozen=True, slots=True)
class _Entry:
    """A member as the directory tells it."""

    name: str
    method: int
    crc: int
    packed: int  # bytes in the file
    size: int  # bytes of the contents
    offset: int  # of its own header


def unzip(data: memoryview, growth: int) -> dict[str, memoryview]:
    """The members by name: views of `data` where they are stored as they are. InvalidFileError if headers
    contradict each other, or where compressed members need more than `growth` bytes in all.
    """
    found: dict[str, memoryview] = {}
    end = 0
    for entry in sorted(_entries(data), key=lambda entry: entry.offset):
        if entry.offset < end:
            raise InvalidFileError(f"{entry.name!r} lies where another member does")
        if entry.name in found:
            raise InvalidFileError(f"{entry.name!r} is there twice")
        start = _start(data, entry)
        end = start + entry.packed
        growth -= entry.size if entry.method == _DEFLATED else 0
        if growth < 0:
            raise InvalidFileError("its compressed members would take too much memory")
        found[entry.name] = contents = _contents(data[start:end], entry)
        if zlib.crc32(contents) != entry.crc:
            raise InvalidFileError(f"the checksum of {entry.name!r} is wrong")
    return found


def _entries(data: memoryview) -> Iterator[_Entry]:
    """The directory at the end of the file."""
    at, stop, count = _directory(data)
    for _ in range(count):
        _, _, _, flags, method, _, _, *fields = _unpacked(_ENTRY, _ENTRY_MARK, data[:stop], at)
        crc, packed, size, name_size, extra_size, comment_size, _, _, _, offset = fields
        at += _ENTRY.size
        name = bytes(data[at : at + name_size])
        extra = bytes(data[at + name_size : at + name_size + extra_size])
        at += name_size + extra_size + comment_size
        if at > stop:
            raise InvalidFileError("its directory is cut short")
        if flags & _UNREADABLE or method not in (_STORED, _DEFLATED):
            raise InvalidFileError(f"{name!r} is encrypted, or compressed in an unusual way")
        size, packed, offset = _wide(extra, size, packed, offset)
        yield _Entry(_text(name, bool(flags & _UTF8)), method, crc, packed, size, offset)


def _directory(data: memoryview) -> tuple[int, int, int]:
    """Return the begin and end of the directory, and the number of its entries. Raises InvalidFileError."""
    tail = bytes(data[-_END.size - _COMMENT :])
    found = tail.rfind(_END_MARK)
    if found < 0:
        raise InvalidFileError("it is no zip file, or cut short")
    at = len(data) - len(tail) + found
    _, _, _, _, count, size, start, _ = _unpacked(_END, _END_MARK, data, at)
    if _MANY in (size, start) or count == 0xFFFF:
        _, _, at, _ = _unpacked(_LOCATOR, _LOCATOR_MARK, data, at - _LOCATOR.size)
        *_, count, size, start = _unpacked(_END64, _END64_MARK, data, at)
    if count > _MOST:
        raise InvalidFileError(f"it has {count} members, and at most {_MOST} are read")
    if start + size > at:
        raise InvalidFileError("its directory lies outside of the file")
    return start, start + size, count


def _wide(extra: bytes, *numbers: int) -> list[int]:
    """Numbers that do not fit 32 bits stand in an extra field, in the same order."""
    wide = b""
    at = 0
    while at + 4 <= len(extra):
        kind, size = struct.unpack_from("<HH", extra, at)
        if kind == 1:
            wide = extra[at + 4 : at + 4 + size]
        at += 4 + size
    missing = numbers.count(_MANY)
    if 8 * missing > len(wide):
        raise InvalidFileError("its directory lacks a size")
    told = iter(struct.unpack_from(f"<{missing}Q", wide))
    return [next(told) if number == _MANY else number for number in numbers]


def _text(name: bytes, utf8: bool) -> str:
    try:
        return name.decode("utf-8" if utf8 else "cp437")
    except UnicodeDecodeError:
        raise InvalidFileError(f"the name {name!r} is not UTF-8") from None


def _start(data: memoryview, entry: _Entry) -> int:
    """Return the offset of the first byte of a member, after its local header. Raises InvalidFileError."""
    *_, name_size, extra_size = _unpacked(_LOCAL, _LOCAL_MARK, data, entry.offset)
    start = entry.offset + _LOCAL.size + name_size + extra_size
    if start + entry.packed > len(data):
        raise InvalidFileError(f"{entry.name!r} lies outside of the file")
    return start


def _contents(packed: memoryview, entry: _Entry) -> memoryview:
    if entry.method == _STORED:
        contents = packed
    else:
        try:
            contents = memoryview(zlib.decompressobj(-zlib.MAX_WBITS).decompress(packed, entry.size + 1))
        except zlib.error as error:
            raise InvalidFileError(f"{entry.name!r} cannot be decompressed: {error}") from None
    if len(contents) != entry.size:
        raise InvalidFileError(f"{entry.name!r} is not of the size that the directory tells")
    return contents


def _unpacked(header: struct.Struct, mark: bytes, data: memoryview, at: int) -> tuple[Any, ...]:
    if not 0 <= at <= len(data) - header.size or bytes(data[at : at + 4]) != mark:
        raise InvalidFileError("a header of the zip file is not where it should be")
    return header.unpack_from(data, at)
