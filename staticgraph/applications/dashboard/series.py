"""Numbers of one tag of one run: arrays that grow, within bounds."""

from __future__ import annotations

import numpy as np

from staticgraph.applications.dashboard.levels import GrowingArray, Levels

LATEST = 1e11  # seconds since 1970; what is later, or NaN, is no time
MOST = 4_000_000  # points of a series; more are thinned, and their peaks stay


class Series:
    """Steps, times and numbers of a tag, in the order of their steps.

    Attributes:
        version: Changes with every change.
        rewritten: The version after which points were only appended.
        is_timely: If no point is older than the one before.
    """

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._steps = GrowingArray(np.int64)
        self._walls = GrowingArray(np.float64)
        self._numbers = GrowingArray(np.float32)
        self._levels = Levels()
        self.version = 0
        self.rewritten = 0
        self.is_timely = True

    def __len__(self) -> int:
        return len(self._steps)

    @property
    def steps(self) -> np.ndarray:
        """Steps, int64, none smaller than the one before."""
        return self._steps.values

    @property
    def walls(self) -> np.ndarray:
        """Seconds since 1970, float64."""
        return self._walls.values

    @property
    def numbers(self) -> np.ndarray:
        """Numbers, float32."""
        return self._numbers.values

    @property
    def levels(self) -> Levels:
        """Least and greatest numbers of its parts."""
        self._levels.follow(self.numbers)
        return self._levels

    def extend(self, steps: np.ndarray, walls: np.ndarray, numbers: np.ndarray) -> None:
        """Append points. Points of smaller steps take their places among the others."""
        if not len(steps):
            return
        walls = np.where(np.abs(walls) < LATEST, walls, 0.0)
        count = len(self)
        ordered = not (steps[1:] < steps[:-1]).any() and not (count and steps[0] < self.steps[-1])
        for array, part in ((self._steps, steps), (self._walls, walls), (self._numbers, numbers)):
            array.put(count, part)
        self.is_timely = self.is_timely and _ascends(self.walls[max(count - 1, 0) :])
        self.version += 1
        if not ordered:
            self._take(np.argsort(self.steps, kind="stable"))
        if len(self) > self._most:
            self._thin()

    def purge(self, step: int, wall: float) -> None:
        """Drop the points from a step on that are older than a moment: a training began again there."""
        dropped = (self.steps >= step) & (self.walls < wall)
        if dropped.any():
            self.version += 1
            self._take(np.flatnonzero(~dropped))

    def _take(self, chosen: np.ndarray) -> None:
        """Keep the points of these positions, in this order."""
        for array in (self._steps, self._walls, self._numbers):
            array.put(0, array.values[chosen])
        self._levels = Levels()
        self.is_timely = _ascends(self.walls)
        self.rewritten = self.version

    def _thin(self) -> None:
        """Keep half of the points: the least and the greatest of each four that follow each other."""
        whole = len(self) // 4 * 4
        fours = np.nan_to_num(self.numbers[:whole]).reshape(-1, 4)
        base = np.arange(len(fours)) * 4
        pairs = np.stack([base + fours.argmin(axis=1), base + fours.argmax(axis=1)], axis=1)
        equal = pairs[:, 0] == pairs[:, 1]
        pairs[equal, 1] = base[equal] + 3  # four equal numbers
        self._take(np.concatenate([np.sort(pairs, axis=1).ravel(), np.arange(whole, len(self))]))


def _ascends(numbers: np.ndarray) -> bool:
    return not (numbers[1:] < numbers[:-1]).any()
