"""Kernels in phases of chunks keep their meaning, whatever the sizes, and share out what is worth it."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from unittest import mock

import numpy as np
import pytest

from staticgraph.compiler.codegen.llvm.kernel import emit_phases
from staticgraph.compiler.graph.dtypes import DType, float32, int8, int64
from staticgraph.compiler.graph.sizes import symbol
from staticgraph.compiler.kernel import cost as kernel_cost
from staticgraph.compiler.kernel import scalar
from staticgraph.compiler.kernel.expr import Const, Expr, Extent, Index, Load, Reduce
from staticgraph.compiler.kernel.interpret import interpret
from staticgraph.compiler.kernel.lower_expressions import place
from staticgraph.compiler.kernel.printer import kernel_text
from staticgraph.compiler.kernel.schedule_cpu import parallelize as chunk
from staticgraph.compiler.kernel.schedule_cpu.schedule import chunked, schedule
from staticgraph.compiler.kernel.stmt import Buffer, If, Kernel, Loop, LoopKind, Stmt, Store
from staticgraph.compiler.machine import CPU
from staticgraph.runtime.cpu import jit as cpu_jit
from tests.codegen.native import launch, loaded, stored
from tests.kernel.cases import array, filled, result


@contextmanager
def eager(count: int) -> Iterator[None]:
    """Context in which everything is shared out, into about `count` chunks."""
    with (
        mock.patch.object(kernel_cost, "CPU", replace(CPU, shared_ns=0.0)),
        mock.patch.multiple(chunk, _UNIT=16, chunk_count=lambda cost: count),
    ):
        yield


def load(name: str, *at: Expr, dtype: DType = float32) -> Load:
    return Load(name, at, dtype)


def total(value: Expr, *axes: Index, combine: str = "add") -> Reduce:
    return Reduce(axes, combine, value)


# Forms of kernels over m x n elements.


def elementwise(m: int, n: int) -> Kernel:
    i, j = Index("i", m), Index("j", n)
    buffers = {"x": array(m, n), "y": result(m, n), "z": result(m, n, dtype=int8)}
    twice = load("x", i, j) * 2.0
    return place(
        "elementwise",
        buffers,
        (i, j),
        (Store("y", (i, j), twice), Store("z", (i, j), scalar.cast(twice > 1.0, int8))),
    )


def transposed(m: int, n: int) -> Kernel:
    i, j = Index("i", m), Index("j", n)
    return place(
        "transposed", {"x": array(n, m), "y": result(m, n)}, (i, j), (Store("y", (i, j), load("x", j, i)),)
    )


def outer(m: int, n: int) -> Kernel:
    i, j = Index("i", m), Index("j", n)
    value = load("a", i) * load("b", j)
    return place(
        "outer", {"a": array(m), "b": array(n), "y": result(m, n)}, (i, j), (Store("y", (i, j), value),)
    )


def column_sums(m: int, n: int) -> Kernel:
    j, k = Index("j", n), Index("k", m)
    value = total(load("x", k, j), k) * 0.5
    return place("column_sums", {"x": array(m, n), "y": result(n)}, (j,), (Store("y", (j,), value),))


def row_extrema(m: int, n: int) -> Kernel:
    i, k = Index("i", m), Index("k", n)
    x = load("x", i, k)
    return place(
        "row_extrema",
        {"x": array(m, n), "low": result(m), "high": result(m)},
        (i,),
        (
            Store("low", (i,), total(x, k, combine="minimum")),
            Store("high", (i,), total(x, k, combine="maximum")),
        ),
    )


def softmax(m: int, n: int) -> Kernel:
    i, j, k, k2 = Index("i", m), Index("j", n), Index("k", n), Index("k2", n)
    top = total(load("x", i, k), k, combine="maximum")
    value = scalar.exp(load("x", i, j) - top) / total(scalar.exp(load("x", i, k2) - top), k2)
    return place("softmax", {"x": array(m, n), "y": result(m, n)}, (i, j), (Store("y", (i, j), value),))


def centred(m: int, n: int) -> Kernel:
    i, j, k, k2 = Index("i", m), Index("j", n), Index("k", m), Index("k2", n)
    x = load("x", k, k2)
    mean = total(x, k, k2) * 0.125
    deviation = total((x - mean) * (x - mean), k, k2)
    value = (load("x", i, j) - mean) / scalar.sqrt(deviation + 1.0)
    return place("centred", {"x": array(m, n), "y": result(m, n)}, (i, j), (Store("y", (i, j), value),))


def gathered(m: int, n: int) -> Kernel:
    i, j = Index("i", m), Index("j", n)
    row = scalar.minimum(scalar.maximum(load("at", i, dtype=int64), 0), m - 1)
    buffers = {"x": array(m, n), "at": array(m, dtype=int64), "y": result(m, n)}
    return place("gathered", buffers, (i, j), (Store("y", (i, j), load("x", row, j)),))


def framed(m: int, n: int) -> Kernel:
    """The middle of a picture and its upper and lower edge, as separate loops."""
    i, j, edge = Index("i", m), Index("j", n), Index("edge", n)
    last = Const(m + 1, int64)
    return Kernel(
        "framed",
        {"x": array(m + 2, n), "y": result(m + 2, n)},
        (
            Loop(
                edge,
                (
                    Store("y", (Const(0, int64), edge), load("x", Const(0, int64), edge)),
                    Store("y", (last, edge), load("x", last, edge)),
                ),
            ),
            Loop(i, (Loop(j, (Store("y", (i + 1, j), load("x", i, j) + load("x", i + 2, j)),)),)),
        ),
    )


FORMS = [elementwise, transposed, outer, column_sums, row_extrema, softmax, centred, gathered, framed]


def run(phases: tuple[Kernel, ...], arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The written arrays after compiled phases ran, each with its chunks in an order of no meaning."""
    arguments = phases[0].arguments
    memory = {name: stored(b.dtype, arrays[name]).copy() for name, b in arguments.items()}
    launch(emit_phases(phases, cpu_jit.host()), [m.ctypes.data for m in memory.values()])
    return {name: loaded(b.dtype, memory[name]) for name, b in arguments.items() if b.written}


