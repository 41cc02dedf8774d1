"""Kernels of open sizes: compiled once, right for every size, and nothing is touched around their buffers."""

import functools
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from staticgraph.compiler.codegen.abi import KernelCode
from staticgraph.compiler.codegen.llvm.kernel import emit_phases
from staticgraph.compiler.graph.dtypes import (
    DType,
    bfloat16,
    bool_,
    float16,
    float32,
    float64,
    int8,
    int32,
    int64,
    uint16,
)
from staticgraph.compiler.graph.sizes import AnySize, Undecided, evaluate, symbol
from staticgraph.compiler.kernel import cost as kernel_cost
from staticgraph.compiler.kernel.expr import Const, Expr, Index, Load
from staticgraph.compiler.kernel.indices.in_bounds import in_bounds
from staticgraph.compiler.kernel.interpret import interpret
from staticgraph.compiler.kernel.lower_expressions import Nest, place
from staticgraph.compiler.kernel.schedule_cpu import parallelize
from staticgraph.compiler.kernel.schedule_cpu.schedule import Chunked, chunked, schedule
from staticgraph.compiler.kernel.schedule_cpu.vectorize import align
from staticgraph.compiler.kernel.stmt import (
    Buffer,
    If,
    Kernel,
    Loop,
    LoopKind,
    Share,
    Stmt,
    Store,
    statements,
)
from staticgraph.compiler.kernel.verify import verify
from staticgraph.compiler.machine import CPU
from staticgraph.runtime.cpu import jit as cpu_jit
from tests.codegen.native import GUARD, guarded, inside, launch, stored
from tests.kernel.cases import Arrays
from tests.kernel.open_case import OpenCase
from tests.kernel.open_cases import OPEN_CASES

SIZES = (0, 1, 2, 3, 7, 8, 15, 16, 17, 31, 64, 100, 1000)
INTERPRETED = (0, 1, 3)  # at which the slow meaning is run
N, T = symbol("n"), symbol("t")


def phases(case: OpenCase, vector_bytes: int) -> Chunked:
    for nest in (*case.nests, *case.sums):
        assert in_bounds(nest.stores, case.buffers) is nest.stores
    placed = case.placed()
    verify(placed)
    scheduled = schedule(placed, vector_bytes)
    verify(scheduled)
    split = chunked(scheduled, vector_bytes)
    aligned = tuple(replace(p, body=align(p.body, p.buffers, vector_bytes)) for p in split.phases)
    for phase in aligned if not placed.locals else ():  # chunks have such memory each for itself
        if not any(map(is_split, statements(phase.body))):
            verify(phase)
    return Chunked(aligned, split.cost, split.time)


def is_split(stmt: Stmt) -> bool:
    """True for what only numbers tell to be independent: what one chunk does, and digits of its number."""
    return isinstance(stmt, If) or (
        isinstance(stmt, Loop) and isinstance(stmt.share, Share) and not isinstance(stmt.share.part, Index)
    )


@functools.cache
def code(name: str, n: AnySize, t: AnySize, vector_bytes: int | None = None) -> KernelCode:
    target = cpu_jit.host()
    if vector_bytes is not None:
        target = replace(target, vector_bytes=vector_bytes)
    split = phases(OPEN_CASES[name](n, t), target.vector_bytes)
    return emit_phases(split.phases, target, cost=split.cost)


def run(kernel: KernelCode, case: OpenCase, arrays: Arrays, sizes: dict[str, int], order: int = 0) -> Arrays:
    """The written arrays, after a run on copies between guards."""
    memory = {name: guarded(a) for name, a in arrays.items()}
    launch(kernel, [inside(m).ctypes.data for m in memory.values()], sizes, order)
    found = {}
    for name, array in arrays.items():
        whole = memory[name]
        middle = inside(whole)
        assert (whole[:GUARD] == 0xA5).all() and (whole[-GUARD:] == 0xA5).all(), f"wrote around {name}"
        if case.buffers[name].written:
            found[name] = middle.view(array.dtype).reshape(array.shape).copy()
        else:
            assert middle.tobytes() == array.tobytes(), f"{name} has changed"
    return found


def compare(found: Arrays, expected: Arrays, about: str) -> None:
    for name, array in expected.items():
        exact = array.dtype.kind in "biu" or array.size == 0
        scale = 0 if exact else max(1.0, float(np.abs(array[np.isfinite(array)]).max(initial=0)))
        tolerance = 1e-5 if array.dtype == np.float32 else 1e-12
        np.testing.assert_allclose(
            found[name], array, rtol=0, atol=tolerance * scale, err_msg=f"{name}, {about}"
        )


