"""Reasons of a compile: how a signature differs from those that have programs. The user is warned of many."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Sequence
from enum import Enum
from typing import Any

import numpy as np

from staticgraph.compiler.capture.open_shapes import OpenShapes
from staticgraph.compiler.graph.errors import RecompileWarning
from staticgraph.compiler.graph.provenance import user_frame
from staticgraph.compiler.graph.shapes import TensorType
from staticgraph.compiler.graph.sizes import Size, evaluate, linear, symbols
from staticgraph.compiler.graph.tensor import Operation, Tensor
from staticgraph.compiler.support.dataclass import dataclass

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
class Reason:
    """Why something is compiled: of what kind it is, and the sentence.

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
    shapes: Sequence[Sequence[int]],
    programs: Sequence[OpenShapes],
    asked: Iterable[str],
    feeds: Sequence[Tensor],
) -> Reason:
    """Return `found` with the guard that keeps a run from programs with open sizes.

    Args:
        found: How the run differs from others.
        shapes: The shapes of its feeds.
        programs: What the programs with open sizes take, oldest first.
        asked: The questions for which sizes are known in programs.
        feeds: The fed tensors.
    """
    if found.cause is not Cause.SHAPE:
        return found
    failed = [[*_failed(each, shapes, feeds)] for each in reversed(programs)]
    nearest = min((each for each in failed if each), key=len, default=[])
    questions = list(dict.fromkeys(asked))
    since = f" (the step depends on {questions[0]})" if questions else ""
    if nearest:
        return Reason(Cause.GUARD, f"{found.text}: {nearest[0]} fails{since}", nearest[0])
    return Reason(Cause.GUARD, found.text + since, questions[0]) if questions else found


def symbols_text(shapes: OpenShapes, feeds: Sequence[Tensor]) -> str:
    """Return where each symbol is found, such as `n0: axis 0 of x`; `4*n0: ...` if it is a part of a size."""
    places: dict[str, str] = {}
    for feed, shape in zip(feeds, shapes.shapes, strict=True):
        for axis, size in enumerate(shape):
            if (form := linear(size)) is not None:
                name, factor, more = form
                said = name if factor == 1 else repr(size - more)
                places.setdefault(name, f"{said}: axis {axis} of {feed.op.name}")
    return ", ".join(places.values())


def _failed(program: OpenShapes, shapes: Sequence[Sequence[int]], feeds: Sequence[Tensor]) -> Iterator[str]:
    """The guards of a program that fail in a run with feeds of these shapes, as text."""
    values: dict[str, int] = {}
    first: dict[str, str] = {}
    follow: list[tuple[str, Size, int]] = []
    for feed, mine, given in zip(feeds, program.shapes, shapes, strict=True):
        if len(mine) != len(given):
            yield f"the guard that {feed.op.name} has {len(mine)} axes"
            return
        for axis, (size, n) in enumerate(zip(mine, given, strict=True)):
            place = f"axis {axis} of {feed.op.name}"
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
            places = ", ".join(f"{name}: {first[name]}" for name in sorted(symbols(size)))
            yield f"the guard that {place} is {size!r} ({places})"
    for guard in program.guards:
        if symbols(guard.size) <= values.keys() and not guard.holds(values):
            places = ", ".join(f"{n}: {first[n]}" for n in sorted(symbols(guard.size)))
            yield f"the guard {guard} ({places})"


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

    Args:
        what: What the step fetches.
    """

    def __init__(self, what: str) -> None:
        self._what = what
        self._count = 1  # the first one needs no guard to fail

    def __call__(self, reason: Reason) -> None:
        """Count a compile for this reason."""
        if reason.cause is not Cause.GUARD:
            return
        self._count += 1
        if self._count != PATIENCE + 1:
            return
        where = user_frame()
        if where is None:
            return
        text = (
            f"{self._what} is compiled for the {self._count}th time: {reason.text}\n"
            "  hint: pad what is fed to a few sizes, or declare the size if it is always the same;\n"
            "  `print(session.compiles)` shows all compiles"
        )
        warnings.warn_explicit(text, RecompileWarning, where.file, where.line)
