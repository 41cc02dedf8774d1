"""Temporary files beside the file that each one becomes, and the removal of those whose process was killed.

A writer holds a lock on its temporary file, and the system releases the lock when the process ends. So a file
of this form without a lock is abandoned, and whoever writes to the same folder next removes it. Windows has
no such locks: abandoned files stay there.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import re
from stat import S_ISREG

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


def begin(path: str, mode: int = 0o666, folder: int | None = None) -> tuple[str, int]:
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


def write(descriptor: int, piece: memoryview | bytes) -> None:
    """Write all of `piece`."""
    view = memoryview(piece).cast("B")
    while view:
        view = view[os.write(descriptor, view[:_CHUNK]) :]


def remove(temporary: str, folder: int | None = None) -> None:
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
