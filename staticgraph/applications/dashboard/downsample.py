"""Points for a picture: the least and the greatest number in each column of pixels; and smoothing."""

from __future__ import annotations

import numpy as np

from staticgraph.applications.dashboard.levels import GrowingArray, Levels

_BLOCK = 256  # numbers that are smoothed by one product


def extremes(x: np.ndarray, levels: Levels, columns: int, start: int = 0, end: int = -1) -> np.ndarray:
    """Return the positions of the points that a picture of a series, or of a part of it, needs.

    A line through them covers the same pixels as a line through all points, up to one column. The work is
    that of the columns, however many points there are.

    Args:
        x: Abscissae of the series, ascending, [points].
        levels: Levels of its ordinates, [points]. NaN and infinity are left out.
        columns: Columns of pixels of the picture.
        start: Position at which the part begins.
        end: Position behind its last point; -1 for the end of the series.

    Returns:
        Positions, int64, ascending: at most two of each column, and the first and the last point.

    >>> y = np.zeros(1000); y[500] = 7
    >>> chosen = extremes(np.arange(1000), Levels.of(y), 10)
    >>> len(chosen) <= 22, 500 in chosen
    (True, True)
    """
    end = len(x) if end < 0 else end
    if end - start <= 2 * columns + 2:
        chosen = np.arange(start, end)
    else:
        starts = _columns(x, columns, start, end)
        low, high = levels.extremes(starts, np.append(starts[1:], end))
        chosen = np.unique(np.concatenate([[start, end - 1], low, high]))
    return chosen[np.isfinite(levels.numbers[chosen])]


def _columns(x: np.ndarray, columns: int, start: int, end: int) -> np.ndarray:
    """Return the positions at which the columns begin that have points, ascending."""
    first, last = x[start].item(), x[end - 1].item()
    if last == first:
        return start + np.arange(columns) * (end - start) // columns
    if isinstance(first, int):  # of the type of x, so that a search need not convert x
        edges = np.array([first - (first - last) * column // columns for column in range(columns)], x.dtype)
    else:
        edges = first + np.arange(columns) * ((last - first) / columns)
    return np.unique(start + np.searchsorted(x[start:end], edges))


class Smoothed:
    """Exponential moving average of a series, as TensorBoard's: each number is `weight` times the one before.

    The average begins without bias: it is divided by the sum of its weights. NaN and infinity are left out of
    it, and are NaN in the result. `extend` goes on where it ended, so that a growing series is smoothed once.

    >>> average = Smoothed(0.5)
    >>> average.extend(np.float32([1, 1, 4]))
    >>> average.values.tolist()
    [1.0, 1.0, 2.7142857142857144]
    """

    def __init__(self, weight: float) -> None:
        self._weight = weight
        self._sum = 0.0  # of weighted numbers, without the correction of bias
        self._count = 0  # of finite numbers
        self._values = GrowingArray(np.float64)
        self._levels = Levels()

    def __len__(self) -> int:
        return len(self._values)

    @property
    def values(self) -> np.ndarray:
        """Averages so far, float64."""
        return self._values.values

    @property
    def levels(self) -> Levels:
        """Least and greatest averages of parts of the series."""
        self._levels.follow(self.values)
        return self._levels

    def extend(self, numbers: np.ndarray) -> None:
        """Append the averages of further numbers."""
        finite = np.isfinite(numbers)
        made = np.full(len(numbers), np.nan)
        made[finite] = self._averages(numbers[finite].astype(np.float64))
        self._values.put(len(self), made)

    def _averages(self, numbers: np.ndarray) -> np.ndarray:
        weight, count = self._weight, len(numbers)
        if not count:
            return numbers
        powers = weight ** np.arange(_BLOCK + 1)
        distance = np.arange(_BLOCK)[:, None] - np.arange(_BLOCK)
        kernel = np.where(distance >= 0, powers[np.maximum(distance, 0)], 0.0) * (1 - weight)
        blocks = np.zeros((-(-count // _BLOCK), _BLOCK))
        blocks.reshape(-1)[:count] = numbers
        sums = blocks @ kernel.T
        carried = np.empty(len(blocks))
        for index, last in enumerate(sums[:, -1].tolist()):
            carried[index] = self._sum
            self._sum = last + powers[-1] * self._sum
        sums += carried[:, None] * powers[1:]
        averages = sums.reshape(-1)[:count]
        self._sum = float(averages[-1])
        order = self._count + np.arange(1, count + 1)
        self._count += count
        return averages / (1 - weight**order)
