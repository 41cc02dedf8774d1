"""`tf.gfile`: files and folders, by TF1's names. Errors of the system are TF1's, such as NotFoundError."""

from __future__ import annotations

import glob
import os
import shutil
from collections.abc import Iterator
from typing import Any

from staticgraph.compiler.graph.checks.arguments import path_of
from staticgraph.compiler.graph.checks.system_errors import system_errors
from staticgraph.compiler.graph.errors import AlreadyExistsError, NotFoundError, misuse
from staticgraph.runtime.disk.atomic import writing


class GFile:
    """A file, opened when it is first read or written: text, or bytes with a mode such as `rb`.

    >>> import os, tempfile
    >>> from staticgraph.tf1.compat.legacy import gfile
    >>> path = os.path.join(tempfile.mkdtemp(), "notes.txt")
    >>> with gfile.GFile(path, "w") as file:
    ...     file.write("one line")
    >>> gfile.GFile(path).read(), gfile.Exists(path)
    ('one line', True)
    """

    def __init__(self, name: Any, mode: str = "r") -> None:
        self._file: Any = None
        self.name, self.mode = path_of(name, "a name of a file"), mode

    def _opened(self) -> Any:
        if self._file is None:
            encoding = None if "b" in self.mode else "utf-8"
            with system_errors(self.name):
                self._file = open(self.name, self.mode, encoding=encoding)  # noqa: SIM115
        return self._file

    def read(self, n: int = -1) -> Any:
        """The next `n` characters or bytes, or all the rest."""
        with system_errors(self.name):
            return self._opened().read(n)

    def readline(self) -> Any:
        """The next line with its end, or nothing at the end of the file."""
        with system_errors(self.name):
            return self._opened().readline()

    def readlines(self) -> list[Any]:
        """All lines that are left."""
        with system_errors(self.name):
            return list(self._opened())

    def write(self, file_content: Any) -> None:
        """Append to what was written."""
        with writing(self.name):
            self._opened().write(file_content)

    def seek(self, offset: int | None = None, whence: int = 0, position: int | None = None) -> None:
        """Go to a place in the file; `position` is an old name of `offset`."""
        self._opened().seek(position if offset is None else offset, whence)

    def tell(self) -> int:
        """The place in the file."""
        return int(self._opened().tell())

    def size(self) -> int:
        """The length of the file in bytes."""
        with system_errors(self.name):
            return os.path.getsize(self.name)

    def flush(self) -> None:
        """Hand what was written to the operating system."""
        if self._file is not None:
            with writing(self.name):
                self._file.flush()

    def close(self) -> None:
        """Close the file; it is opened anew if it is used again."""
        if self._file is not None:
            file, self._file = self._file, None
            with writing(self.name):
                file.close()

    def __enter__(self) -> GFile:
        return self

    def __exit__(self, *error: object) -> None:
        if "r" not in self.mode:  # a file that nothing was written to exists too
            self._opened()
        self.close()

    def __iter__(self) -> Iterator[Any]:
        return iter(self._opened())

    def __next__(self) -> Any:
        return next(self._opened())

    def __del__(self) -> None:
        self.close()


Open = FastGFile = GFile


def Exists(filename: Any) -> bool:
    """Return True if a file or folder exists."""
    return os.path.exists(filename)


def IsDirectory(dirname: Any) -> bool:
    """Return True if a folder of this name exists."""
    return os.path.isdir(dirname)


def ListDirectory(dirname: Any) -> list[str]:
    """The names in a folder, sorted. NotFoundError if there is no such folder."""
    if not IsDirectory(path_of(dirname, "dirname")):
        raise misuse(NotFoundError, f"there is no folder {dirname}")
    with system_errors(dirname):
        return sorted(os.listdir(dirname))


def Glob(filename: Any) -> list[str]:
    """The files that match a pattern, or one of several, sorted."""
    patterns = filename if isinstance(filename, list | tuple) else [filename]
    return [
        path for pattern in patterns for path in sorted(glob.glob(path_of(pattern, "a pattern of paths")))
    ]


def MkDir(dirname: Any) -> None:
    """Make a folder in one that exists."""
    with system_errors(dirname):
        os.mkdir(dirname)


def MakeDirs(dirname: Any) -> None:
    """Make a folder and those above it; nothing where it exists."""
    with system_errors(dirname):
        os.makedirs(dirname, exist_ok=True)


def Remove(filename: Any) -> None:
    """Delete a file."""
    with system_errors(filename):
        os.remove(filename)


def DeleteRecursively(dirname: Any) -> None:
    """Delete a folder with everything in it."""
    with system_errors(dirname):
        if os.path.isdir(dirname) and not os.path.islink(dirname):
            shutil.rmtree(dirname)
        else:
            os.remove(dirname)


def Copy(oldpath: Any, newpath: Any, overwrite: bool = False) -> None:
    """Copy a file. AlreadyExistsError if the new name is taken, unless `overwrite`."""
    _free(newpath, overwrite)
    with system_errors(oldpath):
        shutil.copyfile(oldpath, newpath)


def Rename(oldname: Any, newname: Any, overwrite: bool = False) -> None:
    """Rename a file or folder. AlreadyExistsError if the new name is taken, unless `overwrite`."""
    _free(newname, overwrite)
    with system_errors(oldname):
        os.replace(oldname, newname)


def _free(path: Any, overwrite: bool) -> None:
    if not overwrite and os.path.exists(path):
        raise misuse(AlreadyExistsError, f"{path} exists already", "give overwrite=True")


def Walk(top: Any, in_order: bool = True) -> Iterator[tuple[str, list[str], list[str]]]:
    """`(folder, folders in it, files in it)` for all folders below `top`, parents first if `in_order`."""
    return os.walk(top, topdown=in_order)


class _FileStatistics:
    def __init__(self, status: os.stat_result) -> None:
        self.length, self.mtime_nsec = status.st_size, status.st_mtime_ns


def Stat(filename: Any) -> _FileStatistics:
    """The `length` in bytes and the time of the last change, `mtime_nsec`, of a file."""
    with system_errors(filename):
        return _FileStatistics(os.stat(filename))
