"""`tf.errors`: the classes that TF1 had and that nothing here raises by itself, and the numeric codes."""

from __future__ import annotations

from staticgraph.compiler.graph.errors import FailedPreconditionError, NotFoundError, OpError

__all__ = [
    "AbortedError",
    "AlreadyExistsError",
    "CancelledError",
    "DeadlineExceededError",
    "FailedPreconditionError",
    "InternalError",
    "NotFoundError",
    "PermissionDeniedError",
    "UnauthenticatedError",
    "UnavailableError",
    "UnknownError",
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


class CancelledError(OpError):
    """The operation was stopped from outside, such as by closing its queue."""


class UnknownError(OpError):
    """A Python function inside the graph failed."""


class DeadlineExceededError(OpError, TimeoutError):
    """The time that a run was given is over."""


class AlreadyExistsError(OpError, FileExistsError):
    """What should be made exists."""


class PermissionDeniedError(OpError, PermissionError):
    """The operating system refused."""


class UnauthenticatedError(OpError):
    """The caller is not known."""


class AbortedError(OpError):
    """The operation was given up because of another one."""


class InternalError(OpError):
    """Something that should hold always does not."""


class UnavailableError(OpError):
    """A service does not answer."""
