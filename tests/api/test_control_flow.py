"""Loops and branches give what the same Python gives."""

from __future__ import annotations

from collections import namedtuple
from typing import Any

import numpy as np
import pytest

import staticgraph as sg
from tests.sessions import run

Pair = namedtuple("Pair", ["first", "second"])


class TestRounds:
    @pytest.mark.parametrize("count", [0, 1, 2, 7, 1000])
    def test_as_many_as_are_asked_for_in_the_run(self, count: int):
        n = sg.placeholder(sg.int32, [])
        x = sg.placeholder(sg.float32, [3])
        made = sg.while_loop(lambda i, y: i < n, lambda i, y: (i + 1, y + x), [0, sg.zeros([3])])
        rounds, total = run(made, {n: count, x: [1, 2, 3]})
        assert rounds == count
        np.testing.assert_array_equal(total, np.float32([count, 2 * count, 3 * count]))

    def test_none_leaves_what_enters(self):
        x = sg.placeholder(sg.float32, [2])
        i, y = sg.while_loop(lambda i, y: i < 0, lambda i, y: (i + 1, y * 0.0), [sg.constant(5), x])
        rounds, found = run([i, y], {x: [1, np.nan]})
        assert rounds == 5
        np.testing.assert_array_equal(found, [1, np.nan])

    def test_the_number_may_depend_on_what_is_computed(self):
        x = sg.placeholder(sg.float64, [])
        root, rounds = sg.while_loop(
            lambda y, n: sg.abs(y * y - x) > 1e-12, lambda y, n: ((y + x / y) / 2.0, n + 1), [x, 0]
        )
        with sg.Session() as sess:
            for value in (2.0, 9.0, 1e6):
                assert sess.run(root, {x: value}) == pytest.approx(value**0.5, rel=1e-12)
            assert sess.run(rounds, {x: 2.0}) < sess.run(rounds, {x: 1e6})

    def test_at_most_maximum_iterations(self):
        for most, wanted in ((0, 0), (3, 3), (100, 10)):
            made = sg.while_loop(lambda i: i < 10, lambda i: i + 1, [0], maximum_iterations=most)
            assert run(made) == wanted
        limit = sg.placeholder(sg.int32, [])
        made = sg.while_loop(lambda i: i < 10, lambda i: i + 1, [0], maximum_iterations=limit)
        assert run(made, {limit: 4}) == 4

    @pytest.mark.compiled  # an interpreted round takes 20 microseconds
    def test_a_million(self):
        made = sg.while_loop(lambda i: i < 1_000_000, lambda i: i + 1, [0])
        assert run(made) == 1_000_000


