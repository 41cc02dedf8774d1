"""A file is replaced as a whole or not at all, whenever the process or the machine stops.

The new contents go into a temporary file in the same folder,
reach the disk, and take the file's name in one step.
"""

from __future__ import annotations

import contextlib
import errno
import itertools
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from staticgraph.compiler.graph.errors import SaveError, layout
from staticgraph.compiler.graph.provenance import user_frame

_serial = itertools.count()
_CHUNK = 1 << 24  # systems differ in how much one write may take


def write_file(path: str | os.PathLike[str], pieces: Iterable[Any]) -> None:
    """Replace the file at `path` by the bytes of `pieces`. SaveError where that fails; all is as it was."""
    try:
        _replace(Path(os.path.realpath(path)), pieces)
    except OSError as error:
        raise _refusal(Path(path), error) from None


def _replace(path: Path, pieces: Iterable[Any]) -> None:
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    temporary = path.with_name(f".{path.name[:64]}.{os.getpid()}-{next(_serial)}.part")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
    try:
        try:
            for piece in pieces:
                _write(descriptor, memoryview(piece).cast("B"))
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
    _sync_folder(path.parent)


def _write(descriptor: int, view: memoryview) -> None:
    while view:
        view = view[os.write(descriptor, view[:_CHUNK]) :]


def _sync_folder(folder: Path) -> None:
    """Make the new name last. Some systems cannot open a folder; there, renaming has to be enough."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _refusal(path: Path, error: OSError) -> SaveError:
    folder = path.parent
    match error.errno:
        case errno.ENOENT if not folder.exists():
            what, hint = f"the folder {folder} does not exist", f"make it first: os.makedirs({str(folder)!r})"
        case errno.EISDIR:
            what, hint = "that is a folder", f"name a file in it, such as {path / 'net.sg'}"
        case errno.ENOTDIR:
            what, hint = "a part of the path is a file, not a folder", "choose a path through folders only"
        case errno.EACCES | errno.EPERM | errno.EROFS:
            what, hint = (
                f"this user may not write to {folder}",
                "choose a folder of your own, or change its permissions",
            )
        case errno.ENOSPC | errno.EDQUOT:
            what, hint = "the disk is full", "free some space and save again"
        case errno.ENAMETOOLONG:
            what, hint = "the name is too long", "choose a shorter one"
        case _:
            what, hint = (
                error.strerror or str(error),
                "what was there before is untouched; save to another place",
            )
    return SaveError(layout(f"cannot save to {path}: {what}", user_frame(), hint=hint))
