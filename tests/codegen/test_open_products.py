"""Matrix products with an open size: compiled once, right for every value, also 0."""

from dataclasses import replace

import numpy as np
import pytest

from staticgraph.compiler.codegen.gemm.gemm import emit
from staticgraph.compiler.codegen.gemm.plan import plan
from staticgraph.compiler.codegen.gemm.split_k import FEW_ROWS
from staticgraph.compiler.graph.dtypes import bfloat16, bool_, float16, float32, float64, int64
from staticgraph.compiler.graph.sizes import evaluate, positive
from staticgraph.compiler.kernel import scalar
from staticgraph.compiler.kernel.contraction import analyse
from staticgraph.compiler.kernel.expr import Extent, Index, Load, Reduce
from staticgraph.compiler.kernel.stmt import Buffer, Store
from staticgraph.runtime.cpu import jit as cpu_jit
from tests.codegen.contraction_cases import contraction, matmul, processor, widened
from tests.codegen.contraction_cases import run as run_closed
from tests.codegen.open_products import SIZES, B, M, OpenProduct, shape_at

WIDTHS = pytest.mark.parametrize("vector_bytes", [16, 32, 64])
DTYPES = pytest.mark.parametrize("dtype", [float32, float64], ids=str)


def product(turn_a: bool, turn_b: bool):
    def exact(arrays):
        a, b = arrays["a"], arrays["b"]
        a, b = a.T if turn_a else a, b.T if turn_b else b
        return {"c": a @ b}, {"c": np.abs(a) @ np.abs(b)}

    return exact


@pytest.mark.takes_long
@pytest.mark.by_turns("dtype")
@DTYPES
@pytest.mark.parametrize("turn_b", [False, True])
@pytest.mark.parametrize(
    "size",
    [(100, 50), (10, 784), (1, 333), (40, 1), (7, 2), (300, 260), (16, 1500), (130, 2100)],
    ids=lambda s: "x".join(map(str, s)),
)
def test_open_rows(size, turn_b, dtype, rng):
    n, k = size
    sizes = SIZES if n * k < 50_000 else (0, 1, 5, 32, 100)
    OpenProduct(matmul(B, n, k, False, turn_b, dtype)).check(product(False, turn_b), rng, sizes)


@pytest.mark.by_turns("dtype")
@DTYPES
@pytest.mark.parametrize(
    "size",
    [(100, 50), (784, 10), (3, 1), (1, 40), (40, 100), (130, 300), (600, 20)],
    ids=lambda s: "x".join(map(str, s)),
)
def test_open_sums(size, dtype, rng):
    m, n = size
    OpenProduct(matmul(m, n, B, True, False, dtype)).check(product(True, False), rng, (*SIZES, 3001))


@pytest.mark.parametrize("unit", [2, 16, 48])
def test_rows_that_are_multiples_of_a_number(unit, rng):
    """The tiles of rows that no size leaves are not compiled."""
    for turn_b in (False, True):
        c = matmul(B * unit, 37, 90, False, turn_b)
        made = OpenProduct(c)
        made.check(product(False, turn_b), rng, (0, 1, 2, 3, 5, 7, 32))
        largest, *smaller = (run.size for run in plan(c, processor(None)).tiling.rows)
        rests = [rows % largest for rows in range(0, 64 * unit, unit)]
        assert all(rest | sum(smaller) == sum(smaller) for rest in rests)
        assert all(any(rest & size for rest in rests) for size in smaller)


@pytest.mark.takes_long
@WIDTHS
def test_widths_of_vectors(vector_bytes, rng):
    for n, k, turn_b in ((100, 50, False), (37, 90, True), (10, 300, False)):
        c = matmul(B, n, k, False, turn_b)
        OpenProduct(c, vector_bytes).check(product(False, turn_b), rng, range(35))
    for m, n in ((60, 45), (200, 9)):
        c = matmul(m, n, B, True)
        OpenProduct(c, vector_bytes).check(product(True, False), rng, range(12))


@pytest.mark.parametrize("dtype", [bfloat16, float16], ids=str)
def test_narrow_elements(dtype, rng):
    for turn_b in (False, True):
        c = widened(B, 70, 120, False, turn_b, dtype)
        OpenProduct(c).check(product(False, turn_b), rng, (0, 1, 8, 31, 100))
    OpenProduct(widened(90, 70, B, True, False, dtype)).check(product(True, False), rng, (0, 1, 8, 31, 1000))


