from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from staticgraph.compiler.codegen.gemm import register_tile
from staticgraph.compiler.codegen.gemm.choice import Choice
from staticgraph.compiler.codegen.gemm.gemm import emit
from staticgraph.compiler.codegen.gemm.plan import plan
from staticgraph.compiler.codegen.gemm.register_tile import slots
from staticgraph.compiler.codegen.gemm.split_k import sliced
from staticgraph.compiler.codegen.gemm.writer import GemmWriter
from staticgraph.compiler.graph.dtypes import bfloat16, bool_, float16, float32, float64
from staticgraph.compiler.kernel import scalar
from staticgraph.compiler.kernel.expr import Index, Load, Reduce
from staticgraph.compiler.kernel.stmt import Buffer, Store
from staticgraph.runtime.cpu import jit as cpu_jit
from tests.codegen.contraction_cases import (
    assert_close,
    contraction,
    inputs,
    matmul,
    processor,
    run,
    wide,
    widened,
)

SIZES = [
    (5, 7, 3),
    (64, 10, 100),
    (64, 100, 1000),
    (33, 65, 40),
    (1, 37, 50),
    (41, 1, 50),
    (1, 3, 1000),
    (2, 40, 33),
    (130, 300, 260),
    (16, 16, 1),
    (6, 16, 5),
    (7, 90, 700),
]


def check(m, n, k, turn_a, turn_b, dtype, vector_bytes, rng):
    c = matmul(m, n, k, turn_a, turn_b, dtype)
    arrays = inputs(c, rng)
    a, b = wide(arrays, dtype)
    a, b = a.T if turn_a else a, b.T if turn_b else b
    assert_close(run(c, arrays, vector_bytes)["c"], a @ b, np.abs(a) @ np.abs(b))


@pytest.mark.takes_long
@pytest.mark.by_turns("dtype")
@pytest.mark.parametrize("dtype", [float32, float64], ids=str)
@pytest.mark.parametrize(("turn_a", "turn_b"), [(False, False), (True, False), (False, True), (True, True)])
@pytest.mark.parametrize("size", SIZES, ids=lambda s: "x".join(map(str, s)))
def test_matrix_products_in_all_transposes(size, turn_a, turn_b, dtype, rng):
    check(*size, turn_a, turn_b, dtype, None, rng)


@pytest.mark.parametrize("vector_bytes", [16, 32])
@pytest.mark.parametrize(
    "size", [(13, 530, 700), (64, 100, 20), (3, 9, 50)], ids=lambda s: "x".join(map(str, s))
)
def test_narrower_vectors(size, vector_bytes, rng):
    for turn_b in (False, True):
        check(*size, False, turn_b, float32, vector_bytes, rng)


@pytest.mark.by_turns("vector_bytes")
@pytest.mark.parametrize("vector_bytes", [32, 64])
@pytest.mark.parametrize(
    "size",
    [(64, 98, 40), (13, 34, 50), (9, 17, 33), (3, 50, 20), (7, 66, 1700)],  # the last one in blocks
    ids=lambda s: "x".join(map(str, s)),
)
@pytest.mark.parametrize("dtype", [float32, float64], ids=str)
def test_rows_share_vectors_at_the_end_of_panels(size, vector_bytes, dtype, rng, monkeypatch):
    """Which changes no bit: every lane adds the same products in the same order."""
    c = matmul(*size, False, False, dtype)
    arrays = inputs(c, rng)

    def result() -> tuple[np.ndarray, int]:
        phases = emit(c, replace(cpu_jit.host(), vector_bytes=vector_bytes)).phases
        texts = [x for phase in phases for x in (phase.code.text, *phase.code.needs)]
        return run(c, arrays, vector_bytes)["c"], sum(text.count(" = select <") for text in texts)

    shared, more = result()
    monkeypatch.setattr(register_tile, "slots", lambda rows, pieces, lanes: slots(rows, pieces, 0))
    alone, fewer = result()
    np.testing.assert_array_equal(shared.view(np.uint8), alone.view(np.uint8))
    assert fewer < more


def test_products_of_all_sizes_share_the_functions_that_turn_operands_around():
    sizes = [(64, 96, 128), (64, 48, 256), (128, 32, 512)]
    calls = [
        {
            code.name
            for phase in emit(matmul(*size, False, True, float32), cpu_jit.host()).phases
            for code in phase.code.calls
        }
        for size in sizes
    ]
    assert calls[0] and all(names == calls[0] for names in calls)


