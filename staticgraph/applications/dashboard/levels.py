"""Levels of detail of an array that grows: the least and the greatest number of any part, in few looks.

Each level has the extremes of 16 neighbours of the level below. Numbers that are appended change only the
last ones of each level, and the extremes of a part are found from a few of each: neither passes over all.
"""

from __future__ import annotations

import numpy as np

_FAN = 16  # neighbours that a level joins


class GrowingArray:
    """An array that grows at its end, in a time that does not depend on its length."""

    def __init__(self, dtype: type) -> None:
        self._room: np.ndarray = np.empty(_FAN, dtype)
        self._count = 0

    def __len__(self) -> int:
        return self._count

    @property
    def values(self) -> np.ndarray:
        """All of its values, [len]."""
        return self._room[: self._count]

    def put(self, start: int, values: np.ndarray) -> None:
        """Write values at a position, where the array then ends."""
        self._count = start + len(values)
        if self._count > len(self._room):
            room = np.empty(max(self._count, 2 * len(self._room)), self._room.dtype)
            room[:start] = self._room[:start]
            self._room = room
        self._room[start : self._count] = values


class Levels:
    """Extremes of an array that grows. NaN and infinity are left out.

    Attributes:
        numbers: The array, as it was when `follow` was called last.
        bad: Position of the first number that is NaN or infinity; -1 if there is none.

    >>> levels = Levels.of(np.float32([3, 1, 2, 5, 4]))
    >>> [where.tolist() for where in levels.extremes(np.array([0, 2]), np.array([2, 5]))]
    [[1, 2], [0, 3]]
    """

    def __init__(self) -> None:
        self.numbers = np.zeros(0)
        self.bad = -1
        self._levels: list[tuple[GrowingArray, GrowingArray]] = []  # positions of least and greatest numbers

    @classmethod
    def of(cls, numbers: np.ndarray) -> Levels:
        """Make the levels of an array."""
        made = cls()
        made.follow(numbers)
        return made

    def follow(self, numbers: np.ndarray) -> None:
        """Take in what was appended to the array.

        Args:
            numbers: All of it, [points]. Those that were there before are the same.
        """
        first, count = len(self.numbers), len(numbers)
        if first == count:
            return
        self.numbers = numbers
        if self.bad < 0:
            bad = np.flatnonzero(~np.isfinite(numbers[first:]))
            self.bad = first + int(bad[0]) if len(bad) else -1
        level = 0
        while count > _FAN:
            first, below, count = first // _FAN, count, -(-count // _FAN)
            if level == len(self._levels):
                first = 0
                self._levels.append((GrowingArray(np.int64), GrowingArray(np.int64)))
            nodes = np.minimum(np.arange(first, count)[:, None] * _FAN + np.arange(_FAN), below - 1)
            for side, sign in enumerate((1, -1)):
                positions = nodes if level == 0 else self._positions(level, side, nodes)
                self._levels[level][side].put(first, self._least(positions, sign))
            level += 1

    def extremes(self, starts: np.ndarray, ends: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the positions of the least and of the greatest number of some parts.

        Args:
            starts: Position of the first number of each part, int64, [parts].
            ends: Position behind the last one, int64, greater than `starts`, [parts].

        Returns:
            Two arrays of positions, int64, [parts]. If a part has no finite number, they tell any one of it.
        """
        few: tuple[list[np.ndarray], list[np.ndarray]] = [], []  # candidates of each part, [parts, some]
        start, end = starts, ends  # in nodes of the level
        for level in range(len(self._levels) + 1):
            if level == len(self._levels):
                edges, inner, inner_end = [(start, end)], end, end
            else:
                inner = -(-start // _FAN)
                inner_end = np.maximum(end // _FAN, inner)
                edges = [(start, np.minimum(inner * _FAN, end)), (inner_end * _FAN, end)]
            for begin, stop in edges:
                nodes = begin[:, None] + np.arange((stop - begin).max(initial=0))
                is_inside = nodes < stop[:, None]
                for side, candidates in enumerate(few):
                    positions = nodes if level == 0 else self._positions(level, side, nodes)
                    candidates.append(np.where(is_inside, positions, starts[:, None]))
            start, end = inner, inner_end
        return self._least(np.hstack(few[0]), 1), self._least(np.hstack(few[1]), -1)

    def _positions(self, level: int, side: int, nodes: np.ndarray) -> np.ndarray:
        known = self._levels[level - 1][side].values
        return known[np.minimum(nodes, len(known) - 1)]

    def _least(self, positions: np.ndarray, sign: int) -> np.ndarray:
        """Return of each row the position of the least number times a sign, [rows]."""
        values = sign * self.numbers[positions]
        values[~np.isfinite(values)] = np.inf
        return positions[np.arange(len(positions)), values.argmin(axis=1)]
