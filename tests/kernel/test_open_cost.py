"""The time of a kernel in a run is a polynomial in its open sizes."""

from __future__ import annotations

import pytest

from staticgraph.compiler.graph.dtypes import float32
from staticgraph.compiler.graph.sizes import evaluate, symbol
from staticgraph.compiler.kernel.cost import nanoseconds, picoseconds
from staticgraph.compiler.kernel.expr import Index, Load
from staticgraph.compiler.kernel.stmt import Buffer, Loop, LoopKind, Store

B, T = symbol("B"), symbol("T")


def loops(rows, columns, fixed):
    """Loops over rows and columns, and one of known length."""
    i, j, k = Index("i", rows), Index("j", columns), Index("k", fixed)
    buffers = {"x": Buffer(float32, (rows, columns)), "y": Buffer(float32, (fixed,), written=True)}
    inner = Loop(j, (Store("x", (i, j), Load("x", (i, j), float32) * 2.0 + 1.0),), LoopKind.SIMD)
    last = Loop(k, (Store("y", (k,), Load("y", (k,), float32) + 1.0),))
    return (Loop(i, (inner,)), last), buffers


@pytest.mark.parametrize(("rows", "columns"), [(1, 64), (32, 640), (500, 64), (3, 0)])
def test_each_open_size_counts_by_itself(rows, columns):
    time = picoseconds(*loops(B, T, 100), 64)
    closed = nanoseconds(*loops(rows, columns, 100), 64)
    assert evaluate(time, {"B": rows, "T": columns}) == pytest.approx(1000 * closed, rel=0.01)


def test_known_sizes_give_a_number():
    body, buffers = loops(7, 64, 9)
    assert picoseconds(body, buffers, 64) == pytest.approx(1000 * nanoseconds(body, buffers, 64), abs=2)