extents = st.integers(1, 40)


@pytest.mark.takes_long
@settings(max_examples=40)
@given(
    extents,
    extents,
    extents,
    st.booleans(),
    st.booleans(),
    st.sampled_from([float32, float64]),
    st.sampled_from([16, 32, 64]),
    st.integers(0, 1000),
)
def test_any_small_product(m, n, k, turn_a, turn_b, dtype, vector_bytes, seed):
    if m * n > 1:
        check(m, n, k, turn_a, turn_b, dtype, vector_bytes, np.random.default_rng(seed))


def test_large_operands_are_cut_into_blocks(rng):
    check(30, 2100, 1100, False, True, float32, None, rng)


@pytest.mark.parametrize("shared", ["neither", "a", "b"])
def test_batched_product_with_broadcasting(shared, rng):
    s, i, j, k = Index("s", 6), Index("i", 9), Index("j", 21), Index("k", 17)
    at_a, at_b = ((i, k) if shared == "a" else (s, i, k)), ((k, j) if shared == "b" else (s, k, j))
    buffers = {
        "a": Buffer(float32, tuple(x.extent for x in at_a)),
        "b": Buffer(float32, tuple(x.extent for x in at_b)),
        "c": Buffer(float32, (6, 9, 21), written=True),
    }
    total = Reduce((k,), "add", Load("a", at_a, float32) * Load("b", at_b, float32))
    c = contraction((s, i, j), (Store("c", (s, i, j), total),), buffers)
    arrays = inputs(c, rng)
    assert_close(run(c, arrays)["c"], arrays["a"].astype("d") @ arrays["b"].astype("d"), 17.0)


def test_einsum_with_two_summed_and_permuted_indices(rng):
    i, j, k, p, q = Index("i", 5), Index("j", 6), Index("k", 7), Index("p", 8), Index("q", 19)
    buffers = {
        "a": Buffer(float64, (7, 5, 6, 8)),
        "b": Buffer(float64, (19, 8, 7)),
        "c": Buffer(float64, (19, 6, 5), written=True),
    }
    total = Reduce((p, k), "add", Load("a", (k, i, j, p), float64) * Load("b", (q, p, k), float64))
    c = contraction((q, j, i), (Store("c", (q, j, i), total),), buffers)
    arrays = inputs(c, rng)
    assert_close(run(c, arrays)["c"], np.einsum("kijp,qpk->qji", arrays["a"], arrays["b"]), 56.0)


def test_float32_elements_summed_in_float64(rng):
    i, j, k = Index("i", 11), Index("j", 23), Index("k", 300)
    buffers = {
        "a": Buffer(float32, (11, 300)),
        "b": Buffer(float32, (23, 300)),
        "c": Buffer(float64, (11, 23), True),
    }
    a, b = (scalar.cast(Load(x, at, float32), float64) for x, at in (("a", (i, k)), ("b", (j, k))))
    c = contraction((i, j), (Store("c", (i, j), Reduce((k,), "add", a * b)),), buffers)
    arrays = inputs(c, rng)
    assert_close(run(c, arrays)["c"], arrays["a"].astype("d") @ arrays["b"].T.astype("d"), 300.0)


@pytest.mark.parametrize("dtype", [float16, bfloat16], ids=str)
@pytest.mark.parametrize("turn", [False, True])
@pytest.mark.parametrize("size", [(11, 23, 90), (70, 150, 120)], ids=lambda s: "x".join(map(str, s)))
def test_narrow_elements_summed_in_float32(size, turn, dtype, rng):
    c = widened(*size, turn, turn, dtype)
    arrays = inputs(c, rng)
    a, b = (arrays[x].astype("d").T if turn else arrays[x].astype("d") for x in "ab")
    found = run(c, arrays)["c"].astype("d")
    step = 2.0**-10 if dtype is float16 else 2.0**-7
    assert (np.abs(found - a @ b) <= step * np.abs(a @ b) + 1e-6 * size[2]).all()


DEPTHS = pytest.mark.parametrize("depth", [20, 1300], ids=["whole sum", "blocks"])


