"""Which loops become one, what is taken from registers then, and that it changes no value."""

from __future__ import annotations

import numpy as np

from staticgraph.compiler.graph.dtypes import float32
from staticgraph.compiler.kernel import scalar
from staticgraph.compiler.kernel.expr import Const, Expr, Index, Load, Local
from staticgraph.compiler.kernel.loops.fusion import fuse_loops
from staticgraph.compiler.kernel.printer import kernel_text
from staticgraph.compiler.kernel.stmt import Buffer, Kernel, Let, Loop, Stmt, Store, Update
from staticgraph.compiler.kernel.verify import verify
from tests.kernel.cases import array, filled, loads, result, run

N = 6
A, B, C = (Index(name, N) for name in "ijk")
x, y, out = loads("x"), loads("y"), loads("out")
row = loads("row")
ROW = Buffer(float32, (N,), written=True, local=True)
BUFFERS = {"x": array(N), "y": result(N), "out": result(N), "row": ROW}


def fused(*body: Stmt) -> list[str]:
    """The lines of the fused kernel, which computes what the plain one does."""
    kernel = Kernel("k", BUFFERS, body)
    verify(kernel)
    found = fuse_loops(kernel)
    verify(found)
    arrays = filled(kernel.arguments)
    before, after = run(kernel, arrays), run(found, arrays)
    for name, value in before.items():
        np.testing.assert_array_equal(after[name], value, err_msg=name)
    return [line.strip() for line in kernel_text(found).splitlines()[1:]]


def sum_of(value: Expr, index: Index, name: str = "acc") -> tuple[Let, Loop, Local]:
    total = Local(name, float32)
    return Let(total, Const(0.0, float32)), Loop(index, (Update(total, total + value, "add"),)), total


def test_a_value_is_taken_from_its_register():
    start, adds, total = sum_of(row(B), B)
    once = Index("once", 1)
    lines = fused(
        Loop(A, (Store("row", (A,), scalar.exp(x(A))),)),
        start,
        adds,
        Loop(once, (Store("y", (once,), total),)),
    )
    assert lines == [
        "acc: float32 = 0.0",
        "for i in 0..6:",
        "v0: float32 = exp(x[i])",
        "acc += v0",
        "for once in 0..1:",
        "y[once] = acc",
    ]


def test_a_local_buffer_stays_where_a_later_loop_reads_it():
    start, adds, total = sum_of(row(B), B)
    lines = fused(
        Loop(A, (Store("row", (A,), scalar.exp(x(A))),)),
        start,
        adds,
        Loop(C, (Store("y", (C,), row(C) / total),)),
    )
    assert lines == [
        "local row: float32[6]",
        "acc: float32 = 0.0",
        "for i in 0..6:",
        "v0: float32 = exp(x[i])",
        "row[i] = v0",
        "acc += v0",
        "for k in 0..6:",
        "y[k] = row[k] / acc",
    ]


def test_what_needs_a_whole_sum_waits_for_it():
    start, adds, total = sum_of(x(A), A)
    lines = fused(start, adds, Loop(B, (Store("y", (B,), x(B) - total),)))
    assert sum(line.startswith("for") for line in lines) == 2


def test_a_loop_that_reads_the_neighbour_waits():
    shifted = scalar.minimum(B + 1, Const(N - 1, B.dtype))
    lines = fused(
        Loop(A, (Store("y", (A,), x(A) * 2.0),)),
        Loop(B, (Store("out", (B,), Load("y", (shifted,), float32)),)),
    )
    assert sum(line.startswith("for") for line in lines) == 2


def test_a_loop_joins_one_further_up_past_what_it_does_not_need():
    start, adds, total = sum_of(x(C), C)
    lines = fused(
        Loop(A, (Store("y", (A,), x(A) * 2.0),)),
        start,
        adds,
        Loop(B, (Store("out", (B,), y(B) + x(B)),)),
        Loop(Index("l", N), (Store("row", (Index("l", N),), y(Index("l", N)) * total),)),
    )
    assert sum(line.startswith("for") for line in lines) == 1  # nothing reads the last one's result


def test_loops_that_share_nothing_stay_apart():
    lines = fused(Loop(A, (Store("y", (A,), x(A)),)), Loop(B, (Store("out", (B,), Const(1.0, float32)),)))
    assert sum(line.startswith("for") for line in lines) == 2


def test_a_store_that_is_overwritten_is_not_forwarded():
    lines = fused(Loop(A, (Store("y", (A,), x(A)), Store("y", (A,), x(A) * 2.0), Store("out", (A,), y(A)))))
    assert lines[1:] == ["y[i] = x[i]", "v0: float32 = x[i] * 2.0", "y[i] = v0", "out[i] = v0"]