def test_results_agree_with_those_of_closed_products(rng):
    for open_case, closed in (
        (matmul(B, 70, 90), lambda n: matmul(n, 70, 90)),
        (matmul(70, 90, B, True), lambda n: matmul(70, 90, n, True)),
    ):
        compiled = OpenProduct(open_case)
        for size in (2, 33):
            arrays = compiled.inputs(size, rng)
            found, known = compiled.run(size, arrays)["c"], run_closed(closed(size), arrays)["c"]
            np.testing.assert_allclose(found, known, rtol=1e-4, atol=1e-4)


def relu_of_biased(x, at):
    return scalar.maximum(x + Load("bias", (at[1],), float32), 0.0)


@pytest.mark.parametrize("depth", [40, 1700])
def test_bias_and_activation(depth, rng):
    """And two results, of which none can hold unfinished sums if the epilogue reads it."""

    def linear(x, at):
        return x + Load("bias", (at[1],), float32)

    def exact(arrays):
        total = arrays["a"] @ arrays["b"] + arrays["bias"]
        size = np.abs(arrays["a"]) @ np.abs(arrays["b"]) + np.abs(arrays["bias"])
        return {"relu": np.maximum(total, 0), "linear": total}, {"relu": size, "linear": size}

    OpenProduct(matmul(B, 37, depth, relu=relu_of_biased, linear=linear)).check(exact, rng)


@pytest.mark.parametrize("depth", [40, 1700])
@pytest.mark.parametrize("turn_b", [False, True])
def test_residual_in_place_and_dropout(turn_b, depth, rng):
    def residual(x, at):
        kept = scalar.select(Load("mask", at, bool_), x * 2.0, 0.0)
        return Load("c", at, float32) + kept

    def exact(arrays):
        a, b = arrays["a"], arrays["b"].T if turn_b else arrays["b"]
        found = arrays["c"] + np.where(arrays["mask"], 2 * (a @ b), 0)
        return {"c": found}, {"c": 2 * (np.abs(a) @ np.abs(b)) + np.abs(arrays["c"])}

    OpenProduct(matmul(B, 50, depth, False, turn_b, c=residual)).check(exact, rng)


def test_scales_of_rows_and_a_long_epilogue(rng):
    def polynomial(x, at):
        y = x * 0.01 + Load("bias", (at[1],), float32) + Load("row", at[:1], float32)
        for _ in range(12):
            y = y * 0.5 + 1.0 / (1.0 + y * y)
        return y

    def exact(arrays):
        y = 0.01 * (arrays["a"] @ arrays["b"]) + arrays["bias"] + arrays["row"][:, None]
        for _ in range(12):
            y = y * 0.5 + 1.0 / (1.0 + y * y)
        return {"c": y}, {"c": np.full(y.shape, 40.0)}

    OpenProduct(matmul(B, 35, 60, c=polynomial)).check(exact, rng)


@pytest.mark.parametrize("size", [(45, 70), (300, 10), (640, 512)], ids=lambda s: "x".join(map(str, s)))
def test_update_of_weights_in_place(size, rng):
    """The epilogue of an empty sum is that of zero. What all elements share is computed once."""

    def updated(x, at):
        power = Load("power", (), float32)
        return Load("w", at, float32) - scalar.sqrt(power * power + 1.0) * x

    def exact(arrays):
        rate = np.sqrt(arrays["power"] ** 2 + 1)
        a, b = arrays["a"].T, arrays["b"]
        size = 2 * rate * (np.abs(a) @ np.abs(b)) + np.abs(arrays["w"])
        return {"w": arrays["w"] - rate * (a @ b)}, {"w": size}

    sizes = SIZES if size[0] < 600 else (0, 1, 32, 100)
    OpenProduct(matmul(*size, B, True, w=updated)).check(exact, rng, (*sizes, 1601))


def test_an_update_asks_for_weights_ahead_of_time():
    """As that of a closed batch does, and only in the last block of the sum."""

    def updated(x, at):
        return Load("w", at, float32) - x

    found = []
    for depth in (B, 1000):
        phases = emit(matmul(640, 512, depth, True, w=updated), processor(64)).phases
        found.append([need for phase in phases for need in phase.code.needs if need.startswith("define")])
    opened, closed = found
    assert opened and closed and all("prefetch" in text for text in (*opened, *closed))
    assert all("select i1 %last" in text for text in opened)


