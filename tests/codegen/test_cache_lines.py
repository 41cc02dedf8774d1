"""Tiles of products whose second operand is read in vectors that cross cache lines."""

from dataclasses import replace

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler.codegen.gemm.cache_lines import crossing_part
from staticgraph.compiler.codegen.gemm.design import design
from staticgraph.compiler.graph.dtypes import float32, float64
from staticgraph.compiler.kernel.contraction import Contraction
from tests.codegen.contraction_cases import inputs, matmul, processor, run


def fed(c: Contraction) -> Contraction:
    """The same product with a second operand that may begin anywhere."""
    return replace(c, buffers={**c.buffers, c.b.buffer: replace(c.buffers[c.b.buffer], unaligned=True)})


@pytest.mark.parametrize(
    ("c", "lanes", "part"),
    [
        (matmul(8, 64, 8), 16, 0.0),  # rows are whole lines
        (matmul(8, 72, 8), 16, 0.5),  # each other one begins in the middle of a line
        (matmul(8, 72, 8), 8, 0.0),  # but vectors of half a line fit
        (matmul(8, 33, 8), 16, 15 / 16),  # one of 16 vectors lies in a line
        (matmul(8, 33, 8), 8, 7 / 16),
        (matmul(8, 36, 8, dtype=float64), 8, 0.5),
        (matmul(8, 33, 8, turn_b=True), 16, 0.0),  # no vectors
        (fed(matmul(8, 64, 8)), 16, 1.0),  # if it begins within a line, as most do
        (fed(matmul(8, 64, 8)), 8, 0.5),
    ],
)
def test_vectors_cross_if_rows_are_no_whole_lines(c: Contraction, lanes: int, part: float):
    assert crossing_part(c, lanes) == part


@pytest.mark.parametrize("dtype", [float32, float64])
def test_such_vectors_are_read_for_more_rows(dtype):
    c = matmul(128, 16 * 64 // dtype.size, 256, dtype=dtype)
    (aligned,), (unaligned,) = design(c, processor(64)).parts, design(fed(c), processor(64)).parts
    assert aligned.plan.tiling.rows[0].size == 4
    assert unaligned.plan.b is None
    assert min(rows.size for rows in unaligned.plan.tiling.rows) >= 6


@pytest.mark.parametrize(("m", "n", "k"), [(64, 128, 100), (128, 256, 2000), (30, 33, 3000)])
def test_where_an_operand_lies_changes_no_bits(m: int, n: int, k: int, rng: np.random.Generator):
    c = matmul(m, n, k)
    arrays = inputs(c, rng)
    usual, other = run(c, arrays, 64), run(fed(c), arrays, 64)
    assert usual["c"].tobytes() == other["c"].tobytes()


def test_an_array_of_the_caller_may_begin_anywhere(rng: np.random.Generator):
    """A fed operand, at all multiples of its elements within a line, and a variable: the same bits."""
    x, y = (rng.standard_normal(shape).astype("f") for shape in ((64, 96), (96, 128)))
    a, b = sg.placeholder(sg.float32, x.shape), sg.placeholder(sg.float32, y.shape)
    w = sg.Variable(y)
    made = [sg.matmul(a, b), sg.matmul(a, w), sg.matmul(a, sg.reshape(sg.reshape(b, [-1]), y.shape))]
    with sg.Session() as session:
        session.run(w.initializer)
        found = set()
        for start in range(0, 64, 4):
            memory = np.empty(y.nbytes + 128, np.uint8)
            first = -memory.ctypes.data % 64 + start
            moved = memory[first : first + y.nbytes].view("f").reshape(y.shape)
            moved[...] = y
            found |= {value.tobytes() for value in session.run(made, {a: x, b: moved})}
    assert len(found) == 1
    np.testing.assert_allclose(np.frombuffer(found.pop(), "f").reshape(64, 128), x @ y, rtol=1e-4, atol=1e-4)
