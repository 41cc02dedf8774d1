"""Needs: what a capture returns in place of a step, and that an answer leads to the step."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler.capture import capture as capture_module
from staticgraph.compiler.capture.capture import capture
from staticgraph.compiler.capture.step import (
    CaptureRequest,
    Needs,
    NeedsFeeds,
    NeedsHost,
    NeedsStage,
    NeedsTypes,
    Step,
)
from staticgraph.compiler.capture.walk import GIVEN, RULES
from staticgraph.compiler.graph.opdef import OPS
from staticgraph.compiler.graph.shapes import TensorType
from tests.passes.steps import captured, step_of

CAPTURE = Path(__file__).resolve().parents[2] / "compiler" / "capture"


def with_types(fetch: Any, types: dict[Any, TensorType | None]) -> Step | Needs:
    """Capture a tensor, if the variables have values of these types."""
    return capture(CaptureRequest(fetch.graph, [fetch], [], {}, types))


# Feeds


def test_all_fed_truth_values_that_decide_are_asked_for_at_once():
    a, b = (sg.placeholder(sg.bool, [], name) for name in "ab")
    y = sg.cond(sg.logical_and(a, b), lambda: 1.0, lambda: 2.0)
    needs = captured([y], {a: True, b: False})
    assert isinstance(needs, NeedsFeeds) and set(needs.feeds) == {a, b}
    values = {a: np.bool_(True), b: np.bool_(False)}
    assert step_of([y], values, static=values).function.results[0].constant == 2.0


def test_a_need_inside_of_regions_is_handed_up():
    n, x = sg.placeholder(sg.int32, [], "n"), sg.placeholder(sg.float32, [], "x")

    def body(i: Any, total: Any) -> tuple[Any, Any]:
        more = sg.cond(total > x, lambda: sg.reduce_sum(sg.fill([n], 1.0)), lambda: 0.0)
        return i + 1, total + more

    _, y = sg.while_loop(lambda i, total: i < 3, body, [0, x])
    assert captured([y], {n: 2, x: 1.0}) == NeedsFeeds((n,))
    step = step_of([y], {n: 2, x: 1.0}, static={n: np.int32(2)})
    assert "loop" in {node.op.name for node in step.function.nodes}


def test_a_branch_that_differs_in_shape_is_asked_for():
    x = sg.placeholder(sg.float32, [], name="x")
    above = x > 0.0
    y = sg.cond(above, lambda: sg.zeros([2]), lambda: sg.zeros([3]))
    assert captured([y], {x: 1.0}) == NeedsStage((above,))


def test_a_size_that_follows_from_real_numbers_is_computed_first_and_not_compiled_for():
    x, n = sg.placeholder(sg.float32, [3], name="x"), sg.placeholder(sg.int32, [2], name="n")
    flag = sg.placeholder(sg.bool, [], name="flag")
    count = sg.reduce_sum(sg.cast(x > 0.0, sg.int32))
    assert isinstance(captured([sg.zeros([count])], {x: np.ones(3)}), NeedsStage)
    assert isinstance(captured([sg.zeros([n[0] * n[1]])], {n: np.ones(2, np.int32)}), NeedsFeeds)
    either = sg.zeros([sg.where(flag, 2, 3)])
    assert isinstance(captured([either], {flag: True}), NeedsFeeds)


# Types of variables


def test_the_type_of_a_variable_whose_shape_is_open_is_asked_for():
    w = sg.Variable(sg.zeros([2]), validate_shape=False, name="w")
    y = sg.reduce_sum(w + 1.0)
    needs = with_types(y, {})
    assert needs == NeedsTypes((w.op,))
    step = with_types(y, {w.op: TensorType(sg.float32, (5,))})
    assert isinstance(step, Step) and step.function.params[0].shape == (5,)


def test_an_assignment_asks_for_no_type():
    w = sg.Variable(sg.zeros([2]), validate_shape=False, name="w")
    assert isinstance(captured([w.initializer]), Step)


def test_whether_a_variable_has_a_value_is_asked_for():
    w = sg.Variable(1.0, name="w")
    y = sg.is_variable_initialized(w)
    assert with_types(y, {}) == NeedsTypes((w.op,))
    for type, known in ((None, False), (TensorType(sg.float32, ()), True)):
        step = with_types(y, {w.op: type})
        assert isinstance(step, Step) and bool(step.function.results[0].constant) is known


# An earlier stage


def test_the_trip_count_of_a_loop_is_asked_for_by_its_derivative():
    x = sg.placeholder(sg.float32, [], name="x")
    y = sg.while_loop(lambda a: a < 9.0, lambda a: a * a, [x])
    [slope] = sg.gradients(y, x)
    needs = captured([slope], {x: 2.0})
    assert isinstance(needs, NeedsStage)
    [rounds] = needs.tensors
    assert rounds is rounds.op.outputs[-1] and rounds.op.type == "While"


def test_a_shape_that_state_decides_in_a_branch_needs_an_earlier_stage():
    n, x = sg.Variable(3, name="n"), sg.placeholder(sg.float32, [], "x")
    size = sg.identity(n)
    y = sg.cond(x > 0.0, lambda: sg.reduce_sum(sg.fill([size], x)), lambda: x)
    needs = captured([y], {x: 1.0})
    assert isinstance(needs, NeedsStage) and not needs.tensors[0].type.dtype.is_floating


# Python


def test_the_result_of_a_host_op_is_asked_for():
    x = sg.placeholder(sg.float32, [], name="x")
    y = sg.py_func(lambda v: v, [x], sg.float32)
    y.set_shape([])
    assert captured([sg.exp(y)], {x: 1.0}) == NeedsHost(y.op)


def growing(x: Any) -> Any:
    """A loop that doubles a vector as often as data decide."""
    shapes = [sg.TensorShape([None])]
    return sg.while_loop(lambda a: sg.reduce_sum(a) < 9.0, lambda a: sg.concat([a, a], 0), [x], shapes)


def test_a_loop_that_only_python_can_do_is_a_host_op():
    x = sg.placeholder(sg.float32, [1], name="x")
    y = growing(x)
    loop = next(op for op in x.graph.get_operations() if op.type == "While")
    assert captured([y], {x: [1.0]}) == NeedsHost(loop)
    with sg.Session() as sess:
        assert sess.run(y, {x: [1.0]}).shape == (16,)


def test_the_results_of_such_a_loop_are_given_to_a_drawing():
    x = sg.placeholder(sg.float32, [1], name="x")
    picture = sg.visualize(sg.tanh(growing(x)), stage="optimized")
    assert "tanh" in str(picture.dot).lower()


# What capture answers itself


def test_the_shape_of_rows_is_found_by_a_second_walk():
    x = sg.placeholder(sg.float32, [3], name="x")
    rows = sg.TensorArray(sg.float32, size=2, infer_shape=False)
    rows = rows.write(0, x).write(1, x * 2.0)
    step = step_of([rows.stack()], {x: np.zeros(3)})
    assert step.function.results[0].shape == (2, 3)


def arrays(count: int) -> tuple[list, dict]:
    """Sums of rows of arrays, each of which is written in a loop of its own."""
    x = sg.placeholder(sg.float32, [2, 3], name="x")
    totals = []
    for each in range(count):
        made = sg.TensorArray(sg.float32, size=2, infer_shape=False)
        write = lambda i, a, k=each: [i + 1, a.write(i, x[i] * float(k + 1))]  # noqa: E731
        _, made = sg.while_loop(lambda i, _: i < 2, write, [0, made])
        totals.append(sg.reduce_sum(made.stack()))
    return totals, {x: np.ones((2, 3))}


@pytest.mark.parametrize("gradients", [False, True])
def test_two_walks_find_the_rows_of_all_arrays(gradients: bool, monkeypatch: pytest.MonkeyPatch):
    """The time of a first run does not grow with the square of their number."""
    fetches, feeds = arrays(6)
    expected = [6.0 * (k + 1) for k in range(6)]
    if gradients:
        fetches = sg.gradients(fetches, [*feeds])
        expected = [np.full((2, 3), 21.0)]
    walks, walked = [], capture_module._walked
    monkeypatch.setattr(capture_module, "_walked", lambda *args: walks.append(args) or walked(*args))
    step = step_of(fetches, feeds)
    assert len(walks) <= 3
    for result, value in zip(step.function.results, expected, strict=False):
        assert result.shape == np.shape(value)
    for found, value in zip(sg.Session().run(fetches, feeds), expected, strict=True):
        np.testing.assert_array_equal(found, value)


# The table


def test_names_in_the_table_are_ops():
    named = {name for name in RULES if name[0] != "*"}
    assert named | GIVEN.keys() <= {*OPS}
    assert named.isdisjoint(GIVEN)


def test_no_exception_carries_a_need():
    """The one exception of the folder is for those who ask for a digest."""
    classes = (
        node
        for path in CAPTURE.glob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ClassDef) and any("Exception" in ast.unparse(base) for base in node.bases)
    )
    assert [node.name for node in classes] == ["NoDigest"]
