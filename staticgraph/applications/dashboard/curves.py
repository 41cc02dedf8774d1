"""Curves as the page draws them: the points of a picture, out of all points of a series.

The least and the greatest number in each column of pixels stand for all points there; smoothing is optional.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import numpy as np

from staticgraph.applications.dashboard.levels import GrowingArray, Levels
from staticgraph.applications.dashboard.runs import Run
from staticgraph.applications.dashboard.series import Series

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


AXES = ("step", "relative", "wall")
RATE = "steps per second"  # tag of a curve that is made of the times of the others
_WIDEST = 4000  # columns of a picture
_ANSWERS = 500  # in the cache
_AVERAGES = 200  # smoothed series in the cache
_AVERAGED = 20_000_000  # numbers in the cache
_STEPS = -(2**63), 2**63 - 1  # the least and the greatest
_DIGITS = 7  # of a number on the page; float32 has no more


class Curves:
    """Answers for curves, cached as long as a series stays the same.

    What was smoothed is kept, too, and goes on from there when the series has grown.
    """

    def __init__(self) -> None:
        self._answered: OrderedDict[tuple[Any, ...], tuple[Series, dict[str, Any]]] = OrderedDict()
        self._averages: OrderedDict[tuple[int, float], tuple[Series, int, Smoothed]] = OrderedDict()

    def curve(
        self,
        run: Run,
        tag: str,
        axis: str = "step",
        smoothing: float = 0.0,
        columns: int = 800,
        between: tuple[float, float] | None = None,
    ) -> dict[str, Any] | None:
        """Return the points of a curve that a picture needs.

        Args:
            run: The run.
            tag: The name of the numbers.
            axis: "step"; "relative", seconds since the first point; or "wall", milliseconds since 1970.
            smoothing: Weight of what came before in the average, at least 0, below 1. 0 smooths nothing.
            columns: Columns of pixels of the picture.
            between: The part of the axis that is seen; all of it by default.

        Returns:
            `x` and `y` of the points; `smooth_x` and `smooth_y` if it is smoothed; `steps` and `walls` of the
            points; `points`, how many there are in all; `bad`, where NaN or infinity begins, "" if nowhere.
            None if the run has no such numbers.
        """
        series = rates(run) if tag == RATE else run.series.get(tag)
        if series is None or not len(series):
            return None
        columns = max(1, min(columns, _WIDEST))
        key = id(series), series.version, axis, smoothing, columns, between
        kept = self._answered.pop(key, None)
        if kept is None or kept[0] is not series:
            kept = series, self._made(series, axis, smoothing, columns, between)
        if tag != RATE:
            self._answered[key] = kept
            if len(self._answered) > _ANSWERS:
                self._answered.popitem(last=False)
        return kept[1]

    def _made(
        self,
        series: Series,
        axis: str,
        smoothing: float,
        columns: int,
        between: tuple[float, float] | None,
    ) -> dict[str, Any]:
        x, order = _abscissae(series, axis)
        numbers = series.numbers if order is None else series.numbers[order]
        levels = series.levels if order is None else Levels.of(numbers)
        shown = _shown(axis, x)
        start, end = 0, len(x)
        if between is not None:
            start, end = _within(axis, x, between)
        part = extremes(x, levels, columns, start, end)
        source = part if order is None else order[part]
        made = {
            "x": _listed(shown(x[part])),
            "y": _listed(numbers[part]),
            "steps": series.steps[source].tolist(),
            "walls": np.round(series.walls[source], 3).tolist(),
            "points": len(x),
            "bad": _bad(series),
        }
        if smoothing > 0:
            average = self._smoothed(series, smoothing, order)
            part = extremes(x, average.levels, columns, start, end)
            made |= {"smooth_x": _listed(shown(x[part])), "smooth_y": _listed(average.values[part])}
        return made

    def _smoothed(self, series: Series, weight: float, order: np.ndarray | None) -> Smoothed:
        weight = min(weight, 0.9999)
        if order is not None:
            average = Smoothed(weight)
            average.extend(series.numbers[order])
            return average
        key = id(series), weight
        kept = self._averages.pop(key, None)
        if kept is None or kept[0] is not series or kept[1] != series.rewritten:
            kept = series, series.rewritten, Smoothed(weight)
        average = kept[2]
        average.extend(series.numbers[len(average) :])
        self._averages[key] = kept
        while len(self._averages) > 1 and (
            len(self._averages) > _AVERAGES or sum(len(a) for _, _, a in self._averages.values()) > _AVERAGED
        ):
            self._averages.popitem(last=False)
        return average


def _bad(series: Series) -> str:
    """Tell the first step whose number is not finite."""
    at = series.levels.bad
    if at < 0:
        return ""
    return f"{'NaN' if np.isnan(series.numbers[at]) else 'infinity'} at step {series.steps[at]}"


def rates(run: Run) -> Series | None:
    """Return how many steps a run made per second, from the times of its longest series; None if unknown."""
    longest = max(run.series.values(), key=len, default=None)
    if longest is None or len(longest) < 3:
        return None
    every = max(1, len(longest) // 1000)
    steps, walls = longest.steps[::every], longest.walls[::every]
    seconds = np.diff(walls)
    known = np.flatnonzero(seconds > 0)
    made = Series()
    numbers = (np.diff(steps)[known] / seconds[known]).astype(np.float32)
    made.extend(steps[known + 1], walls[known + 1], numbers)
    return made if len(made) else None


def _abscissae(series: Series, axis: str) -> tuple[np.ndarray, np.ndarray | None]:
    """Return steps or times in ascending order, and the order if it is not that of the series."""
    if axis == "step":
        return series.steps, None
    if series.is_timely:
        return series.walls, None
    order = np.argsort(series.walls, kind="stable")
    return series.walls[order], order


def _shown(axis: str, x: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """Return the function that takes steps or times to abscissae of the page."""
    if axis == "step":
        return lambda steps: steps
    if axis == "wall":
        return lambda walls: walls * 1000.0
    return lambda walls: walls - x[0]


def _within(axis: str, x: np.ndarray, between: tuple[float, float]) -> tuple[int, int]:
    """Return where a part of the page's axis begins and ends, with one more point on each side."""
    low, high = between
    if axis == "step":  # whole numbers: a search for others would convert all steps
        bounds = np.clip([math.ceil(low), math.floor(high)], *_STEPS)
    elif axis == "wall":
        bounds = np.array([low / 1000.0, high / 1000.0])
    else:
        bounds = np.array([low, high]) + x[0]
    start, end = np.searchsorted(x, bounds[0]), np.searchsorted(x, bounds[1], "right")
    return max(int(start) - 1, 0), min(int(end) + 1, len(x))


def _listed(numbers: np.ndarray) -> list[Any]:
    """Numbers for JSON, with the digits that they have."""
    if numbers.dtype.kind in "iu":
        return numbers.tolist()
    if numbers.dtype == np.float32:
        return [float(f"{number:.{_DIGITS}g}") for number in numbers.tolist()]
    return [float(f"{number:.12g}") for number in numbers.tolist()]
