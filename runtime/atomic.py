"""A file is replaced as a whole or not at all, whenever the process or the machine stops.

The new contents go into a temporary file in the same folder, reach the disk, and take the file's name in
one step. A process that is killed leaves its temporary file behind, and the next save removes that. Who
writes one holds a lock on it, by which those of living processes are told.
"""

from __future__ import annotations

import contextlib
import errno
import itertools
import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from staticgraph.compiler.graph.errors import SaveError, layout
from staticgraph.compiler.graph.provenance import user_frame

try:
    import fcntl
except ImportError:  # Windows has no such locks
    fcntl = None  # type: ignore[assignment]

_serial = itertools.count()
_KEPT = 64  # characters of a name that its temporary files have: most systems allow 255
_CHUNK = 1 << 24  # systems differ in how much one write may take


def write_file(path: str | os.PathLike[str], pieces: Iterable[Any]) -> None:
    """Replace the file at `path` by the bytes of `pieces`. SaveError where that fails; all is as it was."""
    try:
        replace(path, pieces)
    except OSError as error:
        raise _refusal(Path(path), error) from None


def replace(path: str | os.PathLike[str], pieces: Iterable[Any]) -> None:
    """Replace the file at `path` by the bytes of `pieces`. OSError where that fails; all is as it was."""
    path = Path(os.path.realpath(path))
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    _remove_abandoned(path)
    temporary, descriptor = _begin(path)
    try:
        try:
            for piece in pieces:
                _write(descriptor, memoryview(piece).cast("B"))
            os.fsync(descriptor)
            if fcntl is not None:
                os.replace(temporary, path)  # while it is locked: nobody may take it for abandoned
        finally:
            with contextlib.suppress(OSError):  # all of it is on the disk by now, or has failed
                os.close(descriptor)
        if fcntl is None:
            os.replace(temporary, path)  # Windows does not rename what is open
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
    _sync_folder(path.parent)


def _begin(path: Path) -> tuple[Path, int]:
    """A temporary file, and its descriptor, which has the lock."""
    while True:
        temporary = path.with_name(f".{path.name[:_KEPT]}.{os.getpid()}-{next(_serial)}.part")
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
        descriptor = os.open(temporary, flags, 0o666)
        if not _lock(descriptor) or os.fstat(descriptor).st_nlink:
            return temporary, descriptor
        os.close(descriptor)  # another process took it for abandoned just before it was locked


def _remove_abandoned(path: Path) -> None:
    """Remove the temporary files for `path` that nobody writes any more."""
    form = re.compile(rf"\.{re.escape(path.name[:_KEPT])}\.\d+-\d+\.part")
    with contextlib.suppress(OSError):
        for name in filter(form.fullmatch, os.listdir(path.parent)):
            _remove_unlocked(path.with_name(name))


def _remove_unlocked(path: Path) -> None:
    with contextlib.suppress(OSError):
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
        try:
            if _lock(descriptor, wait=False):
                os.unlink(path)
        finally:
            os.close(descriptor)


def _lock(descriptor: int, wait: bool = True) -> bool:
    """Whether this process has the lock of a file now. Where there are no locks it never has."""
    if fcntl is not None:
        with contextlib.suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
    return False


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
