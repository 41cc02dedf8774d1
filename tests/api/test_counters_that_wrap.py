"""Counters of loops that wrap around: derivatives and checks of indices see the numbers that NumPy counts."""

from __future__ import annotations

import numpy as np
import pytest

import staticgraph as sg

pytestmark = pytest.mark.compiled  # passes decide what is checked


def test_a_derivative_goes_through_all_iterations():
    """NumPy's int8 is never above 127: the other condition alone ends the loop, after 200 iterations."""
    x = sg.constant(1.01, sg.float64)
    one = sg.constant(1, sg.int8)
    counted, _, y = sg.while_loop(
        lambda i, n, y: sg.logical_and(i <= sg.constant(127, sg.int8), n < 200),
        lambda i, n, y: (i + one, n + 1, y * x),
        [sg.constant(0, sg.int8), 0, sg.constant(1.0, sg.float64)],
    )
    found = sg.Session().run([counted, y, sg.gradients(y, x)[0]])
    np.testing.assert_allclose(found, [np.int64(200).astype(np.int8), 1.01**200, 200 * 1.01**199])


@pytest.mark.parametrize(
    ("dtype", "step", "end", "index"),
    [(sg.int8, 100, 120, -56), (sg.int32, 1 << 30, None, -(1 << 31)), (sg.int16, -30000, -31000, 5536)],
)
def test_an_index_is_checked_after_its_counter_wraps_around(dtype, step, end, index):
    rows = sg.range(120)

    def again(i, n, total):
        more = n < 7
        if end is None:
            return more
        compare = sg.less if step > 0 else sg.greater
        return sg.logical_and(compare(i, sg.constant(end, dtype)), more)

    def body(i, n, total):
        place = sg.cast(i, sg.int32)
        place = sg.minimum(place, 119) if step > 0 else sg.maximum(place, 0)
        return i + sg.constant(step, dtype), n + 1, total + sg.gather(rows, place)

    made = sg.while_loop(again, body, [sg.constant(0, dtype), 0, 0])
    with pytest.raises(sg.errors.InvalidArgumentError, match=f"indices = {index} is not in"):
        sg.Session().run(made)


@pytest.mark.parametrize(("reduce", "told"), [(sg.reduce_max, "-9223"), (sg.reduce_min, "9223")])
def test_an_extreme_of_no_rows_is_no_index(reduce, told):
    x = sg.placeholder(sg.float32, [None, 5])
    y = sg.gather(sg.range(5), reduce(sg.argmax(x, 1)))
    with sg.Session() as sess:
        assert sess.run(y, {x: np.eye(5)[:1]}) == 0
        with pytest.raises(sg.errors.InvalidArgumentError, match=f"indices = {told}"):
            sess.run(y, {x: np.zeros((0, 5))})
