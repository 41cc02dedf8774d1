"""Vector loops are cut where their stores would cross cache lines, and mean the same."""

import numpy as np
import pytest

from staticgraph.compiler.graph.dtypes import float32, float64, int8
from staticgraph.compiler.kernel import scalar
from staticgraph.compiler.kernel.expr import Const, Index, Load, Reduce
from staticgraph.compiler.kernel.interpret import interpret
from staticgraph.compiler.kernel.lower_expressions import place
from staticgraph.compiler.kernel.schedule_cpu.schedule import schedule
from staticgraph.compiler.kernel.schedule_cpu.vectorize import align
from staticgraph.compiler.kernel.stmt import Kernel, LoopKind, Store, statements
from staticgraph.runtime.cpu import jit as cpu_jit
from tests.codegen.native import run
from tests.kernel.cases import array, filled, result


def interior(shift: int, rows: int, columns: int, width: int, dtype=float32) -> Kernel:
    """Sums of neighbours, written `shift` elements after the beginning of each row."""
    i, j = Index("i", rows), Index("j", columns)
    x = Load("x", (i, j), dtype) + Load("x", (i, j + 1), dtype)
    buffers = {"x": array(rows, width, dtype=dtype), "y": result(rows, width, dtype=dtype)}
    return place("interior", buffers, (i, j), (Store("y", (i, j + shift), x),))


def aligned(kernel: Kernel, vector_bytes: int) -> Kernel:
    kernel = schedule(kernel, vector_bytes)
    return Kernel(kernel.name, kernel.buffers, align(kernel.body, kernel.buffers, vector_bytes))


def extents(kernel: Kernel) -> list[int]:
    """Of the vector loops."""
    return [s.index.extent for s in statements(kernel.body) if getattr(s, "kind", None) is LoopKind.SIMD]


@pytest.mark.parametrize(
    "shift, vector_bytes, expected",
    [
        (1, 64, [15, 111]),
        (1, 32, [7, 119]),
        (15, 64, [1, 125]),
        (16, 64, [126]),
        (8, 32, [126]),
        (8, 64, [8, 118]),
    ],
)
def test_loops_begin_where_a_vector_of_the_result_does(shift, vector_bytes, expected):
    assert extents(aligned(interior(shift, 5, 126, 160), vector_bytes)) == expected


def test_loops_stay_whole_where_rows_begin_anywhere_or_are_short():
    assert extents(aligned(interior(1, 5, 126, 161), 64)) == [126]
    assert extents(aligned(interior(1, 5, 63, 160), 64)) == [63]


def test_stores_that_begin_in_different_lanes_stay_together():
    i = Index("i", 300)
    x = Load("x", (i,), float32)
    buffers = {"x": array(300), "y": result(301), "z": result(302)}
    kernel = place("two", buffers, (i,), (Store("y", (i + 1,), x), Store("z", (i + 2,), x)))
    assert extents(aligned(kernel, 64)) == [300]
    kernel = place("two", buffers, (i,), (Store("y", (i + 1,), x), Store("z", (i + 1,), x * 2.0)))
    assert extents(aligned(kernel, 64)) == [15, 285]


def test_reductions_stay_whole():
    i, k = Index("i", 4), Index("k", 300)
    total = Reduce((k,), "add", Load("x", (i, k), float32))
    kernel = place("sums", {"x": array(4, 300), "y": result(5)}, (i,), (Store("y", (i + 1,), total),))
    assert extents(aligned(kernel, 64)) == [300]


@pytest.mark.takes_long
@pytest.mark.parametrize("dtype", [float32, float64, int8])
@pytest.mark.parametrize("vector_bytes", [16, 32, 64])
@pytest.mark.parametrize("shift", [1, 7, 31])
def test_cut_loops_keep_the_meaning(shift, vector_bytes, dtype):
    if vector_bytes > cpu_jit.host().vector_bytes:
        pytest.skip("wider than the vectors of this processor")
    width = 320
    kernel = interior(shift, 3, width - 32, width, dtype)
    cut = aligned(kernel, vector_bytes)
    assert len(extents(cut)) == 2
    arrays = filled(cut.buffers)
    expected = {name: a.copy() for name, a in arrays.items()}
    interpret(schedule(kernel, vector_bytes), expected)
    np.testing.assert_array_equal(run(cut, arrays, vector_bytes)["y"], expected["y"])


def test_a_result_may_take_the_place_of_what_is_read():
    i = Index("i", 300)
    value = scalar.maximum(Load("y", (i + 3,), float32), Const(0.0, float32))
    kernel = place("in place", {"y": result(303)}, (i,), (Store("y", (i + 3,), value),))
    cut = aligned(kernel, 32)
    assert extents(cut) == [5, 295]
    arrays = filled(cut.buffers)
    expected = arrays["y"].copy()
    expected[3:] = np.maximum(expected[3:], 0)
    np.testing.assert_array_equal(run(cut, arrays, 32)["y"], expected)
