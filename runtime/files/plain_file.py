"""Plain files, read as a whole: no pipe, which a reader would wait for, and no device, which has no end."""

from __future__ import annotations

import errno
import os
import stat
from typing import Any

from staticgraph.compiler.graph.checks.arguments import path_of
from staticgraph.compiler.graph.errors import InvalidFileError, NotFoundError, misuse

_AT_ONCE = getattr(os, "O_NONBLOCK", 0)  # to open a pipe, too
_MOST = (1 << 31) - 1  # bytes of a message, as Protocol Buffers limit it


def opener(path: str, flags: int) -> int:
    """Open a plain file: an `opener` for Python's `open`. OSError for a pipe, a device and the like."""
    descriptor = os.open(path, flags | _AT_ONCE)
    mode = os.fstat(descriptor).st_mode
    if stat.S_ISREG(mode) or stat.S_ISDIR(mode):  # Python refuses the latter
        return descriptor
    os.close(descriptor)
    raise OSError(errno.EINVAL, "it is a pipe or a device", path)


def read_plain(path: Any, kind: str) -> bytes:
    """Return the contents of a file with a message of Protocol Buffers.

    Args:
        path: The file.
        kind: The kind of file expected, for messages, such as "graph".

    Raises:
        NotFoundError: There is no such file.
        InvalidFileError: It is no plain file, cannot be read, or is too large for a message.
    """
    path = path_of(path, "path")
    try:
        with open(path, "rb", opener=opener) as file:
            size = os.fstat(file.fileno()).st_size
            if size <= _MOST:
                return file.read(_MOST)
        why = f"it has {size:,} bytes, and a message has at most {_MOST:,}"
    except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
        raise misuse(NotFoundError, f"there is no file {path!r}") from None
    except OSError as error:
        why = error.strerror or str(error)
    raise misuse(InvalidFileError, f"{path} is not a usable {kind} file: {why}")