@pytest.mark.parametrize("turn_b", [False, True])
def test_an_open_size_of_zero_reads_nothing(turn_b):
    """Neither of the arrays that have it, which have no memory, nor does an open result."""
    product = OpenProduct(matmul(B, 50, 60, False, turn_b, c=relu_of_biased))
    memory = {name: np.zeros(shape_at(b, 0), np.float32) for name, b in product.c.buffers.items()}
    product.launch([0 if name in "ac" else memory[name].ctypes.data for name in product.c.buffers], 0)
    product = OpenProduct(matmul(50, 60, B, True, False))
    result = np.full((50, 60), np.nan, np.float32)
    product.launch([result.ctypes.data if name == "c" else 0 for name in product.c.buffers], 0)
    assert (result == 0).all()


def test_sums_of_few_rows_are_cut_into_slices(rng):
    made = OpenProduct(matmul(B, 100, 1000, c=relu_of_biased), 64)
    of_slices, of_their_sums = made.code.phases

    def at(chunks, rows):
        return evaluate(chunks, {"B": rows})

    assert made.code.shared_bytes > 0
    assert at(of_slices.chunks, FEW_ROWS) > 1 < at(of_their_sums.chunks, FEW_ROWS)
    assert at(of_slices.chunks, FEW_ROWS + 1) == 1  # whole sums

    def exact(arrays):
        found = arrays["a"] @ arrays["b"] + arrays["bias"]
        scale = np.abs(arrays["a"]) @ np.abs(arrays["b"]) + np.abs(arrays["bias"])
        return {"c": np.maximum(found, 0)}, {"c": scale}

    made.check(exact, rng, (0, 1, 2, 7, 8, 64, FEW_ROWS - 1, FEW_ROWS, FEW_ROWS + 1, 300))


def test_few_rows_read_a_large_operand_as_it_lies(rng):
    made = OpenProduct(matmul(49 * B, 384, 3072), 64)
    packing, _ = made.code.phases
    few, many = (evaluate(packing.chunks, {"B": pictures}) for pictures in (5, 9))
    assert few == 1 < many
    made.check(product(False, False), rng, (0, 1, 2, 5, 9))


def test_several_axes_are_the_rows(rng):
    """As in a layer over the positions of a batch of sequences."""
    n, t, k, j = Index("n", B), Index("t", 5), Index("k", 30), Index("j", 40)
    buffers = {
        "a": Buffer(float32, (B, 5, 30)),
        "b": Buffer(float32, (30, 40)),
        "c": Buffer(float32, (B, 5, 40), written=True),
    }
    total = Reduce((k,), "add", Load("a", (n, t, k), float32) * Load("b", (k, j), float32))
    c = contraction((n, t, j), (Store("c", (n, t, j), total),), buffers)
    assert c.open_rows and c.sizes == (5 * B,)

    def rows(arrays):
        total, size = product(False, False)(arrays | {"a": arrays["a"].reshape(-1, 30)})
        return {"c": total["c"].reshape(-1, 5, 40)}, {"c": size["c"].reshape(-1, 5, 40)}

    OpenProduct(c).check(rows, rng)
    total = Reduce((n, t), "add", Load("a", (n, t, k), float32) * Load("c", (n, t, j), float32))
    buffers = {name: Buffer(float32, b.shape, written=name == "b") for name, b in buffers.items()}
    c = contraction((k, j), (Store("b", (k, j), total),), buffers)
    assert c.open_sum

    def exact(arrays):
        a, b = arrays["a"].reshape(-1, 30).T, arrays["c"].reshape(-1, 40)
        return {"b": a @ b}, {"b": np.abs(a) @ np.abs(b)}

    OpenProduct(c).check(exact, rng)


@pytest.mark.parametrize("size", [(40, 50), (3, 100), (200, 7)], ids=lambda s: "x".join(map(str, s)))
def test_open_sums_along_rows(size, rng):
    """Rows of a are as long as the sum."""
    m, n = size
    for turn_b in (False, True):
        OpenProduct(matmul(m, n, B, False, turn_b)).check(product(False, turn_b), rng, (*SIZES, 3001))


