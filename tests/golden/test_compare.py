"""The comparison notices what it should, and the store gives back what it was given."""

import numpy as np
import pytest

from tests.golden import store
from tests.golden.compare import differences
from tests.golden.runner import Answer, Error, Shape, Value

NEAR = Value("near", len)
EXACT = Value("exact", len, exact=True)
NAN, INF = np.nan, np.inf


def float32(*numbers):
    return np.array(numbers, np.float32)


@pytest.mark.parametrize(
    ("case", "expected", "actual", "agrees"),
    [
        (NEAR, float32(1.0, 1000.0), float32(1.0001, 1000.0), True),
        (NEAR, float32(1.0, 1.0), float32(1.0001, 1.0), False),
        (NEAR, float32(0.0), float32(1e-8), True),
        (NEAR, float32(0.0), float32(1e-6), False),
        (NEAR, float32(0.0), float32(-0.0), True),
        (EXACT, float32(0.0), float32(-0.0), False),
        (EXACT, float32(1.0), np.nextafter(float32(1.0), float32(2.0)), False),
        (EXACT, float32(NAN, INF), float32(NAN, INF), True),
        (NEAR, float32(NAN, INF), float32(NAN, INF), True),
        (NEAR, float32(NAN), float32(0.0), False),
        (NEAR, float32(1.0), float32(NAN), False),
        (NEAR, float32(INF), float32(-INF), False),
        (NEAR, float32(1.0), np.array([1.0]), False),
        (NEAR, float32(1.0), float32(1.0).reshape(1, 1), False),
        (NEAR, np.array([1, 2]), np.array([1, 3]), False),
        (NEAR, None, float32(0.0), False),
        (NEAR, float32(0.0), None, False),
        (NEAR, None, None, True),
        (NEAR, float32(), float32(), True),
        (Answer("names", len), ["a", "b"], ["a", "b"], True),
        (Answer("names", len), ["a", "b"], ["b", "a"], False),
    ],
)
def test_items(case, expected, actual, agrees):
    assert (not differences(case, {"item": expected}, {"item": actual})) == agrees


@pytest.mark.parametrize(
    ("expected", "actual", "agrees"),
    [
        ([[None, 3]], [[2, 3]], True),
        ([[2, 3]], [[None, 3]], False),
        ([[2, 3]], [[2, 3, 1]], False),
        ([None], [[1]], True),
        ([[1]], [None], False),
        ([[1]], [[1], [1]], False),
    ],
)
def test_a_shape_may_be_known_better(expected, actual, agrees):
    assert (not differences(Shape("shape", len), {"shape": expected}, {"shape": actual})) == agrees


@pytest.mark.parametrize(
    ("expected", "actual", "agrees"),
    [
        (["KeyError", "LookupError"], ["OurError", "KeyError"], True),
        (["KeyError", "LookupError"], ["LookupError"], False),
        (["InvalidArgumentError"], ["ShapeError", "ValueError"], True),
        (["ValueError"], ["InvalidArgumentError"], False),
        (["ValueError"], [], False),
        ([], ["ValueError"], False),
        ([], [], True),
    ],
)
def test_an_error_may_be_more_derived(expected, actual, agrees):
    assert (not differences(Error("error", len), {"error": expected}, {"error": actual})) == agrees


def test_a_missing_gradient_is_noticed():
    assert differences(NEAR, {"value 0": float32(1.0), "grad 0": None}, {"value 0": float32(1.0)})


def test_store_round_trip(tmp_path):
    outcomes = {
        "one": {"value 0": float32(NAN, -0.0), "value 1": np.array(7), "grad 0": None},
        "two": {"value 0": np.zeros((0, 3), np.float32), "value 1": np.array([[True], [False]])},
        "three": {"answer": ["x", None, 3]},
    }
    store.save("subject", outcomes, tmp_path)
    loaded = store.load("subject", tmp_path)
    assert list(loaded) == list(outcomes)
    for name, outcome in outcomes.items():
        assert not differences(EXACT, outcome, loaded[name])
    first = (tmp_path / "subject.npz").read_bytes()
    store.save("subject", loaded, tmp_path)
    assert (tmp_path / "subject.npz").read_bytes() == first
