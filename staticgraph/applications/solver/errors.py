"""The errors of a description and of the data that it names: one message with the line at fault."""

from __future__ import annotations

from collections.abc import Iterable

from staticgraph.applications.solver.places import Place
from staticgraph.compiler.graph.errors import InvalidArgumentError
from staticgraph.compiler.support.nearest import nearest_name


class DescriptionError(InvalidArgumentError):
    """A description cannot be followed as it is written."""


class DataError(InvalidArgumentError):
    """The data are not what the description says."""


class DivergedError(InvalidArgumentError):
    """The loss is NaN."""


def told(text: str, place: Place | None = None, hint: str | None = None) -> str:
    """One message: the place, what is wrong there, the line, a hint."""
    lines = [f"{place.short}: {text}" if place is not None else text]
    if place is not None and str(place):
        lines.append(str(place))
    if hint:
        lines.append(f"  hint: {hint}")
    return "\n".join(lines)


def meant(name: str, known: Iterable[str]) -> str:
    """Return the known name that was probably meant; all of them if none is like it."""
    listed = list(known)
    close = nearest_name(name, listed)
    return f"did you mean {close!r}?" if close else f"it takes {', '.join(listed) or 'no keys'}"
