"""A folder of the user's alone: what lies in it was put there by this user, and nobody else can read it.

The machine code in it is executed, so the folder must be a folder and no link to one, belong to the user, and
give no rights to anybody else. The files in it are opened relative to the descriptor that was checked. So the
rights of the folders around it do not matter, unlike those around the keys of OpenSSH: whoever can rename
those can take the cache away, but not put another one in its place.

Windows has no such descriptors, and Python does not tell the owner of a file there. The folder is a private
one by default, inside the user's own, and a new one gets rights for its user alone from Python 3.12.4 on.
Links are refused there too.
"""

from __future__ import annotations

import functools
import operator
import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_POSIX = sys.platform != "win32"


def _flags(*names: str) -> int:
    """The flags of `os.open` of these names, as far as the system has them, for reading."""
    return os.O_RDONLY | functools.reduce(operator.or_, (getattr(os, name, 0) for name in names))


_FOLDER = _flags("O_DIRECTORY", "O_NOFOLLOW")
_FILE = _flags("O_NOFOLLOW", "O_NONBLOCK", "O_BINARY")  # a pipe would have its reader wait


class Untrusted(Exception):
    """Somebody else could have written what is here. The text says why, and `hint` what to do."""

    def __init__(self, text: str, hint: str = "choose another folder by SG_CACHE_DIR") -> None:
        super().__init__(text)
        self.hint = hint


class PrivateFolder:
    """An open folder.

    Attributes:
        path: Where it is.
        descriptor: What names of files are relative to; None on Windows, where `name` gives whole paths.
        identity: Tells it from all other folders.
    """

    def __init__(self, path: Path, descriptor: int | None, about: os.stat_result) -> None:
        self.path = path
        self.descriptor = descriptor
        self.identity = about.st_dev, about.st_ino

    def name(self, name: str) -> str:
        """Return a file's name as functions of `os` take it together with the descriptor."""
        return name if self.descriptor is not None else str(self.path / name)

    def open(self, name: str) -> tuple[int, os.stat_result]:
        """Open one of the user's files to read it.

        Raises:
            FileNotFoundError: There is no such file.
            Untrusted: Something else has the name: a link, a pipe, or a file of another user.
        """
        try:
            descriptor = os.open(self.name(name), _FILE, dir_fd=self.descriptor)
        except FileNotFoundError:
            raise
        except OSError as error:
            raise Untrusted(f"{name} cannot be opened: {error.strerror}") from None
        about = os.fstat(descriptor)
        if stat.S_ISREG(about.st_mode) and _is_mine(about):
            return descriptor, about
        os.close(descriptor)
        raise Untrusted(f"{name} is not a file of this user's")


@contextmanager
def private_folder(path: Path, make: bool = False) -> Iterator[PrivateFolder]:
    """Context with the open folder at `path`.

    Args:
        path: Where it is.
        make: Make the folder if there is none, for this user alone.

    Raises:
        OSError: There is no folder, or it cannot be made.
        Untrusted: It is not for this user alone.
    """
    if not _POSIX:
        yield _opened_on_windows(path, make)
        return
    descriptor = _descriptor(path, make)
    try:
        about = os.fstat(descriptor)
        if not _is_mine(about):
            raise Untrusted(f"it belongs to user {about.st_uid}, not to you")
        if shared := stat.S_IMODE(about.st_mode) & 0o077:
            done = "write to" if shared & 0o022 else "read" if shared & 0o044 else "enter"
            text = f"others may {done} it (its mode is {stat.S_IMODE(about.st_mode):04o})"
            raise Untrusted(text, f"chmod 700 {path}, if all that is in it is yours")
        yield PrivateFolder(path, descriptor, about)
    finally:
        os.close(descriptor)


def _descriptor(path: Path, make: bool) -> int:
    for attempt in range(2):
        try:
            return os.open(path, _FOLDER)
        except FileNotFoundError:
            if attempt or not make:
                raise
            path.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError:
            if path.is_symlink() or path.is_fifo():
                raise _no_folder(path) from None
            raise
    raise AssertionError


def _opened_on_windows(path: Path, make: bool) -> PrivateFolder:
    if make:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    about = os.lstat(path)
    if not stat.S_ISDIR(about.st_mode) or getattr(about, "st_reparse_tag", False):
        raise _no_folder(path)
    return PrivateFolder(path, None, about)


def _no_folder(path: Path) -> Untrusted:
    if path.is_symlink():
        return Untrusted("it is a link", f"set SG_CACHE_DIR to the folder itself, {os.path.realpath(path)}")
    return Untrusted("it is not a folder")


def is_secret(about: os.stat_result) -> bool:
    """Return if nobody but its owner may read or write a file."""
    return not _POSIX or not about.st_mode & 0o077


def _is_mine(about: os.stat_result) -> bool:
    return not _POSIX or about.st_uid == os.geteuid()
