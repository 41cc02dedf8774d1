"""`tf.errors`: the classes that TF1 had and that nothing here raises by itself, and the numeric codes."""

from staticgraph.compiler.graph.errors import FailedPreconditionError, NotFoundError, OpError

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
]

OK, CANCELLED, UNKNOWN, INVALID_ARGUMENT, DEADLINE_EXCEEDED, NOT_FOUND, ALREADY_EXISTS = range(7)
PERMISSION_DENIED, RESOURCE_EXHAUSTED, FAILED_PRECONDITION, ABORTED, OUT_OF_RANGE = range(7, 12)
UNIMPLEMENTED, INTERNAL, UNAVAILABLE, DATA_LOSS, UNAUTHENTICATED = range(12, 17)


class AlreadyExistsError(OpError, FileExistsError):
    """The object to create exists already."""

    error_code = ALREADY_EXISTS


class PermissionDeniedError(OpError, PermissionError):
    """The operating system refused."""

    error_code = PERMISSION_DENIED


class UnauthenticatedError(OpError):
    """The caller is not known."""

    error_code = UNAUTHENTICATED


class InternalError(OpError):
    """Something that should hold always does not."""

    error_code = INTERNAL