@DEPTHS
def test_bias_activation_and_two_results(depth, rng):
    def linear(x, at):
        return x + Load("bias", (at[1],), float32)

    c = matmul(19, 37, depth, relu=lambda x, at: scalar.maximum(linear(x, at), 0.0), linear=linear)
    arrays = inputs(c, rng)
    exact = arrays["a"].astype("d") @ arrays["b"].astype("d") + arrays["bias"]
    found = run(c, arrays)
    assert_close(found["linear"], exact, depth)
    assert_close(found["relu"], np.maximum(exact, 0), depth)


@DEPTHS
def test_masks_and_row_scales(depth, rng):
    def masked(x, at):
        return scalar.select(Load("mask", at, bool_), x * Load("row", at[:1], float32), 0.0)

    c = matmul(19, 37, depth, turn_a=True, c=masked, positive=lambda x, at: scalar.gt(x, 0.0))
    arrays = inputs(c, rng)
    product = arrays["a"].T.astype("d") @ arrays["b"].astype("d")
    found = run(c, arrays)
    assert_close(found["c"], np.where(arrays["mask"], product * arrays["row"][:, None], 0), 8.0 * depth)
    assert (found["positive"] == (product > 0))[np.abs(product) > 1e-2].all()


@DEPTHS
def test_update_in_place(depth, rng):
    c = matmul(21, 50, depth, turn_a=True, w=lambda x, at: Load("w", at, float32) - 0.25 * x)
    arrays = inputs(c, rng)
    exact = arrays["w"] - 0.25 * (arrays["a"].T.astype("d") @ arrays["b"].astype("d"))
    assert_close(run(c, arrays)["w"], exact, depth)


@DEPTHS
def test_what_all_elements_share_is_computed_once(depth, rng):
    """As the rate of a step of Adam is, of powers that are variables."""

    def updated(x, at):
        power = Load("power", (), float32)
        return Load("w", at, float32) - scalar.sqrt(1.0 - power) / (power + 2.0) * x

    c = matmul(21, 50, depth, turn_a=True, w=updated)
    arrays = inputs(c, rng)
    arrays["power"] = np.float32(0.75)
    product = arrays["a"].T.astype("d") @ arrays["b"].astype("d")
    found = run(c, arrays)
    assert_close(found["w"], arrays["w"] - 0.5 / 2.75 * product, depth)
    text = emit(c, cpu_jit.host()).phases[-1].code.text
    assert text.count("sqrt") == text.count("fdiv") == 1


@DEPTHS
def test_a_long_epilogue_is_a_loop_over_rows(depth, rng):
    def polynomial(x, at):
        y = x * 0.01 + Load("bias", (at[1],), float32)
        for _ in range(12):
            y = y * 0.5 + 1.0 / (1.0 + y * y)
        return y

    c = matmul(18, 35, depth, c=polynomial)
    arrays = inputs(c, rng)
    y = 0.01 * (arrays["a"].astype("d") @ arrays["b"].astype("d")) + arrays["bias"]
    for _ in range(12):
        y = y * 0.5 + 1.0 / (1.0 + y * y)
    assert_close(run(c, arrays)["c"], y, 40.0)


def test_result_with_a_step_between_the_lanes(rng):
    i, j, k = Index("i", 12), Index("j", 18), Index("k", 30)
    buffers = {
        "a": Buffer(float32, (12, 30)),
        "b": Buffer(float32, (30, 18)),
        "c": Buffer(float32, (12, 54), True),
    }
    total = Reduce((k,), "add", Load("a", (i, k), float32) * Load("b", (k, j), float32))
    c = contraction((i, j), (Store("c", (i, 3 * j + 1), total),), buffers)
    arrays = inputs(c, rng)
    found = run(c, arrays)["c"]
    assert_close(found[:, 1::3], arrays["a"].astype("d") @ arrays["b"].astype("d"), 30.0)
    assert (found[:, ::3] == arrays["c"][:, ::3]).all()


