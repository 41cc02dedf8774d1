"""Updates at places that are data, windows that overlap, exchanges and draws, in stages without order."""

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler.graph.dtypes import DType, float16, float32, int32, int64, uint64
from staticgraph.compiler.graph.opdef import OPS
from staticgraph.compiler.kernel.schedule_gpu.scans import forms
from staticgraph.compiler.ops.neural.max_pool_gradient import max_pool_grad
from staticgraph.compiler.ops.neural.pooling_windows import pool_windows
from staticgraph.compiler.ops.random_numbers.positions import multinomial, random_permutation
from tests.gpu.routines import Case, check, kinds

pytestmark = pytest.mark.takes_long

STATE = np.array([5, 7, 9], np.uint64)


def whole(*shape: int, seed: int = 0) -> np.ndarray:
    """Numbers whose sums are exact, in whatever order."""
    return np.random.default_rng(seed).integers(-3, 4, shape).astype(np.float32)


def places(count: int, rows: int, seed: int = 0) -> np.ndarray:
    """Some of them outside."""
    return np.random.default_rng(seed).integers(-1, rows + 1, count).astype(np.int32)


def segments(values: np.ndarray, ids: np.ndarray, rows: int, op: str = "sum", dtype: DType = float32) -> Case:
    inputs = (dtype, dtype.round(values)), (int32, ids)
    return Case(OPS[f"unsorted_segment_{op}"], inputs, {"num_segments": rows})


@pytest.fixture
def always(monkeypatch: pytest.MonkeyPatch) -> None:
    """Updates are brought in order, however few they are."""
    monkeypatch.setattr(forms, "_CROWDED", 0)


def test_runs_of_any_length(always: None):
    """Within chunks of 32, from one to the next, over many of them, one of all updates, and none at all."""
    cases = [segments(whole(n), places(n, rows), rows) for n, rows in ((1, 1), (33, 40), (1000, 30))]
    cases += [segments(whole(200), np.full(200, place, np.int32), 10) for place in (9, 10)]
    cases += [segments(whole(200), np.minimum(np.arange(200) // 32, 5).astype(np.int32), 10)]
    check(cases, exact=True)


def test_rows_of_several_columns_and_other_updates(always: None):
    ids, wide = places(500, 60), whole(500, 40)
    cases = [segments(wide, ids, 60, op) for op in ("sum", "max", "min")]
    cases += [segments(np.sign(whole(300, 3)) + 2, places(300, 200), 200, "prod")]
    cases += [segments(np.arange(500) % 100 == 0, ids, 60, dtype=float16)]
    tensor, pairs = whole(7, 8, 40), np.random.default_rng(1).integers(-1, 9, (500, 2)).astype(np.int32)
    for name in ("add", "sub", "update"):
        given = (float32, tensor), (int32, pairs), (float32, wide)
        cases.append(Case(OPS[f"tensor_scatter_{name}"], given, {}))
    which = np.random.default_rng(2).integers(-1, 9, (3, 30)).astype(np.int64)
    attrs = {"shape": (3, 5, 8, 6), "axis": 2, "batch_dims": 1}
    cases.append(Case(OPS["gather_grad"], ((float32, whole(3, 5, 30, 6)), (int64, which)), attrs))
    for name in ("scatter_sub", "scatter_mul", "scatter_div", "scatter_min", "scatter_update"):
        new = 2 ** np.clip(whole(90, 5), -1, 1)
        cases.append(Case(OPS[name], ((float32, whole(20, 5)), (int32, places(90, 19)), (float32, new)), {}))
    cases.append(
        Case(
            OPS["invert_permutation"],
            ((int32, np.random.default_rng(3).permutation(3000).astype(np.int32)),),
            {},
        )
    )
    for work in check(cases, exact=True):
        assert {"sort"} <= set(kinds(work))


def test_many_updates_are_brought_in_order_where_it_pays():
    found = [(20_000, 100), (17_000, 16_900), (3000, 3000)]
    works = check([segments(whole(n), places(n, rows), rows) for n, rows in found], exact=True)
    assert [work.calls[1].function.kind for work in works] == ["radix_count"] * 2 + ["scatter_notes"]  # type: ignore[union-attr]


def pooled(shape: tuple[int, ...], size: int, stride: int, padding: str) -> Case:
    attrs = {"ksize": (1, size, size, 1), "strides": (1, stride, stride, 1), "padding": padding}
    counts = [w.count for w in pool_windows(shape, attrs["ksize"], attrs["strides"], padding)]  # type: ignore[arg-type]
    x = np.abs(whole(*shape))
    x[0, 3, 3] = np.nan
    return Case(max_pool_grad, ((float32, x), (float32, whole(*counts))), attrs)


def test_gradient_of_pooling_with_windows_that_overlap():
    overlapping = [((2, 20, 22, 5), 3, 2), ((3, 17, 14, 4), 3, 1), ((2, 25, 14, 4), 2, 2)]
    works = check(
        [pooled(*each, padding) for each in overlapping for padding in ("SAME", "VALID")], exact=True
    )
    assert all(kinds(work) == ["pointwise"] * 2 for work in works[:5])
    (work,) = check([pooled((3, 16, 14, 4), 2, 2, "VALID")], exact=True)
    assert kinds(work) == ["pointwise"]  # no element is in two windows


def test_permutations_are_those_of_one_exchange_after_the_other():
    sizes = (2, 1024, 5000)
    check(
        [Case(random_permutation, ((uint64, STATE),), {"size": n, "seed": 1, "seed2": 2}) for n in sizes],
        exact=True,
    )


def test_draws_of_classes():
    rng = np.random.default_rng(4)
    long, short = rng.normal(size=(2, 5000)) * 3, rng.normal(size=(3, 3))
    long[0, 7:90], long[1], short[1] = -np.inf, np.nan, 0
    cases = [
        Case(
            multinomial,
            ((uint64, STATE), (float32, logits.astype(np.float32))),
            {"num_samples": n, "seed": 1, "seed2": 2, "output_dtype": int64},
        )
        for logits, n in ((long, 600), (short, 500), (long[:1], 3))
    ]
    check(cases, exact=True)


def test_variables_are_updated_in_place():
    ids, new = places(20_000, 99), whole(20_000)
    with sg.Graph().as_default(), sg.Session(device="standin", check_bounds=False) as sess:
        v = sg.get_variable("v", [100], initializer=sg.zeros_initializer())
        at, by = sg.placeholder(sg.int32, ids.shape), sg.placeholder(sg.float32, new.shape)
        change = sg.scatter_add(v, at, by).op
        sess.run(sg.global_variables_initializer())
        for _ in range(3):
            sess.run(change, {at: ids, by: new})
        wanted = np.zeros(100)
        np.add.at(wanted, ids[ids >= 0], 3 * new[ids >= 0])
        np.testing.assert_array_equal(sess.run(v), wanted)
        compiled = sess.executable(change, {at: ids, by: new}).compiled
        (code,) = [code for _, code, _ in compiled.walk() if code is not None]
    assert [each.how.split()[0] for each in code.listings] == ["radix_count", "scan", "radix"] + [
        "scatter_add"
    ] * 2
