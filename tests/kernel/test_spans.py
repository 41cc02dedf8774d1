"""Loops over spans, and loops of phases that are written once."""

from dataclasses import replace

import numpy as np
import pytest

from staticgraph.compiler.codegen.llvm.kernel import emit_phases
from staticgraph.compiler.graph.dtypes import float32, int64
from staticgraph.compiler.graph.sizes import evaluate, symbol
from staticgraph.compiler.kernel import scalar
from staticgraph.compiler.kernel.digest import digest
from staticgraph.compiler.kernel.expr import Const, Index, Load, Local
from staticgraph.compiler.kernel.interpret import interpret
from staticgraph.compiler.kernel.printer import kernel_text
from staticgraph.compiler.kernel.schedule_cpu.schedule import chunked, schedule
from staticgraph.compiler.kernel.stmt import (
    Buffer,
    Kernel,
    Let,
    Loop,
    LoopKind,
    Span,
    Store,
    Update,
    structure,
)
from staticgraph.compiler.machine import CPU
from staticgraph.runtime.cpu import jit as cpu_jit
from tests.codegen.native import launch, run

N = 20
i, k = Index("i", N), Index("k", N)
x, total = Load("x", (i, k), float32), Local("total", float32)
BUFFERS = {"x": Buffer(float32, (N, N)), "y": Buffer(float32, (N,), written=True)}


def sums(start, stop) -> Kernel:
    """The sum of a part of each row."""
    inner = Loop(k, (Update(total, total + x, "add"),), share=Span(start, stop))
    body = (Let(total, Const(0.0, float32)), inner, Store("y", (i,), total))
    return Kernel("sums", BUFFERS, (Loop(i, body),))


@pytest.mark.parametrize(
    ("start", "stop"),
    [
        (Const(0, int64), i),
        (i, Const(N, int64)),
        (i - 3, i + 4),  # which leaves the loop at both ends
        (i + 5, i + 2),  # of which there are none
        (Const(-7, int64), Const(99, int64)),
    ],
)
def test_a_span_is_the_iterations_that_the_loop_has(start, stop, rng):
    kernel, rows = sums(start, stop), rng.normal(size=(N, N)).astype("f4")
    wanted = np.zeros(N, "f4")
    interpret(kernel, {"x": rows, "y": wanted})
    in_span = [[j for j in range(N) if int(_at(start, n)) <= j < int(_at(stop, n))] for n in range(N)]
    np.testing.assert_allclose(
        wanted, [row[js].sum() for row, js in zip(rows, in_span, strict=True)], atol=1e-5
    )
    for made in (kernel, schedule(kernel, 32)):
        shaped = {
            name: rows.reshape(b.shape) if name == "x" else np.zeros(N, "f4")
            for name, b in made.buffers.items()
        }
        np.testing.assert_allclose(run(made, shaped)["y"], wanted, atol=1e-5)


def _at(bound, n):
    """The value of a bound in row `n`."""
    out = np.zeros(1, np.int64)
    j = Index("i", N)
    store = Store("out", (Const(0, int64),), bound)
    only = Loop(j, (store,), share=Span(Const(n, int64), Const(n + 1, int64)))
    interpret(Kernel("bound", {"out": Buffer(int64, (1,), written=True)}, (only,)), {"out": out})
    return out[0]


@pytest.mark.parametrize(
    ("start", "stop"), [(0, 0), (0, 3), (0, 16), (0, 20), (3, 40), (5, 62), (1, 77), (0, 99), (50, 9)]
)
def test_a_span_in_vector_lanes(start, stop, rng):
    """Whole vectors from its first iteration on, then one under a mask; what is around it stays."""
    n = 77
    lane, zero = Index("lane", n), Const(0, int64)
    ends = Local("start", int64), Local("stop", int64)
    store = Store("y", (lane,), Load("x", (lane,), float32) * 2.0)
    body = (
        *(Let(end, Load("ends", (zero + k,), int64)) for k, end in enumerate(ends)),
        Loop(lane, (store,), LoopKind.SIMD, Span(*ends)),
    )
    row, bounds = Buffer(float32, (n,)), Buffer(int64, (2,))
    kernel = Kernel("part", {"ends": bounds, "x": row, "y": replace(row, written=True)}, body)
    fed = {"ends": np.int64([start, stop]), "x": rng.normal(size=n).astype("f4"), "y": np.full(n, 7, "f4")}
    wanted = fed["y"].copy()
    wanted[start:stop] = fed["x"][start:stop] * 2
    np.testing.assert_array_equal(run(kernel, fed)["y"], wanted)


