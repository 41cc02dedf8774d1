"""Points of a picture, and averages: beside their plain definitions."""

import numpy as np
import pytest

from staticgraph.dashboard.curves import Curves
from staticgraph.dashboard.downsample import Smoothed, extremes
from staticgraph.dashboard.series import Series


@pytest.mark.parametrize("seed", range(5))
def test_each_column_keeps_its_least_and_greatest_number(seed):
    rng = np.random.default_rng(seed)
    x = np.sort(rng.integers(0, 10_000, 5000))
    y = rng.normal(size=5000)
    y[rng.integers(0, 5000, 50)] = np.nan
    columns = 100
    chosen = extremes(x, y, columns)
    assert len(chosen) <= 4 * columns and (np.diff(chosen) > 0).all() and np.isfinite(y[chosen]).all()
    place = np.minimum((x - x[0]) * columns // (x[-1] - x[0]), columns - 1)
    for column in range(columns):
        here = y[(place == column) & np.isfinite(y)]
        kept = y[chosen[place[chosen] == column]]
        assert len(here) == 0 or (kept.min(), kept.max()) == (here.min(), here.max())


def test_few_points_stay_as_they_are():
    assert extremes(np.arange(5), np.array([1, np.nan, 2, np.inf, 3]), 100).tolist() == [0, 2, 4]
    assert extremes(np.zeros(0), np.zeros(0), 100).tolist() == []


def test_points_at_the_same_place():
    assert len(extremes(np.full(1000, 7), np.arange(1000.0), 10)) <= 40


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
