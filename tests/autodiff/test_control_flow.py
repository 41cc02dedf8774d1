"""Derivatives of loops and branches: their values, and what they keep of the rounds."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest

from staticgraph.compiler import ops
from staticgraph.compiler.autodiff.cotangents import Unbounded
from staticgraph.compiler.autodiff.reverse import vjp
from staticgraph.compiler.graph.builder import Builder
from staticgraph.compiler.graph.checks.verify import verify
from staticgraph.compiler.graph.dtypes import float64
from staticgraph.compiler.graph.function import Function, Node, Value
from staticgraph.compiler.graph.interpret import interpret
from staticgraph.compiler.passes.loops import merge_loops, tidy
from staticgraph.compiler.passes.simplify import simplify
from tests.graph.inner import branched, looped


def slopes(y: Value, xs: Sequence[Value], arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
    """The derivatives of the sum of `y`, checked against central differences."""
    build = y.recorder
    grads = vjp(build, [y], [None], xs)
    kept = [g for g in grads if g is not None]
    function = Function(tuple(xs), (y, *kept))
    verify(function)
    arguments = dict(zip(xs, arrays, strict=True))
    values = interpret(function, arguments)
    found = iter(values[1:])
    for x, grad in zip(xs, grads, strict=True):
        slope = np.zeros(x.shape) if grad is None else next(found)
        for at in np.ndindex(x.shape):
            sums = []
            for step in (1e-6, -1e-6):
                moved = arguments[x].copy()
                moved[at] += step
                sums.append(interpret(Function(tuple(xs), (y,)), arguments | {x: moved})[0].sum())
            np.testing.assert_allclose(slope[at], (sums[0] - sums[1]) / 2e-6, rtol=1e-5, atol=1e-7)
    return values[1:]


def counter(build: Builder) -> Value:
    return build.constant(0, "int32")


def loops_of(function: Function) -> list[Node]:
    return [n for n in function.nodes if n.op.name == "loop"]


BODIES: dict[str, Callable[..., Value]] = {
    "captured factor": lambda i, a, w: a * w,
    "function of what is carried": lambda i, a, w: ops.sin(a) + w,
    "the number of the round": lambda i, a, w: a * ops.cast(i, dtype=float64) + w,
    "nothing carried": lambda i, a, w: w * 2.0,
    "captured alone": lambda i, a, w: a + ops.exp(w),
}


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("body", BODIES)
def test_derivatives_of_loops(body: str, exact: bool):
    build = Builder()
    x, w = (build.parameter(name, "float64", (3,)) for name in "xw")
    node = looped(
        build,
        lambda i, *_: i < 4,
        lambda i, a, w: [i + 1, BODIES[body](i, a, w)],
        [counter(build), x],
        [w],
        bound=4 if exact else 9,
        exact=exact,
    )
    slopes(node.outputs[1], [x, w], [np.array([0.3, 0.7, 1.1]), np.array([0.9, 1.2, 0.4])])


def test_a_loop_whose_bound_is_not_known_asks_for_it():
    build = Builder()
    x = build.parameter("x", "float64", ())
    node = looped(build, lambda a: a < 9.0, lambda a: [a * a], [x])
    assert vjp(build, [node.outputs[0]], [None], [x]) == Unbounded(node.attrs["family"])


def test_data_decide_how_many_rounds_there_are():
    build = Builder()
    x = build.parameter("x", "float64", ())
    node = looped(build, lambda a: a < 9.0, lambda a: [a * a], [x], bound=8)
    for value, rounds in ((20.0, 0), (2.9, 2), (1.1, 5)):
        (slope,) = slopes(node.outputs[0], [x], [np.array(value)])
        np.testing.assert_allclose(slope, 2.0**rounds * value ** (2**rounds - 1))


def test_loops_have_second_derivatives():
    build = Builder()
    x = build.parameter("x", "float64", ())
    node = looped(
        build, lambda i, a: i < 3, lambda i, a: [i + 1, a * a], [counter(build), x], bound=3, exact=True
    )
    (first,) = vjp(build, [node.outputs[1]], [None], [x])
    (second,) = slopes(first, [x], [np.array(1.3)])
    np.testing.assert_allclose(second, 8 * 7 * 1.3**6)


def test_only_what_the_backward_rounds_need_is_kept():
    """sin needs its argument; of a sum and a product with a constant nothing is needed."""
    kept = {}
    for name, body in {"sin": ops.sin, "affine": lambda a: a * 2.0 + 1.0}.items():
        build = Builder()
        x = build.parameter("x", "float64", (5,))
        node = looped(
            build,
            lambda i, a: i < 3,
            lambda i, a, f=body: [i + 1, f(a)],
            [counter(build), x],
            bound=3,
            exact=True,
        )
        (slope,) = vjp(build, [node.outputs[1]], [None], [x])
        function = tidy(merge_loops(Function((x,), (slope,))), simplify)
        shapes = [v.shape for n in loops_of(function) for v in n.outputs]
        kept[name] = shapes.count((3, 5))
    assert kept == {"sin": 1, "affine": 0}


def test_products_with_a_captured_matrix_become_one_after_the_loop():
    build = Builder()
    x, w = build.parameter("x", "float64", (2, 3)), build.parameter("w", "float64", (3, 3))
    node = looped(
        build,
        lambda i, a, w: i < 4,
        lambda i, a, w: [i + 1, ops.tanh(ops.matmul(a, w))],
        [counter(build), x],
        [w],
        bound=4,
        exact=True,
    )
    (slope,) = vjp(build, [node.outputs[1]], [None], [w])
    products = [n for n in Function((x, w), (slope,)).nodes if n.op.name == "matmul"]
    assert [n.outputs[0].shape for n in products] == [(3, 3)]
    assert products[0].inputs[0].shape == (4 * 2, 3)
    rng = np.random.default_rng(3)
    slopes(node.outputs[1], [x, w], [rng.normal(size=(2, 3)), rng.normal(size=(3, 3))])


def test_rows_of_a_captured_tensor_receive_their_own_part():
    build = Builder()
    table = build.parameter("table", "float64", (4, 2))
    node = looped(
        build,
        lambda i, a, t: i < 4,
        lambda i, a, t: [i + 1, a + ops.sin(ops.gather(t, i)) * a],
        [counter(build), build.constant(np.ones(2), "float64")],
        [table],
        bound=4,
        exact=True,
    )
    y = node.outputs[1]
    slopes(y, [table], [np.random.default_rng(4).normal(size=(4, 2))])
    (slope,) = vjp(build, [y], [None], [table])
    bodies = [n.attrs["body"] for n in loops_of(Function((table,), (slope,)))]
    assert not any(n.op.name == "gather_grad" for body in bodies for n in body.nodes)


def test_rows_that_a_loop_writes():
    build = Builder()
    x = build.parameter("x", "float64", (2,))
    node = looped(
        build,
        lambda i, a, s: i < 3,
        lambda i, a, s: [i + 1, ops.sin(a), ops.row_update(s, i, a * a)],
        [counter(build), x, build.constant(np.zeros((3, 2)), "float64")],
        bound=3,
        exact=True,
    )
    slopes(node.outputs[2], [x], [np.array([0.4, 1.3])])


@pytest.mark.parametrize("index", [-1, 0, 1, 2, 7])
def test_derivatives_of_branches(index: int):
    build = Builder()
    number = build.constant(index, "int32")
    x, y = (build.parameter(name, "float64", (2,)) for name in "xy")
    functions = [lambda a, b: [a * b], lambda a, b: [ops.sin(a)], lambda a, b: [b * b * 3.0]]
    node = branched(build, number, functions, [x, y])
    slopes(node.outputs[0], [x, y], [np.array([0.3, 0.8]), np.array([1.2, -0.4])])


def test_the_derivative_of_a_branch_is_one_branch_without_what_receives_nothing():
    build = Builder()
    number = build.parameter("i", "int32", ())
    x, y, unused = (build.parameter(name, "float64", ()) for name in ("x", "y", "unused"))
    node = branched(build, number, [lambda a, b, c: [ops.sin(a) * b], lambda a, b, c: [b]], [x, y, unused])
    grads = vjp(build, [node.outputs[0]], [None], [x, y, unused])
    assert grads[2] is None
    backward = {g.node for g in grads if g is not None}
    assert [n.op.name for n in backward] == ["branch"]
    function = Function((number, x, y, unused), (grads[0], grads[1]))
    verify(function)
    for index, wanted in ((0, [np.cos(0.5) * 2, np.sin(0.5)]), (1, [0.0, 1.0])):
        found = interpret(function, {number: np.int32(index), x: 0.5, y: 2.0, unused: 0.0})
        np.testing.assert_allclose(found, wanted)


def test_branches_have_second_derivatives():
    build = Builder()
    number, x = build.parameter("i", "int32", ()), build.parameter("x", "float64", ())
    node = branched(build, number, [lambda a: [ops.sin(a)], lambda a: [a * a * a]], [x])
    (first,) = vjp(build, [node.outputs[0]], [None], [x])
    (second,) = vjp(build, [first], [None], [x])
    for index, wanted in ((0, -np.sin(0.5)), (1, 3.0)):
        found = interpret(Function((number, x), (second,)), {number: np.int32(index), x: 0.5})
        np.testing.assert_allclose(found, [wanted])
