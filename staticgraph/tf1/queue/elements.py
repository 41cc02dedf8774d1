"""Stores of the elements of a queue, and batches of several elements.

A store decides the order in which elements leave.
"""

from __future__ import annotations

import heapq
import itertools
from collections import deque
from collections.abc import Iterable, Sequence
from typing import Any, Protocol

import numpy as np

from staticgraph.compiler.graph.errors import InvalidArgumentError
from staticgraph.random_numbers.integers import RandomNumbers

Element = tuple[np.ndarray, ...]


class Elements(Protocol):
    """The elements in a queue."""

    def __len__(self) -> int: ...

    def ready(self, closed: bool) -> int:
        """Return the number of elements that may leave. More may leave if the queue is `closed`."""
        ...

    def add(self, element: Element) -> None: ...

    def take(self) -> Element: ...

    def restore(self, elements: Sequence[Element]) -> None:
        """Put back what was taken last, as if it had not been."""
        ...


class InOrder:
    """The first that came leaves first."""

    def __init__(self) -> None:
        self._items: deque[Element] = deque()

    def __len__(self) -> int:
        return len(self._items)

    def ready(self, closed: bool) -> int:
        return len(self._items)

    def add(self, element: Element) -> None:
        self._items.append(element)

    def take(self) -> Element:
        return self._items.popleft()

    def restore(self, elements: Sequence[Element]) -> None:
        self._items.extendleft(reversed(elements))


class AtRandom:
    """Any of those that are there leaves, as long as `least` stay; all, when the queue is closed."""

    def __init__(self, least: int, seeds: tuple[int, int]) -> None:
        self._least = least
        self._items: list[Element] = []
        self._numbers = RandomNumbers(*seeds)

    def __len__(self) -> int:
        return len(self._items)

    def ready(self, closed: bool) -> int:
        return len(self._items) if closed else max(0, len(self._items) - self._least)

    def add(self, element: Element) -> None:
        self._items.append(element)

    def take(self) -> Element:
        index = self._numbers.next() % len(self._items)
        chosen, self._items[index] = self._items[index], self._items[-1]
        self._items.pop()
        return chosen

    def restore(self, elements: Sequence[Element]) -> None:
        self._items += elements


class ByPriority:
    """The element with the smallest first component leaves; of equal ones, the first that came."""

    def __init__(self) -> None:
        self._items: list[tuple[int, int, Element]] = []
        self._arrivals = itertools.count()

    def __len__(self) -> int:
        return len(self._items)

    def ready(self, closed: bool) -> int:
        return len(self._items)

    def add(self, element: Element) -> None:
        heapq.heappush(self._items, (int(element[0]), next(self._arrivals), element))

    def take(self) -> Element:
        return heapq.heappop(self._items)[2]

    def restore(self, elements: Sequence[Element]) -> None:
        for element in elements:
            self.add(element)


def stacked(column: Iterable[np.ndarray]) -> np.ndarray:
    """The components of several elements as one array."""
    return np.stack(list(column))


def padded(column: Iterable[np.ndarray]) -> np.ndarray:
    """The same of components of different sizes: padded at their ends, with zeros or empty strings."""
    arrays = list(column)
    if len({array.ndim for array in arrays}) > 1:
        raise InvalidArgumentError("the elements have different numbers of axes")
    sizes = np.max([array.shape for array in arrays], axis=0, initial=0).astype(int)
    dtype = arrays[0].dtype
    out = np.full((len(arrays), *sizes), b"" if dtype.kind == "O" else 0, dtype)
    for row, array in enumerate(arrays):
        place: Any = (row, *(slice(n) for n in array.shape))
        out[place] = array
    return out
