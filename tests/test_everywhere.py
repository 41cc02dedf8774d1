"""`check_everywhere` runs a program in all places, and tells when they differ."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import staticgraph as sg
from tests import everywhere as module
from tests.everywhere import PLACES, Outcome, Refused, check_everywhere, everywhere


def train() -> dict[str, Any]:
    x = sg.placeholder(sg.float32, [None, 3], name="x")
    w = sg.Variable(np.ones((3, 2), np.float32), name="w")
    loss = sg.reduce_mean(sg.square(sg.matmul(x, w)))
    step = sg.train.MomentumOptimizer(0.1, 0.9).minimize(loss)
    return {"loss": loss, "after": w, "step": step}


@pytest.mark.takes_long
def test_a_training_is_the_same_everywhere(rng: np.random.Generator):
    batches = [{"x": rng.normal(size=(4, 3))} for _ in range(3)]
    found = check_everywhere(train, *batches, places=(*PLACES, "gpu"))
    for place, outcomes in found.items():
        assert not isinstance(outcomes, Refused), (place, outcomes.__cause__)
        assert outcomes[0].state.keys() == {"w", "w/Momentum"}
        assert (outcomes[2].results["after"] == outcomes[2].state["w"]).all()


def test_an_error_is_the_same_everywhere():
    def build() -> dict[str, Any]:
        x, y = (sg.placeholder(sg.float32, [None], name=n) for n in "xy")
        v = sg.Variable(1.0, name="v")
        return {"sum": x + y, "step": v.assign_add(1.0).op}

    feeds = {"x": [1, 2], "y": [1, 2, 3]}
    found = check_everywhere(build, feeds, expected=[ValueError])
    assert all(outcomes[0].state["v"] == 1.0 for outcomes in found.values())


def test_what_a_place_cannot_hold_is_left_out():
    def build() -> dict[str, Any]:
        return {"y": sg.py_func(lambda: np.float32(3), [], sg.float32)}

    found = check_everywhere(build, expected=[{"y": 3}])
    assert {place for place in PLACES if isinstance(found[place], Refused)} == {"file", "object", "graph_def"}


def test_tensors_inside_are_fed():
    def build() -> dict[str, Any]:
        inner = sg.exp(sg.constant([1.0, 2.0]), name="inner")
        return {"y": inner * 2.0}

    check_everywhere(build, {"inner": [3, 4]}, expected=[{"y": [6, 8]}])


@pytest.mark.parametrize("change", ["result", "state", "error"])
def test_differences_are_told(monkeypatch: pytest.MonkeyPatch, change: str):
    def wrong(*given: Any) -> Any:
        for outcome in module.in_session(*given):
            results, state = dict(outcome.results), dict(outcome.state)
            if change == "result":
                results["y"] = results["y"] + 1.0
            elif change == "state":
                state["v"] = state["v"] + 1.0
            else:
                results = None
            yield Outcome(results, "ValueError" if results is None else "", state)

    def build() -> dict[str, Any]:
        v = sg.Variable(1.0, name="v")
        return {"y": v * 2.0}

    monkeypatch.setitem(module._PLACES, "file", wrong)
    assert everywhere(build, places=["file"])
    with pytest.raises(AssertionError):
        check_everywhere(build, places=["session", "file"])


def test_what_is_expected_is_compared():
    with pytest.raises(AssertionError):
        check_everywhere(lambda: {"y": sg.constant(1.0) + 1.0}, expected=[{"y": 3.0}], places=["session"])
    with pytest.raises(AssertionError):
        check_everywhere(lambda: {"y": sg.constant(1.0)}, expected=[ValueError], places=["session"])
