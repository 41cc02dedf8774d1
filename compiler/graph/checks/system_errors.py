"""Errors of the operating system, as TensorFlow 1 tells them: by the class of their number."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from staticgraph.compiler.graph.checks.arguments import path_of
from staticgraph.compiler.graph.errors import (
    AlreadyExistsError,
    DeadlineExceededError,
    FailedPreconditionError,
    InvalidArgumentError,
    NotFoundError,
    OpError,
    OutOfRangeError,
    PermissionDeniedError,
    ResourceExhaustedError,
    UnknownError,
    misuse,
)

_NUMBERS: dict[type[OpError], tuple[int, ...]] = {
    NotFoundError: (errno.ENOENT, errno.ENODEV, errno.ENXIO),
    AlreadyExistsError: (errno.EEXIST,),
    PermissionDeniedError: (errno.EACCES, errno.EPERM, errno.EROFS),
    FailedPreconditionError: (errno.EISDIR, errno.ENOTDIR, errno.ENOTEMPTY, errno.EBUSY, errno.EPIPE),
    InvalidArgumentError: (errno.EINVAL, errno.ENAMETOOLONG),
    ResourceExhaustedError: (errno.ENOSPC, errno.EDQUOT, errno.EMFILE, errno.ENFILE, errno.ENOMEM),
    OutOfRangeError: (errno.EFBIG,),
    DeadlineExceededError: (errno.ETIMEDOUT,),
}
_HINTS: dict[type[OpError], str] = {
    NotFoundError: "paths are relative to the folder in which the program was started",
    PermissionDeniedError: "choose a file of your own, or change its permissions",
}


def system_error(error: OSError, path: Any = None) -> OpError:
    """Return the error that stands for one of the operating system.

    Args:
        error: The error of the system.
        path: The file that it is about, if the error does not name it.
    """
    kind = next((kind for kind, numbers in _NUMBERS.items() if error.errno in numbers), UnknownError)
    path = error.filename if path is None else path
    about = "" if path is None else f"{path_of(path, 'path')}; "
    return kind(f"{about}{error.strerror or error}", hint=_HINTS.get(kind))


@contextmanager
def system_errors(path: Any) -> Iterator[None]:
    """Context in which an error of the operating system about `path` is told as TensorFlow tells it."""
    path = path_of(path, "path")
    try:
        yield
    except OpError:  # some are errors of the system too
        raise
    except OSError as error:
        made = system_error(error, path)
        raise misuse(type(made), made.message, made.hint) from None
