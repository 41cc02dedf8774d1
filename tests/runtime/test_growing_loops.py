"""Loops whose state grows, and loops with sizes that data decide: programs for all sizes."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import staticgraph as sg

pytestmark = pytest.mark.compiled
ROWS = (5, 2, 20, 21, 1, 37)


def _grown(x: sg.Tensor, n: sg.Tensor) -> sg.Tensor:
    def body(i: Any, a: Any) -> Any:
        return i + 1, sg.concat([a, sg.tanh(a[-1:]) + x[:1]], 0)

    shapes = [sg.TensorShape([]), sg.TensorShape([None, 3])]
    return sg.while_loop(lambda i, a: i < n, body, [0, x], shape_invariants=shapes)[1]


def _array(x: sg.Tensor, n: sg.Tensor) -> sg.Tensor:
    def body(i: Any, rows: Any) -> Any:
        return i + 1, rows.write(i, sg.cast(i, sg.float32))

    rows = sg.TensorArray(sg.float32, 0, dynamic_size=True)
    return sg.while_loop(lambda i, _: i < n, body, [0, rows])[1].stack()


def _vectors(x: sg.Tensor, n: sg.Tensor) -> sg.Tensor:
    rows = sg.TensorArray(sg.float32, 0, dynamic_size=True)
    row = sg.reduce_sum(x, 0)
    made = sg.while_loop(lambda i, t: i < n, lambda i, t: (i + 1, t.write(i, row)), [0, rows])
    return made[1].stack()


def _masked(x: sg.Tensor, n: sg.Tensor) -> sg.Tensor:
    return sg.map_fn(lambda row: sg.reduce_sum(sg.boolean_mask(row, row > 0)), x)


def _halved(x: sg.Tensor, n: sg.Tensor) -> sg.Tensor:
    def body(a: Any) -> Any:
        return sg.boolean_mask(a, a > sg.reduce_mean(a))

    start, shapes = [sg.reshape(x, [-1])], [sg.TensorShape([None])]
    return sg.while_loop(lambda a: sg.size(a) > 1, body, start, shape_invariants=shapes)


def _grown_again(x: np.ndarray, n: int) -> np.ndarray:
    for _ in range(n):
        x = np.concatenate([x, np.tanh(x[-1:]) + x[:1]])
    return x


def _halved_again(x: np.ndarray, n: int) -> np.ndarray:
    x = x.ravel()
    while x.size > 1:
        x = x[x > x.mean()]
    return x


LOOPS: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "concat": (_grown, _grown_again),
    "TensorArray": (_array, lambda x, n: np.arange(n, dtype=np.float32)),
    "TensorArray of vectors": (_vectors, lambda x, n: np.tile(x.sum(0), (n, 1))),
    "map_fn of boolean_mask": (_masked, lambda x, n: np.where(x > 0, x, 0).sum(1)),
    "boolean_mask of the state": (_halved, _halved_again),
}


@pytest.mark.takes_long
@pytest.mark.parametrize(("build", "meaning"), LOOPS.values(), ids=LOOPS)
def test_after_two_sizes_nothing_is_compiled(build: Any, meaning: Any, rng: np.random.Generator):
    x, n = sg.placeholder(sg.float32, [None, 3], name="x"), sg.placeholder(sg.int32, [], name="n")
    made = build(x, n)
    with sg.Session(device="cpu") as sess:
        for number, rows in enumerate(ROWS):
            sess.no_compile = number > 1
            given = rng.normal(size=(rows, 3)).astype(np.float32)
            np.testing.assert_allclose(sess.run(made, {x: given, n: rows}), meaning(given, rows), rtol=1e-5)
        assert len(sess.compiles) < 10


@pytest.mark.parametrize("name", ["concat", "map_fn of boolean_mask"])
def test_a_round_calls_few_functions(name: str, rng: np.random.Generator):
    """A round that is run for the first time calls hundreds of functions of Python, later 30 to 50."""
    x, n = sg.placeholder(sg.float32, [None, 3], name="x"), sg.placeholder(sg.int32, [], name="n")
    made, count = LOOPS[name][0](x, n), 0

    def counts(frame: Any, event: str, argument: Any) -> None:
        nonlocal count
        count += event == "call"

    with sg.Session(device="cpu") as sess:
        feeds = {x: rng.normal(size=(20, 3)).astype(np.float32), n: 20}
        for _ in range(4):
            sess.run(made, feeds)
        sys.setprofile(counts)
        try:
            sess.run(made, feeds)
        finally:
            sys.setprofile(None)
    assert count < 20 * 60


def test_a_row_of_another_shape_is_refused(rng: np.random.Generator):
    """Of an array without elements, too: only one whose rows nobody has told takes any."""
    flow, row = sg.placeholder(sg.float32, [None, None]), sg.placeholder(sg.float32, [None])
    written = sg.TensorArray(sg.float32, 3, flow=flow).write(0, row).stack()
    with sg.Session(device="cpu") as sess:
        for width in (2, 3, 0, 2):
            found = sess.run(written, {flow: np.zeros((3, width)), row: np.ones(width)})
            assert found.tolist() == [[1.0] * width, [0.0] * width, [0.0] * width]
        assert sess.run(written, {flow: np.zeros((3, 0)), row: np.ones(2)}).shape == (3, 2)
        with pytest.raises(sg.errors.InvalidArgumentError):
            sess.run(written, {flow: np.zeros((3, 2)), row: np.ones(3)})


def test_derivatives_flow_through_what_a_growing_loop_draws(sess):
    x, n = sg.placeholder(sg.float32, [3]), sg.placeholder(sg.int32, [])
    drawn = sg.TensorArray(sg.float32, 0, dynamic_size=True)

    def body(i: Any, y: Any, rows: Any) -> Any:
        factor = sg.random_uniform([3], 0.5, 1.5, seed=1)
        return i + 1, y * factor, rows.write(i, factor)

    _, y, rows = sg.while_loop(lambda i, *_: i < n, body, [0, x, drawn])
    derivative = sg.gradients(y, x)[0]
    fetches = {"y": y, "factors": rows.stack(), "derivative": derivative}
    start, seen = np.array([1.0, 2.0, 4.0], np.float32), []
    for count in (3, 2, 4, 2):
        made = sess.run(fetches, {x: start, n: count})
        np.testing.assert_allclose(made["y"], start * made["factors"].prod(0), rtol=1e-6)
        np.testing.assert_allclose(made["derivative"], made["factors"].prod(0), rtol=1e-6)
        seen.append(made["factors"])
    with sg.Session() as other:  # which takes no derivatives: the streams go on as far
        for factors in seen:
            np.testing.assert_array_equal(other.run(rows.stack(), {x: start, n: len(factors)}), factors)
