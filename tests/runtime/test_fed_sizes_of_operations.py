"""Operations whose sizes are fed: open programs give what those for the sizes at hand give, and are few."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import staticgraph as sg

pytestmark = pytest.mark.takes_long

Build = Callable[[], tuple[Any, list[sg.Tensor]]]
# The graph, its feeds in several runs, and the number of programs that these need at most.
CASES: dict[str, tuple[Build, list[tuple[Any, ...]], int]] = {}


def case(programs: int, *feeds: tuple[Any, ...]) -> Callable[[Build], Build]:
    def declare(build: Build) -> Build:
        CASES[build.__name__] = build, list(feeds), programs
        return build

    return declare


def x(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32)


def fed(*shape: int | None) -> sg.Tensor:
    return sg.placeholder(sg.int32, shape)


def floats(*shape: int | None) -> sg.Tensor:
    return sg.placeholder(sg.float32, shape)


@case(2, (2, x(3, 3)), (1, x(5, 3)), (0, x(2, 3)), (7, x(1, 3)))
def tile():
    n, a = fed(), floats(None, 3)
    return sg.tile(a, [n, 2]), [n, a]


@case(3, (0, 2, x(5, 4)), (1, 3, x(9, 4)), (2, 2, x(3, 4)), (3, 1, x(8, 4)), (-2, 4, x(6, 4)))
def strided_slice():
    begin, end, a = fed(), fed(), floats(None, 4)
    return [a[begin:end], a[begin:], a[:-end], a[begin]], [begin, end, a]


@case(2, ([0, 1], [2, -1], x(4, 5)), ([1, 0], [3, 2], x(5, 6)), ([2, 2], [1, 1], x(3, 3)))
def slices():
    begin, size, a = fed(2), fed(2), floats(None, None)
    return sg.slice(a, begin, size), [begin, size, a]


@case(1, ([[1, 2], [0, 1]], x(2, 3)), ([[0, 0], [0, 0]], x(5, 3)), ([[3, 0], [2, 2]], x(1, 3)))
def pad():
    paddings, a = fed(2, 2), floats(None, 3)
    return sg.pad(a, paddings), [paddings, a]


@case(2, (5,), (2,), (8,), (3,), (9,))
def ranges():
    n = fed()
    made = [sg.linspace(0.0, 1.0, n), sg.range(2, n, 3), sg.range(n, 0, -2), sg.one_hot([0, 1], n), sg.eye(n)]
    return made, [n]


@case(2, ([2, 0, 1], x(3, 4, 2)), ([0, 1, 2], x(5, 4, 2)), ([2, 0, 1], x(1, 6, 2)))
def transpose():
    order, a = fed(3), floats(None, None, 2)
    return sg.transpose(a, order), [order, a]


@case(1, (2, x(3, 9)), (5, x(4, 9)), (9, x(2, 9)), (1, x(1, 9)))
def top_k():
    k, a = fed(), floats(None, 9)
    return sg.nn.top_k(a, k), [k, a]


@case(2, (3, x(5, 2), [0, 1, 2, 1, 0]), (6, x(2, 2), [5, 3]), (1, x(4, 2), [0] * 4), (40, x(6, 2), range(6)))
def segments():
    n, a, ids = fed(), floats(None, 2), fed(None)
    return [sg.unsorted_segment_sum(a, ids, n), sg.bincount(ids, minlength=n)], [n, a, ids]


@case(2, (3, x(2, 3)), (1, x(4, 3)), (6, x(1, 3)), (2, x(5, 3)), (9, x(3, 3)))
def tensor_array():
    n, a = fed(), floats(None, 3)
    start = 0, sg.TensorArray(sg.float32, size=n)
    _, rows = sg.while_loop(
        lambda i, _: i < n, lambda i, rows: (i + 1, rows.write(i, a * sg.cast(i, sg.float32))), start
    )
    made = rows.stack()
    return [made, sg.gradients(sg.reduce_sum(made), a)[0]], [n, a]


@case(1, (3, x(4)), (2, x(7)), (6, x(6)), (1, x(3)))
def scan():
    n, a = fed(), floats(None)
    made = sg.scan(lambda before, each: before * 0.5 + each, a[:n])
    return [made, sg.gradients(sg.reduce_sum(made), a)[0], sg.map_fn(lambda v: v * 2, a[:n])], [n, a]


@case(1, (3,), (5,), (2,), (8,))
def random_numbers():
    n = fed()
    made = [sg.random_uniform([n, 2], seed=5), sg.random_shuffle(sg.range(n), seed=2)]
    return [*made, sg.truncated_normal([n], seed=1), sg.multinomial(sg.zeros([2, 3]), n, seed=4)], [n]


@case(1, ([8, 8], x(2, 4, 4, 1)), ([3, 5], x(1, 4, 4, 1)), ([6, 2], x(3, 4, 4, 1)))
def resize():
    size, a = fed(2), floats(None, 4, 4, 1)
    return sg.image.resize_bilinear(a, size), [size, a]


@case(3, ([3, 4], x(3, 1)), ([2, 3, 4], x(3, 1)), ([5, 2], x(1, 1)), ([3, 7], x(3, 1)))
def broadcast_to():
    shape, a = fed(None), floats(None, 1)
    return sg.broadcast_to(a, shape), [shape, a]


@case(2, (3,), (5,), (1,), (2,), (7,))
def branches_of_other_shapes():
    n = fed()
    return sg.cond(n > 2, lambda: sg.zeros([n, 2]) + 1, lambda: sg.ones([1, 2]) * 2), [n]


@case(1, (2, x(2, 6, 6, 2)), (3, x(3, 6, 6, 2)), (1, x(1, 6, 6, 2)), (5, x(5, 6, 6, 2)))
def conv2d_transpose():
    n, a = fed(), floats(None, 6, 6, 2)
    weights = np.linspace(-1, 1, 72, dtype=np.float32).reshape(3, 3, 4, 2)
    return sg.nn.conv2d_transpose(a, weights, [n, 12, 12, 4], [1, 2, 2, 1]), [n, a]


def results(build: Build, feeds: list[tuple[Any, ...]], open_sizes: bool) -> tuple[list[Any], int]:
    with sg.Graph().as_default():
        fetches, inputs = build()
        with sg.Session(device="cpu", open_sizes=open_sizes) as session:
            found = [session.run(fetches, dict(zip(inputs, run, strict=True))) for run in feeds]
            return found, len(session.compiles)


@pytest.mark.parametrize("name", CASES)
def test_open_programs_give_the_same(name: str):
    build, feeds, programs = CASES[name]
    found, count = results(build, feeds, open_sizes=True)
    wanted, _ = results(build, feeds, open_sizes=False)
    assert count <= programs
    for one, other in zip(found, wanted, strict=True):
        for a, b in zip(flat(one), flat(other), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


def flat(value: Any) -> list[Any]:
    return [leaf for each in value for leaf in flat(each)] if isinstance(value, list | tuple) else [value]