def test_both_sizes_of_a_matrix_may_be_open(rng):
    OpenProduct(matmul(B, 40, M, False, False)).check(product(False, False), rng)
    OpenProduct(matmul(B, 40, M, True, True)).check(product(True, True), rng)
    OpenProduct(matmul(M, B, 40, False, True)).check(product(False, True), rng)
    OpenProduct(matmul(30, B, 40, False, True)).check(product(False, True), rng)


@pytest.mark.takes_long
@pytest.mark.by_turns("dtype")
@DTYPES
@pytest.mark.parametrize("turn_b", [False, True])
@pytest.mark.parametrize(
    "size",
    [(40, 30), (8, 1), (90, 333), (700, 600), (1, 50), (B, 30), (M, 70)],
    ids=lambda s: f"{s[0]!r}x{s[1]}",
)
def test_open_columns(size, turn_b, dtype, rng):
    m, k = size
    c = matmul(m, B, k, False, turn_b, dtype)
    assert c.open_columns == (m is B or m is M or m != 1 or not turn_b)
    sizes = SIZES if c.depth < 500 else (0, 1, 16, 17, 33, 300)
    OpenProduct(c).check(product(False, turn_b), rng, sizes)


@pytest.mark.takes_long
@WIDTHS
def test_every_number_of_columns(vector_bytes, rng):
    for m, k, turn_a, turn_b in ((40, 30, False, True), (B, 45, True, True), (20, 30, True, False)):
        c = matmul(m, B, k, turn_a, turn_b)
        OpenProduct(c, vector_bytes).check(product(turn_a, turn_b), rng, range(70))


@pytest.mark.parametrize("dtype", [bfloat16, float16], ids=str)
def test_narrow_elements_in_open_columns(dtype, rng):
    for turn_b in (False, True):
        OpenProduct(widened(90, B, 40, False, turn_b, dtype)).check(product(False, turn_b), rng)


@pytest.mark.takes_long
def test_columns_and_sum_may_be_open(rng):
    for m, n, k in ((B, B, B), (50, B, M), (50, M, B), (B, M, 30)):
        for turn_a, turn_b in ((False, False), (True, False), (True, True)):
            OpenProduct(matmul(m, n, k, turn_a, turn_b)).check(product(turn_a, turn_b), rng)


@pytest.mark.parametrize("m", [50, B, 400])
def test_epilogues_of_open_columns(m, rng):
    """Arrays that they read lie along the columns, or are of the same shape."""

    def residual(x, at):
        kept = scalar.select(Load("mask", at, bool_), x * 2.0, 0.0)
        return Load("c", at, float32) + kept + Load("bias", (at[1],), float32) + Load("row", at[:1], float32)

    def exact(arrays):
        a, b, others = arrays["a"], arrays["b"].T, arrays["bias"] + arrays["row"][:, None]
        found = arrays["c"] + others + np.where(arrays["mask"], 2 * (a @ b), 0)
        size = 2 * (np.abs(a) @ np.abs(b)) + np.abs(arrays["c"]) + np.abs(others)
        return {"c": found}, {"c": size}

    OpenProduct(matmul(m, B, 40, False, True, c=residual)).check(exact, rng)


def test_open_columns_have_the_bits_of_closed_ones(rng):
    """Each result is one sum, from the first product to the last."""
    for turn_b in (False, True):
        compiled = OpenProduct(matmul(50, B, 90, False, turn_b))
        for size in (30, 64, 100):
            arrays = compiled.inputs(size, rng)
            found = compiled.run(size, arrays)["c"]
            closed = run_closed(matmul(50, size, 90, False, turn_b), arrays)["c"]
            assert found.tobytes() == closed.tobytes()


@pytest.mark.parametrize("m", [B, 30])
def test_open_sizes_in_the_epilogue(m, rng):
    """As in gradients of a mean: of the result of a product, or of one that is closed otherwise."""

    def mean(x, at):
        return x * (1.0 / scalar.cast(Extent(positive(B)), float32)) + scalar.cast(Extent(3 * B), float32)

    c = matmul(m, 20, 30, c=mean)
    assert len(c.sizes) == 3 if m is B else 2
    compiled = OpenProduct(c)
    for size in (0, 1, 7, 40):

        def exact(arrays, size=size):
            total = (arrays["a"] @ arrays["b"]) / max(1, size) + 3 * size
            return {"c": total}, {"c": np.abs(arrays["a"]) @ np.abs(arrays["b"]) + 3 * size}

        compiled.check(exact, rng, (size,))


