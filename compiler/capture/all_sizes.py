"""Programs that are made before anything is run, for all values of the sizes that a graph leaves open.

A session searches for the program of the run at hand (`open_shapes.py`). Here there is no run, so that
sizes are tried: a usual one first, then those for which the guards of the programs so far do not hold. What
is found for some sizes is what a session finds in a run with them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Generic, TypeVar

from staticgraph.compiler.capture.open_shapes import OpenShapes, Specializer
from staticgraph.compiler.capture.step import NeedsFeeds
from staticgraph.compiler.graph.errors import GraphError, OpError
from staticgraph.compiler.graph.open_sizes import linear, symbols
from staticgraph.compiler.graph.size_contexts import Undecided
from staticgraph.compiler.graph.sizes import MOST, NOMINAL, evaluate
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.compiler.support.dataclass import dataclass

_Made = TypeVar("_Made")
_USUAL = (NOMINAL, 840, 1)  # 840 has all divisors to 8: for batches of sequences that are fed as one axis
_MOST_TRIES = 24


@dataclass(frozen=True, slots=True)
class OpenMade(Generic[_Made]):
    """Result of a compile, and the open shapes that it is for."""

    shapes: OpenShapes
    made: _Made


@dataclass(frozen=True, slots=True)
class AllSizes(Generic[_Made]):
    """Programs for all values of open sizes.

    Attributes:
        start: The shapes of the feeds, and the contents of those that are sizes, with a symbol for each open
            size.
        programs: The first one leaves open what `start` does; others may be for one value of a size, or for
            one shape of each feed.
    """

    start: OpenShapes
    programs: list[OpenMade[_Made]]


@dataclass(frozen=True, slots=True)
class SizesAreAsked:
    """Answer that no program leaves all sizes open.

    Attributes:
        start: The shapes of the feeds with all sizes open.
        cause: What was asked of a size, or the error of the graph for the sizes that were tried; None if
            nothing was.
    """

    start: OpenShapes
    cause: Exception | None


def for_all_sizes(
    start: OpenShapes,
    feeds: Sequence[Tensor],
    make: Callable[[OpenShapes], _Made | NeedsFeeds | None],
    most: int,
) -> AllSizes[_Made] | SizesAreAsked | NeedsFeeds:
    """Return programs for all values of the open sizes, or for as many as `most` programs can have.

    If a shape depends on the value of a feed, the search begins again with the contents of this feed as
    sizes.

    Args:
        start: The shapes of the feeds, and the contents of those that are sizes, with a symbol for each open
            size.
        feeds: The feeds, in the order of `start`.
        make: Compiles for open shapes. The values of feeds, if it needs some; None if it cannot compile.
        most: The greatest number of programs.

    Returns:
        The programs, or the feeds whose values must be known and cannot be sizes.
    """
    needed: list[Tensor] = []

    def made_at(shapes: OpenShapes) -> _Made | None:
        if needed:
            return None
        made = make(shapes)
        if isinstance(made, NeedsFeeds):
            needed.extend(made.feeds)
            return None
        return made

    found = _programs(start, made_at, most)
    if not needed:
        return found
    sized = start.taking(feeds, needed)
    return NeedsFeeds(tuple(needed)) if sized is None else for_all_sizes(sized, feeds, make, most)


def _programs(
    start: OpenShapes, make: Callable[[OpenShapes], _Made | None], most: int
) -> AllSizes[_Made] | SizesAreAsked:
    if not start.count:
        only = make(start)
        return AllSizes(start, [] if only is None else [OpenMade(start, only)])
    specializer = Specializer()
    names = sorted(frozenset[str]().union(*(symbols(n) for row in start.rows for n in row)))

    def search(values: Mapping[str, int]) -> OpenMade[_Made] | None:
        rows = _at(start, values)
        found = specializer.search(start, rows, make)
        if found is not None:
            return OpenMade(*found)
        return known(rows) if max(values.values()) <= 1 else None

    def known(rows: Sequence[Sequence[int]]) -> OpenMade[_Made] | None:
        """The program for these sizes alone: what is left for one row, and for none."""
        shapes, contents = rows[: len(start.shapes)], rows[len(start.shapes) :]
        at = OpenShapes(tuple(map(tuple, shapes)), (), start.sized, tuple(map(tuple, contents)))
        try:
            made = make(at)
        except (GraphError, OpError):  # the graph does not take these sizes
            return None
        return None if made is None else OpenMade(at, made)

    first = next((f for n in _USUAL if (f := search(dict.fromkeys(names, n))) and _opens(f, start)), None)
    if first is None:
        return SizesAreAsked(start, next(iter(_causes(specializer)), None))
    made = [first]
    tried = 0
    examples = [*_examples(names, (1, 0)), {name: NOMINAL + n for n, name in enumerate(names)}]
    examples += _examples(names, _limits(first.shapes))
    while examples and len(made) < most and tried < _MOST_TRIES:
        values = examples.pop(0)
        if any(each.shapes.values(_at(start, values)) is not None for each in made):
            continue
        tried += 1
        if (found := search(values)) is not None:
            made.append(found)
            examples += _examples(names, _limits(found.shapes))
    return AllSizes(start, made)


def _opens(found: OpenMade[_Made], start: OpenShapes) -> bool:
    return found.shapes.count == start.count


def _causes(specializer: Specializer) -> Iterator[Exception]:
    """Questions about sizes first, then errors."""
    causes = [*specializer.closing.values()]
    yield from (cause for cause in causes if isinstance(cause, Undecided))
    yield from causes


def _at(shapes: OpenShapes, values: Mapping[str, int]) -> Sequence[Sequence[int]]:
    return [[evaluate(n, values) for n in row] for row in shapes.rows]


def _examples(names: Sequence[str], sizes: Sequence[int]) -> list[dict[str, int]]:
    """Values of the symbols in which all, or one of them, are of some size."""
    usual = dict.fromkeys(names, NOMINAL)
    found = [dict.fromkeys(names, n) for n in sizes]
    return found + ([{**usual, name: n} for n in sizes for name in names] if len(names) > 1 else [])


def _limits(shapes: OpenShapes) -> list[int]:
    """Sizes at which guards of one symbol change their answers."""
    limits = [-f[2] // f[1] for guard in shapes.guards if (f := linear(guard.size))]
    limits += [f[2] for row in shapes.rows for n in row if (f := linear(n))]  # that of `n0 + 3` is 3
    near = dict.fromkeys(limit + n for limit in limits for n in (-1, 0, 1))
    return [n for n in near if 0 <= n <= MOST]
