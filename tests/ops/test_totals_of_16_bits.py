"""Totals of float16 and bfloat16 grow in float32: beside the same in float64, of the same numbers."""

import numpy as np
import pytest

import staticgraph as sg

UNIT = {sg.float16: 2.0**-11, sg.bfloat16: 2.0**-8}  # largest relative error of a number that is rounded
IDS = np.arange(3000) % 2


TOTALS = {
    "cumsum": (0.0, 0.1, lambda x: sg.cumsum(x)),
    "cumsum back": (0.0, 0.1, lambda x: sg.cumsum(x, exclusive=True, reverse=True)),
    "cumsum side by side": (0.0, 0.1, lambda x: sg.cumsum(sg.reshape(x, [-1, 3]), 0)),
    "cumprod": (0.99, 1.01, lambda x: sg.cumprod(x)),
    "cumulative_logsumexp": (-1.0, 1.0, lambda x: sg.math.cumulative_logsumexp(x)),
    "reduce_prod": (0.99, 1.01, lambda x: sg.reduce_prod(x)),
    "segment_sum": (0.0, 0.2, lambda x: sg.segment_sum(x, np.sort(IDS))),
    "unsorted_segment_sum": (0.0, 0.2, lambda x: sg.unsorted_segment_sum(x, IDS, 2)),
    "unsorted_segment_prod": (0.99, 1.01, lambda x: sg.unsorted_segment_prod(x, IDS, 2)),
    "scatter_nd": (0.0, 0.2, lambda x: sg.scatter_nd(IDS[:, None], x, [2])),
    "gather": (0.0, 1.0, lambda x: sg.gather(x, np.arange(12000) % 7)),
}


def _computed(function, dtype, x):
    """Return the result and the derivative by `x`, in float64."""
    with sg.Graph().as_default(), sg.Session() as session:
        fed = sg.placeholder(sg.float64, x.shape)
        given = sg.cast(fed, dtype)
        y = function(given)
        weights = 0.5 + np.arange(y.type.size).reshape(y.type.static_shape) % 7 / 8  # exact in 16 bits
        (slope,) = sg.gradients(y, [given], grad_ys=[sg.cast(weights, dtype)])
        fetches = [sg.cast(t, sg.float64) for t in (given, y, sg.convert_to_tensor(slope))]
        return session.run(fetches, {fed: x})


@pytest.mark.takes_long
@pytest.mark.parametrize("dtype", UNIT, ids=str)
@pytest.mark.parametrize("name", TOTALS)
def test_totals_are_rounded_once(name, dtype, rng):
    low, high, function = TOTALS[name]
    rounded, *found = _computed(function, dtype, rng.uniform(low, high, 3000))
    _, *wanted = _computed(function, sg.float64, rounded)
    for value, exact in zip(found, wanted, strict=True):
        error = np.abs(value - exact).max() / np.abs(exact).max()
        assert error < 4 * UNIT[dtype], error / UNIT[dtype]
