"""TensorArrays: every operation, in and out of loops and branches, with derivatives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import staticgraph as sg
from tests.sessions import evaluated

ROWS = np.arange(12.0).reshape(4, 3)


def filled() -> sg.TensorArray:
    return sg.TensorArray(sg.float64, 4).unstack(sg.constant(ROWS))


class TestOperations:
    def test_write_and_read(self):
        array = sg.TensorArray(sg.float32, 3)
        for i in (2, 0, 1):
            array = array.write(i, [i * 1.0, i * 10.0])
        np.testing.assert_array_equal(evaluated(array.read(2)), [2, 20])
        np.testing.assert_array_equal(evaluated(array.stack()), [[0, 0], [1, 10], [2, 20]])

    def test_rows_that_were_not_written_are_zeros(self):
        array = sg.TensorArray(sg.float32, 3, element_shape=[2]).write(1, [1.0, 2.0])
        np.testing.assert_array_equal(evaluated(array.stack()), [[0, 0], [1, 2], [0, 0]])

    def test_unstack_gather_concat_size(self):
        array = filled()
        np.testing.assert_array_equal(evaluated(array.gather([3, 0])), ROWS[[3, 0]])
        assert evaluated(array.size()) == 4

    def test_concat(self):
        value = np.arange(24.0).reshape(4, 2, 3)
        array = sg.TensorArray(sg.float64, 4).unstack(value)
        np.testing.assert_array_equal(evaluated(array.concat()), value.reshape(8, 3))

    def test_scatter(self):
        array = sg.TensorArray(sg.float64, 4).scatter([2, 0], ROWS[:2])
        np.testing.assert_array_equal(evaluated(array.read(2)), ROWS[0])
        np.testing.assert_array_equal(evaluated(array.read(0)), ROWS[1])

    def test_split(self):
        array = sg.TensorArray(sg.float64, 2).split(sg.constant(ROWS), [2, 2])
        np.testing.assert_array_equal(evaluated(array.read(1)), ROWS[2:])

    def test_grows_where_it_may(self):
        array = sg.TensorArray(sg.int32, 0, dynamic_size=True)
        for i in range(3):
            array = array.write(i, i * i)
        assert list(evaluated(array.stack())) == [0, 1, 4]

    def test_what_is_known_of_shapes(self):
        array = sg.TensorArray(sg.float32, 3)
        assert array.write(0, [1.0, 2.0]).stack().shape.as_list() == [None, 2]
        assert array.read(0).shape.as_list() == [2]
        declared = sg.TensorArray(sg.float32, 3, element_shape=[None, 2])
        assert declared.read(0).shape.as_list() == [None, 2]
        assert declared.write(0, sg.zeros([5, 2])).element_shape.as_list() == [5, 2]

    @pytest.mark.parametrize("dtype", ["bool", "int32", "int64", "float32", "float64", "complex64"])
    def test_dtypes(self, dtype: str):
        value = ROWS.astype(dtype)
        found = evaluated(sg.TensorArray(dtype, 4).unstack(value).stack())
        assert found.dtype == np.dtype(dtype)
        np.testing.assert_array_equal(found, value)

    def test_a_size_of_the_run(self):
        n = sg.placeholder(sg.int32, [])
        array = sg.TensorArray(sg.int32, n)
        _, array = sg.while_loop(lambda i, a: i < n, lambda i, a: (i + 1, a.write(i, i * i)), [0, array])
        stacked = array.stack()
        with sg.Session() as sess:
            for count in (3, 0, 5):
                assert list(sess.run(stacked, {n: count})) == [i * i for i in range(count)]


class TestInLoops:
    def test_read_what_an_earlier_round_wrote(self):
        array = sg.TensorArray(sg.int32, 10, clear_after_read=False).write(0, 0).write(1, 1)
        _, array = sg.while_loop(
            lambda i, a: i < 10, lambda i, a: (i + 1, a.write(i, a.read(i - 1) + a.read(i - 2))), [2, array]
        )
        assert list(evaluated(array.stack())) == [0, 1, 1, 2, 3, 5, 8, 13, 21, 34]

    def test_written_in_a_branch(self):
        array = sg.TensorArray(sg.int32, 6)

        def body(i: Any, a: Any) -> Any:
            return i + 1, sg.cond(sg.equal(i % 2, 0), lambda: a.write(i, i), lambda: a.write(i, -i))

        _, array = sg.while_loop(lambda i, a: i < 6, body, [0, array])
        assert list(evaluated(array.stack())) == [0, -1, 2, -3, 4, -5]

    def test_two_of_them_side_by_side(self):
        arrays = [sg.TensorArray(sg.float32, 3), sg.TensorArray(sg.int32, 3)]
        _, one, other = sg.while_loop(
            lambda i, a, b: i < 3,
            lambda i, a, b: (i + 1, a.write(i, sg.to_float(i) / 2.0), b.write(2 - i, i)),
            [0, *arrays],
        )
        first, second = evaluated([one.stack(), other.stack()])
        assert (list(first), list(second)) == ([0, 0.5, 1], [2, 1, 0])

    def test_in_a_loop_of_a_loop(self):
        array = sg.TensorArray(sg.int32, 9)

        def outer(i: Any, a: Any) -> Any:
            _, a = sg.while_loop(lambda j, a: j < 3, lambda j, a: (j + 1, a.write(3 * i + j, i * j)), [0, a])
            return i + 1, a

        _, array = sg.while_loop(lambda i, a: i < 3, outer, [0, array])
        np.testing.assert_array_equal(evaluated(array.stack()).reshape(3, 3), np.outer(range(3), range(3)))

    def test_that_grows(self):
        n = sg.placeholder(sg.int32, [])
        array = sg.TensorArray(sg.int32, 1, dynamic_size=True)
        _, array = sg.while_loop(lambda i, a: i < n, lambda i, a: (i + 1, a.write(i, i)), [0, array])
        with sg.Session() as sess:
            for count in (4, 1, 7):
                assert list(sess.run(array.stack(), {n: count})) == list(range(count))

    @pytest.mark.parametrize("element", [None, [None]])
    def test_that_grows_until_data_say_so(self, element):
        """The loop is done in Python; the rows of the arrays become known in its first round."""
        x = sg.placeholder(sg.float32, [None])
        arrays = [sg.TensorArray(sg.float32, 0, dynamic_size=True, element_shape=element) for _ in range(2)]

        def body(i, s, a, b):
            return i + 1, s * 2.0, a.write(i, s * x), b.scatter([i], [s + x])

        _, _, a, b = sg.while_loop(lambda i, s, *_: s < 5.0, body, [0, x[0], *arrays])
        with sg.Session() as sess:
            for values, factors in ([1.0, 2.0], [[1.0], [2.0], [4.0]]), ([2.0, 0.0, 1.0], [[2.0], [4.0]]):
                rows, others = sess.run([a.stack(), b.stack()], {x: values})
                np.testing.assert_array_equal(rows, np.float32(factors) * np.float32(values))
                np.testing.assert_array_equal(others, np.float32(factors) + np.float32(values))


class TestDerivatives:
    def test_of_what_is_read_by_what_was_written(self):
        x, y = sg.placeholder(sg.float64, [2]), sg.placeholder(sg.float64, [2])
        array = sg.TensorArray(sg.float64, 2).write(0, x * x).write(1, y * 3.0)
        total = array.read(0) * array.read(1)
        found = evaluated(sg.gradients(total, [x, y]), {x: [1, 2], y: [3, 4]})
        np.testing.assert_allclose(found, [[18, 48], [3, 12]])

    def test_of_unstack_gather_and_stack(self):
        x = sg.placeholder(sg.float64, [4, 3])
        array = sg.TensorArray(sg.float64, 4).unstack(x)
        y = sg.reduce_sum(array.gather([1, 1, 3])) + sg.reduce_sum(array.stack() * 10.0)
        wanted = np.full([4, 3], 10.0)
        wanted[1] += 2
        wanted[3] += 1
        np.testing.assert_allclose(evaluated(sg.gradients(y, [x])[0], {x: ROWS}), wanted)

    def test_of_scatter_split_and_concat(self):
        x = sg.placeholder(sg.float64, [4, 3])
        array = sg.TensorArray(sg.float64, 4).scatter([3, 2, 1, 0], x)
        halves = sg.TensorArray(sg.float64, 2).split(x * x, [2, 2])
        weights = np.arange(12.0).reshape(4, 3)
        y = sg.reduce_sum(array.stack() * weights) + sg.reduce_sum(halves.concat() * weights)
        wanted = weights[::-1] + 2 * ROWS * weights
        np.testing.assert_allclose(evaluated(sg.gradients(y, [x])[0], {x: ROWS}), wanted)

    def test_through_a_loop_that_reads_and_writes(self):
        x = sg.placeholder(sg.float64, [4, 3])
        rows = sg.TensorArray(sg.float64, 4).unstack(x)

        def body(i: Any, h: Any, out: Any) -> Any:
            h = sg.tanh(h + rows.read(i))
            return i + 1, h, out.write(i, h * h)

        _, h, out = sg.while_loop(
            lambda i, *_: i < 4, body, [0, sg.zeros([3], sg.float64), sg.TensorArray(sg.float64, 4)]
        )
        y = sg.reduce_sum(out.stack()) + sg.reduce_sum(h)
        (grad,) = sg.gradients(y, [x])
        (second,) = sg.gradients(sg.reduce_sum(sg.sin(grad)), [x])
        value = ROWS / 7 - 0.8
        with sg.Session() as sess:
            for tensor, of in ((grad, y), (second, sg.reduce_sum(sg.sin(grad)))):
                found = sess.run(tensor, {x: value})
                for at in np.ndindex(4, 3):
                    up, down = value.copy(), value.copy()
                    up[at] += 1e-6
                    down[at] -= 1e-6
                    slope = (sess.run(of, {x: up}) - sess.run(of, {x: down})) / 2e-6
                    assert found[at] == pytest.approx(slope, rel=1e-6, abs=1e-8)

    def test_of_an_array_that_a_branch_gives(self):
        p, x = sg.placeholder(sg.bool, []), sg.placeholder(sg.float64, [3])
        array = sg.TensorArray(sg.float64, 2).write(0, x)
        array = sg.cond(p, lambda: array.write(1, x * x), lambda: array.write(1, x * 3.0))
        (grad,) = sg.gradients(array.stack(), [x])
        np.testing.assert_allclose(evaluated(grad, {p: True, x: [1, 2, 3]}), [3, 5, 7])
        np.testing.assert_allclose(evaluated(grad, {p: False, x: [1, 2, 3]}), [4, 4, 4])


class TestRowsOfUnknownShape:
    """Nothing says what a row is before a loop that calls Python writes the first one."""

    def test_written(self):
        x = sg.placeholder(sg.float32, [None, 2])

        def body(i: sg.Tensor, array: sg.TensorArray) -> tuple[sg.Tensor, sg.TensorArray]:
            with sg.control_dependencies([sg.py_func(lambda n: n, [i], sg.int32)]):
                return i + 1, array.write(i, x * sg.to_float(i))

        _, array = sg.while_loop(lambda i, _: i < 3, body, (0, sg.TensorArray(sg.float32, 3)))
        found = evaluated(array.stack(), {x: [[1, 2]]})
        np.testing.assert_array_equal(found, [[[0, 0]], [[1, 2]], [[2, 4]]])

    def test_scattered(self):
        x = sg.placeholder(sg.float32, [None, 2])

        def body(i: sg.Tensor, array: sg.TensorArray) -> tuple[sg.Tensor, sg.TensorArray]:
            with sg.control_dependencies([sg.py_func(lambda n: n, [i], sg.int32)]):
                return i + 1, array.scatter([i, 3 - i], x)

        _, array = sg.while_loop(lambda i, _: i < 2, body, (0, sg.TensorArray(sg.float32, 4)))
        found = evaluated(array.stack(), {x: [[1, 2], [3, 4]]})
        np.testing.assert_array_equal(found, [[1, 2], [1, 2], [3, 4], [3, 4]])


class TestErrors:
    def test_a_row_of_another_shape(self):
        array = sg.TensorArray(sg.float32, 3).write(0, [1.0, 2.0])
        with pytest.raises(ValueError, match=r"the rows have shape \[2\], this one has \[3\]"):
            array.write(1, [1.0, 2.0, 3.0])

    def test_a_row_of_another_dtype(self):
        with pytest.raises(TypeError, match="the array is of float32, the row is int32"):
            sg.TensorArray(sg.float32, 3).write(0, 1)

    def test_no_size(self):
        with pytest.raises(ValueError, match="how many rows"):
            sg.TensorArray(sg.float32)

    def test_parts_of_different_lengths(self):
        with pytest.raises(ValueError, match="rows have one shape"):
            sg.TensorArray(sg.float64, 2).split(ROWS, [1, 3])


@pytest.mark.parametrize("size", [[2, 3], -1])
def test_a_size_that_turns_out_to_be_none(size):
    given = sg.placeholder(sg.int32, None, name="size")
    rows = sg.TensorArray(sg.float32, size=given, element_shape=[2]).write(0, [1.0, 2.0]).stack()
    with sg.Session() as sess, pytest.raises(sg.errors.InvalidArgumentError, match="TensorArray"):
        sess.run(rows, {given: size})


class TestRowsThatABranchReads:
    """A branch inside of a loop reads rows before the loop has written one: recursive nets do so."""

    @staticmethod
    def descended(size, **given):
        leaf = sg.placeholder(sg.bool, [None], name="leaf")
        words = sg.constant(np.arange(12.0).reshape(4, 3), sg.float32)
        nodes = sg.TensorArray(sg.float32, size=size, clear_after_read=False, **given)

        def add(i, nodes):
            def combine():
                return sg.concat([nodes.read(i - 1), nodes.read(i - 2)], 1)[:, 2:5]

            node = sg.cond(leaf[i], lambda: sg.expand_dims(words[i], 0), combine)
            return i + 1, nodes.write(i, node)

        _, nodes = sg.while_loop(lambda i, _: i < sg.size(leaf), add, (0, nodes))
        return leaf, words, nodes.concat()

    @pytest.mark.parametrize("given", [{"size": 4}, {"size": 0, "dynamic_size": True, "infer_shape": False}])
    def test_values_and_slopes(self, given):
        with sg.Graph().as_default(), sg.Session() as sess:
            leaf, words, rows = self.descended(**given)
            slopes = sg.gradients(rows[3], words)
            made, found = sess.run([rows, slopes[0]], {leaf: [True, True, False, False]})
        np.testing.assert_allclose(made, [[0, 1, 2], [3, 4, 5], [5, 0, 1], [1, 3, 4]])
        wanted = np.zeros((4, 3))
        wanted[0, 1] = wanted[1, 0] = wanted[1, 1] = 1.0
        np.testing.assert_allclose(found, wanted)

    def test_the_loop_is_native_if_its_array_does_not_grow(self):
        with sg.Graph().as_default(), sg.Session() as sess:
            leaf, _, rows = self.descended(4)
            sess.run(rows, {leaf: [True, True, False, True]})
            compiles = len(sess.compiles)
            sess.run(rows, {leaf: [True, True, True, False]})
            assert len(sess.compiles) == compiles == 1

    def test_a_branch_that_is_not_taken_may_have_shapes_that_do_not_fit(self):
        with sg.Graph().as_default(), sg.Session() as sess:
            x, is_square = sg.placeholder(sg.float32, [None, None]), sg.placeholder(sg.bool, [])
            y = sg.cond(is_square, lambda: sg.matmul(x, x), lambda: 2.0 * x)
            fed = np.ones((2, 3), np.float32)
            np.testing.assert_allclose(sess.run(y, {x: fed, is_square: False}), 2.0 * fed)
            with pytest.raises(sg.errors.InvalidArgumentError, match="matmul"):
                sess.run(y, {x: fed, is_square: True})
            np.testing.assert_allclose(
                sess.run(y, {x: np.ones((2, 2)), is_square: True}), np.full((2, 2), 2.0)
            )
