"""Choice and order of elements: take, skip, repeat, shuffle, concatenate, zip."""

from __future__ import annotations

import dataclasses
import itertools
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import field
from typing import Any, Generic, TypeVar

import numpy as np

from staticgraph.compiler.support.dataclass import dataclass
from staticgraph.random_numbers.integers import RandomNumbers
from staticgraph.tf1.data.pipeline import Failed, Node, Run
from staticgraph.tf1.data.sources import Slices
from staticgraph.tf1.data.structure import Element

T = TypeVar("T")
Begin = Callable[[], Iterator[T]]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Selection(Node):
    """Some of the source's elements, in some order, whatever they are."""

    source: Node

    def iterate(self, run: Run) -> Iterator[Element]:
        return self.select(run, lambda: self.source.iterate(run))

    def select(self, run: Run, begin: Begin[T]) -> Iterator[T]:
        """Return the selected elements. `begin()` iterates over all elements, from the first one."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Take(Selection):
    """The first `count` elements; all, where that is negative."""

    count: Any

    def select(self, run: Run, begin: Begin[T]) -> Iterator[T]:
        count = run.number(self.count)
        elements = begin()
        return elements if count < 0 else _every(elements, 0, count)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Skip(Selection):
    """All but the first `count` elements; none, where that is negative."""

    count: Any

    def select(self, run: Run, begin: Begin[T]) -> Iterator[T]:
        count = run.number(self.count)
        return iter(()) if count < 0 else _every(begin(), count)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Shard(Selection):
    """Every `count`-th element, from that at `index`."""

    count: Any
    index: Any

    def select(self, run: Run, begin: Begin[T]) -> Iterator[T]:
        count, index = run.number(self.count), run.number(self.index)
        if not 0 <= index < count:
            raise self.error(
                f"shard {index} of {count}: the index must be from 0 to below the number of shards"
            )
        return _every(begin(), index, step=count)


def _every(elements: Iterator[T], start: int, stop: int | None = None, step: int = 1) -> Iterator[T]:
    """Yield a slice as `itertools.islice` does; elements that failed are passed on and not counted."""
    at = 0
    if stop == 0:
        return
    for element in elements:
        if isinstance(element, Failed):
            yield element
            continue
        if at >= start and (at - start) % step == 0:
            yield element
        at += 1
        if at == stop:
            return


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Repeat(Selection):
    """The elements `count` times; without end, where that is negative. What is empty ends at once."""

    count: Any

    def select(self, run: Run, begin: Begin[T]) -> Iterator[T]:
        count = run.number(self.count)
        for _ in itertools.count() if count < 0 else range(count):
            empty = True
            for element in begin():
                empty = False
                yield element
            if empty:
                return


def rows_of(node: Node, run: Run) -> list[np.ndarray] | None:
    """The arrays whose rows are the elements of `node`, or None: then `numbers_of` tells which rows."""
    match node:
        case Selection():
            return rows_of(node.source, run)
        case Slices():
            return node.arrays(run)
    return None


def numbers_of(node: Node, run: Run) -> Iterator[int]:
    """The number of the row that each element is."""
    if isinstance(node, Selection):
        return node.select(run, lambda: numbers_of(node.source, run))
    assert isinstance(node, Slices)
    return iter(range(node.count(run)))


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Concatenated(Node):
    """The elements of one dataset, then those of the other."""

    sources: tuple[Node, ...]

    def iterate(self, run: Run) -> Iterator[Element]:
        sources = enumerate(self.sources)
        return itertools.chain.from_iterable(source.iterate(run.branch(i)) for i, source in sources)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Zipped(Node):
    """Elements side by side, until one of the datasets ends."""

    sources: tuple[Node, ...]

    def iterate(self, run: Run) -> Iterator[Element]:
        columns = [source.iterate(run.branch(i)) for i, source in enumerate(self.sources)]
        while columns:
            row: Element = ()
            for column in columns:
                element = next(column, None)
                if element is None:
                    return
                if isinstance(element, Failed):
                    row = element
                    break
                row += element
            yield row


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Unique(Node):
    """The elements without those that were there before. All that were are kept in memory."""

    source: Node

    def iterate(self, run: Run) -> Iterator[Element]:
        seen: set[tuple[Any, ...]] = set()
        for element in self.source.iterate(run):
            if isinstance(element, Failed):
                yield element
                continue
            value = element[0]
            key = (value.shape, *value.ravel().tolist())
            if key not in seen:
                seen.add(key)
                yield element


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Shuffled(Selection):
    """Each element drawn at random from `size` that are held ready. `count` passes follow each other: the
    next one is read while the last elements of one are drawn.

    `seeds` are two numbers. With `again`, each iteration has seeds of its own, drawn from those. `joined`: a
    repetition was made part of it, as TensorFlow's optimization does.
    """

    size: Any
    seeds: tuple[Any, Any]
    again: bool = True
    count: Any = 1
    joined: bool = False

    def select(self, run: Run, begin: Begin[T]) -> Iterator[T]:
        size = run.number(self.size)
        if size <= 0:
            raise self.error(f"buffer_size is {size}, it must be above zero")
        seeds = run.number(self.seeds[0]), run.number(self.seeds[1])
        if self.again:
            chosen = run.state(self, lambda: _after(2 * run.earlier, RandomNumbers(*seeds)))
            seeds = chosen.next(), chosen.next()
        count = run.number(self.count)
        passes = (begin() for _ in (itertools.count() if count < 0 else range(count)))
        return _drawn(passes, size, iter(RandomNumbers(*seeds)))


def _after(count: int, numbers: RandomNumbers) -> RandomNumbers:
    for _ in range(count):
        numbers.next()
    return numbers


def unjoined(node: Node) -> Node:
    """Return a pipeline as it is without TensorFlow's optimization: repetitions follow shuffling."""
    changed: dict[str, Any] = {}
    if (source := getattr(node, "source", None)) is not None and (made := unjoined(source)) is not source:
        changed["source"] = made
    if sources := getattr(node, "sources", None):
        several = tuple(unjoined(each) for each in sources)
        if any(a is not b for a, b in zip(several, sources, strict=True)):
            changed["sources"] = several
    if isinstance(node, Shuffled) and node.joined:
        changed |= {"again": True, "count": 1, "joined": False}
        shuffled = dataclasses.replace(node, **changed)
        return Repeat(structure=node.structure, source=shuffled, count=node.count)
    return dataclasses.replace(node, **changed) if changed else node


