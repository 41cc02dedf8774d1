"""Elements computed by functions of the user's: map, filter, flat_map, interleave, group_by_window, scan."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import Any

from staticgraph.compiler.graph.errors import OpError
from staticgraph.compiler.support.dataclass import dataclass
from staticgraph.tf1.data.function import Function
from staticgraph.tf1.data.pipeline import Failed, Node, Run, attempt, attempts
from staticgraph.tf1.data.structure import Element, leaves


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class _Applied(Node):
    """A function of the user's, applied to the elements of a source."""

    source: Node
    function: Function

    def judged(self, run: Run) -> Iterator[tuple[Element, bool]]:
        """Yield each element, and if the function is true for it; also for one that fails."""
        call = self.function.bind(run)
        for element in self.source.iterate(run):
            found = element if isinstance(element, Failed) else attempt(call, element)
            yield (found, True) if isinstance(found, Failed) else (element, bool(found[0]))


class Mapped(_Applied):
    """The function's result for each element. An error is that element's alone: the next can be asked for."""

    __slots__ = ()

    def iterate(self, run: Run) -> Iterator[Element]:
        return attempts(self.function.bind(run), self.source.iterate(run))


class Filtered(_Applied):
    """The elements for which the function is true."""

    __slots__ = ()

    def iterate(self, run: Run) -> Iterator[Element]:
        for element, kept in self.judged(run):
            if kept:
                yield element


class TakenWhile(_Applied):
    """The elements before the first for which the function is false."""

    __slots__ = ()

    def iterate(self, run: Run) -> Iterator[Element]:
        for element, kept in self.judged(run):
            if not kept:
                return
            yield element


class FlatMapped(_Applied):
    """The elements of the datasets that the function returns, one dataset after the other."""

    __slots__ = ()

    def iterate(self, run: Run) -> Iterator[Element]:
        for elements in attempts(self.function.bind_dataset(run), self.source.iterate(run)):
            if isinstance(elements, Failed):
                yield elements
            else:
                yield from elements


def _block(elements: Iterator[Element], size: int) -> Generator[Element, None, bool]:
    """Yield so many elements; those that failed are not counted. Return False if there were fewer."""
    taken = 0
    while taken < size:
        element = next(elements, None)
        if element is None:
            return False
        taken += not isinstance(element, Failed)
        yield element
    return True


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Interleaved(_Applied):
    """The elements of the datasets that the function returns: `block` of each in turn, of `cycle` of them."""

    cycle: Any
    block: Any

    def iterate(self, run: Run) -> Iterator[Element]:
        cycle, block = run.number(self.cycle), run.number(self.block)
        if min(cycle, block) <= 0:
            raise self.error(f"cycle_length {cycle} and block_length {block} must be above zero")
        datasets = attempts(self.function.bind_dataset(run), self.source.iterate(run))
        places: list[Iterator[Element] | None] = [None] * cycle
        ended = False
        while not ended or any(place is not None for place in places):
            for at, place in enumerate(places):
                if place is None and not ended:
                    while isinstance(opened := next(datasets, None), Failed):
                        yield opened
                    place, ended = opened, opened is None
                if place is not None:
                    has_more = yield from _block(place, block)
                    places[at] = place if has_more else None


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Scanned(_Applied):
    """`function(state, element)` gives the next state and an element of the result."""

    initial: Node

    def iterate(self, run: Run) -> Iterator[Element]:
        call = self.function.bind(run)
        state = next(self.initial.iterate(run))
        for element in self.source.iterate(run):
            made = element if isinstance(element, Failed) else attempt(call, (*state, *element))
            if isinstance(made, Failed):
                yield made
                continue
            state, made = made[: len(state)], made[len(state) :]
            yield made


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Reduced(_Applied):
    """One element: the last state."""

    initial: Node

    def iterate(self, run: Run) -> Iterator[Element]:
        call = self.function.bind(run)
        state = next(self.initial.iterate(run))
        for element in self.source.iterate(run):
            if isinstance(element, Failed):
                raise element.error
            state = call((*state, *element))
        yield state


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Grouped(Node):
    """The elements of `reduce(key, window)`, a window being so many elements with the same key."""

    source: Node
    key: Function
    reduce: Function
    size: Function

    def iterate(self, run: Run) -> Iterator[Element]:
        key_of, size_of, reduce = self.key.bind(run), self.size.bind(run), self.reduce.bind_dataset(run)
        windows: dict[int, list[Element]] = {}
        sizes: dict[int, int] = {}

        def complete(element: Element) -> Iterator[Element]:
            (key,) = key_of(element)
            number = int(key)
            window = windows.setdefault(number, [])
            if not window:
                sizes[number] = self._size(number, size_of((key,)))
            window.append(element)
            return reduce((key, windows.pop(number).__iter__)) if len(window) == sizes[number] else iter(())

        for elements in attempts(complete, self.source.iterate(run)):
            if isinstance(elements, Failed):
                yield elements
            else:
                yield from elements
        for number, window in sorted(windows.items()):
            key = leaves(self.key.structure)[0].dtype.round(number)
            yield from reduce((key, window.__iter__))

    def _size(self, number: int, found: Element) -> int:
        size = int(found[0])
        if size <= 0:
            raise self.error(f"the window of key {number} has size {size}, it must be above zero")
        return size


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Unfailing(Node):
    """The elements that can be computed without an error."""

    source: Node

    def iterate(self, run: Run) -> Iterator[Element]:
        elements = self.source.iterate(run)
        while True:
            try:
                element = next(elements, None)
            except OpError:
                continue
            if element is None:
                return
            if not isinstance(element, Failed):
                yield element