class TestCarried:
    def test_swapped(self):
        made = sg.while_loop(lambda i, a, b: i < 10, lambda i, a, b: (i + 1, b, a + b), [0, 0, 1])
        assert run(made) == (10, 55, 89)

    def test_turned_around(self):
        a, b, c = (sg.constant(np.full(5, n, np.float32)) for n in range(3))
        made = sg.while_loop(lambda i, a, b, c: i < 4, lambda i, a, b, c: (i + 1, c, a, b), [0, a, b, c])
        assert [v.tolist() for v in run(made[1:])] == [[n] * 5 for n in (2, 0, 1)]

    def test_unchanged(self):
        x = sg.placeholder(sg.float32, [2])
        _, y, z = sg.while_loop(lambda i, y, z: i < 3, lambda i, y, z: (i + 1, y, z + y), [0, x, x])
        one, other = run([y, z], {x: [1, 2]})
        np.testing.assert_array_equal(one, [1, 2])
        np.testing.assert_array_equal(other, [4, 8])

    def test_the_same_value_twice(self):
        x = sg.placeholder(sg.float32, [2])
        _, y, z = sg.while_loop(lambda i, y, z: i < 3, lambda i, y, z: (i + 1, y + 1.0, y), [0, x, x])
        one, other = run([y, z], {x: [1, 2]})
        np.testing.assert_array_equal(one, [4, 5])
        np.testing.assert_array_equal(other, [3, 4])

    @pytest.mark.parametrize(
        "dtype",
        [
            "bool",
            "int8",
            "int32",
            "int64",
            "uint8",
            "float16",
            "float32",
            "float64",
            "complex64",
            "complex128",
        ],
    )
    def test_every_dtype(self, dtype: str):
        value = np.array([1, 0, 1]).astype(dtype)
        step = sg.logical_not if dtype == "bool" else lambda y: y + y
        _, made = sg.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, step(y)), [0, sg.constant(value)])
        found = run(made)
        assert found.dtype == np.dtype(dtype)
        np.testing.assert_array_equal(found, ~value if dtype == "bool" else value * 8)

    def test_more_than_a_megabyte(self):
        big = np.random.default_rng(1).normal(size=(600, 700)).astype(np.float32)
        x = sg.placeholder(sg.float32, [600, 700])
        _, y, z = sg.while_loop(
            lambda i, y, z: i < 3, lambda i, y, z: (i + 1, z, y * 0.5 + z), [0, x, sg.zeros_like(x)]
        )
        a, b = big, np.zeros_like(big)
        for _ in range(3):
            a, b = b, a * np.float32(0.5) + b
        one, other = run([y, z], {x: big})
        np.testing.assert_allclose(one, a, rtol=1e-6)
        np.testing.assert_allclose(other, b, rtol=1e-6)

    def test_structures(self):
        start = {"pair": Pair(sg.constant(1), sg.constant(2.0)), "list": [sg.constant(3), (sg.constant(4),)]}
        made = sg.while_loop(
            lambda state: state["pair"].first < 5,
            lambda state: [
                {"pair": Pair(state["pair"].first + 1, state["pair"].second * 2.0), "list": state["list"]}
            ],
            [start],
        )[0]
        assert isinstance(made["pair"], Pair)
        found = run(made)
        assert (found["pair"].first, found["pair"].second, found["list"][1][0]) == (5, 32.0, 4)

    def test_a_named_tuple_of_loop_variables(self):
        made = sg.while_loop(
            lambda first, second: first < 3,
            lambda first, second: Pair(first + 1, second + 2.0),
            Pair(sg.constant(0), sg.constant(0.0)),
        )
        assert isinstance(made, Pair)
        assert run(made) == Pair(3, 6.0)

    def test_a_single_variable_is_given_out_alone(self):
        alone = sg.while_loop(lambda i: i < 3, lambda i: i + 1, [0])
        listed = sg.while_loop(lambda i: i < 3, lambda i: [i + 1], [0], return_same_structure=True)
        assert isinstance(alone, sg.Tensor)
        assert isinstance(listed, list)
        assert run([alone, listed]) == [3, [3]]


class TestShapes:
    def test_unknown_sizes_differ_from_run_to_run(self):
        x = sg.placeholder(sg.float32, [None, 2])
        _, y = sg.while_loop(lambda i, y: i < 2, lambda i, y: (i + 1, y + x), [0, x])
        assert y.shape.as_list() == [None, 2]
        with sg.Session() as sess:
            for count in (1, 5, 0, 3, 5):
                value = np.ones([count, 2])
                np.testing.assert_array_equal(sess.run(y, {x: value}), value * 3)

    def test_unknown_ranks(self):
        x = sg.placeholder(sg.float32)
        _, y = sg.while_loop(lambda i, y: i < 2, lambda i, y: (i + 1, y + x), [0, x])
        with sg.Session() as sess:
            for shape in ((), (2,), (2, 1, 3)):
                np.testing.assert_array_equal(sess.run(y, {x: np.ones(shape)}), np.full(shape, 3))

    def test_invariants_let_a_shape_become_less_known(self):
        x = sg.placeholder(sg.float32, [2, 3])
        shape = sg.TensorShape([None, 3])
        _, y = sg.while_loop(
            lambda i, y: i < 2,
            lambda i, y: (i + 1, y * 2.0),
            [sg.constant(0), x],
            [sg.TensorShape([]), shape],
        )
        assert y.shape.as_list() == [None, 3]
        np.testing.assert_array_equal(run(y, {x: np.ones([2, 3])}), np.full([2, 3], 4))

    def test_a_loop_whose_carry_grows(self):
        _, y = sg.while_loop(
            lambda i, y: i < 4,
            lambda i, y: (i + 1, sg.concat([y, [i]], 0)),
            [sg.constant(0), sg.zeros([0], sg.int32)],
            [sg.TensorShape([]), sg.TensorShape([None])],
        )
        np.testing.assert_array_equal(run(y), [0, 1, 2, 3])


