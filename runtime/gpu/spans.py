"""Pieces of memory that do not overlap, found by any address in them."""

from __future__ import annotations

from bisect import bisect_right, insort


class Spans:
    """Pieces by the address at which each begins.

    >>> spans = Spans()
    >>> spans.add(256, 64)
    >>> spans.holds(300, 20), spans.holds(300, 21)
    (True, False)
    """

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._sizes: dict[int, int] = {}

    def add(self, start: int, size: int) -> None:
        """One more piece."""
        insort(self._starts, start)
        self._sizes[start] = size

    def remove(self, start: int) -> None:
        """Forget a piece. KeyError where none begins there."""
        del self._sizes[start]
        self._starts.pop(bisect_right(self._starts, start) - 1)

    def holds(self, address: int, size: int) -> bool:
        """Whether all these bytes are in one piece."""
        place = bisect_right(self._starts, address) - 1
        if place < 0:
            return False
        start = self._starts[place]
        return address + size <= start + self._sizes[start]
