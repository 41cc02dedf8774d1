"""Derivatives through loops and branches, against central differences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import staticgraph as sg

F64 = sg.float64


def slope(f: Callable[[Any], Any], x: np.ndarray, step: float = 1e-6) -> np.ndarray:
    """Central differences of a function of an array whose value is one number."""
    out = np.empty(np.shape(x))
    for at in np.ndindex(np.shape(x)):
        up, down = np.array(x, float), np.array(x, float)
        up[at] += step
        down[at] -= step
        out[at] = (f(up) - f(down)) / (2 * step)
    return out


def check(
    build: Callable[..., Any], *values: Any, feeds: Any = None, second: bool = True, rtol: float = 1e-6
) -> None:
    """First and second derivatives of `build(*tensors)`, a number, by each of the tensors.

    All derivatives are one program, and all numbers whose differences they are another.
    """
    values = tuple(np.asarray(v, np.float64) for v in values)
    inputs = [sg.placeholder(F64, v.shape) for v in values]
    sums = [build(*inputs)]
    grads = [sg.gradients(sums[0], inputs)]
    if second:
        weights = [np.random.default_rng(i).normal(size=v.shape) for i, v in enumerate(values)]
        sums.append(sum(sg.reduce_sum(g * w) for g, w in zip(grads[0], weights, strict=True)))
        grads.append(sg.gradients(sums[1], inputs, unconnected_gradients="zero"))
    with sg.Session() as sess:
        sess.run(sg.global_variables_initializer())
        given = {**dict(zip(inputs, values, strict=True)), **(feeds or {})}
        for order, found in enumerate(sess.run(grads, given)):
            for x, value, grad in zip(inputs, values, found, strict=True):
                wanted = slope(lambda v, x=x, order=order: sess.run(sums, {**given, x: v})[order], value)
                np.testing.assert_allclose(grad, wanted, rtol=rtol, atol=(1e-7, 1e-6)[order])


X = np.array([0.3, -0.7, 1.1])
W = np.random.default_rng(0).normal(size=(3, 3)) / 2


class TestLoops:
    @pytest.mark.parametrize("count", [0, 1, 2, 5])
    def test_any_number_of_rounds(self, count: int):
        n = sg.placeholder(sg.int32, [])

        def build(x: Any) -> Any:
            _, y = sg.while_loop(lambda i, y: i < n, lambda i, y: (i + 1, sg.sin(y) * 1.3), [0, x])
            return sg.reduce_sum(y * y)

        check(build, X, feeds={n: count})

    def test_captured_matrices(self):
        def build(x: Any, w: Any, b: Any) -> Any:
            def body(i: Any, h: Any) -> Any:
                return i + 1, sg.tanh(sg.matmul(h, w) + b)

            _, h = sg.while_loop(lambda i, h: i < 4, body, [0, sg.reshape(x, [1, 3])])
            return sg.reduce_sum(h * h)

        check(build, X, W, X[::-1])

    def test_swapped_carries(self):
        def build(a: Any, b: Any) -> Any:
            _, a, b = sg.while_loop(
                lambda i, a, b: i < 3, lambda i, a, b: (i + 1, b, sg.sin(a) * b), [0, a, b]
            )
            return sg.reduce_sum(a * 2.0 + b)

        check(build, X, X + 0.5)

    def test_a_carry_that_stays_as_it_is(self):
        def build(a: Any, b: Any) -> Any:
            _, a, b = sg.while_loop(lambda i, a, b: i < 3, lambda i, a, b: (i + 1, a, a * b), [0, a, b])
            return sg.reduce_sum(a * b)

        check(build, X, X + 0.5)

    def test_a_number_of_rounds_that_depends_on_the_input(self):
        def build(x: Any) -> Any:
            return sg.while_loop(lambda y: y < 100.0, lambda y: y * y + 1.0, [x])

        check(build, 1.5, rtol=1e-5)

    def test_nested_with_a_count_of_the_outer_index(self):
        def build(x: Any, w: Any) -> Any:
            def outer(i: Any, y: Any) -> Any:
                _, y = sg.while_loop(lambda j, z: j < i, lambda j, z: (j + 1, sg.sin(z + w * y)), [0, y])
                return i + 1, y

            return sg.reduce_sum(sg.while_loop(lambda i, y: i < 4, outer, [0, x])[1])

        check(build, X, X * 0.5)

    def test_a_branch_inside(self):
        def build(x: Any, w: Any) -> Any:
            def body(i: Any, y: Any) -> Any:
                even = sg.equal(i % 2, 0)
                return i + 1, sg.cond(even, lambda: sg.sin(y) * w, lambda: y + sg.reduce_sum(w * w))

            return sg.reduce_sum(sg.while_loop(lambda i, y: i < 5, body, [0, x])[1])

        check(build, X, X + 1.0)

    def test_integers_and_bools_beside(self):
        def build(x: Any) -> Any:
            def body(i: Any, flag: Any, y: Any) -> Any:
                factor = sg.where(flag, sg.constant(2.0, F64), sg.constant(0.5, F64))
                return i + 1, sg.logical_not(flag), sg.sin(y) * factor * sg.cast(i, F64)

            return sg.reduce_sum(sg.while_loop(lambda i, f, y: i < 4, body, [1, True, x])[2])

        check(build, X)

    def test_complex_numbers(self):
        def build(x: Any, y: Any) -> Any:
            z = sg.complex(x, y)
            _, z = sg.while_loop(lambda i, w: i < 3, lambda i, w: (i + 1, w * w * 0.5 + z), [0, z])
            return sg.reduce_sum(sg.real(z) * 2.0 + sg.imag(z))

        check(build, X * 0.5, X[::-1] * 0.3)

    def test_unknown_sizes(self):
        x = sg.placeholder(F64, [None, 2])
        _, y = sg.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * y), [0, x])
        (grad,) = sg.gradients(y, [x])
        with sg.Session() as sess:
            for count in (3, 1, 0, 4):
                value = np.full([count, 2], 1.1)
                np.testing.assert_allclose(sess.run(grad, {x: value}), 8 * value**7)

    def test_by_a_tensor_inside_another_derivative(self):
        x = sg.placeholder(F64, [])

        def body(i: Any, y: Any) -> Any:
            (slope_here,) = sg.gradients(sg.sin(y), [y])
            return i + 1, y - 0.1 * slope_here

        _, y = sg.while_loop(lambda i, y: i < 3, body, [0, x])
        wanted = 0.4
        for _ in range(3):
            wanted -= 0.1 * np.cos(wanted)
        (grad,) = sg.gradients(y, [x])
        with sg.Session() as sess:
            assert sess.run(y, {x: 0.4}) == pytest.approx(wanted)
            found = slope(lambda v: sess.run(y, {x: v}), np.array(0.4))
            np.testing.assert_allclose(sess.run(grad, {x: 0.4}), found, rtol=1e-6)

    def test_two_loops_that_share_what_they_read(self):
        def build(x: Any) -> Any:
            _, a = sg.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, sg.sin(y) + x), [0, x])
            _, b = sg.while_loop(lambda i, y: i < 2, lambda i, y: (i + 1, y * x), [0, a])
            return sg.reduce_sum(a * b)

        check(build, X)

    def test_what_a_loop_does_not_use_has_none(self):
        x, unused = sg.placeholder(F64, [3]), sg.placeholder(F64, [3])
        _, y = sg.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * 2.0), [0, x])
        assert sg.gradients(y, [unused]) == [None]

    def test_stop_gradient_inside(self):
        def build(x: Any) -> Any:
            return sg.while_loop(
                lambda i, y: i < 3, lambda i, y: (i + 1, y + sg.stop_gradient(x * y)), [0, x]
            )[1]

        x = sg.placeholder(F64, [])
        (grad,) = sg.gradients(build(x), [x])
        with sg.Session() as sess:
            assert sess.run(grad, {x: 2.0}) == 1.0

    def test_a_variable_inside(self):
        v = sg.get_variable("v", initializer=np.array([0.5, 2.0]))
        _, y = sg.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * v), [0, sg.ones([2], F64)])
        (grad,) = sg.gradients(y, [v])
        with sg.Session() as sess:
            sess.run(sg.global_variables_initializer())
            np.testing.assert_allclose(sess.run(grad), 3 * np.array([0.5, 2.0]) ** 2)

    def test_training_through_a_loop(self):
        rng = np.random.default_rng(5)
        w = sg.get_variable("w", initializer=rng.normal(size=(4, 4)) / 4)
        x = sg.constant(rng.normal(size=(8, 4)))
        _, h = sg.while_loop(lambda i, h: i < 5, lambda i, h: (i + 1, sg.tanh(sg.matmul(h, w))), [0, x])
        loss = sg.reduce_mean(sg.square(h - 0.1))
        step = sg.train.AdamOptimizer(0.05).minimize(loss)
        with sg.Session() as sess:
            sess.run(sg.global_variables_initializer())
            before = sess.run(loss)
            for _ in range(50):
                sess.run(step)
            assert sess.run(loss) < before / 2


class TestBranches:
    @pytest.mark.parametrize("taken", [True, False])
    def test_of_the_one_that_is_taken(self, taken: bool):
        p = sg.placeholder(sg.bool, [])

        def build(x: Any, w: Any) -> Any:
            y = sg.cond(p, lambda: sg.sin(x) * w, lambda: x * x * x)
            return sg.reduce_sum(y * y)

        check(build, X, X + 1.0, feeds={p: taken})

    def test_a_root_that_is_not_taken_makes_no_nan(self):
        x = sg.placeholder(F64, [])
        y = sg.cond(x > 0.0, lambda: sg.sqrt(x), lambda: -x)
        (grad,) = sg.gradients(y, [x])
        with sg.Session() as sess:
            assert [sess.run(grad, {x: v}) for v in (4.0, -4.0, 0.0)] == [0.25, -1.0, -1.0]

    def test_a_loop_inside(self):
        p = sg.placeholder(sg.bool, [])

        def build(x: Any, w: Any) -> Any:
            def looped() -> Any:
                return sg.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, sg.sin(y) * w), [0, x])[1]

            return sg.reduce_sum(sg.cond(p, looped, lambda: x * w))

        for taken in (True, False):
            check(build, X, X + 0.3, feeds={p: taken})

    def test_nested(self):
        def build(x: Any, y: Any) -> Any:
            return sg.cond(
                x < y, lambda: sg.cond(x < 0.0, lambda: x * x * y, lambda: sg.sin(x)), lambda: x - y * y
            )

        for a, b in ((-1.0, 1.0), (0.5, 1.0), (2.0, 1.0)):
            check(build, a, b)

    def test_switch_case(self):
        i = sg.placeholder(sg.int32, [])

        def build(x: Any) -> Any:
            return sg.reduce_sum(sg.switch_case(i, [lambda: x, lambda: x * x, lambda: x * x * x]))

        for index in range(3):
            check(build, X, feeds={i: index})


class TestInside:
    """Derivatives by tensors of a region, and of them."""

    def test_by_a_carried_value_of_one_round(self):
        x = sg.placeholder(F64, [])

        def body(i: Any, y: Any, total: Any) -> Any:
            z = y * y * y
            return i + 1, y + 1.0, total + sg.gradients(z, [y])[0]

        made = sg.while_loop(lambda i, *_: i < 3, body, [0, x, sg.constant(0.0, F64)])
        with sg.Session() as sess:
            assert sess.run(made[2], {x: 1.0}) == 3.0 + 12.0 + 27.0

    def test_of_a_loop_inside_of_a_loop(self):
        x = sg.placeholder(F64, [])

        def body(i: Any, y: Any) -> Any:
            _, power = sg.while_loop(lambda j, p: j < 3, lambda j, p: (j + 1, p * y), [0, y])
            return i + 1, y - 0.1 * sg.gradients(power, [y])[0]

        _, y = sg.while_loop(lambda i, y: i < 2, body, [0, x])
        value = 0.8
        for _ in range(2):
            value -= 0.1 * 4 * value**3
        with sg.Session() as sess:
            assert sess.run(y, {x: 0.8}) == pytest.approx(value)

    def test_of_a_branch_inside_of_a_branch(self):
        x = sg.placeholder(F64, [])

        def taken() -> Any:
            y = sg.cond(x > 1.0, lambda: x * x, lambda: x * 3.0)
            return sg.gradients(y, [x])[0]

        made = sg.cond(x > 0.0, taken, lambda: sg.constant(-1.0, F64))
        with sg.Session() as sess:
            assert [sess.run(made, {x: v}) for v in (2.0, 0.5, -1.0)] == [4.0, 3.0, -1.0]


class TestFunctional:
    def test_map_fn(self):
        def build(x: Any, w: Any) -> Any:
            return sg.reduce_sum(sg.map_fn(lambda row: sg.sin(row) * w, sg.stack([x, w, x * w])))

        check(build, X, X + 1.0)

    @pytest.mark.parametrize("reverse", [False, True])
    def test_scan(self, reverse: bool):
        def build(x: Any, w: Any) -> Any:
            y = sg.scan(lambda s, row: sg.tanh(s * row + w), sg.stack([x, w, x * w]), reverse=reverse)
            return sg.reduce_sum(y * y)

        check(build, X, X + 1.0)

    def test_folds(self):
        def build(x: Any, w: Any) -> Any:
            rows = sg.stack([x, w, x + w])
            one = sg.foldl(lambda s, row: s * row + w, rows, initializer=x)
            return sg.reduce_sum(one * sg.foldr(lambda s, row: sg.sin(s) + row, rows))

        check(build, X, X + 1.0)

    def test_third_order_through_a_scan(self):
        x = sg.placeholder(F64, [])
        y = sg.scan(lambda s, _: s * x, sg.zeros([4], F64), initializer=sg.constant(1.0, F64))[-1]
        for _ in range(3):
            (y,) = sg.gradients(y, [x])
        with sg.Session() as sess:
            assert sess.run(y, {x: 1.5}) == pytest.approx(24 * 1.5)
