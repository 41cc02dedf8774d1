"""Reverse-mode differentiation of values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest

from staticgraph.compiler import ops
from staticgraph.compiler.autodiff.reverse import fit, vjp
from staticgraph.compiler.graph.builder import Builder
from staticgraph.compiler.graph.errors import GradientError
from staticgraph.compiler.graph.function import Function, Value, toposort
from staticgraph.compiler.graph.interpret import interpret
from staticgraph.compiler.graph.provenance import Provenance

X = np.array([0.3, 0.7, 1.1])


def param(build: Builder, shape: Sequence[int] = (3,), name: str = "x", dtype: str = "float64") -> Value:
    return build.parameter(name, dtype, shape)


def gradient(build: Builder, y: Value, *xs: Value) -> list[Value | None]:
    return vjp(build, [y], [None], xs)


def at(x: Value, array: np.ndarray, *values: Value) -> list[np.ndarray]:
    return interpret(Function((x,), values), {x: array})


@pytest.mark.parametrize(
    ("f", "derivatives"),
    [
        (lambda x: x * x * x, [lambda x: 3 * x * x, lambda x: 6 * x, lambda x: 6 + 0 * x]),
        (ops.exp, [np.exp] * 4),
        (ops.sin, [np.cos, lambda x: -np.sin(x), lambda x: -np.cos(x), np.sin]),
        (lambda x: ops.log(x), [lambda x: 1 / x, lambda x: -1 / x**2, lambda x: 2 / x**3]),
        (ops.tanh, [lambda x: 1 - np.tanh(x) ** 2, lambda x: -2 * np.tanh(x) * (1 - np.tanh(x) ** 2)]),
        (ops.sigmoid, [lambda x: np.exp(-x) / (1 + np.exp(-x)) ** 2]),
    ],
    ids=["cube", "exp", "sin", "log", "tanh", "sigmoid"],
)
def test_derivatives_of_every_order(f: Callable, derivatives: Sequence[Callable]):
    build = Builder()
    x = param(build)
    y = f(x)
    for derivative in derivatives:
        [y] = gradient(build, y, x)
        np.testing.assert_allclose(at(x, X, y)[0], derivative(X), rtol=1e-12)


def test_a_value_that_is_used_twice():
    build = Builder()
    x = param(build)
    h = ops.exp(x)
    y = h * h + h
    [g] = gradient(build, y, x)
    np.testing.assert_allclose(at(x, X, g)[0], 2 * np.exp(2 * X) + np.exp(X))


def test_the_same_operand_twice():
    build = Builder()
    x = param(build)
    [g] = gradient(build, ops.multiply(x, x), x)
    np.testing.assert_allclose(at(x, X, g)[0], 2 * X)


def test_x_itself():
    build = Builder()
    x = param(build)
    [g] = gradient(build, x, x)
    np.testing.assert_array_equal(at(x, X, g)[0], np.ones(3))


def test_several_ys_and_seeds():
    build = Builder()
    x = param(build)
    seed = build.constant(np.array([1.0, 10.0, 100.0]), "float64")
    [g] = vjp(build, [x * 2, ops.exp(x)], [seed, None], [x])
    np.testing.assert_allclose(at(x, X, g)[0], 2 * np.array([1, 10, 100]) + np.exp(X))


def test_one_y_twice():
    build = Builder()
    x = param(build)
    [g] = vjp(build, [x * x, x * x], [None, None], [x])
    np.testing.assert_allclose(at(x, X, g)[0], 4 * X)


def test_by_an_inner_value_and_by_what_it_is_made_of():
    build = Builder()
    x = param(build)
    h = ops.exp(x)
    by_x, by_h = gradient(build, ops.square(h), x, h)
    found = at(x, X, by_x, by_h)
    np.testing.assert_allclose(found[0], 2 * np.exp(2 * X))
    np.testing.assert_allclose(found[1], 2 * np.exp(X))


def test_nothing_leads_there():
    build = Builder()
    x, other = param(build), param(build, name="other")
    assert gradient(build, x * 2, other) == [None]
    assert gradient(build, ops.stop_gradient(x) * 2, x) == [None]
    assert gradient(build, ops.floor(x), x) == [None]


def test_integers_carry_no_gradient():
    build = Builder()
    x = param(build)
    n = param(build, name="n", dtype="int32")
    y = x * ops.cast(n, dtype=x.dtype)
    by_x, by_n = gradient(build, y, x, n)
    assert by_x is not None
    assert by_n is None


def test_stops():
    build = Builder()
    x = param(build)
    h = ops.exp(x)
    y = h * x
    [g] = vjp(build, [y], [None], [x], stops=[h])
    np.testing.assert_allclose(at(x, X, g)[0], np.exp(X))
    by_h, by_x = vjp(build, [y], [None], [h, x], stops=[h])
    np.testing.assert_allclose(at(x, X, by_h)[0], X)
    np.testing.assert_allclose(at(x, X, by_x)[0], np.exp(X))


def test_stop_at_one_of_several_outputs():
    build = Builder()
    x = param(build, (4,))
    left, right = ops.split(x, axis=0, num_split=2)
    y = left * right
    [g] = vjp(build, [y, left], [None, None], [x], stops=[left])
    found = at(x, np.array([1.0, 2.0, 3.0, 4.0]), g)[0]
    np.testing.assert_array_equal(found, [0, 0, 1, 2])


@pytest.mark.parametrize("shape", [(3,), (1,), (), (2, 1), (1, 3), (1, 1), (2, 3)])
def test_operands_get_their_own_shape(shape: tuple[int, ...]):
    """The cotangent of an operand that was broadcast is summed back."""
    build = Builder()
    a, b = param(build, (2, 3), "a"), param(build, shape, "b")
    by_a, by_b = gradient(build, a * b, a, b)
    arrays = {a: np.arange(6.0).reshape(2, 3), b: np.full(shape, 2.0)}
    found = interpret(Function((a, b), (by_a, by_b)), arrays)
    np.testing.assert_array_equal(found[0], np.full((2, 3), 2.0))
    assert found[1].shape == shape
    assert found[1].sum() == 15


@pytest.mark.parametrize(
    ("shape", "to"),
    [((2, 3), (3,)), ((2, 3), (2, 1)), ((2, 3), ()), ((4, 2, 3), (2, 1)), ((0, 3), (1, 3)), ((2, 3), (2, 3))],
)
def test_fit(shape: tuple[int, ...], to: tuple[int, ...]):
    build = Builder()
    g = param(build, shape)
    [found] = at(g, np.ones(shape), fit(g, to))
    np.testing.assert_array_equal(found, np.full(to, np.prod(shape) / max(np.prod(to), 1)))


def test_no_gradient_is_defined():
    """An op that should have a gradient and does not define one is an error, not a derivative left out."""
    build = Builder()
    x = param(build)
    lone = replace(ops.cumsum, grad=None)
    y = build.apply(lone, [x], {"axis": 0, "exclusive": False, "reverse": False})
    with pytest.raises(GradientError, match="no gradient is defined for cumsum"):
        gradient(build, y, x)


@pytest.mark.parametrize("op", [ops.tanh, ops.softplus, lambda x: x * x + x, lambda x: ops.softmax(x)])
def test_time_and_size_are_linear_in_depth(op: Callable):
    """A chain of 2,000 ops: no recursion, and as many nodes per link as in a short one."""
    counts = []
    for depth in (20, 200, 2000):
        build = Builder()
        x = param(build)
        y = x
        for _ in range(depth):
            y = op(y)
        [g] = gradient(build, y, x)
        counts.append(len(toposort([g])))
    per_link = (counts[1] - counts[0]) / 180
    assert counts[2] - counts[1] == pytest.approx(1800 * per_link, rel=0.01)


def test_many_uses_of_one_value_are_linear_too():
    build = Builder()
    x = param(build)
    total = x
    for i in range(1000):
        total = total + x * float(i)
    [g] = gradient(build, total, x)
    assert len(toposort([g])) < 6000
    np.testing.assert_allclose(at(x, X, g)[0], np.full(3, 1 + 999 * 1000 / 2))


def test_gradients_come_from_the_line_of_what_they_derive():
    build = Builder()
    x = param(build)
    line = Provenance("net.py", "main", line_number=3)
    with build.at(line):
        y = ops.sin(x)
    [g] = gradient(build, y, x)
    assert g.node.where == line


def test_constants_may_be_differentiated_by():
    """Equal constants are one value, unless they are watched."""
    build = Builder()
    two = build.constant(2.0, "float64")
    a, b = ops.watch(two, key="a"), ops.watch(two, key="b")
    by_a, by_b = gradient(build, a * a * b, a, b)
    found = interpret(Function((), (by_a, by_b)), {})
    np.testing.assert_array_equal(found, [8.0, 4.0])


@pytest.mark.parametrize(
    ("indices", "axis", "gathers"),
    [([2, 0, 1], 1, True), ([[2], [0]], 0, True), ([1], -1, True), ([0, 1, 0], 1, False), ([], 1, False)],
)
def test_the_gradient_at_known_indices_that_differ_gathers(indices: Sequence[int], axis: int, gathers: bool):
    """Each of its elements has one term or none. Elements that were gathered twice are sums."""
    which = np.array(indices, np.int64)
    build = Builder()
    x = param(build, (3, 3))
    y = ops.gather(x, build.constant(which), axis=axis)
    given = param(build, y.shape, "g")
    (found,) = vjp(build, [y], [given], [x])
    function = Function((x, given), (found,))
    assert ("gather_grad" not in function.op_names) is gathers
    wanted = np.zeros((3, 3))
    g = np.random.default_rng(1).normal(size=y.shape)
    rows = np.moveaxis(wanted, axis, 0)
    flat = np.moveaxis(g.reshape(tuple(which.size if d == axis % 2 else 3 for d in range(2))), axis, 0)
    np.add.at(rows, which.reshape(-1), flat)
    np.testing.assert_array_equal(interpret(function, {x: np.ones((3, 3)), given: g})[0], wanted)
