"""Rows in order, by networks and by digits: what comes first of equal ones is the first."""

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler.graph.dtypes import (
    REAL,
    DType,
    bfloat16,
    float32,
    float64,
    int8,
    int64,
)
from staticgraph.compiler.ops.ordering.sorting import top_k
from tests.gpu.routines import Case, check, kinds

pytestmark = pytest.mark.takes_long

MOST = 4096  # pairs of a block


def numbers(shape: tuple[int, ...], dtype: DType = float32, seed: int = 0) -> np.ndarray:
    """Numbers of which many are equal; zeros of both signs, infinities and NaN where there are such."""
    rng = np.random.default_rng(seed)
    if not dtype.is_floating:
        x = rng.integers(max(dtype.min, -100), min(dtype.max, 100), shape).astype(dtype.numpy)
        x.reshape(-1)[::50], x.reshape(-1)[1::50] = dtype.min, dtype.max
        return x
    x = dtype.round(rng.integers(-100, 100, shape) / 4)
    for n, special in enumerate((np.nan, -np.inf, np.inf, -0.0, 0.0, dtype.max, dtype.min)):
        x.reshape(-1)[n :: 30 + n] = special
    return np.asarray(x)


def case(shape: tuple[int, ...], k: int, dtype: DType = float32) -> Case:
    return Case(top_k, ((dtype, numbers(shape, dtype)),), {"k": k})


def test_a_row_of_any_length():
    lengths = [1, 15, 16, 31, 32, 33, 1023, 1024, 1025, MOST - 1, MOST, MOST + 1]
    works = check([case((n,), n) for n in lengths], exact=True)
    assert [kinds(w)[-1] for w in works[2:]] == ["sort"] * 9 + ["radix"]


def test_rows_of_any_number():
    check([case((n, length), length) for n, length in ((1, 16), (31, 17), (33, 40), (5, 600))], exact=True)
    same = Case(top_k, ((float32, np.ones((2, 300), np.float32)),), {"k": 300})
    check([case((2, 3, 20), 20), case((3, 1, 5000), 50), same], exact=True)


def test_all_dtypes():
    cases = [case((3, 100), 100, dtype) for dtype in sorted(REAL, key=lambda d: d.name)]
    check([*cases, *(case((5000,), 5000, d) for d in (float64, bfloat16, int8))], exact=True)


def test_the_best_of_long_rows_come_from_the_best_of_pieces():
    wanted = [((MOST + 1,), 1), ((3, 9999), 5), ((3 * MOST,), 500), ((50_000,), 512)]
    works = check([case(shape, k) for shape, k in wanted], exact=True)
    assert [kinds(w) for w in works] == [["sort"] * 2] * 3 + [["sort"] * 3]
    works = check([case((5000,), 100, d) for d in (float64, int64)] + [case((9000,), 600)], exact=True)
    assert [kinds(w)[-1] for w in works] == ["sort", "sort", "radix"]


def test_sorted_along_any_axis():
    """The way that users take: ascending order is that of opposites, other axes are moved to the end."""
    x = np.random.default_rng(3).normal(size=(50, 40)).astype(np.float32)
    words = np.random.default_rng(4).integers(-9, 9, (3, 60))
    with sg.Graph().as_default(), sg.Session(device="standin") as sess:
        p, q = sg.placeholder(sg.float32, x.shape), sg.placeholder(sg.int64, words.shape)
        fetches = [
            sg.sort(p, 0),
            sg.argsort(p, 1, "DESCENDING"),
            sg.sort(q * 2),
            sg.argsort(q),
            sg.cumsum(p * 2.0),
        ]
        made = sess.run(fetches, {p: x, q: words})
    wanted = [np.sort(x, 0), np.argsort(-x, 1), np.sort(words * 2), np.argsort(words, kind="stable")]
    for found, expected in zip(made, wanted, strict=False):
        np.testing.assert_array_equal(found, expected)
    np.testing.assert_allclose(made[-1], np.cumsum(x * 2, 0), rtol=1e-5, atol=1e-5)
