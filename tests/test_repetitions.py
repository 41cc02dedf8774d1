"""The tests that `by_turns` and `one_in` leave to `pytest -m slow`."""

from __future__ import annotations

from itertools import product
from types import SimpleNamespace

import pytest

from tests.repetitions import repeated


def cases(marker, *sizes: int):
    """Stand-ins for the items of a test with parameters a, b, ..., by the places of their values."""
    marks = {marker.name: marker}
    return [
        SimpleNamespace(
            nodeid=f"test_it[{at}]",
            get_closest_marker=marks.get,
            callspec=SimpleNamespace(indices=dict(zip("abc", at, strict=False))),
        )
        for at in product(*map(range, sizes))
    ]


def always(items) -> list[tuple[int, ...]]:
    left = {id(item) for item in repeated(items)}
    return [tuple(item.callspec.indices.values()) for item in items if id(item) not in left]


def test_each_case_has_one_value_and_each_value_its_turn():
    assert always(cases(pytest.mark.by_turns("b").mark, 5, 2)) == [(0, 0), (1, 1), (2, 0), (3, 1), (4, 0)]
    found = always(cases(pytest.mark.by_turns("a").mark, 3, 2, 2))
    assert found == [(0, 0, 0), (0, 1, 1), (1, 0, 1), (2, 1, 0)]
    assert len(always(cases(pytest.mark.by_turns("a", "b").mark, 2, 2, 6))) == 6


def test_each_third_case():
    assert always(cases(pytest.mark.one_in(3).mark, 7)) == [(0,), (3,), (6,)]


def test_functions_are_counted_by_themselves():
    one, two = cases(pytest.mark.one_in(2).mark, 3), cases(pytest.mark.one_in(2).mark, 3)
    for item in two:
        item.nodeid = item.nodeid.replace("it", "another")
    assert always([*one, *two]) == [(0,), (2,), (0,), (2,)]


def test_other_tests_are_never_left_out():
    assert not [*repeated(cases(pytest.mark.slow.mark, 3))]
