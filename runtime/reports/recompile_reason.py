"""Reasons of a compile: how a signature differs from those that have programs. The user is warned of many."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import Enum
from typing import TYPE_CHECKING, Any

import numpy as np

from staticgraph.compiler.graph.errors import GraphError, OpError, RecompileWarning
from staticgraph.compiler.graph.open_sizes import linear, replaced, symbols
from staticgraph.compiler.graph.provenance import user_frame
from staticgraph.compiler.graph.shapes import TensorType
from staticgraph.compiler.graph.sizes import AnySize, Size, evaluate, symbol
from staticgraph.compiler.graph.tensor import Operation, Tensor
from staticgraph.compiler.support.dataclass import dataclass, replace

if TYPE_CHECKING:
    from staticgraph.compiler.capture.guards import Guard
    from staticgraph.compiler.capture.open_shapes import OpenShapes

_SHOWN = 8  # elements of a value
PATIENCE = 4  # programs of a step that nobody is warned of


class Cause(Enum):
    """The kinds of reasons to compile."""

    FIRST = "first run of these fetches with these feeds"
    SHAPE = "new shape of a feed"
    GUARD = "sizes that a guard keeps from the programs so far"
    VALUE = "new value of a feed that shapes depend on"
    VARIABLE = "new type of a variable's value"


@dataclass(frozen=True, slots=True)
class CallSignature:
    """Key of a program: the shapes of the feeds, the values of some feeds, and the types of some variables.

    `statics`: the values by the number of the feed. `types`: the type of each variable's value; None if it
    has no value.
    """

    shapes: tuple[tuple[int, ...], ...]
    statics: tuple[tuple[int, bytes], ...] = ()
    types: tuple[TensorType | None, ...] = ()


@dataclass(frozen=True, slots=True)
class Place:
    """Subject of a row of sizes: the axes of a feed, or the elements of one whose value is sizes."""

    feed: str
    is_value: bool

    def at(self, number: int, count: int) -> str:
        """Return words for one of `count` numbers in the row."""
        if not self.is_value:
            return f"axis {number} of {self.feed}"
        return f"the value of {self.feed}" if count == 1 else f"element {number} of {self.feed}"


@dataclass(frozen=True, slots=True)
class Reason:
    """Reason of a compile: its kind, and the sentence.

    `guard`: the guard that failed, as text; empty if none did.
    """

    cause: Cause
    text: str
    guard: str = ""


def reason(
    signature: CallSignature,
    known: Sequence[CallSignature],
    feeds: Sequence[Tensor],
    variables: Sequence[Operation],
) -> Reason:
    """Explain how `signature` differs from the nearest of `known`. These are ordered oldest first.

    The newest of several that are equally near counts.
    """
    if not known:
        return Reason(Cause.FIRST, Cause.FIRST.value)
    found = min(([*_differences(signature, other, feeds, variables)] for other in reversed(known)), key=len)
    return Reason(found[0][0], "; ".join(text for _, text in found))


def guard_reason(
    found: Reason,
    rows: Sequence[Sequence[int]],
    programs: Sequence[OpenShapes],
    asked: Iterable[str],
    feeds: Sequence[Tensor],
) -> Reason:
    """Return `found` with the guard that keeps a run from programs with open sizes.

    Args:
        found: How the run differs from others.
        rows: The shapes of its feeds, then the values that are sizes.
        programs: What the programs with open sizes take, oldest first.
        asked: The questions for which sizes are known in programs.
        feeds: The fed tensors.
    """
    if found.cause not in (Cause.SHAPE, Cause.VALUE):
        return found
    failed = [[*_failed(each, rows, feeds)] for each in reversed(programs)]
    nearest = min((each for each in failed if each), key=len, default=[])
    questions = list(dict.fromkeys(asked))
    since = f" (the step depends on {questions[0]})" if questions else ""
    if nearest:
        return Reason(Cause.GUARD, f"{found.text}: {nearest[0]} fails{since}", nearest[0])
    return Reason(Cause.GUARD, found.text + since, questions[0]) if questions else found


def places(shapes: OpenShapes, feeds: Sequence[Tensor]) -> list[Place]:
    """Return what each row of `shapes` tells of."""
    return [
        *(Place(feed.op.name, False) for feed in feeds),
        *(Place(feeds[number].op.name, True) for number in shapes.sized),
    ]


def in_words(question: str, shapes: OpenShapes, feeds: Sequence[Tensor]) -> str:
    """Return a question with the places of symbols, which are alone in `shapes`, instead of their names."""
    called = {
        repr(size): place.at(number, len(row))
        for place, row in zip(places(shapes, feeds), shapes.rows, strict=True)
        for number, size in enumerate(row)
    }
    text = re.sub(r"\bn\d+\b", lambda found: called.get(found[0], found[0]), question)
    return text.replace("the value of the value", "the value")


def symbols_text(shapes: OpenShapes, feeds: Sequence[Tensor]) -> str:
    """Return where each symbol is found, such as `n0: axis 0 of x`; `4*n0: ...` if it is a part of a size."""
    found: dict[str, str] = {}
    for place, row in zip(places(shapes, feeds), shapes.rows, strict=True):
        for number, size in enumerate(row):
            if (form := linear(size)) is not None:
                name, factor, _ = form
                said = name if factor == 1 else repr(size)
                found.setdefault(name, f"{said}: {place.at(number, len(row))}")
    return ", ".join(found.values())


def guards_text(shapes: OpenShapes) -> tuple[str, ...]:
    """Return the guards, with the names that `symbols_text` gives to whole sizes."""
    by = _whole_sizes(shapes)
    return tuple(_guard_text(guard, by) for guard in shapes.guards)


def _whole_sizes(shapes: OpenShapes) -> dict[str, AnySize]:
    """Return what takes the place of a symbol so that its name stands for a whole size: `n0 - 3` for n0 if
    only sizes `n0 + 3` are told.
    """
    found: dict[str, AnySize] = {}
    for form in (linear(size) for row in shapes.rows for size in row if isinstance(size, Size)):
        if form is not None:
            name, factor, more = form
            found.setdefault(name, symbol(name) - more if factor == 1 else symbol(name))
    return found


def _guard_text(guard: Guard, by: Mapping[str, AnySize]) -> str:
    size = replaced(guard.size, by)
    return str(replace(guard, size=size) if isinstance(size, Size) else guard)


def _failed(program: OpenShapes, rows: Sequence[Sequence[int]], feeds: Sequence[Tensor]) -> Iterator[str]:
    """The guards of a program that fail in a run with such rows, as text."""
    values: dict[str, int] = {}
    first: dict[str, str] = {}
    follow: list[tuple[str, Size, int]] = []
    for told, mine, given in zip(places(program, feeds), program.rows, rows, strict=True):
        if len(mine) != len(given):
            kind = "elements" if told.is_value else "axes"
            yield f"the guard that {told.feed} has {len(mine)} {kind}"
            return
        for number, (size, n) in enumerate(zip(mine, given, strict=True)):
            place = told.at(number, len(mine))
            found = linear(size)
            if found is None:
                if isinstance(size, Size):
                    follow.append((place, size, n))
                elif size != n:
                    yield f"the guard that {place} is {size}"
                continue
            name, factor, more = found
            value, rest = divmod(n - more, factor)
            if n < more:
                yield f"the guard that {place} is at least {more}"
            elif rest:
                yield f"the guard that {place} is {size!r} for some {name}"
            elif values.setdefault(name, value) != value:
                yield f"the guard that {place} goes with {first[name]}"
            first.setdefault(name, place)
    for place, size, n in follow:
        if symbols(size) <= values.keys() and evaluate(size, values) != n:
            names = ", ".join(f"{name}: {first[name]}" for name in sorted(symbols(size)))
            yield f"the guard that {place} is {size!r} ({names})"
    for guard in program.guards:
        if symbols(guard.size) <= values.keys() and not guard.holds(values):
            names = ", ".join(f"{n}: {first[n]}" for n in sorted(symbols(guard.size)))
            yield f"the guard {_guard_text(guard, _whole_sizes(program))} ({names})"


def _differences(
    new: CallSignature, old: CallSignature, feeds: Sequence[Tensor], variables: Sequence[Operation]
) -> Iterator[tuple[Cause, str]]:
    for feed, shape, before in zip(feeds, new.shapes, old.shapes, strict=True):
        if shape != before:
            types = (TensorType(feed.dtype, s) for s in (shape, before))
            yield Cause.SHAPE, "{} is {}, was {}".format(feed.op.name, *types)
    values = dict(old.statics)
    for number, value in new.statics:
        if number not in values:
            yield Cause.VALUE, f"shapes came to depend on the value of {feeds[number].op.name}"
        elif value != values[number] and new.shapes[number] == old.shapes[number]:
            texts = (_value_text(feeds[number], data, new.shapes[number]) for data in (value, values[number]))
            yield Cause.VALUE, "{} is {}, was {}".format(feeds[number].op.name, *texts)
    for number, (op, type) in enumerate(zip(variables, new.types, strict=True)):
        now = _type_text(type)
        if number >= len(old.types):
            yield Cause.VARIABLE, f"the variable {op.name} is {now}, which the graph does not tell"
        elif type != old.types[number]:
            yield Cause.VARIABLE, f"the variable {op.name} is {now}, was {_type_text(old.types[number])}"


def _type_text(type: TensorType | None) -> str:
    return "without a value" if type is None else str(type)


def _value_text(feed: Tensor, data: bytes, shape: Sequence[int]) -> str:
    value: Any = np.frombuffer(data, feed.dtype.numpy).reshape(shape)
    return str(value.tolist()) if value.size <= _SHOWN else f"another array of {list(shape)}"


class RecompileWarner:
    """Counts the programs of a step that failed guards made necessary, and warns once.

    It also warns once if a program for all sizes cannot be compiled by a fault of the compiler.

    Args:
        what: What the step fetches.
    """

    def __init__(self, what: str) -> None:
        self._what = what
        self._count = 1  # the first one needs no guard to fail
        self._failed = False

    def __call__(self, reason: Reason) -> None:
        """Count a compile for this reason."""
        if reason.cause is not Cause.GUARD:
            return
        self._count += 1
        if self._count == PATIENCE + 1:
            self._warn(
                f"{self._what} is compiled for the {self._count}th time: {reason.text}\n"
                "  hint: pad what is fed to a few sizes, or declare the size if it is always the same;\n"
                "  `print(session.compiles)` shows all compiles"
            )

    def failed(self, error: Exception) -> None:
        """Tell an error that a program for all sizes met, and that for the sizes of a run did not.

        What type rules refuse for some sizes, or what memory does not allow, is no fault.
        """
        if not self._failed and not isinstance(error, (GraphError, OpError)):
            self._failed = True
            text = str(error).partition("\n")[0]
            self._warn(
                f"{self._what} is compiled for each of its sizes: to compile it for all of them failed with "
                f"{type(error).__name__}: {text}\n"
                "  hint: this is a fault of the compiler; please report it"
            )

    def _warn(self, text: str) -> None:
        where = user_frame()
        if where is not None:
            warnings.warn_explicit(text, RecompileWarning, where.file, where.line)