@pytest.mark.takes_long
@pytest.mark.parametrize("name", OPEN_CASES)
def test_one_kernel_for_all_sizes(name: str):
    case = OPEN_CASES[name](N, T)
    kernel, placed = code(name, N, T), case.placed()
    assert kernel.sizes
    for n in SIZES:
        sizes = {"n": n, "t": n + 2}
        arrays = case.arrays(sizes, seed=n)
        found = run(kernel, case, arrays, sizes)
        assert found.keys() == case.expected(arrays).keys()
        compare(found, case.expected(arrays), str(sizes))
        again = run(kernel, case, arrays, sizes, order=1)
        assert all(found[k].tobytes() == again[k].tobytes() for k in found), "depends on the order of chunks"
        if n in INTERPRETED:
            meant = {k: a.copy() for k, a in arrays.items()}
            shared = {k: np.empty(b.shape, b.dtype.numpy) for k, b in placed.shared.items()}
            interpret(placed, meant | shared, sizes=sizes)
            compare(found, {k: meant[k] for k in found}, f"{sizes}, interpreted")


@pytest.mark.takes_long
@pytest.mark.parametrize("name", OPEN_CASES)
def test_the_closed_kernel_agrees(name: str):
    case = OPEN_CASES[name](N, T)
    for n in (2, 20):
        sizes = {"n": n, "t": n + 2}
        arrays = case.arrays(sizes, seed=n)
        found = run(code(name, N, T), case, arrays, sizes)
        closed = code(name, n, n + 2)
        assert closed.sizes == ()
        compare(found, run(closed, OPEN_CASES[name](n, n + 2), arrays, {}), f"{sizes}, closed")


@pytest.mark.parametrize("vector_bytes", [16, 32])
@pytest.mark.parametrize("name", ["vector", "bias_7", "row_maxima", "total", "softmax_10", "rows_with_sums"])
def test_narrow_vectors(name: str, vector_bytes: int):
    case = OPEN_CASES[name](N, T)
    for n in (0, 1, 5, 16, 33):
        arrays = case.arrays({"n": n, "t": n}, seed=n)
        found = run(code(name, N, T, vector_bytes), case, arrays, {"n": n, "t": n})
        compare(found, case.expected(arrays), f"{n}, {vector_bytes} bytes")


@pytest.mark.parametrize("dtype", [bool_, int8, uint16, float16, bfloat16, int32, float64], ids=str)
def test_every_length_of_tail(dtype: DType):
    i = Index("i", N)
    buffers = {"x": Buffer(dtype, (N,)), "y": Buffer(dtype, (N,), written=True)}
    copy = place("copy", buffers, (i,), (Store("y", (i,), Load("x", (i,), dtype)),))
    kernel = emit_phases([schedule(copy, 64)], cpu_jit.host())
    case = OpenCase(buffers, (), lambda a: {"y": a["x"]})
    for n in range(140):
        x = np.random.default_rng(n).integers(0, 2, n).astype(stored(dtype, np.zeros(0, dtype.numpy)).dtype)
        found = run(kernel, case, {"x": x, "y": np.zeros_like(x)}, {"n": n})
        assert found["y"].tobytes() == x.tobytes(), n


@pytest.mark.parametrize("name", ["column_sums_7", "total", "rows_with_sums", "largest"])
def test_many_rows(name: str):
    case, sizes = OPEN_CASES[name](N, T), {"n": 100_000, "t": 1}
    arrays = case.arrays(sizes)
    found = [run(code(name, N, T), case, arrays, sizes, order) for order in range(3)]
    assert all(f[k].tobytes() == found[0][k].tobytes() for f in found for k in f)
    exact = case.expected({k: a.astype(np.float64) for k, a in arrays.items()})
    for key, value in found[0].items():
        np.testing.assert_allclose(value, exact[key], rtol=1e-4, atol=1e-2, err_msg=key)


@pytest.mark.takes_long
@pytest.mark.parametrize(("values", "signal"), [(["0", "1", "17", "80"], False), (["17", "--more"], True)])
def test_nothing_is_read_beyond_a_buffer(values: list[str], signal: bool):
    command = [sys.executable, "-m", "tests.codegen.open_guarded", *values]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    last = done.stdout.splitlines()[-1:]
    assert (done.returncode < 0) == signal, (done.returncode, last, done.stderr[-500:])
    assert signal or done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("shape", "at", "about"),
    [
        ((N,), (Const(0, int64),), "the position 0 in 0..n - 1"),
        ((N,), (Index("i", 4),), "the position i in 0..n - 1"),
        ((4,), (Index("i", N),), "the position i in 0..3"),
        ((N,), (Load("k", (), int64),), "0 < n"),
    ],
    ids=["first", "closed", "open", "data"],
)
def test_what_depends_on_sizes_is_undecided(shape: tuple[AnySize, ...], at: tuple[Expr, ...], about: str):
    loops = tuple(i for i in at if isinstance(i, Index))
    extents = tuple(i.extent for i in loops)
    buffers = {
        "x": Buffer(float32, shape),
        "k": Buffer(int64, ()),
        "y": Buffer(float32, extents, written=True),
    }
    stores = (Store("y", loops, Load("x", at, float32)),)
    with pytest.raises(Undecided) as found:
        schedule(place("case", buffers, loops, in_bounds(stores, buffers)), 64)
    assert found.value.about == about