def _drawn(passes: Iterator[Iterator[T]], size: int, numbers: Iterator[int]) -> Iterator[T]:
    reading, some = next(passes, None), False  # whether this pass has any elements
    held = deque([_Held[T]()])  # what is left of each pass that is under way, and is drawn before the next
    while held:
        while reading is not None and (missing := size - sum(map(len, held))):
            for element in reading:
                if isinstance(element, Failed):
                    yield element
                    continue
                held[-1].elements.append(element)
                some, missing = True, missing - 1
                if not missing:
                    break
            if missing:
                reading, some = next(passes, None) if some else None, False  # else all are empty
                held.append(_Held())
        if not held[0]:
            held.popleft()
        elif reading is None:
            yield from held[0].drain(numbers)
        elif len(held) == 1:
            yield from held[0].exchange(reading, numbers)
        else:
            yield held[0].take(next(numbers))


@dataclass(slots=True)
class _Held(Generic[T]):
    """The elements of one pass from which the next is drawn: those from `first` on."""

    elements: list[T] = field(default_factory=list)
    first: int = 0

    def __len__(self) -> int:
        return len(self.elements) - self.first

    def take(self, number: int) -> T:
        """Take away the element that a random number says."""
        elements, first = self.elements, self.first
        index = first + number % (len(elements) - first)
        chosen = elements[index]
        elements[index] = elements[first]
        self.first += 1
        if self.first > _SLACK and 2 * self.first > len(elements):
            del elements[: self.first]
            self.first = 0
        return chosen

    def drain(self, numbers: Iterator[int]) -> Iterator[T]:
        """Take away all."""
        elements, first = self.elements, self.first
        for left in range(len(self), 0, -1):
            index = first + next(numbers) % left
            yield elements[index]
            elements[index] = elements[first]
            first += 1
        self.first = first

    def exchange(self, reading: Iterator[T], numbers: Iterator[int]) -> Iterator[T]:
        """Take away one and read another one, until there is none to read."""
        ring, at, count = self.elements[self.first :], 0, len(self)
        for number in numbers:
            index = (at + number) % count
            yield ring[index]
            ring[index] = ring[at]
            while isinstance(more := next(reading, _END), Failed):
                yield more  # type: ignore[misc]
            if more is _END:
                break
            ring[at] = more  # type: ignore[assignment]
            at = (at + 1) % count
        self.elements, self.first = ring[at + 1 :] + ring[:at], 0


_END = object()
_SLACK = 1024
