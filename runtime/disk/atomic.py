"""A file is replaced as a whole or not at all, whenever the process or the machine stops.

The new contents go into a temporary file in the same folder, reach the disk, and take the file's name in
one step. A writer holds a lock on its temporary file, and the system releases the lock when the process ends.
So a temporary file without a lock is abandoned, and whoever writes to the same folder next removes it.
Windows has no such locks: abandoned files stay there.
"""

from __future__ import annotations

import contextlib
import errno
import itertools
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from stat import S_ISREG
from typing import Any

from staticgraph.compiler.graph.checks.arguments import path_of
from staticgraph.compiler.graph.errors import OpError, SaveError, misuse


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
    except OpError:  # it is told already
        raise
    except OSError as error:
        raise _refusal(Path(path), error) from None


def replace(path: str | os.PathLike[str], pieces: Iterable[Any]) -> None:
    """Replace the file at `path` by the bytes of `pieces`. OSError if that fails; all is as it was."""
    with replacing(path) as descriptor:
        for piece in pieces:
            write_all(descriptor, piece)


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[int]:
    """Context with the descriptor of a file that replaces the one at `path` at its end, if nothing fails."""
    path = Path(os.path.realpath(path_of(path, "path")))
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    remove_abandoned(str(path.parent), path.name)
    part, descriptor = begin_temporary(str(path))
    try:
        try:
            yield descriptor
            os.fsync(descriptor)
            if LOCKS:
                os.replace(part, path)  # while it is locked: nobody may take it for abandoned
        finally:
            with suppress(OSError):  # all of it is on the disk by now, or has failed
                os.close(descriptor)
        if not LOCKS:
            os.replace(part, path)  # Windows does not rename what is open
    except BaseException:
        remove_temporary(part)
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


try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

LOCKS = fcntl is not None
_FORM = re.compile(r"\..+\.\d+-\d+\.sg\.part", re.DOTALL)
_KEPT = 48  # characters of a name that its temporary files have: at most 4 bytes each, of the usual limit 255
_EARLIER = 64
_FLAGS = os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
_LOOK = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
_CHUNK = 1 << 24  # systems differ in how much one write may take
_serial = itertools.count()


def begin_temporary(path: str, mode: int = 0o666, folder: int | None = None) -> tuple[str, int]:
    """Create a temporary file for `path` and lock it.

    Args:
        path: The file that the temporary one is to become; relative to `folder`, if that is given.
        mode: The rights of the new file, before the umask.
        folder: The descriptor of an open folder.

    Returns:
        The path of the temporary file, and a descriptor for writing that holds its lock.

    Raises:
        OSError: The file cannot be created.
    """
    head, name = os.path.split(path)
    while True:
        temporary = os.path.join(head, f".{name[:_KEPT]}.{os.getpid()}-{next(_serial)}.sg.part")
        try:
            descriptor = os.open(temporary, _FLAGS, mode, dir_fd=folder)
        except FileExistsError:  # a process of another container has the same number
            continue
        if not _lock(descriptor) or os.fstat(descriptor).st_nlink:
            return temporary, descriptor
        os.close(descriptor)  # another process took it for abandoned just before it was locked


def write_all(descriptor: int, piece: memoryview | bytes) -> None:
    """Write all of `piece`."""
    view = memoryview(piece).cast("B")
    while view:
        view = view[os.write(descriptor, view[:_CHUNK]) :]


def remove_temporary(temporary: str, folder: int | None = None) -> None:
    """Remove a temporary file, if it is still there."""
    with contextlib.suppress(OSError):
        os.unlink(temporary, dir_fd=folder)


def remove_abandoned(folder: str | int, name: str = "") -> None:
    """Remove the temporary files in a folder that nobody writes any more.

    Args:
        folder: The path of the folder, or a descriptor.
        name: The file about to be written. Earlier versions named temporary files so that they could be told
            only for a known file.
    """
    earlier = re.compile(rf"\.{re.escape(name[:_EARLIER])}\.\d+-\d+\.part", re.DOTALL)
    with contextlib.suppress(OSError):
        for found in os.listdir(folder):
            if _FORM.fullmatch(found) or (name and earlier.fullmatch(found)):
                _remove_unlocked(found, folder)


def _remove_unlocked(name: str, folder: str | int) -> None:
    path, within = (name, folder) if isinstance(folder, int) else (os.path.join(folder, name), None)
    with contextlib.suppress(OSError):
        descriptor = os.open(path, _LOOK, dir_fd=within)
        try:
            if S_ISREG(os.fstat(descriptor).st_mode) and _lock(descriptor, wait=False):
                os.unlink(path, dir_fd=within)
        finally:
            os.close(descriptor)


def _lock(descriptor: int, wait: bool = True) -> bool:
    """Lock a file and return if that succeeded. It never does where the system has no such locks."""
    if fcntl is not None:
        with contextlib.suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
    return False
