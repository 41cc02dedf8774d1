"""Points of a picture, and averages: beside their plain definitions."""

import tracemalloc

import numpy as np
import pytest

from staticgraph.applications.dashboard.curves import Curves, Smoothed, extremes
from staticgraph.applications.dashboard.levels import Levels
from staticgraph.applications.dashboard.series import Series


@pytest.mark.parametrize("seed", range(5))
def test_each_column_keeps_its_least_and_greatest_number(seed):
    rng = np.random.default_rng(seed)
    x = np.sort(rng.integers(0, 10_000, 5000))
    y = rng.normal(size=5000)
    y[rng.integers(0, 5000, 50)] = np.nan
    columns = 100
    chosen = extremes(x, Levels.of(y), columns)
    assert len(chosen) <= 2 * columns + 2 and (np.diff(chosen) > 0).all() and np.isfinite(y[chosen]).all()
    place = np.minimum(((x - x[0]) * columns / (x[-1] - x[0])).astype(int), columns - 1)
    for column in range(columns):
        here = y[(place == column) & np.isfinite(y)]
        kept = y[chosen[place[chosen] == column]]
        assert len(here) == 0 or (kept.min(), kept.max()) == (here.min(), here.max())


def test_few_points_stay_as_they_are():
    assert extremes(np.arange(5), Levels.of(np.array([1, np.nan, 2, np.inf, 3])), 100).tolist() == [0, 2, 4]
    assert extremes(np.zeros(0), Levels.of(np.zeros(0)), 100).tolist() == []


def test_points_at_the_same_place():
    assert len(extremes(np.full(1000, 7), Levels.of(np.arange(1000.0)), 10)) <= 22


@pytest.mark.parametrize("weight", [0.0, 0.5, 0.9, 0.999])
@pytest.mark.parametrize("pieces", [[1000], [1, 2, 300, 697]])
def test_an_average_is_that_of_the_definition(weight, pieces):
    numbers = np.random.default_rng(1).normal(size=1000).astype(np.float32)
    numbers[[0, 20, 500]] = np.nan, np.inf, np.nan
    average = Smoothed(weight)
    for piece in np.split(numbers, np.cumsum(pieces)[:-1]):
        average.extend(piece)
    last, count, wanted = 0.0, 0, []
    for number in numbers.astype(float):
        if not np.isfinite(number):
            wanted.append(np.nan)
            continue
        last, count = weight * last + (1 - weight) * number, count + 1
        wanted.append(last / (1 - weight**count))
    np.testing.assert_allclose(average.values, wanted, rtol=1e-9)


@pytest.mark.parametrize("size", [1, 15, 16, 17, 256, 257, 5000])
def test_levels_are_those_of_all_numbers_however_these_came(size):
    rng = np.random.default_rng(size)
    numbers = rng.normal(size=size).astype(np.float32)
    numbers[rng.integers(0, size, size // 10)] = rng.choice([np.nan, np.inf, -np.inf], size // 10)
    levels, end = Levels(), 0
    while end < size:
        end = min(size, end + int(rng.integers(1, max(2, size // 7))))
        levels.follow(numbers[:end])
    starts = rng.integers(0, size, 100)
    ends = starts + 1 + rng.integers(0, size - starts)
    for start, end, low, high in zip(starts, ends, *levels.extremes(starts, ends), strict=True):
        finite = numbers[start:end][np.isfinite(numbers[start:end])]
        assert start <= low < end and start <= high < end
        assert not len(finite) or (numbers[low], numbers[high]) == (finite.min(), finite.max())
    bad = np.flatnonzero(~np.isfinite(numbers))
    assert levels.bad == (bad[0] if len(bad) else -1)


@pytest.mark.takes_long
@pytest.mark.parametrize("axis", ["step", "relative", "wall"])
@pytest.mark.parametrize("between", [None, (20.0, 90.0)])
def test_the_picture_of_one_more_point_does_not_pass_over_those_that_are_there(axis, between):
    """Memory that is taken meanwhile tells: each array as long as the series would take its size."""

    def taken(count):
        rng, series, curves = np.random.default_rng(0), Series(), Curves()
        run = One(series)
        series.extend(np.arange(count), np.arange(count) * 0.01, rng.normal(size=count).astype(np.float32))
        peak = 0
        for step in range(count, count + 3):  # the first one may make room for many
            tracemalloc.start()
            series.extend(np.array([step]), np.array([step * 0.01]), np.float32([1]))
            found = curves.curve(run, "loss", axis, smoothing=0.5, columns=100, between=between)
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
            assert found["points"] == step + 1
        return peak

    taken(1000)
    assert taken(1_000_000) < 1.3 * taken(10_000) + 100_000


class One:
    """A run of one series."""

    def __init__(self, series):
        self.series = {"loss": series}


def test_a_zoom_shows_the_points_between_and_one_on_each_side():
    series = Series()
    series.extend(np.arange(0, 100, 10), np.arange(10.0), np.arange(10, dtype=np.float32))
    made = Curves().curve(One(series), "loss", between=(35.0, 61.0))
    assert made["x"] == [30, 40, 50, 60, 70] and made["points"] == 10
    assert made["steps"] == made["x"] and made["walls"] == [3.0, 4.0, 5.0, 6.0, 7.0]


def test_axes_and_numbers_that_are_not_finite():
    series = Series()
    series.extend(np.arange(4), np.array([5.0, 6.0, 8.0, 7.0]), np.float32([1, np.nan, 2, 3]))
    curves, run = Curves(), One(series)
    assert curves.curve(run, "loss", "relative")["x"] == [0.0, 2.0, 3.0]
    assert curves.curve(run, "loss", "relative")["steps"] == [0, 3, 2]
    assert curves.curve(run, "loss", "wall")["x"] == [5000.0, 7000.0, 8000.0]
    assert curves.curve(run, "loss")["bad"] == "NaN at step 1"


def test_an_average_goes_on_when_points_come_and_begins_anew_when_they_change():
    curves, series = Curves(), Series()
    run = One(series)

    def smoothed():
        return curves.curve(run, "loss", smoothing=0.5)["smooth_y"]

    series.extend(np.arange(3), np.zeros(3), np.float32([1, 1, 4]))
    first = smoothed()
    series.extend(np.arange(3, 5), np.zeros(2), np.float32([0, 0]))
    assert smoothed()[:3] == first and len(smoothed()) == 5
    series.extend(np.array([1]), np.zeros(1), np.float32([100]))  # between the others
    plain = Smoothed(0.5)
    plain.extend(np.float32([1, 1, 100, 4, 0, 0]))
    np.testing.assert_allclose(smoothed(), plain.values)


def test_too_many_points_are_thinned_and_their_peaks_stay():
    series = Series(most=1000)
    numbers = np.random.default_rng(0).normal(size=5000).astype(np.float32)
    numbers[[17, 3001]] = 50, -50
    for piece in range(0, 5000, 100):
        steps = np.arange(piece, piece + 100)
        series.extend(steps, steps.astype(float), numbers[steps])
    assert 250 < len(series) <= 1000
    assert {50, -50} <= set(series.numbers.tolist())
    assert (np.diff(series.steps) > 0).all()
