"""Elements computed by functions of the user's: map, filter, flat_map, interleave, group_by_window, scan."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

from staticgraph.compiler.graph.errors import OpError
from staticgraph.compiler.support.dataclass import dataclass
from staticgraph.tf1.data.function import Function
from staticgraph.tf1.data.pipeline import Node, Run
from staticgraph.tf1.data.structure import Element, leaves


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class _Applied(Node):
    """A function of the user's, applied to the elements of a source."""

    source: Node
    function: Function


class Mapped(_Applied):
    """The function's result for each element. An error is that element's alone: the next can be asked for."""

    __slots__ = ()

    def iterate(self, run: Run) -> Iterator[Element]:
        return map(self.function.bind(run), self.source.iterate(run))


class Filtered(_Applied):
    """The elements for which the function is true."""

    __slots__ = ()

    def iterate(self, run: Run) -> Iterator[Element]:
        call = self.function.bind(run)
        return filter(lambda element: bool(call(element)[0]), self.source.iterate(run))


class TakenWhile(_Applied):
    """The elements before the first for which the function is false."""

    __slots__ = ()

    def iterate(self, run: Run) -> Iterator[Element]:
        call = self.function.bind(run)
        return itertools.takewhile(lambda element: bool(call(element)[0]), self.source.iterate(run))


class FlatMapped(_Applied):
    """The elements of the datasets that the function returns, one dataset after the other."""

    __slots__ = ()

    def iterate(self, run: Run) -> Iterator[Element]:
        call = self.function.bind_dataset(run)
        return itertools.chain.from_iterable(map(call, self.source.iterate(run)))


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Interleaved(_Applied):
    """The elements of the datasets that the function returns: `block` of each in turn, of `cycle` of them."""

    cycle: Any
    block: Any

    def iterate(self, run: Run) -> Iterator[Element]:
        cycle, block = run.number(self.cycle), run.number(self.block)
        if min(cycle, block) <= 0:
            raise self.error(f"cycle_length {cycle} and block_length {block} must be above zero")
        datasets = map(self.function.bind_dataset(run), self.source.iterate(run))
        places: list[Iterator[Element] | None] = [None] * cycle
        ended = False
        while not ended or any(place is not None for place in places):
            for at in range(cycle):
                taken = 0
                while taken < block:
                    place = places[at]
                    if place is None:
                        if ended or taken:
                            break
                        place = places[at] = next(datasets, None)
                        if place is None:
                            ended = True
                            break
                    element = next(place, None)
                    if element is None:
                        places[at] = None
                        break
                    taken += 1
                    yield element


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Scanned(_Applied):
    """`function(state, element)` gives the next state and an element of the result."""

    initial: Node

    def iterate(self, run: Run) -> Iterator[Element]:
        call = self.function.bind(run)
        state = next(self.initial.iterate(run))
        for element in self.source.iterate(run):
            made = call((*state, *element))
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
        for element in self.source.iterate(run):
            (key,) = key_of(element)
            number = int(key)
            window = windows.setdefault(number, [])
            if not window:
                sizes[number] = int(size_of((key,))[0])
                if sizes[number] <= 0:
                    raise self.error(
                        f"the window of key {number} has size {sizes[number]}, it must be above zero"
                    )
            window.append(element)
            if len(window) == sizes[number]:
                del windows[number]
                yield from reduce((key, window.__iter__))
        for number, window in sorted(windows.items()):
            key = leaves(self.key.structure)[0].dtype.round(number)
            yield from reduce((key, window.__iter__))


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
            yield element