@pytest.mark.by_turns("turn")
@pytest.mark.parametrize(
    "size", [(12, 20, 20000), (1, 30, 90000), (40, 7, 12288)], ids=lambda s: "x".join(map(str, s))
)
@pytest.mark.parametrize("turn", [False, True])
def test_a_long_sum_of_few_results_is_cut_into_slices(size, turn, rng):
    def scaled(x, at):
        return scalar.maximum(x * 0.5 + Load("bias", (at[1],), float32), 0.0)

    c = matmul(*size, turn_a=not turn, turn_b=turn, c=scaled)
    *_, multiply, add = emit(c, cpu_jit.host()).phases
    assert multiply.chunks >= 8
    assert add.chunks >= 1
    arrays = inputs(c, rng)
    a, b = (arrays["a"], arrays["b"].T) if turn else (arrays["a"].T, arrays["b"])
    exact = 0.5 * (a.astype("d") @ b.astype("d")) + arrays["bias"]
    assert_close(run(c, arrays)["c"], np.maximum(exact, 0), np.abs(a) @ np.abs(b))


def test_a_product_with_few_rows_and_many_weights_reads_these_in_slices(rng):
    """Every chunk has a part of the sum, and so of the weights, to itself."""
    multiply, add = emit(matmul(64, 100, 1000), replace(cpu_jit.host(), vector_bytes=64)).phases
    assert multiply.chunks > add.chunks
    c = matmul(500, 100, 1000)
    assert sliced(c, plan(c, replace(cpu_jit.host(), vector_bytes=64)), 0) is None
    check(64, 100, 1000, False, False, float32, None, rng)


@pytest.mark.parametrize(
    ("size", "turn_a", "turn_b", "phases"),
    [
        ((300, 700, 300), True, True, 3),  # both operands are packed for all chunks
        ((1200, 700, 300), False, False, 2),  # rows of the first one are read as they lie
        ((1024, 256, 101), True, False, 3),  # tiles of the first one side by side
        ((40, 3000, 200), False, True, 1),  # every chunk packs its own columns
        ((2000, 24, 200), False, False, 1),
    ],
)
def test_operands_are_packed_where_chunks_read_them(size, turn_a, turn_b, phases, rng):
    code = emit(matmul(*size, turn_a, turn_b), cpu_jit.host())
    assert len(code.phases) == phases
    assert 8 <= code.phases[-1].chunks <= 256
    check(*size, turn_a, turn_b, float32, None, rng)


@pytest.mark.parametrize(
    ("rows", "columns", "packed"),
    [(200, 1000, False), (400, 1000, True), (10, 1024, False), (100, 1024, True)],
)
def test_wide_panels_are_packed_for_many_rows_only(rows, columns, packed):
    """As they lie, rows of the second operand that are far apart are asked for ahead of time.

    Those a page apart are in each other's way, and are packed for fewer rows.
    """
    target = replace(cpu_jit.host(), vector_bytes=64)
    c = matmul(rows, columns, 200)
    text = "".join(x for phase in emit(c, target).phases for x in (phase.code.text, *phase.code.needs))
    assert (plan(c, target).b is not None) == packed
    assert packed or "llvm.prefetch" in text


@pytest.mark.by_turns("vector_bytes")
@pytest.mark.parametrize("vector_bytes", [32, 64])
@pytest.mark.parametrize(
    ("size", "dtype"),
    [((32, 100, 4000), float32), ((40, 3000, 200), float16), ((49, 2048, 1536), float32)],
)
def test_the_first_tile_of_rows_packs_what_it_reads(size, dtype, vector_bytes, rng):
    """In slices of the sum, in one piece, and in blocks of the sum; narrow elements are widened."""
    c = widened(*size, False, False, dtype) if dtype is float16 else matmul(*size)
    arrays, target = inputs(c, rng), processor(vector_bytes)
    cut = sliced(c, plan(c, target), 0)
    assert plan(cut.partial if cut else c, target, choice=Choice(pack_b=True)).first_packs
    packed, read = (run(c, arrays, vector_bytes, Choice(pack_b=packs))["c"] for packs in (True, False))
    assert np.array_equal(packed, read)


def test_only_the_very_first_tile_of_all_packs(rng):
    s, i, j, k = Index("s", 3), Index("i", 7), Index("j", 300), Index("k", 200)
    buffers = {
        "a": Buffer(float32, (3, 200, 7)),
        "b": Buffer(float32, (200, 300)),
        "c": Buffer(float32, (3, 7, 300), written=True),
    }
    total = Reduce((k,), "add", Load("a", (s, k, i), float32) * Load("b", (k, j), float32))
    c = contraction((s, i, j), (Store("c", (s, i, j), total),), buffers)
    decided = plan(c, cpu_jit.host(), choice=Choice(pack_b=True))
    assert decided.first_packs and c.outer
    arrays = inputs(c, rng)
    a, b = np.swapaxes(arrays["a"], 1, 2).astype("d"), arrays["b"].astype("d")
    assert_close(run(c, arrays, None, Choice(pack_b=True))["c"], a @ b, np.abs(a) @ np.abs(b))


