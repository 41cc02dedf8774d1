"""`tf.errors`: the numeric codes, and the classes that TF1 had and that nothing here raises by itself."""

from staticgraph.compiler.graph import errors
from staticgraph.compiler.graph.errors import (
    AlreadyExistsError,
    FailedPreconditionError,
    NotFoundError,
    OpError,
    PermissionDeniedError,
)

__all__ = [
    "AlreadyExistsError",
    "FailedPreconditionError",
    "InternalError",
    "NotFoundError",
    "PermissionDeniedError",
    "UnauthenticatedError",
    "OK",
    "CANCELLED",
    "UNKNOWN",
    "INVALID_ARGUMENT",
    "DEADLINE_EXCEEDED",
    "NOT_FOUND",
    "ALREADY_EXISTS",
    "PERMISSION_DENIED",
    "RESOURCE_EXHAUSTED",
    "FAILED_PRECONDITION",
    "ABORTED",
    "OUT_OF_RANGE",
    "UNIMPLEMENTED",
    "INTERNAL",
    "UNAVAILABLE",
    "DATA_LOSS",
    "UNAUTHENTICATED",
    "error_code_from_exception_type",
    "exception_type_from_error_code",
]

OK, CANCELLED, UNKNOWN, INVALID_ARGUMENT, DEADLINE_EXCEEDED, NOT_FOUND, ALREADY_EXISTS = range(7)
PERMISSION_DENIED, RESOURCE_EXHAUSTED, FAILED_PRECONDITION, ABORTED, OUT_OF_RANGE = range(7, 12)
UNIMPLEMENTED, INTERNAL, UNAVAILABLE, DATA_LOSS, UNAUTHENTICATED = range(12, 17)


class UnauthenticatedError(OpError):
    """The caller is not known."""

    error_code = UNAUTHENTICATED


class InternalError(OpError):
    """Something that should hold always does not."""

    error_code = INTERNAL


def _classes() -> dict[int, type[OpError]]:
    """The class of each code, of those that TensorFlow has: the one nearest to the base."""
    found: dict[int, type[OpError]] = {}
    for each in (UnauthenticatedError, InternalError, *vars(errors).values()):
        if isinstance(each, type) and issubclass(each, OpError) and each.__bases__[0] is OpError:
            found.setdefault(each.error_code, each)
    return found


def exception_type_from_error_code(error_code: int) -> type[OpError]:
    """Return the class of errors of a code. KeyError for an unknown one.

    >>> import staticgraph.compat.tf1 as tf
    >>> tf.errors.exception_type_from_error_code(tf.errors.OUT_OF_RANGE).__name__
    'OutOfRangeError'
    """
    return _classes()[error_code]


def error_code_from_exception_type(cls: type[OpError]) -> int:
    """Return the code of a class of errors."""
    return cls.error_code
