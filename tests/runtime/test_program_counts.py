"""Small graphs that are fed many sizes, zero and one included: they have no more programs than stages."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import staticgraph as sg
from tests.interpreted import interpreting

SIZES = (5, 3, 1, 2, 8, 0, 17, 4)
Feeds = Callable[[int], dict[Any, Any]]
Case = tuple[Any, Feeds]


def rows(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).normal(size=shape).astype(np.float32)


def range_of_a_float() -> Case:
    limit = sg.placeholder(sg.float32, [])
    return sg.range(limit), lambda n: {limit: n * 0.5}


def range_with_float_steps() -> Case:
    limit, delta = sg.placeholder(sg.float32, []), sg.placeholder(sg.float32, [])
    return sg.range(0.0, limit, delta), lambda n: {limit: n, delta: 0.25 + n}


def range_with_steps() -> Case:
    limit, delta = sg.placeholder(sg.int32, []), sg.placeholder(sg.int32, [])
    return sg.range(1, limit, delta), lambda n: {limit: 1 + 3 * n, delta: n + 1}


def range_with_steps_down() -> Case:
    start, delta = sg.placeholder(sg.int64, []), sg.placeholder(sg.int64, [])
    return sg.range(start, 0, delta), lambda n: {start: 3 * n, delta: -1 - n // 2}


def range_of_a_size_in_floats() -> Case:
    x = sg.placeholder(sg.float32, [None, 2])
    return sg.range(sg.cast(sg.shape(x)[0], sg.float32)), lambda n: {x: rows(n, 2)}


def reshape_into_fed_rows() -> Case:
    x, count = sg.placeholder(sg.float32, [None]), sg.placeholder(sg.int32, [])
    y = sg.reshape(x, [count, -1])
    total = sg.reduce_sum(sg.square(y), 1)
    return (y, sg.gradients(total, x)[0]), lambda n: {x: rows(6 * (n + 1)), count: n + 1}


def reshape_of_an_empty_axis() -> Case:
    x, count = sg.placeholder(sg.float32, [None, 6]), sg.placeholder(sg.int32, [])
    return sg.reshape(x, [count, -1, 3]), lambda n: {x: rows(n, 6), count: n}


def reshapes_by_a_fed_size() -> Case:
    x, count = sg.placeholder(sg.float32, [None, 3]), sg.placeholder(sg.int32, [])
    return (sg.reshape(x, [count, -1, 3]), sg.reshape(x, [-1, count, 3])), lambda n: {
        x: rows(2 * max(n, 1), 3), count: max(n, 1),
    }  # fmt: skip


def whole_chunks() -> Case:
    x, count = sg.placeholder(sg.float32, [None]), sg.placeholder(sg.int32, [])
    whole = sg.shape(x)[0] // count * count
    return sg.reshape(x[:whole], [-1, count]), lambda n: {x: rows(3 * n + 1), count: n + 1}


def beams() -> Case:
    """Each sequence has three rows, which become one."""
    x = sg.placeholder(sg.float32, [None, None])
    batch, words = sg.shape(x)[0], sg.shape(x)[1]
    best, place = sg.nn.top_k(sg.reshape(x, [batch // 3, 3 * words]), 3)
    return (best, place // words, place % words), lambda n: {x: rows(3 * n, 4)}


def next_row() -> Case:
    x = sg.placeholder(sg.float32, [None, 2])
    total = sg.reduce_sum(sg.square(x[1:] - x[:-1]))
    return (x[1:] - x[:-1], sg.gradients(total, x)[0]), lambda n: {x: rows(n, 2)}


def without_both_ends() -> Case:
    x = sg.placeholder(sg.float32, [2, None])
    y = x[:, 2:-1]
    return (y, sg.gradients(sg.reduce_sum(y * y), x)[0]), lambda n: {x: rows(2, n)}


def every_second() -> Case:
    x = sg.placeholder(sg.float32, [2, None])
    y = x[:, 1::2]
    return (y, x[:, ::2], sg.gradients(sg.reduce_sum(y * y), x)[0]), lambda n: {x: rows(2, n)}


def shifted_image() -> Case:
    """The shift of PixelCNN."""
    x = sg.placeholder(sg.float32, [None, None, None, 3])
    down = sg.concat([sg.zeros_like(x[:, :1]), x[:, :-1]], 1)
    return down, lambda n: {x: rows(2, n + 1, n, 3)}


def patches() -> Case:
    x = sg.placeholder(sg.float32, [1, None, None, 2])
    y = sg.extract_image_patches(x, [1, 3, 3, 1], [1, 1, 1, 1], [1, 1, 1, 1], "SAME")
    return y, lambda n: {x: rows(1, n, n + 1, 2)}


def prefixes() -> Case:
    """Rounds in Python, each with a slice of a length of its own."""
    x = sg.placeholder(sg.float32, [None])
    numbers = sg.range(sg.shape(x)[0])
    return sg.map_fn(lambda i: sg.reduce_sum(x[: i + 1]), numbers, dtype=sg.float32), lambda n: {x: rows(n)}


# What they need: a stage that finds a size is a program of its own.
CASES = {
    range_of_a_float: 2,
    range_with_float_steps: 2,
    range_with_steps: 2,
    range_with_steps_down: 2,
    range_of_a_size_in_floats: 2,
    reshape_into_fed_rows: 2,
    reshape_of_an_empty_axis: 2,
    reshapes_by_a_fed_size: 2,
    whole_chunks: 3,
    beams: 1,
    next_row: 1,
    without_both_ends: 1,
    every_second: 1,
    shifted_image: 1,
    patches: 1,
}


@pytest.mark.compiled
@pytest.mark.takes_long
@pytest.mark.parametrize("build", [*CASES, prefixes], ids=lambda build: build.__name__)
def test_programs_are_as_many_as_stages(build: Callable[[], Case]):
    fetched, feeds = build()
    first = 0
    with interpreting():
        meaning = sg.Session()
    with sg.Session(device="cpu") as session, meaning:
        for n in SIZES:
            found, wanted = (sess.run(fetched, feeds(n)) for sess in (session, meaning))
            for one, other in zip(
                *([x] if isinstance(x, np.ndarray) else x for x in (found, wanted)), strict=True
            ):
                assert one.shape == other.shape, n
                np.testing.assert_allclose(one, other, 1e-5, 1e-6, err_msg=str(n))
            first = first or len(session.compiles)
        most = CASES.get(build, first + 4)  # the first round of a loop, and rows that were not written
        assert len(session.compiles) <= most, [(each.failed, each.guards) for each in session.compiles]


@pytest.mark.parametrize(
    ("numbers", "length"),
    # as TensorFlow 1.15: it computes the length in float32
    [((0, 0.3, 0.1), 3), ((0, 0.7, 0.1), 7), ((0, 1, 0.1), 10), ((0, 0.6, 0.2), 3)],
)
def test_the_length_of_a_range_is_computed_in_its_dtype(numbers: tuple[float, ...], length: int):
    fed = [sg.placeholder(sg.float32, []) for _ in numbers]
    with sg.Session() as session:
        assert len(session.run(sg.range(*fed), dict(zip(fed, numbers, strict=True)))) == length
        assert len(session.run(sg.range(*map(np.float32, numbers)))) == length


@pytest.mark.parametrize(
    ("numbers", "text"),
    [((0, 5, 0), "delta is 0"), ((0, 5, -1), "the sign of delta"), ((0, np.inf, 1), "finite")],
)
def test_a_range_that_leads_nowhere_is_refused(numbers: tuple[float, ...], text: str):
    fed = [sg.placeholder(sg.float32, []) for _ in numbers]
    with sg.Session() as session, pytest.raises(sg.errors.OpError, match=text):
        session.run(sg.range(*fed), dict(zip(fed, numbers, strict=True)))


def test_what_does_not_divide_is_refused():
    x, count = sg.placeholder(sg.float32, [None]), sg.placeholder(sg.int32, [])
    with sg.Session() as session:
        assert session.run(sg.reshape(x, [count, -1]), {x: np.ones(6), count: 2}).shape == (2, 3)
        with pytest.raises(sg.errors.OpError, match="evenly divisible by 4"):
            session.run(sg.reshape(x, [count, -1]), {x: np.ones(6), count: 4})


def test_no_round_leaves_the_axes_of_one():
    x = sg.placeholder(sg.float32, [None])
    numbers = sg.range(sg.shape(x)[0])
    sums = sg.map_fn(lambda i: sg.reduce_sum(x[: i + 1]), numbers, dtype=sg.float32)
    with sg.Session() as session:
        assert session.run(sums, {x: np.ones(0)}).shape == (0,)
