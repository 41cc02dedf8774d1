"""Functions cut out of a larger computation."""

from __future__ import annotations

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.graph.builder import Builder
from staticgraph.compiler.graph.interpret import interpret
from staticgraph.compiler.graph.lambda_lift import close, depends_on
from staticgraph.compiler.graph.provenance import user_frame


def test_what_depends_on_params():
    build = Builder()
    x, y, p = (build.parameter(name, "float32", ()) for name in "xyp")
    before = x * y
    inside = before + p
    beside = ops.exp(before)
    after = inside * beside
    assert depends_on([p], [after]) == {p, inside, after}
    assert depends_on([p], [beside]) == {p}
    assert depends_on([], [after]) == set()


def test_what_is_outside_is_captured_once_and_constants_are_not():
    build = Builder()
    x, p = build.parameter("x", "float32", ()), build.parameter("p", "float32", ())
    outside = ops.exp(x)
    results = [p * outside + 2.0, outside, build.constant(3.0, "float32")]
    depends = depends_on([p], results)
    (function,), captured = close(build, [p], [results], depends.__contains__)
    assert captured == [outside]
    assert function.params[0] is p and len(function.params) == 2
    assert not any(n.op.name == "exp" for n in function.nodes)
    found = interpret(function, dict(zip(function.params, (5.0, 7.0), strict=True)))
    assert [float(v) for v in found] == [37.0, 7.0, 3.0]


def test_what_is_cut_out_keeps_its_lines():
    build = Builder()
    x, p = build.parameter("x", "float32", ()), build.parameter("p", "float32", ())
    with build.at(user_frame()):
        inside = p * x
    (function,), _ = close(build, [p], [[inside]], depends_on([p], [inside]).__contains__)
    assert function.results[0].node.where is inside.node.where is not None


def test_alternatives_have_the_same_params():
    build = Builder()
    x, y = build.parameter("x", "float32", (2,)), build.parameter("y", "float32", (2,))
    first = build.serial
    alternatives = [[ops.exp(x)], [ops.sin(y)]]
    functions, captured = close(build, [], alternatives, lambda v: v.node.serial > first)
    assert captured == [x, y]
    assert functions[0].params == functions[1].params and len(functions[0].params) == 2
    arrays = [np.array([0.0, 1.0]), np.array([2.0, 3.0])]
    for function, wanted in zip(functions, (np.exp(arrays[0]), np.sin(arrays[1])), strict=True):
        (found,) = interpret(function, dict(zip(function.params, arrays, strict=True)))
        np.testing.assert_allclose(found, wanted, rtol=1e-6)


def test_nothing_below_what_is_outside_is_looked_at():
    build = Builder()
    x = build.parameter("x", "float32", ())
    y = ops.exp(ops.sin(x))
    (function,), captured = close(build, [], [[y]], lambda v: v is x)
    assert captured == [y] and function.results == function.params
