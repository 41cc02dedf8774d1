"""The cost of a first run grows with the graph, and not faster."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

import staticgraph as sg
from benchmarks.graphs import GRAPHS
from staticgraph.compiler import ops
from staticgraph.compiler.capture.step import Step
from staticgraph.compiler.capture.step_digest import step_digest
from staticgraph.compiler.graph.builder import Builder
from staticgraph.compiler.graph.function import Function
from staticgraph.compiler.graph.opdef import OPS
from staticgraph.compiler.support import recursion

pytestmark = pytest.mark.takes_long

# Small enough for the suite, large enough that what is done once matters little.
# fmt: off
SIZES = {
    "feeds": 200, "add_n": 300, "concat": 300, "conds": 20, "constants": 12, "offsets": 12, "shapes": 8,
    "kinds": 40, "fetches": 40, "adam": 40, "lstm": 6, "steps": 12, "names": 200, "nested scopes": 100,
    "nested loops": 60, "nested conds": 60,
}
# fmt: on
MOST = 2.7  # calls at twice the size: 2 if they grow with the graph, 4 if with its square


def calls(name: str, size: int) -> int:
    """The functions that a first run calls, those in C included."""
    count = 0

    def counted(frame: Any, event: str, argument: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    limit = sys.getrecursionlimit()
    with sg.Graph().as_default(), sg.Session() as session:
        sys.setrecursionlimit(10_000)  # nested graphs are built by recursion
        try:
            fetches, feeds = GRAPHS[name][0](size)
        finally:
            sys.setrecursionlimit(limit)
        if sg.global_variables():
            session.run(sg.global_variables_initializer())
        sys.setprofile(counted)
        try:
            session.run(fetches, feeds)
        finally:
            sys.setprofile(None)
    return count


@pytest.mark.parametrize("name", GRAPHS)
def test_calls_of_a_first_run(name: str):
    calls(name, 4)  # imports
    small, large = (calls(name, size) for size in (SIZES[name], 2 * SIZES[name]))
    assert large < MOST * small


def test_functions_that_lie_deep_in_each_other_have_a_digest():
    build = Builder()
    x, index = build.parameter("x", "float32", (2,)), build.parameter("index", "int32", ())
    made = x
    for _ in range(100):
        branch = Function((x, index), (made * 2.0,))
        made = build.node(OPS["branch"], (index, x, index), {"branches": (branch, branch)}).outputs[0]
    digests = [
        step_digest(Step(Function((x, index), (each,)), (), (), (), (), 1, ()))
        for each in (made, ops.exp(made))
    ]
    assert len({*digests}) == 2


def test_all_are_fed(rng: np.random.Generator):
    fetches, feeds = GRAPHS["feeds"][0](500)
    assert sg.Session().run(fetches, feeds) == 500.0


@pytest.mark.parametrize(("name", "levels"), [("nested conds", 140), ("nested loops", 110)])
def test_control_flow_may_be_nested_deep(name: str, levels: int):
    limit = sys.getrecursionlimit()
    fetches, feeds = GRAPHS[name][0](levels)
    values = sg.Session().run(fetches, feeds)
    np.testing.assert_array_equal(values[:2], [2.0, levels + 2.0 if name == "nested conds" else 2.0])
    assert sys.getrecursionlimit() == limit


@pytest.mark.parametrize("kind", ["conds", "loops"])
def test_functions_may_nest_loops_and_branches_500_deep(kind: str):
    x = sg.placeholder(sg.float32, [])

    def cond(level: int, y: sg.Tensor) -> sg.Tensor:
        return y if level == 0 else sg.cond(y > 0.0, lambda: cond(level - 1, y + 1.0), lambda: y)

    def loop(level: int, y: sg.Tensor) -> sg.Tensor:
        if level == 0:
            return y + 1.0
        start = [sg.constant(0), y]
        return sg.while_loop(lambda i, _: i < 1, lambda i, z: (i + 1, loop(level - 1, z)), start)[1]

    limit = sys.getrecursionlimit()
    y = (cond if kind == "conds" else loop)(500, x)
    assert sys.getrecursionlimit() == limit
    assert sg.Session(device="cpu").run(y, {x: 1.0}) == (501.0 if kind == "conds" else 2.0)


def test_what_is_nested_too_deep_is_said(monkeypatch: pytest.MonkeyPatch):
    fetches, feeds = GRAPHS["nested conds"][0](140)
    monkeypatch.setattr(recursion, "DEEP", 0)
    with pytest.raises(sg.errors.UnimplementedError, match="too deep in each other") as raised:
        sg.Session().run(fetches, feeds)
    assert "test_growth.py" in str(raised.value)
