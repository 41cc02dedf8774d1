"""Pieces of memory that do not overlap, found by any address in them."""

from __future__ import annotations

from bisect import bisect_right, insort


class Spans:
    """Pieces by the address at which each begins. One may be removed while another thread looks.

    >>> spans = Spans()
    >>> spans.add(256, 64)
    >>> spans.find(300, 20), spans.find(300, 21)
    (256, None)
    """

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._sizes: dict[int, int] = {}

    def add(self, start: int, size: int) -> None:
        """One more piece."""
        self._sizes[start] = size
        insort(self._starts, start)

    def remove(self, start: int) -> None:
        """Forget a piece. KeyError if none begins there."""
        del self._sizes[start]
        self._starts.remove(start)

    def find(self, address: int, size: int) -> int | None:
        """Return the start of the piece that contains all these bytes; None if there is none."""
        place = bisect_right(self._starts, address)
        for start in self._starts[max(place - 1, 0) : place]:
            if start <= address and address + size <= start + self._sizes.get(start, 0):
                return start
        return None
