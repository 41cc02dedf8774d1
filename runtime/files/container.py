"""Files with several members: mapped, not read; every byte checked; a manifest tells of what is inside.

A file is a zip file, its members uncompressed and each aligned to 64 bytes. The headers of a zip file say
everything twice and leave much open. Here they follow from names, sizes and checksums of the members alone,
always in their 64-bit form, so a reader can build them again and compare: what is not exactly as it would
have been written is refused. Other programs see a common zip file.

The manifest is the first member: kind and format of the file, who wrote it, and a checksum per member.
"""

from __future__ import annotations

import hashlib
import mmap
import os
import re
import stat
import struct
import zlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any, TypeVar

from staticgraph.compiler.graph.checks.arguments import path_of
from staticgraph.compiler.graph.errors import DataLossError, InvalidFileError, NotFoundError, misuse
from staticgraph.compiler.support.dataclass import dataclass
from staticgraph.runtime.disk.atomic import write_file
from staticgraph.runtime.files.attributes import Kinds, check, dump, fields, parse

# Grows when an older version could not read the file any more. All that were ever released stay readable:
# tests/saved holds files of each.
FORMAT = 1
_MANIFEST = "manifest.json"
_PLAIN = re.compile(r"[\w.+-]{1,200}", re.ASCII)  # what a further member may be called
_Made = TypeVar("_Made")


def write(
    path: str | os.PathLike[str], kind: str, body: Mapping[str, Any], members: Mapping[str, Sequence[Any]]
) -> None:
    """Replace the file at `path`: a manifest with `body`, then `members`, each given as its pieces."""
    manifest = {
        "format": FORMAT,
        "kind": kind,
        "producer": _producer(),
        "members": {name: {"sha256": _sha256(pieces)} for name, pieces in members.items()},
        **body,
    }
    write_file(path, pack({_MANIFEST: [f"{dump(manifest)}\n".encode()], **members}))


def read(
    path: str | os.PathLike[str],
    kind: str,
    body: Kinds,
    members: Sequence[str],
    make: Callable[[dict[str, Any], dict[str, memoryview]], _Made],
    folder: str = "",
    writable: bool = False,
) -> _Made:
    """Read a file: call `make` with its manifest and members, and return the result.

    The members are views of the mapped file. `make` may keep them.

    Args:
        path: The file.
        kind: The kind of file expected.
        body: The fields of the manifest that this kind of file has.
        members: The names of the members.
        make: Builds the result from the manifest and the members by name.
        folder: The folder of further members, such as "kernels/".
        writable: If True, the views can be changed; changes are seen by this process alone.

    Raises:
        NotFoundError: The file does not exist.
        InvalidFileError: The file is invalid, as found by `make` or before.
    """

    def checked(data: memoryview) -> _Made:
        return make(*_checked(unpack(data), kind, body, members, folder))

    return read_mapped(path, kind, checked, writable)


def _checked(
    contents: dict[str, memoryview], kind: str, body: Kinds, members: Sequence[str], folder: str
) -> tuple[dict[str, Any], dict[str, memoryview]]:
    if list(contents)[:1] != [_MANIFEST]:
        raise InvalidFileError(f"it has no {_MANIFEST}")
    manifest = check(parse(contents.pop(_MANIFEST), "its manifest"), "its manifest", dict)
    if manifest.get("kind") != kind:
        raise InvalidFileError(f"it is of kind {manifest.get('kind')!r}")
    found, by = check(manifest.get("format"), "its format", int), manifest.get("producer")
    if not 1 <= found <= FORMAT:
        known = "format 1" if FORMAT == 1 else f"formats 1 to {FORMAT}"
        raise InvalidFileError(f"its format is {found}, written by {by!r}, and this version reads {known}")
    head: Kinds = {"format": (int,), "kind": (str,), "producer": (str,), "members": (dict,)}
    manifest = fields(manifest, "its manifest", {**head, **body})
    further = list(contents)[len(members) :]
    inside = all(
        folder and name.startswith(folder) and _PLAIN.fullmatch(name, len(folder)) for name in further
    )
    if list(manifest["members"]) != list(contents) or list(contents) != [*members, *further] or not inside:
        raise InvalidFileError(f"its members are not {' and '.join(members)}")
    for name, entry in manifest["members"].items():
        if fields(entry, f"the entry of {name}", {"sha256": (str,)})["sha256"] != _sha256([contents[name]]):
            raise InvalidFileError(f"the checksum of {name} is wrong")
    return manifest, contents


def _sha256(pieces: Sequence[Any]) -> str:
    total = hashlib.sha256()
    for piece in pieces:
        total.update(piece)
    return total.hexdigest()


def _producer() -> str:
    from importlib import metadata  # takes milliseconds, and only writers need it

    try:
        return f"staticgraph {metadata.version('staticgraph')}"
    except metadata.PackageNotFoundError:
        return "staticgraph"


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


def read_mapped(
    path: str | os.PathLike[str], kind: str, make: Callable[[memoryview], _Made], writable: bool = False
) -> _Made:
    """Map a file, call `make` with its bytes, and return the result.

    Args:
        path: The file.
        kind: The kind of file expected, for messages.
        make: Builds the result from the bytes.
        writable: If True, the bytes can be changed. Changes never reach the file. This process gets its
            own copy of each page that it changes, and shares all other pages with those who map the file.

    Raises:
        NotFoundError: The file does not exist.
        InvalidFileError: The file is invalid, as found by `make` or before. The message names it and `kind`.
    """
    try:
        return make(_mapped(Path(path_of(path, "path")), mmap.ACCESS_COPY if writable else mmap.ACCESS_READ))
    except InvalidFileError as error:
        what = str(error)
    # Outside of the `except` block, so that the new error does not keep the old one's frames and their views.
    hint = "copy it again from where it came, or save it again"
    raise misuse(InvalidFileError, f"{path} is not a usable {kind} file: {what}", hint)


def _mapped(path: Path, access: int) -> memoryview:
    """The file, in memory as far as it is looked at."""
    try:
        status = os.stat(path)
        with open(path, "rb") if stat.S_ISREG(status.st_mode) else nullcontext() as file:
            if file is not None and status.st_size:
                return memoryview(mmap.mmap(file.fileno(), 0, access=access))
    except FileNotFoundError:
        raise misuse(NotFoundError, f"there is no file {path}", _neighbours(path)) from None
    except (OSError, ValueError) as error:
        raise InvalidFileError(f"it cannot be read: {getattr(error, 'strerror', None) or error}") from None
    raise InvalidFileError("it is a folder or a device" if file is None else "it is empty")


def cut_short(view: memoryview) -> Callable[[], DataLossError | None]:
    """Return a function that returns an error if a mapped file has become shorter than it was.

    Whoever reads what is gone is ended by the system.
    """
    found = view.obj

    def look() -> DataLossError | None:
        if isinstance(found, mmap.mmap) and found.size() < len(found):
            sizes = f"from {len(found):,} to {found.size():,} bytes"
            text = f"the file that the weights lie in was cut short, {sizes}"
            hint = "copy the file again from where it came, and load it again"
            return misuse(DataLossError, text, hint)
        return None

    return look


def _neighbours(path: Path) -> str | None:
    """List some files of the same kind in the folder, or say that there is no such folder; else None."""
    if not path.parent.is_dir():
        return f"the folder {path.parent} does not exist either"
    found = sorted(p.name for p in path.parent.glob(f"*{path.suffix}"))[:5] if path.suffix else []
    return f"{path.parent} has {', '.join(found)}" if found else None