class TestBranches:
    def test_only_one_is_taken(self):
        p = sg.placeholder(sg.bool, [])
        x = sg.placeholder(sg.float32, [2])
        y = sg.cond(p, lambda: x + 1.0, lambda: x * 10.0)
        with sg.Session() as sess:
            np.testing.assert_array_equal(sess.run(y, {p: True, x: [1, 2]}), [2, 3])
            np.testing.assert_array_equal(sess.run(y, {p: False, x: [1, 2]}), [10, 20])

    def test_structures(self):
        p = sg.placeholder(sg.bool, [])
        made = sg.cond(
            p,
            lambda: {"a": [sg.constant(1), sg.constant(2.0)], "b": (sg.constant(True),)},
            lambda: {"a": [sg.constant(3), sg.constant(4.0)], "b": (sg.constant(False),)},
        )
        assert run(made, {p: False}) == {"a": [3, 4.0], "b": (False,)}

    def test_a_list_of_one_is_given_out_alone_unless_strict(self):
        p = sg.placeholder(sg.bool, [])
        assert isinstance(sg.cond(p, lambda: [sg.constant(1)], lambda: [sg.constant(2)]), sg.Tensor)
        strict = sg.cond(p, lambda: [sg.constant(1)], lambda: [sg.constant(2)], strict=True)
        assert run(strict, {p: False}) == [2]

    def test_shapes_that_differ_become_unknown(self):
        p = sg.placeholder(sg.bool, [])
        y = sg.cond(p, lambda: sg.zeros([2, 3]), lambda: sg.ones([4, 3]))
        assert y.shape.as_list() == [None, 3]
        total = sg.reduce_sum(y, 0)
        with sg.Session() as sess:
            for taken, count in ((True, 2), (False, 4), (True, 2)):
                assert sess.run(y, {p: taken}).shape == (count, 3)
            np.testing.assert_array_equal(sess.run(total, {p: False}), [4, 4, 4])

    def test_crops_only_while_training(self):
        training, x = sg.placeholder(sg.bool, []), sg.placeholder(sg.float64, [None, 4])
        y = sg.cond(training, lambda: x[:, :2] * 2.0, lambda: x)
        (grad,) = sg.gradients(sg.reduce_sum(y * y), [x])
        value = np.arange(8.0).reshape(2, 4)
        with sg.Session() as sess:
            np.testing.assert_allclose(sess.run(grad, {training: False, x: value}), 2 * value)
            cropped = 8 * value * [1, 1, 0, 0]
            np.testing.assert_allclose(sess.run(grad, {training: True, x: value}), cropped)

    def test_values_from_outside(self):
        p, x = sg.placeholder(sg.bool, []), sg.placeholder(sg.float32, [2])
        y = sg.cond(p, lambda: x, lambda: sg.zeros([2]))
        np.testing.assert_array_equal(run(y, {p: True, x: [1, 2]}), [1, 2])

    def test_operations_without_results(self):
        p = sg.placeholder(sg.bool, [])
        v = sg.get_variable("v", initializer=1.0)
        chosen = sg.cond(p, lambda: sg.group(v.assign_add(1.0)), lambda: sg.no_op())
        with sg.Session() as sess:
            sess.run(sg.global_variables_initializer())
            assert [sess.run(chosen, {p: value}) for value in (True, False)] == [True, False]
            assert sess.run(v) == 2.0

    def test_an_operation_beside_a_truth_value(self):
        p = sg.placeholder(sg.bool, [])
        y = sg.cond(p, lambda: sg.no_op(), lambda: sg.constant(True))
        assert [run(y, {p: value}).tolist() for value in (True, False)] == [True, True]

    def test_switch_case(self):
        i = sg.placeholder(sg.int32, [])
        x = sg.placeholder(sg.float32, [2])
        y = sg.switch_case(i, [lambda: x, lambda: x * 2.0, lambda: x * 3.0])
        with sg.Session() as sess:
            for index, factor in ((0, 1), (1, 2), (2, 3), (3, 3), (-1, 3)):
                np.testing.assert_array_equal(sess.run(y, {i: index, x: [1, 2]}), np.float32([1, 2]) * factor)

    def test_case_takes_the_first_that_holds(self):
        x = sg.placeholder(sg.float32, [])
        y = sg.case([(x < 0.0, lambda: -x), (x < 10.0, lambda: x * 100.0)], default=lambda: x)
        with sg.Session() as sess:
            assert [sess.run(y, {x: v}) for v in (-2.0, 5.0, 20.0)] == [2.0, 500.0, 20.0]

    def test_case_fails_where_nothing_holds(self):
        x = sg.placeholder(sg.float32, [])
        y = sg.case([(x < 0.0, lambda: -x), (x < 10.0, lambda: x)])
        with sg.Session() as sess:
            assert sess.run(y, {x: -1.0}) == 1.0
            with pytest.raises(sg.errors.InvalidArgumentError, match="no condition holds"):
                sess.run(y, {x: 11.0})

    def test_exclusive_case_fails_where_two_hold(self):
        x = sg.placeholder(sg.float32, [])
        y = sg.case({x < 0.0: lambda: -x, x < -10.0: lambda: x}, default=lambda: x, exclusive=True)
        with sg.Session() as sess:
            assert sess.run(y, {x: -1.0}) == 1.0
            with pytest.raises(sg.errors.InvalidArgumentError, match="more than one"):
                sess.run(y, {x: -11.0})


