"""Points for a picture: the least and the greatest number in each column of pixels; and smoothing."""

from __future__ import annotations

import numpy as np

_BLOCK = 256  # numbers that are smoothed by one product


def extremes(x: np.ndarray, y: np.ndarray, columns: int) -> np.ndarray:
    """Return the positions of the points that a picture needs.

    A line through them covers the same pixels as a line through all points, up to one column.

    Args:
        x: Abscissae, ascending, [points].
        y: Ordinates, [points]. NaN and infinity are left out.
        columns: Columns of pixels of the picture.

    Returns:
        Positions, int64, ascending: at most four of each column.

    >>> y = np.zeros(1000); y[500] = 7
    >>> chosen = extremes(np.arange(1000), y, 10)
    >>> len(chosen) <= 40, 500 in chosen
    (True, True)
    """
    finite = np.flatnonzero(np.isfinite(y))
    if len(finite) <= 4 * columns:
        return finite
    x, y = x[finite], y[finite]
    first, last = float(x[0]), float(x[-1])
    if last > first:
        column = np.minimum((x - first) * (columns / (last - first)), columns - 1).astype(np.int64)
    else:
        column = np.arange(len(x)) * columns // len(x)
    starts = np.flatnonzero(np.diff(column, prepend=-1))
    ends = np.append(starts[1:], len(x)) - 1
    lengths = ends - starts + 1
    group = np.repeat(np.arange(len(starts)), lengths)
    chosen = [starts, ends]
    for bound in (np.minimum.reduceat(y, starts), np.maximum.reduceat(y, starts)):
        hits = np.flatnonzero(y == bound[group])
        chosen.append(hits[np.flatnonzero(np.diff(group[hits], prepend=-1))])  # the first one of each column
    return finite[np.unique(np.concatenate(chosen))]


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
        self._parts: list[np.ndarray] = []
        self.length = 0

    @property
    def values(self) -> np.ndarray:
        """Averages so far, float64."""
        if len(self._parts) != 1:
            self._parts = [np.concatenate(self._parts)] if self._parts else [np.zeros(0)]
        return self._parts[0]

    def extend(self, numbers: np.ndarray) -> None:
        """Append the averages of further numbers."""
        finite = np.isfinite(numbers)
        made = np.full(len(numbers), np.nan)
        made[finite] = self._averages(numbers[finite].astype(np.float64))
        self._parts.append(made)
        self.length += len(numbers)

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