@pytest.mark.takes_long
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("m, n, count", [(70, 70, 7), (2, 33, 3), (1, 100, 40), (41, 5, 2), (1, 0, 3)])
def test_chunks_keep_the_meaning(form, m: int, n: int, count: int):
    kernel = schedule(form(m, n), cpu_jit.host().vector_bytes)
    arrays = filled(kernel.buffers)
    with eager(count):
        phases = chunked(kernel, 64).phases
    expected = run((kernel,), arrays)
    for name, found in run(phases, arrays).items():
        text = "".join(map(kernel_text, phases))
        np.testing.assert_allclose(found, expected[name], rtol=1e-5, atol=1e-6, err_msg=text)


@pytest.mark.parametrize("form", FORMS)
def test_phases_can_be_interpreted(form):
    kernel = schedule(form(5, 37), 64)
    arrays = filled(kernel.buffers)
    with eager(3):
        phases = chunked(kernel, 64).phases
    assert any(phase.chunks > 1 for phase in phases)
    expected, found = ({name: a.copy() for name, a in arrays.items()} for _ in range(2))
    interpret(kernel, expected)
    found |= {name: np.empty(b.shape, b.dtype.numpy) for name, b in phases[0].shared.items()}
    for phase in phases:
        interpret(phase, found, backwards=True)
    for name in expected:
        np.testing.assert_allclose(found[name], expected[name], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("form", FORMS)
def test_small_kernels_are_one_chunk(form):
    (only,) = chunked(schedule(form(8, 16), 64), 64).phases
    assert only.chunks == 1


@pytest.mark.parametrize(
    "form, expected",
    [
        (elementwise, 1),
        (transposed, 1),
        (outer, 1),
        (column_sums, 2),
        (row_extrema, 1),
        (softmax, 1),
        (centred, 5),
        (gathered, 1),
        (framed, 1),
    ],
)
def test_large_kernels_are_shared_out(form, expected: int):
    phases = chunked(schedule(form(3000, 100), 64), 64).phases
    assert len(phases) == expected
    assert max(phase.chunks for phase in phases) >= 8


def test_few_long_rows_are_shared_out_within_the_row():
    (phase,) = chunked(schedule(outer(3, 100_000), 64), 64).phases
    assert "part chunk // 6 of 3" in kernel_text(phase) and "part chunk % 6 of 6" in kernel_text(phase)


def test_no_two_chunks_write_to_one_cache_line():
    (phase,) = chunked(schedule(elementwise(1, 1_000_003), 64), 64).phases
    (loop,) = phase.body[0].body
    starts = [loop.share.bounds(part, loop.index.extent)[0] for part in range(phase.chunks)]
    assert all(start * int8.size % 64 == 0 for start in starts)
    assert len(set(starts)) == phase.chunks > 8


def test_scratch_memory_that_iterations_pass_on_is_not_shared_out():
    """A chunk has its own, and would not find what an iteration of another chunk left there."""
    i, zero = Index("i", 40_000), (Const(0, int64),)
    buffers = {"x": array(40_000), "y": result(40_000), "kept": Buffer(float32, (1,), True, local=True)}
    keep, use = Store("kept", zero, load("x", i) * 2.0), Store("y", (i,), load("kept", *zero))

    def chunks(*body: Stmt) -> int:
        return max(k.chunks for k in chunked(Kernel("kept", buffers, (Loop(i, body),)), 64).phases)

    assert chunks(keep, use) > 1
    assert chunks(use, keep) == chunks(If(load("x", i) > 0.0, (keep,)), use) == 1


def test_what_is_small_goes_with_the_chunks_beside_it_unless_they_meet():
    edge, i = Index("edge", 10), Index("i", 40_000)
    buffers = {"x": array(40_000), "y": result(40_010)}
    middle = Loop(i, (Store("y", (i + 10,), load("x", i) * 2.0),))

    def chunks(*body: Stmt) -> list[int]:
        return [k.chunks for k in chunked(schedule(Kernel("beside", buffers, body), 64), 64).phases]

    apart = Loop(edge, (Store("y", (edge,), load("x", edge)),))
    read = Loop(edge, (Store("y", (edge,), load("y", edge + 20)),))
    written = Loop(edge, (Store("y", (edge + 20,), load("x", edge)),))
    assert chunks(apart, middle) == chunks(middle, apart) == chunks(middle)
    assert chunks(middle, read) == chunks(middle, written) == [*chunks(middle), 1]
    assert chunks(read, middle) == chunks(written, middle) == [1, *chunks(middle)]


def test_borders_of_open_pictures_go_with_the_chunks_beside_them():
    """The last row of `n` meets none of those in the middle, but those of a picture with a row more."""
    n = symbol("n")
    row, j, edge = Index("row", n - 2), Index("j", 512), Index("edge", 512)
    buffers = {"x": array(n, 512), "y": result(n, 512)}
    middle = Loop(row, (Loop(j, (Store("y", (row + 1, j), load("x", row + 1, j) * 2.0),)),))

    def phases(last: Expr, *body: Stmt) -> int:
        border = Loop(
            edge, tuple(Store("y", (at, edge), load("x", at, edge)) for at in (Const(0, int64), last))
        )
        kernel = Kernel("picture", buffers, (border, *body))
        return len(chunked(schedule(kernel, 64), 64).phases)

    assert phases(Extent(n - 1), middle) == 1
    assert phases(Extent(n - 2), middle) == 2


def test_iterations_that_meet_are_not_shared_out():
    i = Index("i", 40_000)
    x = Load("x", (i,), float32)
    buffers = {"x": array(40_000), "y": Buffer(float32, (8,), written=True)}
    kernel = place("meet", buffers, (i,), (Store("y", (i % 8,), x),))
    (only,) = chunked(schedule(kernel, 64), 64).phases
    assert only.chunks == 1


@pytest.mark.parametrize("rows, expected", [(4, False), (40_000, True)])
def test_what_an_op_promises_needs_no_proof(rows: int, expected: bool):
    """The place in each row is data, of which no range is known."""
    i = Index("i", rows)
    buffers = {"n": array(rows, dtype=int64), "y": Buffer(float32, (rows, 8), written=True)}
    loop = Loop(i, (Store("y", (i, load("n", i, dtype=int64)), Const(1, float32)),), LoopKind.PARALLEL)
    (only,) = chunked(schedule(Kernel("promise", buffers, (loop,)), 64), 64).phases
    assert (only.chunks > 1) is expected
    assert only.chunks < rows


def test_a_kernel_that_does_nothing_is_one_phase():
    with eager(3):
        (only,) = chunked(Kernel("nothing", {"y": result(3)}, ()), 64).phases
    assert only.body == ()


def test_partial_results_are_not_shared_out_again():
    """Two sums of three elements, in as many chunks: their parts have been added up without an end."""
    i, j = Index("i", 2), Index("j", 3)
    buffers = {"x": array(3, 2), "y": result(2)}
    kernel = place("sums", buffers, (i,), (Store("y", (i,), total(load("x", j, i), j)),))
    with eager(3):
        assert len(chunked(schedule(kernel, 32), 32).phases) == 2
