"""Where values that live only during a run lie in the
arena: buffers are reused as soon as nothing reads them.
"""

from __future__ import annotations

import bisect
from collections.abc import Hashable, Mapping
from typing import TypeVar

from staticgraph.compiler.lower.program import padded

Key = TypeVar("Key", bound=Hashable)


def plan_arena(lifetimes: Mapping[Key, tuple[int, int, int]]) -> tuple[dict[Key, int], int]:
    """Byte offsets, and the size of the arena.

    `lifetimes`: for each buffer its size in bytes, the instruction that writes it and the last one that
    reads it. Buffers are placed in order of birth, each into the smallest free gap that holds it.

    >>> plan_arena({"a": (64, 0, 1), "b": (64, 1, 2), "c": (64, 2, 3)})
    ({'a': 0, 'b': 64, 'c': 0}, 128)
    """
    offsets: dict[Key, int] = {}
    free = _Free()
    dying: list[tuple[int, int, int]] = []  # last use, offset, size
    for key, (size, born, last) in sorted(lifetimes.items(), key=lambda item: item[1][1]):
        while dying and dying[0][0] < born:
            _, offset, length = dying.pop(0)
            free.give(offset, length)
        size = padded(max(size, 1))
        offsets[key] = free.take(size)
        bisect.insort(dying, (last, offsets[key], size))
    return offsets, free.end


class _Free:
    """The gaps of an arena that grows at its end."""

    def __init__(self) -> None:
        self.end = 0
        self._starts: list[int] = []  # of the gaps, ascending
        self._sizes: dict[int, int] = {}
        self._by_size: list[tuple[int, int]] = []

    def take(self, size: int) -> int:
        at = bisect.bisect_left(self._by_size, (size, -1))
        if at < len(self._by_size):
            length, start = self._by_size[at]
            self._remove(start)
            if length > size:
                self._insert(start + size, length - size)
            return start
        if self._starts and self._starts[-1] + self._sizes[self._starts[-1]] == self.end:
            start = self._starts[-1]  # the last gap, made longer
            self._remove(start)
        else:
            start = self.end
        self.end = start + size
        return start

    def give(self, start: int, size: int) -> None:
        at = bisect.bisect_left(self._starts, start)
        if at < len(self._starts) and self._starts[at] == start + size:
            size += self._sizes[self._starts[at]]
            self._remove(self._starts[at])
        if at > 0 and self._starts[at - 1] + self._sizes[self._starts[at - 1]] == start:
            start, size = self._starts[at - 1], size + self._sizes[self._starts[at - 1]]
            self._remove(start)
        self._insert(start, size)

    def _insert(self, start: int, size: int) -> None:
        bisect.insort(self._starts, start)
        bisect.insort(self._by_size, (size, start))
        self._sizes[start] = size

    def _remove(self, start: int) -> None:
        size = self._sizes.pop(start)
        self._starts.pop(bisect.bisect_left(self._starts, start))
        self._by_size.pop(bisect.bisect_left(self._by_size, (size, start)))
