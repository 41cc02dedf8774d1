"""Loops made smaller: what is dropped, what is computed before, and which become one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from staticgraph.compiler import ops
from staticgraph.compiler.autodiff.reverse import vjp
from staticgraph.compiler.graph.builder import Builder
from staticgraph.compiler.graph.checks.verify import verify
from staticgraph.compiler.graph.function import Function, Node, Value
from staticgraph.compiler.graph.interpret import interpret
from staticgraph.compiler.passes.loops import merge_loops, tidy
from staticgraph.compiler.passes.simplify import simplify
from tests.graph.inner import branched, looped


@pytest.fixture
def build() -> Builder:
    return Builder()


def number(build: Builder, name: str) -> Value:
    return build.parameter(name, "float64", ())


def counted(count: int) -> Callable[..., Value]:
    return lambda i, *_: i < count


def only_loop(function: Function) -> Node:
    (node,) = [n for n in function.nodes if n.op.name == "loop"]
    return node


def tidied(function: Function) -> Function:
    """After tidying: the same values, and every node of the right type."""
    made = tidy(function, simplify)
    verify(made)
    arguments = {p: np.asarray(1.5 + i, p.dtype.numpy) for i, p in enumerate(function.params)}
    for before, after in zip(interpret(function, arguments), interpret(made, arguments), strict=True):
        np.testing.assert_allclose(after, before, rtol=1e-12)
    return made


def names(function: Function) -> list[str]:
    return sorted(n.op.name for n in function.nodes if n.op.name not in ("parameter", "constant"))


def test_what_nothing_needs_is_not_carried(build: Builder):
    x, y = number(build, "x"), number(build, "y")
    zero = build.constant(0, "int32")
    node = looped(build, counted(3), lambda i, a, b: [i + 1, a * 2.0, ops.sin(b)], [zero, x, y])
    made = only_loop(tidied(Function((x, y), (node.outputs[1],))))
    assert made.attrs["carried"] == 2
    assert names(made.attrs["body"]) == ["add", "less", "multiply"]


def test_what_a_needed_value_is_made_of_is_carried(build: Builder):
    """`b` is used in later rounds, though nothing outside needs it."""
    x, y = number(build, "x"), number(build, "y")
    zero = build.constant(0, "int32")
    node = looped(build, counted(3), lambda i, a, b: [i + 1, a + b, ops.sin(b)], [zero, x, y])
    assert only_loop(tidied(Function((x, y), (node.outputs[1],)))).attrs["carried"] == 3


def test_what_stays_as_it_is_is_captured(build: Builder):
    x, y = number(build, "x"), number(build, "y")
    zero = build.constant(0, "int32")
    node = looped(build, counted(3), lambda i, a, b: [i + 1, a * b, b], [zero, x, y])
    function = tidied(Function((x, y), tuple(node.outputs[1:])))
    made = only_loop(function)
    assert made.attrs["carried"] == 2 and made.inputs[-1] is y
    assert function.results[1] is y


def test_what_is_the_same_in_each_round_is_computed_before(build: Builder):
    x, y = number(build, "x"), number(build, "y")
    zero = build.constant(0, "int32")
    node = looped(build, counted(3), lambda i, a, b: [i + 1, a * (ops.exp(b) + 1.0)], [zero, x], [y])
    function = tidied(Function((x, y), (node.outputs[1],)))
    assert names(only_loop(function).attrs["body"]) == ["add", "less", "multiply"]
    assert names(function) == ["add", "exp", "loop"]


def test_movements_stay_inside_since_they_cost_nothing_there(build: Builder):
    x, y = build.parameter("x", "float64", (2, 3)), build.parameter("y", "float64", (3, 2))
    zero = build.constant(0, "int32")
    node = looped(
        build, counted(3), lambda i, a, b: [i + 1, a + ops.transpose(b, perm=(1, 0))], [zero, x], [y]
    )
    made = tidy(Function((x, y), (node.outputs[1],)), simplify)
    assert "transpose" in names(only_loop(made).attrs["body"]) and "transpose" not in names(made)


def test_captured_constants_are_known_in_the_body(build: Builder):
    x = number(build, "x")
    zero, two = build.constant(0, "int32"), build.constant(2.0, "float64")
    node = looped(build, counted(3), lambda i, a, b: [i + 1, a * (b + b)], [zero, x], [two])
    made = only_loop(tidied(Function((x,), (node.outputs[1],))))
    assert [
        v.constant.item()
        for n in made.attrs["body"].nodes
        if n.op.name == "multiply"
        for v in n.inputs
        if v.constant is not None
    ] == [4.0]


def test_branches_are_simplified_inside(build: Builder):
    x, index = number(build, "x"), build.parameter("i", "int32", ())
    node = branched(build, index, [lambda a: [a * 1.0], lambda a: [a + 0.0]], [x])
    (made,) = [n for n in tidied(Function((x, index), node.outputs)).nodes if n.op.name == "branch"]
    assert [names(f) for f in made.attrs["branches"]] == [[], []]


def test_a_function_without_loops_is_left_alone(build: Builder):
    x = number(build, "x")
    function = Function((x,), (x * 1.0,))
    assert tidy(function, simplify) is function and merge_loops(function) is function


def test_forms_of_one_family_become_one_loop(build: Builder):
    """The derivative of a loop keeps values in a second form of it; together they are one."""
    x = number(build, "x")
    zero = build.constant(0, "int32")
    node = looped(build, counted(4), lambda i, a: [i + 1, ops.sin(a)], [zero, x], bound=4, exact=True)
    y = node.outputs[1]
    (slope,) = vjp(build, [y], [None], [x])
    function = Function((x,), (y, slope))
    families = [n.attrs["family"] for n in function.nodes if n.op.name == "loop"]
    assert len(families) == 3 and len(set(families)) == 2
    merged = merge_loops(function)
    verify(merged)
    assert sorted(n.attrs["family"] for n in merged.nodes if n.op.name == "loop") == sorted(set(families))
    arguments = {x: np.array(0.7)}
    for before, after in zip(interpret(function, arguments), interpret(merged, arguments), strict=True):
        np.testing.assert_array_equal(after, before)


def test_loops_of_different_families_stay_apart(build: Builder):
    x = number(build, "x")
    zero = build.constant(0, "int32")
    nodes = [
        looped(build, counted(4), lambda i, a, f=f: [i + 1, f(a)], [zero, x]) for f in (ops.sin, ops.cos)
    ]
    function = Function((x,), tuple(n.outputs[1] for n in nodes))
    assert merge_loops(function) is function


def plain_loop(steps: int, x: float) -> Sequence[Any]:
    value, kept = x, []
    for _ in range(steps):
        kept.append(value)
        value = np.sin(value)
    return value, np.prod(np.cos(kept))


def test_values_after_everything(build: Builder):
    x = number(build, "x")
    zero = build.constant(0, "int32")
    node = looped(build, counted(4), lambda i, a: [i + 1, ops.sin(a)], [zero, x], bound=4, exact=True)
    (slope,) = vjp(build, [node.outputs[1]], [None], [x])
    function = tidy(merge_loops(Function((x,), (node.outputs[1], slope))), simplify)
    found = interpret(function, {x: np.array(0.7)})
    np.testing.assert_allclose(found, plain_loop(4, 0.7), rtol=1e-12)