def count_instead(w, pointer):
    """In place of a prefetch: add 1 to what is asked for."""
    old = w.value(f"load float, ptr {pointer}, align 4")
    w.line(f"store float {w.value(f'fadd float {old}, 1.0')}, ptr {pointer}, align 4")


@pytest.mark.parametrize(
    ("size", "turn_b", "vector_bytes"),
    [
        ((49, 2048, 512), False, 32),
        ((49, 2048, 512), False, 64),
        ((49, 2048, 1536), False, 32),  # in blocks of the sum
        ((49, 2048, 1536), True, 64),
        ((40, 1152, 600), True, 64),
    ],
)
def test_what_is_packed_next_is_asked_for(size, turn_b, vector_bytes, rng, monkeypatch):
    """All but the first block of the first panel; nothing outside of the array."""
    c = matmul(*size, turn_b=turn_b)
    p = plan(c, processor(vector_bytes))
    assert p.turns == p.tiling.tile_count
    check(*size, False, turn_b, float32, vector_bytes, rng)

    monkeypatch.setattr(GemmWriter, "prefetch", count_instead)
    counted = replace(c, buffers={**c.buffers, "b": replace(c.buffers["b"], written=True)})
    nothing = {name: np.zeros_like(x) for name, x in inputs(c, rng).items()}
    counts = run(counted, nothing, vector_bytes)["b"]
    [panel] = p.tiling.panels
    counts = (counts.T if turn_b else counts).reshape(-1, p.block_depth, panel.count, panel.size)
    if turn_b:  # cache lines run along the sum; the last tile of rows has a smaller share of them
        lines = counts[:, [k for k in range(p.share * (p.turns - 1)) if k % p.share % 16 == 0]]
    else:
        lines = counts[..., ::16]
    assert lines[0, :, 0].max() == 0
    assert lines[1:].size == 0 or lines[1:].min() >= 1
    assert lines[:, :, 1:].min() >= 1
    assert lines.mean() < 1.2


@pytest.mark.parametrize("vector_bytes", [32, 64])
@pytest.mark.parametrize("size", [(100, 10, 784), (784, 10, 100), (130, 10, 784)])
def test_two_threads_share_the_tiles_of_a_product_evenly(size, vector_bytes):
    tiling = plan(matmul(*size), replace(cpu_jit.host(), vector_bytes=vector_bytes)).tiling
    tiles = tiling.tile_count * tiling.panel_count
    assert tiles % 2 == 0 or tiles > 24


def test_chunks_have_whole_rows_of_a_result_that_is_read_and_written():
    """Cores would take turns with the cache lines that their chunks share in the middle of a row."""

    def step(x, at):
        return Load("mask", at, float32) - x * 0.1

    c = matmul(1000, 100, 64, turn_a=True, new=step)
    columns, rows = plan(c, replace(cpu_jit.host(), vector_bytes=64)).grid.dimensions
    assert columns.parts == 1
    assert rows.parts >= 8


def test_the_work_of_a_small_product_is_one_chunk():
    code = emit(matmul(32, 32, 32), cpu_jit.host())
    assert [phase.chunks for phase in code.phases] == [1]
    assert 0 < code.cost < 10_000


def test_blocks_of_a_sum_with_uneven_rounds(rng):
    """Nine rows leave room for three steps in a round, and the blocks of the sum have no fixed length."""
    check(9, 16, 1303, False, False, float32, None, rng)


def test_equal_contractions_have_equal_code():
    first, second = (emit(matmul(64, 100, 1000), cpu_jit.host()) for _ in range(2))
    assert first == second


def test_the_text_stays_small():
    codes = [phase.code for phase in emit(matmul(2000, 2000, 2000, turn_b=True), cpu_jit.host()).phases]
    assert sum(text.count("\n") for code in codes for text in (code.text, *code.needs)) < 3000
