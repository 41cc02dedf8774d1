"""An archive with a manifest: kind and format of the file, who wrote it, and a checksum per member."""

from __future__ import annotations

import hashlib
import mmap
import os
import stat
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from staticgraph.compiler.graph.errors import InvalidFileError, NotFoundError, layout
from staticgraph.compiler.graph.provenance import user_frame
from staticgraph.runtime.saving import archive
from staticgraph.runtime.saving.atomic import write_file
from staticgraph.runtime.saving.strict_json import Kinds, check, dump, fields, parse

FORMAT = 1  # grows when an older version could not read the file any more
_MANIFEST = "manifest.json"
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
) -> _Made:
    """What `make` makes of the manifest and the members, which it must not keep views of.

    `body`: the fields of the manifest that this kind of file has. NotFoundError where there is no file,
    InvalidFileError where something is wrong with it, in `make` or before.
    """
    try:
        data = _mapped(Path(path))
        manifest, contents = _checked(archive.unpack(data), kind, body, members)
        return make(manifest, contents)
    except InvalidFileError as error:
        what = str(error)
    # Outside of the `except` block, so that the new error does not keep the old one's frames and their views.
    hint = "copy it again from where it came, or save it again"
    raise InvalidFileError(layout(f"{path} is not a usable {kind} file: {what}", user_frame(), hint=hint))


def _mapped(path: Path) -> memoryview:
    """The file, in memory as far as it is looked at."""
    try:
        status = os.stat(path)
        if not stat.S_ISREG(status.st_mode):
            raise InvalidFileError("it is a folder or a device")
        if status.st_size == 0:
            raise InvalidFileError("it is empty")
        with open(path, "rb") as file:
            return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    except FileNotFoundError:
        raise NotFoundError(
            layout(f"there is no file {path}", user_frame(), hint=_neighbours(path))
        ) from None
    except OSError as error:
        raise InvalidFileError(f"it cannot be read: {error.strerror or error}") from None


def _neighbours(path: Path) -> str | None:
    """What else is in the folder, of the same kind."""
    if not path.parent.is_dir():
        return f"the folder {path.parent} does not exist either"
    found = sorted(p.name for p in path.parent.glob(f"*{path.suffix}"))[:5] if path.suffix else []
    return f"{path.parent} has {', '.join(found)}" if found else None


def _checked(
    contents: dict[str, memoryview], kind: str, body: Kinds, members: Sequence[str]
) -> tuple[dict[str, Any], dict[str, memoryview]]:
    if list(contents) != [_MANIFEST, *members] and list(contents)[:1] != [_MANIFEST]:
        raise InvalidFileError(f"it has no {_MANIFEST}")
    manifest = check(parse(contents.pop(_MANIFEST), "its manifest"), "its manifest", dict)
    if manifest.get("kind") != kind:
        raise InvalidFileError(f"it is of kind {manifest.get('kind')!r}")
    if manifest.get("format") != FORMAT:
        found, by = manifest.get("format"), manifest.get("producer")
        raise InvalidFileError(
            f"its format is {found!r}, written by {by!r}, and this version reads format {FORMAT}"
        )
    head: Kinds = {"format": (int,), "kind": (str,), "producer": (str,), "members": (dict,)}
    manifest = fields(manifest, "its manifest", {**head, **body})
    if list(manifest["members"]) != list(members) or list(contents) != list(members):
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