@pytest.mark.parametrize("long", [False, True])
def test_open_sizes_in_integers_of_the_epilogue(long, rng):
    """Here and in a loop over the rows, each result depends on a comparison with a size."""

    def chosen(x, at):
        y = scalar.select(
            scalar.lt(scalar.cast(Load("row", at[:1], float32) * 20.0, int64), Extent(B)), x, 0.5
        )
        for _ in range(12 if long else 0):
            y = y * 0.5 + 1.0 / (1.0 + y * y)
        return y

    c = matmul(B, 20, 30, c=chosen)

    def exact(arrays):
        y = np.where(
            np.trunc(arrays["row"] * np.float32(20))[:, None] < len(arrays["c"]),
            arrays["a"] @ arrays["b"],
            0.5,
        )
        for _ in range(12 if long else 0):
            y = y * 0.5 + 1.0 / (1.0 + y * y)
        return {"c": y}, {"c": np.abs(arrays["a"]) @ np.abs(arrays["b"]) + 1}

    OpenProduct(c).check(exact, rng)


HEADS, T, D = 3, 20, 16


def batched(letters, shapes, target="c"):
    """The product that the letters of an einsum describe, n being open, and its meaning."""
    left, right, result = letters.replace("->", ",").split(",")
    extents = dict(zip(left + right, (*shapes[0], *shapes[1]), strict=True))
    index = {letter: Index(letter, extent) for letter, extent in extents.items()}
    at_a, at_b, at_c = (tuple(index[x] for x in word) for word in (left, right, result))
    summed = tuple(index[x] for x in index if x not in result)
    total = Reduce(summed, "add", Load("a", at_a, float32) * Load("b", at_b, float32))
    buffers = {
        "a": Buffer(float32, shapes[0]),
        "b": Buffer(float32, shapes[1]),
        target: Buffer(float32, tuple(i.extent for i in at_c), written=True),
    }

    def exact(arrays):
        a, b = arrays["a"], arrays["b"]
        return {target: np.einsum(letters, a, b)}, {target: np.einsum(letters, np.abs(a), np.abs(b))}

    return contraction(at_c, (Store(target, at_c, total),), buffers), exact


@pytest.mark.takes_long
@pytest.mark.parametrize(
    ("letters", "shapes"),
    [
        ("nhqd,nhkd->nhqk", ((B, HEADS, T, D), (B, HEADS, T, D))),  # scores of attention
        ("nhqk,nhkd->nhqd", ((B, HEADS, T, T), (B, HEADS, T, D))),  # and what they weigh
        ("nhqk,nhqd->nhkd", ((B, HEADS, T, T), (B, HEADS, T, D))),  # gradients
        ("nqhd,nkhd->nhqk", ((B, T, HEADS, D), (B, T, HEADS, D))),  # heads inside of positions
        ("nhqk,nkhd->nqhd", ((B, HEADS, T, T), (B, T, HEADS, D))),
        ("nqd,kd->nqk", ((B, 7, 30), (40, 30))),  # weights are the same for all
        ("nq,nk->nqk", ((B, 9), (B, 40))),  # of outer products, which have one term
        ("nqk,nk->nq", ((B, 30, 50), (B, 50))),  # a matrix times a vector
        ("nqk,k->nq", ((B, 30, 50), (50,))),
        ("nk,k->n", ((B, 50), (50,))),
        ("nk,k->n", ((B, 1), (1,))),
        ("k,nk->n", ((300,), (B, 300))),
        ("nqk,qk->n", ((B, 5, 40), (5, 40))),
        ("nqk,qkj->nj", ((B, 5, 40), (5, 40, 30))),
        ("nhk,hkj->nhj", ((B, 4, 40), (4, 40, 30))),  # each head has weights of its own
        ("nhk,nhj->hkj", ((B, 4, 40), (B, 4, 30))),  # and their gradient
        ("nhk,nhj->kj", ((B, 4, 40), (B, 4, 30))),
        ("n,nj->j", ((B,), (B, 90))),  # a weighted sum of rows
        ("nj,n->j", ((B, 3), (B,))),
        ("nhqd,nhkd->hqk", ((B, HEADS, T, D), (B, HEADS, 6, D))),  # a sum over batch and channels
        ("qkd,nkd->nqk", ((30, 90, 50), (B, 90, 50))),
    ],
    ids=lambda x: x if isinstance(x, str) else "",
)
def test_batched_products(letters, shapes, rng):
    c, exact = batched(letters, shapes)
    OpenProduct(c).check(exact, rng, SIZES if c.depth < 5000 else (0, 1, 2, 8, 33))


