"""Products with few columns: vectors lie along the sum or the rows, where they are not half empty."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from staticgraph.compiler.codegen.gemm.gemm import emit
from staticgraph.compiler.codegen.gemm.narrow_results import dot_tiling
from staticgraph.compiler.codegen.gemm.plan import plan
from staticgraph.compiler.codegen.gemm.tiles import Along
from staticgraph.compiler.codegen.gemm.transpose import turned
from staticgraph.compiler.graph.dtypes import bfloat16, bool_, float16, float32, float64
from staticgraph.compiler.kernel import scalar
from staticgraph.compiler.kernel.expr import Index, Load, Reduce
from staticgraph.compiler.kernel.stmt import Buffer, Store
from staticgraph.runtime.cpu import jit as cpu_jit
from tests.codegen.contraction_cases import assert_close, contraction, inputs, matmul, run, wide, widened

WIDTHS = [16, 32, 64]


def target(vector_bytes: int):
    return replace(cpu_jit.host(), vector_bytes=vector_bytes)


def along(c, vector_bytes: int) -> Along:
    """Return the axis of the vectors of the product, that of the turned one if b is turned first."""
    turn = turned(c, target(vector_bytes))
    return plan(turn.contraction if turn else c, target(vector_bytes)).along


def check(m, n, k, turn_a, rng, vector_bytes=None, dtype=float32):
    c = matmul(m, n, k, turn_a, dtype=dtype)
    arrays = inputs(c, rng)
    a, b = wide(arrays, dtype)
    a = a.T if turn_a else a
    assert_close(run(c, arrays, vector_bytes)["c"], a @ b, np.abs(a) @ np.abs(b))


@pytest.mark.parametrize(
    ("size", "turn_a", "vector_bytes", "expected"),
    [
        ((100, 10, 784), False, 64, Along.SUM),
        ((100, 10, 784), False, 32, Along.SUM),
        ((64, 3, 500), False, 32, Along.SUM),
        ((64, 10, 30), False, 64, Along.COLUMNS),
        ((100, 16, 784), False, 64, Along.COLUMNS),
        ((100, 64, 784), False, 64, Along.COLUMNS),
        ((784, 10, 100), True, 64, Along.ROWS),
        ((784, 10, 100), True, 32, Along.ROWS),
        ((784, 16, 100), True, 64, Along.COLUMNS),
        ((20, 10, 100), True, 64, Along.COLUMNS),
        ((784, 10, 100), False, 64, Along.COLUMNS),
    ],
)
def test_vectors_lie_where_they_are_full(size, turn_a, vector_bytes, expected):
    assert along(matmul(*size, turn_a), vector_bytes) is expected


@pytest.mark.parametrize(
    ("rows", "depth", "expected"),
    [
        (1, 8, Along.SUM),  # a product with a vector: as with an open number of rows
        (1, 16, Along.SUM),
        (4, 4, Along.COLUMNS),
        (4, 32, Along.COLUMNS),  # turning b around costs less than adding up the lanes of each result
        (4, 64, Along.SUM),
        (7, 500, Along.COLUMNS),
    ],
)
def test_sums_that_fill_few_vectors_run_along_the_columns(rows, depth, expected):
    assert along(matmul(rows, 100, depth, turn_b=True), 64) is expected


@pytest.mark.takes_long
@pytest.mark.parametrize("dtype", [float32, float64], ids=str)
@pytest.mark.parametrize("vector_bytes", WIDTHS)
@pytest.mark.parametrize(
    "size",
    [(100, 10, 784), (37, 3, 333), (50, 5, 1200), (12, 2, 260), (19, 11, 700), (40, 7, 500), (27, 13, 450)],
    ids=lambda s: "x".join(map(str, s)),
)
def test_along_the_sum(size, vector_bytes, dtype, rng):
    check(*size, False, rng, vector_bytes, dtype)


@pytest.mark.parametrize("registers", [16, 32])
def test_rows_share_what_is_loaded_of_the_columns(registers: int):
    for columns in range(1, registers - 2):
        tiling = dot_tiling(100, columns, registers)
        rows, widest = tiling.rows[0].size, max(panel.size for panel in tiling.panels)
        assert rows >= 2 and rows * widest + rows + 1 <= registers
        assert sum(panel.size * panel.count for panel in tiling.panels) == columns
        assert sum(run.size * run.count for run in tiling.rows) == 100


@pytest.mark.takes_long
@pytest.mark.parametrize("dtype", [float32, float64], ids=str)
@pytest.mark.parametrize("vector_bytes", WIDTHS)
@pytest.mark.parametrize(
    "size",
    [(784, 10, 100), (333, 3, 37), (1200, 5, 50), (260, 2, 12), (700, 11, 19), (515, 9, 900)],
    ids=lambda s: "x".join(map(str, s)),
)
def test_along_the_rows(size, vector_bytes, dtype, rng):
    check(*size, True, rng, vector_bytes, dtype)


@pytest.mark.takes_long
@settings(max_examples=40)
@given(
    st.integers(2, 300),
    st.integers(2, 14),
    st.integers(1, 300),
    st.booleans(),
    st.sampled_from(WIDTHS),
    st.integers(0, 1000),
)
def test_any_narrow_product(m, n, k, turn_a, vector_bytes, seed):
    check(m, n, k, turn_a, np.random.default_rng(seed), vector_bytes)


@pytest.mark.parametrize("turn_a", [False, True])
def test_epilogues_and_updates_in_place(turn_a, rng):
    size = (784, 10, 100) if turn_a else (100, 10, 784)

    def step(x, at):
        moved = Load("w", at, float32) - 0.25 * (x + Load("bias", (at[1],), float32))
        return scalar.select(Load("mask", at, bool_), moved, Load("row", at[:1], float32))

    c = matmul(*size, turn_a=turn_a, w=step, positive=lambda x, at: scalar.gt(x, 0.0))
    assert along(c, 64) is (Along.ROWS if turn_a else Along.SUM)
    arrays = inputs(c, rng)
    product = (arrays["a"].T if turn_a else arrays["a"]).astype("d") @ arrays["b"].astype("d")
    moved = arrays["w"] - 0.25 * (product + arrays["bias"])
    found = run(c, arrays)
    assert_close(found["w"], np.where(arrays["mask"], moved, arrays["row"][:, None]), 100.0)
    assert (found["positive"] == (product > 0))[np.abs(product) > 1e-2].all()


@pytest.mark.parametrize("dtype", [float16, bfloat16], ids=str)
@pytest.mark.parametrize("turn_a", [False, True])
def test_narrow_elements_summed_in_float32(turn_a, dtype, rng):
    size = (784, 10, 100) if turn_a else (100, 10, 784)
    c = widened(*size, turn_a, False, dtype)
    assert along(c, 64) is (Along.ROWS if turn_a else Along.SUM)
    arrays = inputs(c, rng)
    a, b = arrays["a"].astype("d"), arrays["b"].astype("d")
    exact = (a.T if turn_a else a) @ b
    step = 2.0**-10 if dtype is float16 else 2.0**-7
    assert (np.abs(run(c, arrays)["c"].astype("d") - exact) <= step * np.abs(exact) + 1e-6 * size[2]).all()


def test_a_batch_shares_what_is_turned_around(rng):
    s, i, j, k = Index("s", 4), Index("i", 60), Index("j", 10), Index("k", 500)
    buffers = {
        "a": Buffer(float32, (4, 60, 500)),
        "b": Buffer(float32, (500, 10)),
        "c": Buffer(float32, (4, 60, 10), written=True),
    }
    total = Reduce((k,), "add", Load("a", (s, i, k), float32) * Load("b", (k, j), float32))
    c = contraction((s, i, j), (Store("c", (s, i, j), total),), buffers)
    assert along(c, 64) is Along.SUM
    arrays = inputs(c, rng)
    assert_close(run(c, arrays)["c"], arrays["a"].astype("d") @ arrays["b"].astype("d"), 500.0)


@pytest.mark.takes_long
@pytest.mark.parametrize("size", [(40, 7, 40_960), (300, 3, 120_000)], ids=lambda s: "x".join(map(str, s)))
def test_long_sums_are_turned_around_by_several_chunks(size, rng):
    turn, *_ = emit(matmul(*size), cpu_jit.host()).phases
    assert turn.chunks > 1
    check(*size, False, rng)


@pytest.mark.parametrize(("rows", "turn_a"), [(8, False), (48, True)])
def test_sums_in_slices(rows, turn_a, rng):
    """Few results of a very long sum are computed in slices, whichever way the vectors lie."""
    c = matmul(rows, 6, 65_536, turn_a)
    assert along(c, 64) is (Along.ROWS if turn_a else Along.SUM)
    *_, multiply, add = emit(c, cpu_jit.host()).phases
    assert multiply.chunks >= 8
    assert add.chunks >= 1
    check(rows, 6, 65_536, turn_a, rng)
