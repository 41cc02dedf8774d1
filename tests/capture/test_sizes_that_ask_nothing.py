"""One program from the smallest size to large ones, where an operation has no need to ask about them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import staticgraph as sg

pytestmark = [pytest.mark.compiled, pytest.mark.takes_long]

ROWS = (5, 1, 12, 2, 3, 30, 10)

# By name: what is computed of x: float32[n, 4] and n; and what NumPy makes of it.
LESSER: dict[str, tuple[Callable[[Any, Any], Any], Callable[[np.ndarray, int], Any]]] = {
    "the first rows": (lambda x, n: x[: sg.minimum(n, 10)], lambda x, n: x[:10]),
    "the last rows": (lambda x, n: x[n - sg.minimum(n, 10) :], lambda x, n: x[-10:]),
    "the largest": (
        lambda x, n: sg.nn.top_k(x[:, 0], sg.minimum(n, 10))[0],
        lambda x, n: np.sort(x[:, 0])[::-1][:10],
    ),
    "padding": (
        lambda x, n: sg.pad(x, [[0, sg.maximum(n, 3) - n], [0, 0]]),
        lambda x, n: np.pad(x, [(0, max(n, 3) - n), (0, 0)]),
    ),
    "a mean": (
        lambda x, n: sg.reduce_sum(x) / sg.cast(sg.maximum(n, 1), sg.float32),
        lambda x, n: x.sum() / n,
    ),
    "numbers": (lambda x, n: sg.range(sg.minimum(n, 10)), lambda x, n: np.arange(min(n, 10))),
    "two open sizes": (
        lambda x, n: sg.ones([sg.minimum(2 * n, n + 4), sg.maximum(n // 2, n - 3)]),
        lambda x, n: np.ones((min(2 * n, n + 4), max(n // 2, n - 3))),
    ),
}
OTHERS: dict[str, tuple[Callable[[Any, Any], Any], Callable[[np.ndarray, int], Any]]] = {
    "as many copies as rows": (lambda x, n: sg.tile(x[:1], [n, 1]), lambda x, n: np.tile(x[:1], (n, 1))),
    "parts": (
        lambda x, n: sg.concat(sg.split(x, [n // 2, n - n // 2])[::-1], 0),
        lambda x, n: np.roll(x, -(n // 2), 0),
    ),
    "points of a line": (
        lambda x, n: sg.linspace(1.0, 0.5, n // 2 + 1),
        lambda x, n: np.linspace(1.0, 0.5, n // 2 + 1),
    ),
    "an element in each column": (
        lambda x, n: sg.gather(sg.constant(np.arange(17.0)), sg.clip_by_value(sg.range(n) - 3, -8, 8) + 8),
        lambda x, n: np.arange(17.0)[np.clip(np.arange(n) - 3, -8, 8) + 8],
    ),
    "rows in any order": (
        lambda x, n: sg.sort(sg.random_shuffle(x[:, 0])),
        lambda x, n: np.sort(x[:, 0]),
    ),
    "positions of a sparse tensor": (
        lambda x, n: sg.sparse_to_dense(sg.range(n)[:, None], [40], x[:, 0]),
        lambda x, n: np.pad(x[:, 0], (0, 40 - n)),
    ),
}


@pytest.mark.parametrize("name", [*LESSER, *OTHERS])
def test_one_program_for_one_row_and_many(name: str):
    compute, meant = (LESSER | OTHERS)[name]
    x = sg.placeholder(sg.float32, [None, 4], name="x")
    y = compute(x, sg.shape(x)[0])
    with sg.Session(device="cpu") as session:
        for n in (*ROWS, 0) if name in LESSER else ROWS:
            rows = np.random.default_rng(n).normal(size=(n, 4)).astype(np.float32)
            wanted = meant(rows, n) if n or name != "a mean" else 0.0
            np.testing.assert_allclose(session.run(y, {x: rows}), wanted, rtol=1e-5, atol=1e-6)
        assert len(session.compiles) == 1, [each.guards for each in session.compiles]


def test_a_lesser_size_that_leads_to_a_question_is_asked_for():
    """Four of the lesser one cannot be told for all sizes: the answer is a guard, and n remains open."""
    x = sg.placeholder(sg.float32, [None, 2], name="x")
    parts = sg.reshape(x[: sg.minimum(sg.shape(x)[0], 8)], [-1, 4])
    with sg.Session(device="cpu") as session:
        for n in (4, 2, 30, 0, 9, 6, 10):
            rows = np.arange(2.0 * n).reshape(n, 2)
            np.testing.assert_array_equal(session.run(parts, {x: rows}), rows[:8].reshape(-1, 4))
        assert [each.symbols for each in session.compiles] == ["2*n0: axis 0 of x", "n0: axis 0 of x"]


def test_unordered_positions_are_found_at_any_size():
    places = sg.placeholder(sg.int32, [None, 2], name="places")
    dense = sg.sparse_to_dense(places, [9, 9], 1.0)
    with sg.Session(device="cpu") as session:
        for n in (4, 1, 2, 9):
            rows = np.stack([np.arange(n), np.arange(n)[::-1]], 1)
            assert session.run(dense, {places: rows}).sum() == n
            if n > 1:
                with pytest.raises(sg.errors.InvalidArgumentError, match="order"):
                    session.run(dense, {places: rows[::-1]})
                with pytest.raises(sg.errors.InvalidArgumentError, match="order"):
                    session.run(dense, {places: np.concatenate([rows[:-1], rows[-2:-1]])})
        assert len(session.compiles) == 1


def test_rows_that_are_updated_may_be_none():
    """One program for any number of segments and places, zero included, beside the one that counts."""
    x, ids = sg.placeholder(sg.float32, [None, 2], name="x"), sg.placeholder(sg.int32, [None], name="ids")
    n = sg.placeholder(sg.int32, [], name="n")
    fetches = [
        sg.unsorted_segment_sum(x, ids, n),
        sg.unsorted_segment_max(x, ids, n + 1)[:-1],
        sg.scatter_nd(ids[:, None], x, [n, 2]),
        sg.segment_sum(x, ids),
    ]
    with sg.Session(device="cpu") as session:
        for count in (3, 0, 1, 7, 2):
            numbers = np.sort(np.arange(2 * count) % max(count, 1)).astype(np.int32)
            rows = np.random.default_rng(count).normal(size=(2 * count, 2)).astype(np.float32)
            sums, greatest, places, sorted_sums = session.run(fetches, {x: rows, ids: numbers, n: count})
            pairs = rows.reshape(count, 2, 2)
            for found in (sums, places, sorted_sums):
                np.testing.assert_allclose(found, pairs.sum(1), rtol=1e-5, atol=1e-6)
            np.testing.assert_array_equal(greatest, pairs.max(1))
        assert len(session.compiles) == 2, session.compiles


def test_numbers_have_one_program_for_all_distances():
    """A stage finds how many they are: that is no polynomial of ends and distance."""
    ends = [sg.placeholder(sg.int32, [], name=name) for name in ("start", "limit", "delta")]
    numbers = sg.range(*ends)
    with sg.Session(device="cpu") as session:
        for delta in (2, 3, -4):
            for start, limit in ((0, 5), (2, 21), (3, 3), (1, 0), (0, 100)):
                fed = (start, limit, delta) if delta > 0 else (limit, min(start, limit), delta)
                if delta < 0 or start <= limit:
                    found = session.run(numbers, dict(zip(ends, fed, strict=True)))
                    np.testing.assert_array_equal(found, np.arange(*fed))
        assert len(session.compiles) == 2, session.compiles