def test_a_run_decides_if_results_are_written_past_the_caches():
    """Results of few rows are read from the caches; taken for large ones, they made attention slow."""
    i, j = Index("i", N), Index("j", 1024)
    store = Store("y", (i, j), Load("x", (i, j), float32) * 2.0)
    buffers = {"x": Buffer(float32, (N, 1024)), "y": Buffer(float32, (N, 1024), written=True)}
    kernel = Kernel("twice", buffers, (Loop(i, (Loop(j, (store,), LoopKind.SIMD),)),))
    made = emit_phases([kernel], replace(cpu_jit.host(), vector_bytes=32))
    _, few, many = made.phases[0].code.text.partition(f", {CPU.streamed_bytes}")
    assert few and "!nontemporal" in many and many.count("store <8 x float>") == 2
    rows = CPU.streamed_bytes // 4096
    for n in (0, 1, rows - 1, rows, rows + 1):
        x = np.arange(n * 1024, dtype=np.float32)
        memory = [guarded(x), guarded(np.zeros_like(x))]
        launch(made, [inside(m).ctypes.data for m in memory], {"n": n})
        np.testing.assert_array_equal(inside(memory[1]).view(np.float32), 2 * x)


def test_scratch_memory_is_closed():
    i = Index("i", N)
    buffers = {"x": Buffer(float32, (N,)), "own": Buffer(float32, (N,), written=True, local=True)}
    with pytest.raises(Undecided):
        emit_phases(
            [Kernel("k", buffers, (Loop(i, (Store("own", (i,), Load("x", (i,), float32)),)),))],
            cpu_jit.host(),
        )


@pytest.mark.takes_long(2)
@pytest.mark.parametrize("name", OPEN_CASES)
def test_many_chunks_at_all_sizes(name: str, monkeypatch: pytest.MonkeyPatch):
    """Short chunks, of which some have nothing to do, in any order, compute the same as one that does all."""
    case = OPEN_CASES[name](N, T)
    machine = replace(CPU, open_chunk_ns=1.0, short_chunk_ns=1.0, shared_ns=1.0)
    monkeypatch.setattr(parallelize, "CPU", machine)
    monkeypatch.setattr(kernel_cost, "CPU", machine)
    split = phases(case, cpu_jit.host().vector_bytes)
    kernel = emit_phases(split.phases, cpu_jit.host(), cost=split.cost)
    for n in (0, 1, 2, 7, 40, 150):
        sizes = {"n": n, "t": n + 2}
        arrays = case.arrays(sizes, seed=n)
        found = run(kernel, case, arrays, sizes)
        compare(found, case.expected(arrays), str(sizes))
        again = run(kernel, case, arrays, sizes, order=1)
        assert all(found[k].tobytes() == again[k].tobytes() for k in found), "depends on the order of chunks"


@pytest.mark.parametrize("name", ["vector", "softmax_784", "total", "column_sums_784"])
def test_work_is_shared_out_as_its_size_asks(name: str):
    """A few rows are one chunk, many rows are many: as in a program for that size."""
    phase = code(name, N, T).phases[0]
    counts = [evaluate(phase.chunks, {"n": n, "t": 16}) for n in (0, 1, 1_000, 100_000, 4_000_000)]
    assert counts == sorted(counts)
    assert counts[:2] == [1, 1]
    assert counts[-1] >= 16


def test_a_single_large_picture_is_shared_out():
    """With one iteration of the open loop, the loop in it has the work for several threads."""
    n, y, c = Index("i", N), Index("j", 200), Index("k", 300)
    buffers = {"x": Buffer(float32, (N, 200, 300)), "out": Buffer(float32, (N, 302, 200), written=True)}
    store = Store("out", (n, c + 1, y), Load("x", (n, y, c), float32) * 2.0)
    case = OpenCase(buffers, (Nest((n, y, c), (store,)),), lambda arrays: {})
    (phase,) = phases(case, 64).phases
    assert evaluate(phase.chunks, {"n": 1}) >= 7


def test_a_vector_of_whole_rows_has_no_tail():
    (phase,) = code("elementwise_784", N, T).phases
    assert "masked" not in phase.code.text  # 784 is a multiple of every number of lanes
    (phase,) = code("elementwise_7", N, T).phases
    assert "masked" in phase.code.text


def test_equal_texts_take_different_sizes():
    texts = [code("elementwise_7", size, T) for size in (N, N * 3, T)]
    assert len({k.phases[0].code.name for k in texts}) == 1
    assert [k.sizes for k in texts] == [
        (size, k.phases[0].chunks) for k, size in zip(texts, (N * 7, N * 21, T * 7), strict=True)
    ]
