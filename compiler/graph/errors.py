"""The errors that a user can meet, and how a message is laid out.

A message says what is wrong in the user's words, with the numbers that disagree; then the user's line, where
each operand was made, and one hint. The classes derive from the one that TensorFlow 1 raises in the same
case, or from the built-in one, so that old `except` clauses work.
"""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, TypeVar

from staticgraph.compiler.graph.provenance import Provenance, user_frame

_SHOWN = 8  # elements of a value
_SHOWN_WIDTH = 60
_WIDTH = 100  # columns of a message, but for lines of the program
_Error = TypeVar("_Error", bound=Exception)


class OpError(Exception):
    """Something went wrong while running.

    What computes an op raises it without `op`, with what is wrong and a `hint`; then the line is added.

    Args:
        message: The whole text.
        op: The operation at fault, or None.
        hint: What to do, until it is part of the message.
        error_code: Another code than that of the class, an int.
        node_def: The operation as TF1's message, if there is no `op`.

    TF1's order `(node_def, op, message, error_code)` is understood as well.

    Attributes:
        error_code: TF1's number of the kind of error, as in `errors.INVALID_ARGUMENT`.

    >>> OutOfRangeError(None, None, "no more rows").message
    'no more rows'
    """

    error_code = 2
    place: tuple[Any, str] | None = None  # the line, and the kind of op, of an error without `op`

    def __init__(
        self,
        message: Any = None,
        op: Any = None,
        hint: str | None = None,
        error_code: int | None = None,
        node_def: Any = None,
    ) -> None:
        if not isinstance(message, str):
            node_def, message, hint = message if node_def is None else node_def, hint or "", None
        super().__init__(message)
        self.message: str = message
        self.op = op
        self.hint = hint
        if error_code is not None:
            self.error_code = error_code
        self._node_def = node_def

    @property
    def node_def(self) -> Any:
        """The operation at fault as TF1's message, a `NodeDef`, or None."""
        if self._node_def is None and self.op is not None:
            try:
                nodes = self.op.graph.as_graph_def().node
            except Exception:  # some graph has no such form, and this error must not become another one
                return None
            for node in (node for node in nodes if node.name == self.op.name):
                node.op, self._node_def = self.op.type, node
        return self._node_def


class InvalidArgumentError(OpError, ValueError):
    """A value that the graph cannot take."""

    error_code = 3


class FailedPreconditionError(OpError, RuntimeError):
    """The session is not in the state that the operation needs, such as an uninitialised variable."""

    error_code = 9


class NotFoundError(OpError, LookupError):
    """Something that was asked for by name does not exist."""

    error_code = 5


class AlreadyExistsError(OpError, FileExistsError):
    """The object to create exists already."""

    error_code = 6


class PermissionDeniedError(OpError, PermissionError):
    """The operating system refused."""

    error_code = 7


class OutOfRangeError(OpError):
    """The end of an input was reached."""

    error_code = 11


class AbortedError(OpError):
    """The operation was given up because of another one."""

    error_code = 10


class CancelledError(OpError):
    """The operation was stopped from outside, such as by closing its queue."""

    error_code = 1


class DeadlineExceededError(OpError, TimeoutError):
    """The time that a run was given is over."""

    error_code = 4


class UnavailableError(OpError):
    """A service does not answer."""

    error_code = 14


class ResourceExhaustedError(OpError, MemoryError):
    """There is not enough memory."""

    error_code = 8


class UnimplementedError(OpError, NotImplementedError):
    """The operation exists but not in the form that was asked for."""

    error_code = 12


class UnknownError(OpError):
    """A function of Python's inside the graph failed."""


class DataLossError(OpError, OSError):
    """A file is damaged."""

    error_code = 15


class GraphError(Exception):
    """A graph cannot be built as asked."""


class ShapeError(GraphError, ValueError):
    """Shapes do not fit."""


class DtypeError(GraphError, TypeError):
    """Element types do not fit."""


class UnlikeDtypeError(InvalidArgumentError, DtypeError):
    """A loop, a branch or an array is given another dtype than its other rounds, branches or rows."""