class TestNested:
    def test_the_inner_number_depends_on_the_outer_index(self):
        def outer(i: Any, total: Any) -> Any:
            _, total = sg.while_loop(lambda j, t: j < i, lambda j, t: (j + 1, t + j * i), [0, total])
            return i + 1, total

        _, total = sg.while_loop(lambda i, t: i < 6, outer, [0, 0])
        assert run(total) == sum(i * j for i in range(6) for j in range(i))

    def test_branches_in_a_loop(self):
        x = sg.placeholder(sg.int32, [])
        rounds, _ = sg.while_loop(
            lambda n, x: x > 1,
            lambda n, x: (n + 1, sg.cond(sg.equal(x % 2, 0), lambda: x // 2, lambda: 3 * x + 1)),
            [0, x],
        )
        with sg.Session() as sess:
            assert [sess.run(rounds, {x: n}) for n in (1, 6, 27)] == [0, 8, 111]

    def test_a_loop_in_a_branch(self):
        p, n = sg.placeholder(sg.bool, []), sg.placeholder(sg.int32, [])
        y = sg.cond(
            p, lambda: sg.while_loop(lambda i: i * i < n, lambda i: i + 1, [0]), lambda: sg.constant(-1)
        )
        with sg.Session() as sess:
            assert [sess.run(y, {p: True, n: 50}), sess.run(y, {p: False, n: 50})] == [8, -1]

    def test_three_deep_with_captures_of_every_level(self):
        x = sg.placeholder(sg.float64, [2])

        def first(i: Any, a: Any) -> Any:
            outer = a + x

            def second(j: Any, b: Any) -> Any:
                _, c = sg.while_loop(
                    lambda k, c: k < j, lambda k, c: (k + 1, c + outer + x * sg.cast(k, sg.float64)), [0, b]
                )
                return j + 1, c

            return i + 1, sg.while_loop(lambda j, b: j < 3, second, [0, outer])[1]

        _, made = sg.while_loop(lambda i, a: i < 3, first, [0, sg.zeros([2], sg.float64)])
        value = np.array([0.5, -2.0])
        a = np.zeros(2)
        for _ in range(3):
            outer = a + value
            b = outer
            for j in range(3):
                for k in range(j):
                    b = b + outer + value * k
            a = b
        np.testing.assert_allclose(run(made, {x: value}), a)


class TestFunctional:
    def test_map_fn_over_several(self):
        a, b = sg.constant([1.0, 2.0, 3.0]), sg.constant([[1, 2], [3, 4], [5, 6]])
        made = sg.map_fn(lambda rows: (rows[0] * 2.0, sg.reduce_sum(rows[1])), (a, b))
        one, other = run(made)
        np.testing.assert_array_equal(one, [2, 4, 6])
        np.testing.assert_array_equal(other, [3, 7, 11])

    def test_map_fn_to_another_dtype(self):
        made = sg.map_fn(lambda x: sg.cast(x, sg.float32) / 2.0, sg.range(4), dtype=sg.float32)
        np.testing.assert_array_equal(run(made), [0, 0.5, 1, 1.5])

    def test_map_fn_of_no_rows(self):
        x = sg.placeholder(sg.float32, [None, 2])
        made = sg.map_fn(lambda row: row * 2.0, x)
        assert made.shape.as_list() == [None, 2]
        with sg.Session() as sess:
            assert sess.run(made, {x: np.zeros([0, 2])}).shape == (0, 2)
            np.testing.assert_array_equal(sess.run(made, {x: np.ones([3, 2])}), np.full([3, 2], 2))

    @pytest.mark.parametrize("reverse", [False, True])
    def test_scan(self, reverse: bool):
        x = np.arange(1.0, 6.0)
        made = sg.scan(lambda s, row: s * 0.5 + row, sg.constant(x), reverse=reverse)
        wanted = []
        for value in x[::-1] if reverse else x:
            wanted.append(value if not wanted else wanted[-1] * 0.5 + value)
        np.testing.assert_allclose(run(made), wanted[::-1] if reverse else wanted)

    def test_scan_with_a_structure_of_states(self):
        a, b = run(
            sg.scan(
                lambda s, row: (s[1], s[0] + s[1]), sg.range(6), initializer=(sg.constant(0), sg.constant(1))
            )
        )
        assert list(a) == [1, 1, 2, 3, 5, 8]
        assert list(b) == [1, 2, 3, 5, 8, 13]

    def test_folds(self):
        x = sg.constant([1.0, 2.0, 3.0, 4.0])
        assert run(sg.foldl(lambda a, r: a * 2.0 + r, x)) == 26.0
        assert run(sg.foldr(lambda a, r: a * 2.0 + r, x)) == 49.0
        assert run(sg.foldl(lambda a, r: a - r, x, initializer=100.0)) == 90.0


class TestSessions:
    def test_a_callable_runs_loops(self):
        n = sg.placeholder(sg.int32, [])
        made = sg.while_loop(lambda i, s: i < n, lambda i, s: (i + 1, s + i), [0, 0])[1]
        with sg.Session() as sess:
            call = sess.make_callable(made, [n])
            assert [call(k) for k in (0, 1, 5, 100)] == [0, 0, 10, 4950]

    def test_any_number_of_threads_gives_the_same_bits(self):
        rng = np.random.default_rng(3)
        w, x = (sg.constant(rng.normal(size=(256, 256)).astype(np.float32) / 16) for _ in range(2))
        _, y = sg.while_loop(lambda i, y: i < 5, lambda i, y: (i + 1, sg.tanh(sg.matmul(y, w))), [0, x])
        grads = sg.gradients(y, [x, w])
        before = sg.get_num_threads()
        try:
            found = []
            for count in (1, 2):
                sg.set_num_threads(count)
                found.append(run([y, *grads]))
        finally:
            sg.set_num_threads(before)
        for one, other in zip(*found, strict=True):
            np.testing.assert_array_equal(one, other)

    def test_several_loops_in_one_run(self):
        x = sg.placeholder(sg.float32, [2])
        counts = (3, 0, 4)
        made = [
            sg.while_loop(lambda i, y, n=n: i < n, lambda i, y: (i + 1, y * 2.0), [0, x])[1] for n in counts
        ]
        found = run([*made, made[0] + made[2]], {x: [1, 2]})
        for factor, value in zip((8, 1, 16, 24), found, strict=True):
            np.testing.assert_array_equal(value, np.float32([1, 2]) * factor)
