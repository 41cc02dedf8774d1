"""Rows that load the same elements are computed together, and mean the same."""

import numpy as np
import pytest

from staticgraph.compiler.graph.dtypes import float32, float64
from staticgraph.compiler.kernel.expr import Expr, Index, Load, Reduce
from staticgraph.compiler.kernel.interpret import interpret
from staticgraph.compiler.kernel.lower_expressions import place
from staticgraph.compiler.kernel.printer import kernel_text
from staticgraph.compiler.kernel.schedule_cpu.schedule import schedule
from staticgraph.compiler.kernel.stmt import Kernel, Let, Loop, Store, statements
from tests.codegen.native import run
from tests.kernel.cases import array, filled, result


def stencil(rows: int, columns: int = 100, dtype=float32, step: int = 1) -> Kernel:
    """Excess of the elements above, below, left and right, in every `step`-th row."""
    i, j = Index("i", rows), Index("j", columns)

    def x(down: int, right: int) -> Expr:
        return Load("x", (i * step + (down + 1), j + (right + 1)), dtype)

    value = x(-1, 0) + x(1, 0) + x(0, -1) + x(0, 1) - x(0, 0) * 4.0
    buffers = {"x": array(rows * step + 2, columns + 2, dtype=dtype), "y": result(rows, columns, dtype=dtype)}
    return place("stencil", buffers, (i, j), (Store("y", (i, j), value),))


def together(kernel: Kernel, vector_bytes: int = 32) -> int:
    """Return the number of rows that a scheduled kernel does in one iteration."""
    outer = [s for s in schedule(kernel, vector_bytes).body if isinstance(s, Loop)]
    return max(sum(isinstance(s, Store) for s in statements(loop.body)) for loop in outer)


@pytest.mark.parametrize("rows, expected", [(30, 3), (32, 4), (35, 5), (34, 2), (31, 1), (12, 1)])
def test_as_many_rows_as_divide_their_number(rows: int, expected: int):
    assert together(stencil(rows)) == expected


def test_each_row_is_written_and_reads_as_before():
    text = kernel_text(schedule(stencil(34, 100), 32))
    assert "for i in 0..17:" in text
    assert "y[i * 200 + j] = " in text and "y[i * 200 + j + 100] = " in text
    assert text.count("x[i * 204 + j + 103]") == 2  # the first row itself, and above the second one


def test_rows_that_are_not_neighbours_share_elements_too():
    i, j = Index("i", 32), Index("j", 100)
    value = Load("x", (i, j), float32) + Load("x", (i + 3, j), float32)
    buffers = {"x": array(35, 100), "y": result(32, 120)}
    assert together(place("apart", buffers, (i, j), (Store("y", (i, j), value),))) == 4


@pytest.mark.parametrize("step, expected", [(1, 4), (2, 4), (3, 1)])
def test_rows_that_share_nothing_stay_alone(step: int, expected: int):
    assert together(stencil(32, step=step)) == expected


@pytest.mark.parametrize("width, expected", [(3, 3), (4, 1)])
def test_rows_that_load_much_stay_alone(width: int, expected: int):
    i, j = Index("i", 33), Index("j", 100)
    loads = [Load("x", (i + down, j + right), float32) for down in range(2) for right in range(width)]
    store = Store("y", (i, j), sum(loads[1:], loads[0]))
    buffers = {"x": array(34, 110), "y": result(33, 120)}
    assert together(place("box", buffers, (i, j), (store,))) == expected


def test_wide_vectors_do_one_row_at_a_time():
    assert together(stencil(32), 64) == 1


def test_rows_that_all_read_the_same_stay_alone():
    i, j = Index("i", 32), Index("j", 100)
    value = Load("x", (i, j + 1), float32) * Load("scale", (j,), float32)
    buffers = {"x": array(32, 130), "scale": array(100), "y": result(32, 120)}
    assert together(place("scaled", buffers, (i, j), (Store("y", (i, j), value),))) == 1


def test_rows_that_wait_for_each_other_stay_in_order():
    """Each row is written where the next one reads."""
    i, j = Index("i", 32), Index("j", 100)
    value = Load("y", (i, j), float32) + Load("y", (i + 2, j), float32)
    assert together(place("waits", {"y": result(34, 100)}, (i, j), (Store("y", (i + 1, j), value),))) == 1


def test_sums_along_rows_stay_alone():
    i, k = Index("i", 32), Index("k", 100)
    total = Reduce((k,), "add", Load("x", (i, k), float32) * Load("x", (i + 1, k), float32))
    kernel = place("sums", {"x": array(33, 100), "y": result(32)}, (i,), (Store("y", (i,), total),))
    assert together(kernel) == 1


def test_locals_of_rows_are_their_own():
    i, j = Index("i", 34), Index("j", 100)
    mean = (Load("x", (i, j), float32) + Load("x", (i + 1, j), float32)) * 0.5
    stores = (Store("y", (i, j), mean), Store("z", (i, j), mean * mean))
    buffers = {"x": array(35, 120), "y": result(34, 110), "z": result(34, 110)}
    scheduled = schedule(place("two", buffers, (i, j), stores), 32)
    defined = [s.local.name for s in statements(scheduled.body) if isinstance(s, Let)]
    assert len(defined) == len(set(defined)) == 2


@pytest.mark.takes_long
@pytest.mark.by_turns("vector_bytes")
@pytest.mark.parametrize("dtype", [float32, float64])
@pytest.mark.parametrize("vector_bytes", [16, 32])
@pytest.mark.parametrize("rows, step", [(32, 1), (30, 2), (33, 1), (34, 1)])
def test_the_meaning_stays(rows: int, step: int, vector_bytes: int, dtype):
    kernel = stencil(rows, 101, dtype, step)
    arrays = filled(kernel.buffers)
    expected = {name: a.copy() for name, a in arrays.items()}
    interpret(kernel, expected)
    flat = {name: a.reshape(-1) for name, a in arrays.items()}
    found = run(schedule(kernel, vector_bytes), flat, vector_bytes)["y"]
    np.testing.assert_array_equal(found, expected["y"].reshape(-1))