@pytest.mark.parametrize("count", [0, 3, 16, 20, 63, 64, 75, 127, 150, 190, 255])
def test_a_sum_of_a_span_in_several_vectors(count, rng):
    """Vectors of all registers, then of one register, then one under a mask: each iteration once."""
    n, start = 300, 7
    lane, zero, stop = Index("lane", n), Const(0, int64), Local("stop", int64)
    body = (
        Let(stop, Load("ends", (zero,), int64)),
        Let(total, Const(0.0, float32)),
        Loop(
            lane,
            (Update(total, total + Load("x", (lane,), float32), "add"),),
            LoopKind.SIMD,
            Span(Const(start, int64), stop),
        ),
        Store("y", (zero,), total),
    )
    row, bounds = Buffer(float32, (n,)), Buffer(int64, (1,))
    kernel = Kernel("part", {"ends": bounds, "x": row, "y": Buffer(float32, (1,), written=True)}, body)
    fed = {
        "ends": np.int64([start + count]),
        "x": rng.integers(-99, 99, n).astype("f4"),
        "y": np.zeros(1, "f4"),
    }
    assert run(kernel, fed)["y"] == fed["x"][start : start + count].sum()


def test_a_span_is_part_of_what_a_kernel_says():
    lower, upper = sums(Const(0, int64), i), sums(i, Const(N, int64))
    assert "for k in 0..20 from 0 to i:" in kernel_text(lower)
    words = [digest(tuple(map(structure, kernel.body))) for kernel in (lower, upper, lower)]
    assert words[0] == words[2] != words[1]


def substitution(n: int) -> Kernel:
    """Row `step` of `y` is taken from the rows behind it, which may be done at the same time."""
    s, row, lane = Index("step", n), Index("row", n), Index("lane", n)
    factor = Load("x", (row, s), float32)
    taken = Load("y", (row, lane), float32) - factor * Load("y", (s, lane), float32)
    inner = Loop(lane, (Store("y", (row, lane), taken),), LoopKind.SIMD)
    behind = Loop(row, (inner,), LoopKind.PARALLEL, Span(s + 1, Const(n, int64)))
    at = Index("a", n), Index("b", n)
    first = Loop(at[0], (Loop(at[1], (Store("y", at, Load("x", at, float32)),)),))
    buffers = {"x": Buffer(float32, (n, n)), "y": Buffer(float32, (n, n), written=True)}
    return Kernel("substitution", buffers, (first, Loop(s, (behind,))))


def test_the_phases_of_a_loop_are_written_once_and_done_in_order(rng, monkeypatch):
    n = 48
    kernel = schedule(substitution(n), cpu_jit.host().vector_bytes)
    eager = replace(CPU, shared_ns=10.0, chunk_ns=10.0, short_chunk_ns=10.0)
    monkeypatch.setattr("staticgraph.compiler.kernel.schedule_cpu.parallelize.CPU", eager)
    monkeypatch.setattr("staticgraph.compiler.kernel.cost.CPU", eager)
    matrix = rng.uniform(-0.1, 0.1, (n, n)).astype("f4")
    split = chunked(kernel, 32)
    code = emit_phases(split.phases, cpu_jit.host(), calls=split.calls)
    assert len({phase.code.name for phase in code.phases}) < len(code.phases)
    assert len(code.phases) >= n
    wanted = matrix.astype(float).copy()
    for s in range(n):
        wanted[s + 1 :] -= matrix[s + 1 :, s : s + 1] * wanted[s]
    for order in range(3):
        found = np.zeros((n, n), "f4")
        launch(code, [matrix.ctypes.data, found.ctypes.data], order=order)
        np.testing.assert_allclose(found, wanted, atol=1e-4)


def test_phases_of_a_loop_have_no_more_chunks_than_open_iterations():
    """There are many of them, of which most may have nothing to do."""
    n, width = symbol("n"), 1 << 16
    s, row, lane = Index("round", 30), Index("row", n), Index("lane", width)
    begun = Store("total", (Const(0, int64),), scalar.cast(s, float32))
    added = Load("y", (row, lane), float32) + Load("total", (Const(0, int64),), float32)
    inner = Loop(lane, (Store("y", (row, lane), added),), LoopKind.SIMD)
    body = Loop(s, (begun, Loop(row, (inner, inner), LoopKind.PARALLEL)))
    buffers = {"y": Buffer(float32, (n, width), written=True), "total": Buffer(float32, (1,), written=True)}
    split = chunked(Kernel("rounds", buffers, (body,)), 32)
    assert split.calls is not None and len(split.phases) == 2 and len(split.calls) == 60
    starts = [call.first for call in split.calls if call.phase == 1]
    for size, wanted in ((0, 0), (1, 1), (3, 3), (1000, starts[1])):
        assert {evaluate(call.chunks, {"n": size}) for call in split.calls if call.phase == 1} == {wanted}
    assert starts == [starts[1] * each for each in range(30)]