class FedShapeError(InvalidArgumentError, ShapeError):
    """Shapes of what was fed do not fit."""


class SizeError(ShapeError):
    """A result has more elements than a computer can address."""


class FedSizeError(ResourceExhaustedError, SizeError):
    """A result has more elements than a computer can address, by what was fed."""


class OperandError(InvalidArgumentError, ShapeError):
    """An operand such as an axis has a wrong value, which TensorFlow 1 finds out only in a run."""


class MissingValueError(GraphError, ValueError, TypeError):
    """None was given where a value is needed."""


class NoArrayError(GraphError, TypeError, NotImplementedError):
    """A tensor is used as an array while the graph is built."""


class OtherGraphError(GraphError, ValueError):
    """A tensor belongs to another graph."""


class RegionError(GraphError, ValueError):
    """A tensor from inside a loop or branch is used outside of it."""


class DisconnectedError(GraphError, ValueError):
    """Outputs do not come from the inputs that they should come from."""


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


class UnknownNameError(GraphError, KeyError):
    """A graph has nothing of that name."""

    __str__ = Exception.__str__  # KeyError's own shows the text as Python would write it


class GraphGrowthWarning(RuntimeWarning):
    """A line of the program adds operations to the graph between the runs of a session, again and again."""


class RecompileWarning(RuntimeWarning):
    """A step was compiled again and again, although its graph leaves sizes open: a guard fails each time.

    Or it was compiled for the sizes of a run alone, since an error of the compiler kept it from all sizes.
    """


# What the error of a type rule is called where the types are those of a run.
IN_A_RUN: dict[type[GraphError], type[GraphError]] = {
    DtypeError: UnlikeDtypeError,
    ShapeError: FedShapeError,
    SizeError: FedSizeError,
}


class RuleError(Exception):
    """Raised inside an op's type rule by `require`; the
    recorder turns it into a message with op and lines.
    """

    def __init__(self, what: str, hint: str | None = None, kind: type[GraphError] = ShapeError) -> None:
        super().__init__(what)
        self.what = what
        self.hint = hint
        self.kind = kind


def refused(error: RuleError, name: str, call: str, where: Provenance | None) -> GraphError:
    """Return the error of a run for a type rule's: the types are those of a run, and `call` shows them.

    `name` is that of the op: with the line it tells the user's operation.
    """
    made = IN_A_RUN.get(error.kind, error.kind)(layout(f"{call}: {error.what}", where, (), error.hint))
    if isinstance(made, OpError):
        made.place = where, name
    return made


def require(condition: Any, what: str, hint: str | None = None, kind: type[GraphError] = ShapeError) -> None:
    """Raise a `RuleError` unless `condition` holds. For
    type rules: one sentence, the disagreeing numbers in it.
    """
    if not condition:
        raise RuleError(what, hint, kind)


_PLACES = 4  # where operands were made
_ARGUMENTS, _CLAUSES, _PARTS = r"(?<=,) ", r"(?<=[:;]) ", r" (?=\[)"  # where long lines are broken
_PATH = re.compile(r"/[^\s/]+/[^\s/]")
TOLD = "_staticgraph_told"  # an attribute of errors whose message names the user's line
_HINT = "\n  hint: "
_WORDS: Any = {"break_long_words": False, "break_on_hyphens": False}


def _wrapped(text: str) -> Iterator[str]:
    """The lines of `text`, none too long. The call that a line begins with keeps a line of its own."""
    what, blank, lines_of_program = text.partition("\n\n")  # of an error that this one is due to
    for line in what.split("\n"):
        call, mark, rest = line.partition("): ")
        if mark and len(line) > _WIDTH:
            yield from _lines(f"{call}):", _ARGUMENTS)
            line = rest
        yield from _lines(line, _PARTS if line.startswith("assertion failed") else _CLAUSES)
    if blank:
        yield f"\n{lines_of_program}"


