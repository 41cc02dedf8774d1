"""Loops with positions that wrap around, as those of `roll`, load neighbours together and mean the same."""

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler.graph.dtypes import float32, int64
from staticgraph.compiler.graph.sizes import at_least, positive, symbol
from staticgraph.compiler.kernel.expr import Const, Extent, Index, Load, Scalar, walk
from staticgraph.compiler.kernel.indices.extremes import is_within
from staticgraph.compiler.kernel.lower_expressions import place
from staticgraph.compiler.kernel.schedule_cpu.schedule import schedule
from staticgraph.compiler.kernel.stmt import Loop, LoopKind, Store, expressions, statements
from tests.kernel.cases import array, result


def ring(extent, shifts, rows=5):
    """The loops of a kernel that sums elements of rows at some distances, as if rows were rings."""
    i, j = Index("i", rows), Index("j", extent)
    open_end = not isinstance(extent, int)

    def at(shift):
        if open_end:
            return (j + Const(shift, int64) % Extent(positive(extent))) % Extent(extent)
        return (j + shift % extent) % extent

    x = sum((Load("x", (i, at(s)), float32) for s in shifts[1:]), Load("x", (i, at(shifts[0])), float32))
    buffers = {"x": array(rows, extent), "y": result(rows, extent)}
    kernel = schedule(place("ring", buffers, (i, j), (Store("y", (i, j), x),)), 32)
    return [s for s in statements(kernel.body) if isinstance(s, Loop) and s.index.name == "j"]


def divides(loop: Loop, extent) -> bool:
    """Return True if positions of a loop are divided by its extent."""
    divisor = Const(extent, int64) if isinstance(extent, int) else Extent(extent)
    nodes = [node for stmt in loop.body for node in walk(*expressions(stmt))]
    return any(isinstance(n, Scalar) and n.op == "floormod" and n.args[1] is divisor for n in nodes)


@pytest.mark.parametrize("extent", [100, symbol("n")], ids=["known", "open"])
def test_the_middle_divides_nothing(extent):
    front, middle, back = ring(extent, (-1, 2))
    assert middle.kind is LoopKind.SIMD and front.kind is back.kind is LoopKind.SERIAL
    if isinstance(extent, int):
        assert [front.index.extent, middle.index.extent, back.index.extent] == [1, 97, 2]
    assert not divides(middle, extent)


def test_an_end_without_iterations_is_left_out():
    front, middle = ring(100, (-1, 0))
    assert (front.index.extent, middle.index.extent) == (1, 99)


def test_loops_whose_ends_would_be_long_stay_whole():
    [loop] = ring(100, (40, -3))
    assert loop.index.extent == 100
    [loop] = ring(symbol("n"), (40, -3))
    assert loop.index.extent is symbol("n") or loop.index.extent == symbol("n")


@pytest.mark.parametrize("dtype", ["f4", "f8", "u1", "i4"])
@pytest.mark.parametrize("declared", ["known", "open"])
def test_rolls_are_those_of_numpy(declared, dtype):
    """With shifts beyond the size, and of what is rolled already."""
    shifts = ((1, 1), (-2, 0), (3, 1), (-17, 1), (7, 0), (0, 1))
    feeds = {}
    for rows, columns in ((4, 33), (1, 1), (2, 3), (5, 0), (3, 70)):
        x = np.arange(rows * columns).reshape(rows, columns).astype(dtype)
        wanted = np.roll(np.roll(x, 2, 1), -1, 1)
        for k, (shift, axis) in enumerate(shifts):
            wanted = wanted + np.roll(x, shift, axis) * x.dtype.type(k + 1)
        if declared == "known" or not feeds:
            fed = sg.placeholder(x.dtype, x.shape if declared == "known" else [None, None])
            made = sg.roll(sg.roll(fed, 2, 1), -1, 1)
            for k, (shift, axis) in enumerate(shifts):
                made += (k + 1) * sg.roll(fed, shift, axis)
            feeds = {fed: x}
        with sg.Session() as sess:
            np.testing.assert_array_equal(sess.run(made, {fed: x}), wanted)


def test_the_derivative_of_a_roll_goes_back():
    x = sg.placeholder(sg.float64, [None, None])
    by_x = sg.gradients(sg.reduce_sum(sg.roll(x, [1, -3], [0, 1]) ** 3), x)[0]
    with sg.Session() as sess:
        for shape in ((4, 9), (1, 2)):
            value = np.cos(np.arange(np.prod(shape))).reshape(shape)
            np.testing.assert_allclose(sess.run(by_x, {x: value}), 3 * value**2, rtol=1e-14)


def test_positions_in_the_middle_of_an_open_loop_are_proven():
    """A loop over the rest of n iterations runs only if n is large enough."""
    n = symbol("n")
    i = Index("i", at_least(n - 3, 0))
    assert is_within(i + 3, n) and not is_within(i + 4, n)
