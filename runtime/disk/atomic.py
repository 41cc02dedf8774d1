"""A file is replaced as a whole or not at all, whenever the process or the machine stops.

The new contents go into a temporary file in the same folder, reach the disk, and take the file's name in
one step. A process that is killed leaves its temporary file behind, and the next save to the same folder
removes that.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from staticgraph.compiler.graph.checks.arguments import path_of
from staticgraph.compiler.graph.errors import SaveError, misuse
from staticgraph.runtime.disk import temporary


def write_file(path: str | os.PathLike[str], pieces: Iterable[Any]) -> None:
    """Replace the file at `path` by the bytes of `pieces`. SaveError if that fails; all is as it was."""
    with writing(path):
        replace(path, pieces)


@contextmanager
def writing(path: str | os.PathLike[str]) -> Iterator[None]:
    """Context that writes to the file at `path`: an error of the system is a SaveError that names it."""
    path = path_of(path, "path")
    try:
        yield
    except SaveError:
        raise
    except OSError as error:
        raise _refusal(Path(path), error) from None


def replace(path: str | os.PathLike[str], pieces: Iterable[Any]) -> None:
    """Replace the file at `path` by the bytes of `pieces`. OSError if that fails; all is as it was."""
    with replacing(path) as descriptor:
        for piece in pieces:
            temporary.write(descriptor, piece)


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[int]:
    """Context with the descriptor of a file that replaces the one at `path` at its end, if nothing fails."""
    path = Path(os.path.realpath(path_of(path, "path")))
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    temporary.remove_abandoned(str(path.parent), path.name)
    part, descriptor = temporary.begin(str(path))
    try:
        try:
            yield descriptor
            os.fsync(descriptor)
            if temporary.LOCKS:
                os.replace(part, path)  # while it is locked: nobody may take it for abandoned
        finally:
            with suppress(OSError):  # all of it is on the disk by now, or has failed
                os.close(descriptor)
        if not temporary.LOCKS:
            os.replace(part, path)  # Windows does not rename what is open
    except BaseException:
        temporary.remove(part)
        raise
    _sync_folder(path.parent)


def _sync_folder(folder: Path) -> None:
    """Make the new name last. Some systems cannot open a folder; there, renaming has to be enough."""
    with suppress(OSError):
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
    return misuse(SaveError, f"cannot save to {path}: {what}", hint)