def _lines(text: str, between: str) -> Iterator[str]:
    """A long line as several, broken `between` its parts where that does. One with a path stays whole."""
    if len(text) <= _WIDTH or _PATH.search(text):
        yield text
        return
    parts = re.split(between, text)
    lines = parts[:1]
    for part in parts[1:]:
        if len(lines[-1]) + 1 + len(part) <= _WIDTH:
            lines[-1] += f" {part}"
        else:
            lines.append(part)
    indent = " " * (len(text) - len(text.lstrip(" ")))
    for line in lines:
        yield from textwrap.wrap(line, _WIDTH, subsequent_indent=indent, **_WORDS)


def _list(names: list[str]) -> str:
    """`a`, `a and b`, or `a, b and 7 more`."""
    if len(names) > 3:
        names = [*names[:2], f"{len(names) - 2} more"]
    return " and ".join(part for part in (", ".join(names[:-1]), names[-1]) if part)


def layout(
    headline: str,
    where: Provenance | None = None,
    made: Iterable[tuple[str, Provenance | None]] = (),
    hint: str | None = None,
) -> str:
    """One message: headline, the user's line, where each operand was made, a hint. Its first line is wrapped;
    a table may follow.
    """
    lines = [*_wrapped(headline)]
    if where is not None:
        lines += ["", str(where)]
    makers: dict[Provenance, list[str]] = {}
    for name, place in made:
        if place is not None and place != where:
            makers.setdefault(place, []).append(name)
    for place, names in islice(makers.items(), _PLACES):
        lines += [f"  {_list(names)} {'was' if len(names) == 1 else 'were'} made here:", str(place)]
    if len(makers) > _PLACES:
        lines.append(f"  and so on, in {counted(len(makers) - _PLACES, 'more place')}")
    if hint and _PATH.search(hint):
        lines.append(f"  hint: {hint}")
    elif hint:
        first, *table = hint.split("\n")
        lines += textwrap.wrap(first, _WIDTH, initial_indent="  hint: ", subsequent_indent=" " * 8, **_WORDS)
        lines += [" " * 8 + line for line in table]
    return "\n".join(lines)


def shown(value: Any, width: int = _SHOWN_WIDTH) -> str:
    """`value` as a message shows it: large arrays by their type, and nothing long."""
    try:
        shape = getattr(value, "shape", ())
        if isinstance(shape, tuple) and math.prod(shape) > _SHOWN:
            return f"an array of {value.dtype}{list(shape)}"
        if isinstance(value, (list, tuple)) and len(value) > _SHOWN:
            text = f"{str(list(value[:_SHOWN]))[:-1]}, ...]"
        else:
            text = " ".join(repr(value).split())
    except Exception:  # lists nested a thousand times have no text, nor have some objects of a user's
        text = f"a {type(value).__name__}"
    return text if len(text) <= width else f"{text[:width]}..."


def counted(count: int, noun: str) -> str:
    """`1 output`, `2 outputs`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def misuse(
    kind: type[_Error],
    what: str,
    hint: str | None = None,
    made: Iterable[tuple[str, Provenance | None]] = (),
    where: Provenance | None = None,
) -> _Error:
    """The error of class `kind` about a call of the user's, which names the line of the call.

    Args:
        kind: The class.
        what: What is wrong.
        hint: What to do about it.
        made: Operands by name, and where each was made.
        where: The line, if it is another than that of the call.
    """
    error = kind(layout(what, where or user_frame(), made, hint))
    vars(error)[TOLD] = True
    return error


def told(error: BaseException) -> bool:
    """Return True if the message of `error` tells the user's line itself."""
    return isinstance(error, OpError | GraphError) or TOLD in vars(error)


def headline(error: BaseException) -> str:
    """Return the message of `error` without lines of the program and hints."""
    text = str(error.args[0] if error.args else error)
    return re.sub(r"\n(?! )", " ", text.partition("\n\n")[0].partition(_HINT)[0])


def hint(error: BaseException) -> str | None:
    """The hint in the message of `error`."""
    text = str(error.args[0] if error.args else error)
    return re.sub(r"\n +", " ", text.rpartition(_HINT)[2]) if _HINT in text else None


def __dir__() -> list[str]:
    """The classes: what a program catches."""
    return sorted(name for name in globals() if name.endswith(("Error", "Warning")))
