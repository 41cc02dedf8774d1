"""The errors that a user can meet, and how a message is laid out.

A message says what is wrong in the user's words, with the numbers that disagree; then the user's line, where
each operand was made, and one hint. The classes derive from the one that TensorFlow 1 raises in the same
case, or from the built-in one, so that old `except` clauses work.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from staticgraph.compiler.graph.provenance import Provenance


class OpError(Exception):
    """Something went wrong while running. `message` is the
    whole text; `op` the operation at fault, if known.
    """

    def __init__(self, message: str, op: Any = None) -> None:
        super().__init__(message)
        self.message = message
        self.op = op


class InvalidArgumentError(OpError, ValueError):
    """A value that the graph cannot take."""


class FailedPreconditionError(OpError, RuntimeError):
    """The session is not in the state that the operation needs, such as an uninitialised variable."""


class NotFoundError(OpError, LookupError):
    """Something that was asked for by name does not exist."""


class OutOfRangeError(OpError):
    """The end of an input was reached."""


class AbortedError(OpError):
    """The operation was given up because of another one."""


class CancelledError(OpError):
    """The operation was stopped from outside, such as by closing its queue."""


class DeadlineExceededError(OpError, TimeoutError):
    """The time that a run was given is over."""


class UnavailableError(OpError):
    """A service does not answer."""


class ResourceExhaustedError(OpError, MemoryError):
    """There is not enough memory."""


class UnimplementedError(OpError, NotImplementedError):
    """The operation exists but not in the form that was asked for."""


class UnknownError(OpError):
    """A function of Python's inside the graph failed."""


class DataLossError(OpError, OSError):
    """A file is damaged."""


class GraphError(Exception):
    """A graph cannot be built as asked."""


class ShapeError(GraphError, ValueError):
    """Shapes do not fit."""


class DtypeError(GraphError, TypeError):
    """Element types do not fit."""


class UnlikeDtypeError(DtypeError, InvalidArgumentError):
    """A loop, a branch or an array is given another dtype than its other rounds, branches or rows."""


class MissingValueError(GraphError, ValueError, TypeError):
    """None was given where a value is needed."""


class OtherGraphError(GraphError, ValueError):
    """A tensor belongs to another graph."""


class RegionError(GraphError, ValueError):
    """A tensor from inside a loop or branch is used outside of it."""


class DuplicateNameError(GraphError, ValueError):
    """A name is taken."""


class InvalidNameError(GraphError, ValueError):
    """A name has characters that names may not have."""


class FinalizedError(GraphError, RuntimeError):
    """The graph may not change any more."""


class EmptyGraphError(GraphError, RuntimeError):
    """A session has a graph without operations."""


class GradientError(GraphError, ValueError, LookupError):
    """A gradient does not exist."""


class FeedError(InvalidArgumentError, TypeError):
    """A feed_dict does not fit the graph. Also the error for a placeholder that was not fed."""


class FetchError(InvalidArgumentError, TypeError):
    """A fetch is not something that this session's graph can give."""


class UninitializedError(FailedPreconditionError):
    """A variable was read before it had a value."""


class ClosedSessionError(FailedPreconditionError):
    """The session was closed."""


class NoCompileError(FailedPreconditionError):
    """Something would have to be compiled in a session that may not compile."""


class InvalidFileError(DataLossError, ValueError):
    """A file is not what it should be: truncated, edited, or of another kind."""


class SaveError(OpError, OSError, ValueError):
    """Something could not be saved; the file that was there before is untouched."""


class RuleError(Exception):
    """Raised inside an op's type rule by `require`; the
    recorder turns it into a message with op and lines.
    """

    def __init__(self, what: str, hint: str | None = None, kind: type[GraphError] = ShapeError) -> None:
        super().__init__(what)
        self.what = what
        self.hint = hint
        self.kind = kind


def require(condition: Any, what: str, hint: str | None = None, kind: type[GraphError] = ShapeError) -> None:
    """Raise a `RuleError` unless `condition` holds. For
    type rules: one sentence, the disagreeing numbers in it.
    """
    if not condition:
        raise RuleError(what, hint, kind)


def layout(
    headline: str,
    where: Provenance | None = None,
    made: Iterable[tuple[str, Provenance | None]] = (),
    hint: str | None = None,
) -> str:
    """One message: headline, the user's line, where each operand was made, a hint."""
    lines = [headline]
    if where is not None:
        lines += ["", str(where)]
    for name, place in made:
        if place is not None and place != where:
            lines += [f"  {name} was made here:", str(place)]
    if hint:
        lines += [f"  hint: {hint}"]
    return "\n".join(lines)