TWO_OPEN = [
    ("nhqd,nhkd->nhqk", ((M, HEADS, B, D), (M, HEADS, B, D))),  # scores of attention of open length
    ("nqhd,nkhd->nhqk", ((M, B, HEADS, D), (M, B, HEADS, D))),
    ("qhd,khd->hqk", ((B, HEADS, D), (B, HEADS, D))),
    ("qhd,khd->hqk", ((1, HEADS, D), (B, HEADS, D))),  # of the last position alone
    ("hqk,khd->qhd", ((HEADS, 1, B), (B, HEADS, D))),
    ("nhqk,nhkd->nhqd", ((M, HEADS, B, B), (M, HEADS, B, D))),  # what they weigh
    ("nhqk,nkhd->nqhd", ((M, HEADS, B, B), (M, B, HEADS, D))),
    ("nhqk,nkhd->nqhd", ((B, HEADS, M, M), (B, M, HEADS, D))),
    ("nhqk,nhqd->nhkd", ((M, HEADS, B, B), (M, HEADS, B, D))),  # gradients
    ("nqk,kj->nqj", ((B, M, 30), (30, 40))),
    ("nkq,kj->nqj", ((B, 30, M), (30, 40))),
    ("nqk,nqj->kj", ((B, M, 30), (B, M, 40))),
    ("nqk,nqj->nkj", ((M, B, 30), (M, B, 40))),
    ("tnk,nkj->tnj", ((B, M, 30), (M, 30, 40))),
    ("nk,nkj->nj", ((M, B), (M, B, 40))),
    ("nkq,knj->qj", ((B, M, 50), (M, B, 90))),  # sums over two open axes that do not merge
    ("nkq,knj->qj", ((B, M, 300), (M, B, 7))),
    ("nkqh,knjh->qj", ((B, M, 5, 9), (M, B, 6, 9))),
]


@pytest.mark.takes_long
@pytest.mark.parametrize(("letters", "shapes"), TWO_OPEN, ids=lambda x: x if isinstance(x, str) else "")
def test_products_of_two_open_axes(letters, shapes, rng):
    c, exact = batched(letters, shapes)
    OpenProduct(c).check(exact, rng, SIZES[:-1] if c.depth < 5000 else (0, 1, 2, 8, 33))


def test_a_sum_for_each_of_an_open_number_of_pairs_is_no_product():
    """Vectors along the batch would gather both operands: loops do it."""
    a = Load("a", (n := Index("n", B), k := Index("k", 40)), float32)
    total = Reduce((k,), "add", a * Load("b", (n, k), float32))
    buffers = {name: Buffer(float32, (B, 40)) for name in "ab"} | {"c": Buffer(float32, (B,), True)}
    assert analyse((n,), (Store("c", (n,), total),), buffers) is None


@pytest.mark.parametrize(("size", "packs", "asks"), [((1024, 40), True, 0), ((1024, 300), True, 4)])
def test_the_first_full_tile_packs_what_the_others_read(size, packs, asks, rng):
    """And asks for what is packed next. Batches without a full tile read it as it lies."""
    n, k = size
    c = matmul(B, n, k)
    decided = plan(c, replace(cpu_jit.host(), vector_bytes=64))
    assert (decided.first_packs, decided.turns) == (packs, asks)
    OpenProduct(c, 64).check(product(False, False), rng, (0, 1, 3, 7, 8, 9, 15, 31, 32, 100))


def test_chunks_pack_panels_of_their_own_for_an_open_sum(rng):
    c = matmul(200, 1024, B, True)
    assert plan(c, replace(cpu_jit.host(), vector_bytes=64)).first_packs
    OpenProduct(c, 64).check(product(True, False), rng, (0, 1, 2, 31, 255, 256, 257, 600))


def test_chunks_that_do_nothing_leave_nothing_undone(rng):
    """There are chunks for a thousand rows if there is one, too, and those of many rows share them evenly."""
    compiled = OpenProduct(matmul(B, 64, 512))
    for rows in (1, 1000):
        assert max(evaluate(phase.chunks, {"B": rows}) for phase in compiled.code.phases) >= 16
    compiled.check(product(False, False), rng, range(20))
