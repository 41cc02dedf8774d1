"""Number of iterations in one vector: as many as hide what a loop would wait for."""

import math

import pytest

from staticgraph.compiler.codegen.llvm.kernel import emit
from staticgraph.compiler.codegen.llvm.lanes import choose_lanes, is_written_out
from staticgraph.compiler.codegen.target import CpuTarget
from staticgraph.compiler.graph.dtypes import float32, int64
from staticgraph.compiler.kernel.expr import Const, Index, Load, Local
from staticgraph.compiler.kernel.stmt import Buffer, Kernel, Let, Loop, LoopKind, Span, Store, Update

TARGET = CpuTarget("", "", "", "+avx2", 32)  # 8 lanes in a register


def lanes(extent: int, operations: int, sums: bool = False) -> int:
    """Of a loop with a chain of so many operations, the load included."""
    i, total = Index("i", extent), Local("total", float32)
    value = Load("x", (i,), float32)
    for n in range(operations - 1):
        value = value * float(n + 2)
    last = Update(total, value) if sums else Store("y", (i,), value)
    buffers = {name: Buffer(float32, (extent,), name == "y") for name in "xy"}
    return math.prod(choose_lanes(Loop(i, (last,), LoopKind.SIMD), buffers, TARGET))


@pytest.mark.parametrize(
    ("operations", "sums", "expected"),
    [(5, False, 8), (12, False, 32), (150, False, 32), (5, True, 32), (150, True, 32), (250, False, 8)],
)
def test_long_chains_and_sums_go_in_four_registers(operations, sums, expected):
    """Short ones wait for memory, and very long ones have more values than there are registers."""
    assert lanes(1024, operations, sums) == expected


def test_many_operations_in_short_chains_go_in_one_register():
    """The processor begins the next iterations while one waits, and LLVM has a quarter of the work."""
    i = Index("i", 1024)
    values = [Load("x", (i,), float32) * float(n + 2) for n in range(32)]
    while len(values) > 1:
        values = [a + b for a, b in zip(values[::2], values[1::2], strict=True)]
    buffers = {name: Buffer(float32, (1024,), name == "y") for name in "xy"}
    loop = Loop(i, (Store("y", (i,), values[0]),), LoopKind.SIMD)
    assert choose_lanes(loop, buffers, TARGET) == (8, 1)


@pytest.mark.parametrize(("chains", "expected"), [(1, 32), (2, 32), (4, 8), (8, 8)])
def test_long_chains_go_in_one_register_if_they_are_four(chains: int, expected: int):
    """The processor works on all of them at the same time."""
    i, stores = Index("i", 1024), []
    for chain in range(chains):
        value = Load("x", (i,), float32)
        for n in range(19):
            value = value * float(20 * chain + n + 2)
        stores.append(Store(f"y{chain}", (i,), value))
    buffers = {name: Buffer(float32, (1024,), name != "x") for name in ("x", *(s.buffer for s in stores))}
    assert math.prod(choose_lanes(Loop(i, tuple(stores), LoopKind.SIMD), buffers, TARGET)) == expected


@pytest.mark.parametrize(
    ("extent", "operations", "expected"),
    [(1, 500, True), (3, 20, True), (4, 32, True), (4, 33, False), (2, 65, False), (5, 2, False)],
)
def test_short_loops_are_written_out_if_that_is_little_text(extent: int, operations: int, expected: bool):
    i = Index("i", extent)
    value = Load("x", (i,), float32)
    for n in range(operations - 1):
        value = value * float(n + 2)
    assert is_written_out(Loop(i, (Store("y", (i,), value),))) == expected


@pytest.mark.parametrize(("extent", "expected"), [(1, 1), (5, 8), (8, 8), (16, 16), (40, 16), (32, 32)])
def test_few_lanes_are_left_empty(extent, expected):
    assert lanes(extent, 20) == expected


@pytest.mark.parametrize(
    ("vector_bytes", "sums", "expected"), [(32, 2, 4), (32, 4, 2), (32, 8, 1), (64, 4, 4)]
)
def test_sums_of_an_inner_loop_stay_in_registers(vector_bytes, sums, expected):
    i, k = Index("i", 1024), Index("k", 100)
    totals = [Local(f"total{n}", float32) for n in range(sums)]
    terms = tuple(Update(t, t + Load("x", (i,), float32) * float(n + 2)) for n, t in enumerate(totals))
    starts = tuple(Let(t, Const(0.0, float32)) for t in totals)
    stores = tuple(Store("y", (i,), t) for t in totals)
    buffers = {name: Buffer(float32, (1024,), name == "y") for name in "xy"}
    loop = Loop(i, (*starts, Loop(k, terms), *stores), LoopKind.SIMD)
    assert choose_lanes(loop, buffers, CpuTarget("", "", "", "", vector_bytes))[1] == expected


def test_lanes_over_a_part_of_an_axis_do_not_have_llvm_search_for_addresses() -> None:
    """To look for another form of those of a transform's stages takes LLVM an eighth of its time in vain."""
    i = Index("i", 64)
    buffers = {"x": Buffer(float32, (64,)), "y": Buffer(float32, (64,), written=True)}
    store = (Store("y", (i,), Load("x", (i,), float32)),)

    def text(share: Span | None) -> str:
        (phase,) = emit(Kernel("copy", buffers, (Loop(i, store, LoopKind.SIMD, share),)), TARGET).phases
        return phase.code.text

    assert "freeze i64" in text(Span(Const(0, int64), Const(50, int64)))
    assert "freeze i64" not in text(None)
