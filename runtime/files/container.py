"""An archive with a manifest: kind and format of the file, who wrote it, and a checksum per member."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from staticgraph.compiler.graph.errors import InvalidFileError
from staticgraph.runtime.disk.atomic import write_file
from staticgraph.runtime.files import archive
from staticgraph.runtime.files.mapped import read_mapped
from staticgraph.runtime.files.strict_json import Kinds, check, dump, fields, parse

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
    write_file(path, archive.pack({_MANIFEST: [f"{dump(manifest)}\n".encode()], **members}))


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
        return make(*_checked(archive.unpack(data), kind, body, members, folder))

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
