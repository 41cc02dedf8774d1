"""Numbers of one tag of one run: arrays that grow, within bounds."""

from __future__ import annotations

import numpy as np

LATEST = 1e11  # seconds since 1970; what is later, or NaN, is no time
MOST = 4_000_000  # points of a series; more are thinned, and their peaks stay


class Series:
    """Steps, times and numbers of a tag, in the order of their steps.

    Attributes:
        version: Changes with every change.
    """

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._count = 0
        self._steps = np.empty(16, np.int64)
        self._walls = np.empty(16, np.float64)
        self._numbers = np.empty(16, np.float32)
        self.version = 0
        self.rewritten = 0  # version after which points were only appended

    def __len__(self) -> int:
        return self._count

    @property
    def steps(self) -> np.ndarray:
        """Steps, int64, none smaller than the one before."""
        return self._steps[: self._count]

    @property
    def walls(self) -> np.ndarray:
        """Seconds since 1970, float64."""
        return self._walls[: self._count]

    @property
    def numbers(self) -> np.ndarray:
        """Numbers, float32."""
        return self._numbers[: self._count]

    def extend(self, steps: np.ndarray, walls: np.ndarray, numbers: np.ndarray) -> None:
        """Append points. Points of smaller steps take their places among the others."""
        if not len(steps):
            return
        walls = np.where(np.abs(walls) < LATEST, walls, 0.0)
        ordered = not (steps[1:] < steps[:-1]).any() and not (self._count and steps[0] < self.steps[-1])
        start, self._count = self._count, self._count + len(steps)
        self._make_room()
        self._steps[start : self._count] = steps
        self._walls[start : self._count] = walls
        self._numbers[start : self._count] = numbers
        self.version += 1
        if not ordered:
            self._take(np.argsort(self.steps, kind="stable"))
        if self._count > self._most:
            self._thin()

    def purge(self, step: int, wall: float) -> None:
        """Drop the points from a step on that are older than a moment: a training began again there."""
        dropped = (self.steps >= step) & (self.walls < wall)
        if dropped.any():
            self.version += 1
            self._take(np.flatnonzero(~dropped))

    def _make_room(self) -> None:
        if self._count > len(self._steps):
            size = max(self._count, 2 * len(self._steps))
            for name in ("_steps", "_walls", "_numbers"):
                grown = np.empty(size, getattr(self, name).dtype)
                grown[: len(getattr(self, name))] = getattr(self, name)
                setattr(self, name, grown)

    def _take(self, chosen: np.ndarray) -> None:
        """Keep the points of these positions, in this order."""
        self._steps, self._walls, self._numbers = self.steps[chosen], self.walls[chosen], self.numbers[chosen]
        self._count = len(chosen)
        self.rewritten = self.version

    def _thin(self) -> None:
        """Keep half of the points: the least and the greatest of each four that follow each other."""
        whole = self._count // 4 * 4
        fours = np.nan_to_num(self.numbers[:whole]).reshape(-1, 4)
        base = np.arange(len(fours)) * 4
        pairs = np.stack([base + fours.argmin(axis=1), base + fours.argmax(axis=1)], axis=1)
        equal = pairs[:, 0] == pairs[:, 1]
        pairs[equal, 1] = base[equal] + 3  # four equal numbers
        self._take(np.concatenate([np.sort(pairs, axis=1).ravel(), np.arange(whole, self._count)]))
