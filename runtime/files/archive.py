"""Several members in one zip file: uncompressed, each aligned to 64 bytes, every byte checked.

The headers of a zip file say everything twice and leave much open. Here they follow from names, sizes and
checksums of the members alone, always in their 64-bit form, so a reader can build them again and compare:
what is not exactly as it would have been written is refused. Other programs see a common zip file.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

from staticgraph.compiler.graph.errors import InvalidFileError
from staticgraph.compiler.support.dataclass import dataclass

ALIGNMENT = 64  # the widest vectors

# A local header: signature, version 4.5, no flags, uncompressed, 1980-01-01 00:00, crc, sizes in the extra
# field, and the lengths of name and extra field.
_LOCAL = struct.Struct("<IHHHHHIIIHH")
# An entry of the directory: the same with who wrote it, and then comment, disk, attributes, offset.
_ENTRY = struct.Struct("<IHHHHHHIIIHHHHHII")
_SIZES = struct.Struct("<HHQQ")  # extra field 1: both sizes
_PLACE = struct.Struct("<HHQQQ")  # the same with the offset
_PADDING = struct.Struct("<HHH")  # extra field for alignment, which zeros follow
_END64 = struct.Struct("<IQHHIIQQQQ")
_LOCATOR = struct.Struct("<IIQI")
_END = struct.Struct("<IHHHHIIH")
_TAIL = _END64.size + _LOCATOR.size + _END.size
_MAGIC, _VERSION, _UNIX, _DATE, _IN_EXTRA, _MODE = b"PK\x03\x04", 45, 3 << 8, 0x21, 0xFFFFFFFF, 0o100644 << 16
_UTF8 = 1 << 11  # a flag: how the name is to be read
_MOST = 16  # members of a file; ours have three, and some of machine code


@dataclass(frozen=True, slots=True)
class _Member:
    name: bytes
    size: int
    crc: int


def pack(contents: Mapping[str, Sequence[Any]]) -> list[Any]:
    """The pieces of an archive in order. `contents`: the pieces of each member, as bytes or arrays."""
    members = []
    for name, pieces in contents.items():
        views = [memoryview(p).cast("B") for p in pieces]
        crc = 0
        for view in views:
            crc = zlib.crc32(view, crc)
        members.append(_Member(name.encode(), sum(v.nbytes for v in views), crc))
    headers, _, tail = _skeleton(members)
    out: list[Any] = []
    for header, pieces in zip(headers, contents.values(), strict=True):
        out += [header, *pieces]
    return [*out, tail]


def unpack(data: memoryview) -> dict[str, memoryview]:
    """The members of an archive by name, without copies. InvalidFileError unless it is as `pack` makes it."""
    if bytes(data[:4]) != _MAGIC[: len(data)]:
        raise InvalidFileError("it is a file of another kind")
    members = _directory(data)
    headers, starts, tail = _skeleton(members)
    position = 0
    for member, header, start in zip(members, headers, starts, strict=True):
        if data[position:start] != header:
            raise InvalidFileError("its headers have been changed")
        position = start + member.size
    if data[position:] != tail:
        raise InvalidFileError("its directory has been changed")
    out = {}
    for member, start in zip(members, starts, strict=True):
        out[member.name.decode()] = view = data[start : start + member.size]
        if zlib.crc32(view) != member.crc:
            raise InvalidFileError(f"the checksum of {member.name.decode()} is wrong")
    return out


def _skeleton(members: Sequence[_Member]) -> tuple[list[bytes], list[int], bytes]:
    """All but the contents: the header before each member, where its contents begin, the end of the file."""
    headers, starts, directory, position = [], [], b"", 0
    for m in members:
        fixed = _LOCAL.size + len(m.name) + _SIZES.size + _PADDING.size
        start = -(-(position + fixed) // ALIGNMENT) * ALIGNMENT
        zeros = bytes(start - position - fixed)
        extra = _SIZES.pack(1, 16, m.size, m.size) + _PADDING.pack(0xD935, 2 + len(zeros), ALIGNMENT) + zeros
        flags = 0 if m.name.isascii() else _UTF8
        shared = (_VERSION, flags, 0, 0, _DATE, m.crc, _IN_EXTRA, _IN_EXTRA, len(m.name))
        headers.append(_LOCAL.pack(0x04034B50, *shared, len(extra)) + m.name + extra)
        directory += _ENTRY.pack(
            0x02014B50, _UNIX | _VERSION, *shared, _PLACE.size, 0, 0, 0, _MODE, _IN_EXTRA
        )
        directory += m.name + _PLACE.pack(1, 24, m.size, m.size, position)
        starts.append(start)
        position = start + m.size
    count, size, end = len(members), len(directory), position + len(directory)
    directory += _END64.pack(0x06064B50, 44, _UNIX | _VERSION, _VERSION, 0, 0, count, count, size, position)
    directory += _LOCATOR.pack(0x07064B50, 0, end, 1)
    directory += _END.pack(0x06054B50, 0, 0, count, count, _IN_EXTRA, _IN_EXTRA, 0)
    return headers, starts, directory


def _directory(data: memoryview) -> list[_Member]:
    """Read the members from the directory at the end, if it is consistent.

    `unpack` compares every byte of the directory. Raises InvalidFileError.
    """
    cut = "it has been cut short, or changed at its end"
    if len(data) < _TAIL:
        raise InvalidFileError(cut)
    signature, *_, count, _, size, position = _END64.unpack_from(data, len(data) - _TAIL)
    if signature != 0x06064B50 or count > _MOST or position + size != len(data) - _TAIL:
        raise InvalidFileError(cut)
    members: list[_Member] = []
    for _ in range(count):
        if position + _ENTRY.size > len(data) - _TAIL:
            raise InvalidFileError(cut)
        entry = _ENTRY.unpack_from(data, position)
        crc, length = entry[7], entry[10]
        name = bytes(data[position + _ENTRY.size : position + _ENTRY.size + length])
        position += _ENTRY.size + length
        if position + _PLACE.size > len(data) - _TAIL or not name.isascii():
            raise InvalidFileError(cut)
        members.append(_Member(name, _PLACE.unpack_from(data, position)[2], crc))
        position += _PLACE.size
    if len({m.name for m in members}) < len(members) or sum(m.size for m in members) > len(data):
        raise InvalidFileError(cut)
    return members
