"""A placeholder may leave its rank open: there is a program for each rank, not for each shape."""

from __future__ import annotations

import numpy as np
import pytest

import staticgraph as sg

SHAPES = ((3,), (2, 3), (5,), (4, 1), (0,), (1, 7), (2, 3, 4), (0, 3), (1,), (3, 1, 2), ())


@pytest.mark.parametrize(
    ("compute", "reference"),
    [
        (lambda x: 2 * x + 1, lambda a: 2 * a + 1),
        (lambda x: sg.reduce_sum(x * x), lambda a: np.sum(a * a)),
        (lambda x: sg.reshape(x, [-1]), lambda a: a.reshape(-1)),
        (lambda x: sg.gradients(sg.tanh(x), x)[0], lambda a: 1 - np.tanh(a) ** 2),
    ],
)
def test_a_rank_is_compiled_once(compute, reference):
    x = sg.placeholder(sg.float32, name="x")
    y = compute(x)
    rng = np.random.default_rng(3)
    with sg.Session(device="cpu") as sess:
        for shape in SHAPES:
            value = rng.normal(size=shape).astype(np.float32)
            np.testing.assert_allclose(sess.run(y, {x: value}), reference(value), rtol=2e-5, atol=1e-5)
        assert len(sess.compiles) == len({len(shape) for shape in SHAPES})


def test_symbols_are_told():
    x = sg.placeholder(sg.float32, name="x")
    y = x + 1
    with sg.Session(device="cpu") as sess:
        sess.run(y, {x: np.ones((2, 3))})
        assert sess.compiles[0].symbols == "n0: axis 0 of x, n1: axis 1 of x"


def test_a_question_about_a_size_leaves_the_others_open():
    x, y = (sg.placeholder(sg.float32, name=name) for name in "xy")
    product = sg.matmul(x, y)
    with sg.Session(device="cpu") as sess:
        for n, k, m in ((2, 3, 4), (5, 3, 1), (1, 7, 2)):
            a, b = np.ones((n, k)), np.ones((k, m))
            np.testing.assert_array_equal(sess.run(product, {x: a, y: b}), a @ b)
        assert len(sess.compiles) == 1
