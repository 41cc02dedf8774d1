"""Runs of a session with numbers out of range, and the cost of checks."""

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler.graph.errors import InvalidArgumentError
from staticgraph.compiler.graph.graph import Graph
from staticgraph.runtime.gpu.simulator import build as standin
from staticgraph.runtime.gpu.simulator.driver import Simulator
from tests.gpu.sessions import on

REFUSED = pytest.raises(InvalidArgumentError, match="is not in")


def started():
    session = sg.Session()
    session.run(sg.global_variables_initializer())
    return session


def is_checked(fetch, feeds=None):
    with started() as session:
        return session.executable(fetch, feeds).prepared.step.checked


@pytest.fixture
def table():
    return sg.Variable(np.zeros((6, 3), np.float32), name="table")


@pytest.fixture
def ids():
    return sg.placeholder(sg.int32, [None], name="ids")


class TestUpdates:
    def test_a_checked_update_overwrites_its_variable(self, table, ids):
        step = sg.scatter_add(table, ids, sg.ones([2, 3])).op
        with started() as session:
            program = session.executable(step, {ids: [0, 1]}).prepared.program
            assert program.in_place == {1}
            for _ in range(3):
                session.run(step, {ids: [0, 5]})
                with REFUSED:
                    session.run(step, {ids: [0, 6]})
            assert session.run(table)[:, 0].tolist() == [3, 0, 0, 0, 0, 3]

    def test_a_check_of_what_a_step_computes_comes_before_its_updates(self, table, ids):
        """Also of variables that the check does not depend on."""
        count, picked = sg.Variable(0, name="count"), sg.Variable([0, 1], name="picked")
        rows = sg.gather(table, picked + ids)
        step = sg.group(count.assign_add(1), table.assign(table + 1.0), sg.identity(sg.reduce_sum(rows)))
        with started() as session:
            for number in range(1, 4):
                session.run(step, {ids: [0, 1]})
                with REFUSED:
                    session.run(step, {ids: [0, 5]})
                assert session.run(count) == number
                assert session.run(table)[0, 0] == number

    def test_a_check_of_a_new_value_undoes_it(self, table):
        at = sg.Variable(4, name="at")
        moved = at.assign_add(1)
        row = sg.gather(table, moved)
        with started() as session:
            session.run(row)
            for _ in range(3):
                with REFUSED:
                    session.run(row)
                assert session.run(at) == 5

    def test_random_states_do_not_advance(self, table, ids):
        noise = sg.random_uniform([2], seed=3)
        with started() as session, started() as other:
            for _ in range(4):
                drawn = session.run([noise, sg.identity(table)])[0]
                with REFUSED:
                    other.run([noise, sg.gather(table, ids)], {ids: [9]})
                np.testing.assert_array_equal(drawn, other.run([noise, sg.identity(table)])[0])

    def test_an_earlier_assertion_is_told_instead(self, ids):
        wrong = sg.Assert(sg.reduce_all(ids < 3), ["too large:", ids])
        with sg.control_dependencies([wrong]):
            row = sg.gather([1.0, 2.0, 3.0], ids)
        with sg.Session() as session, pytest.raises(InvalidArgumentError, match="too large"):
            session.run(row, {ids: [7]})


class TestControlFlow:
    def test_a_loop_without_end_ends_with_a_bad_index(self):
        start = sg.placeholder(sg.int32, [])
        end = sg.while_loop(lambda i: i < 100, lambda i: sg.gather([1, 5, 0], i) + i, [start])
        with sg.Session() as session, REFUSED:
            session.run(end, {start: 7})

    def test_a_branch_that_is_not_taken_is_not_checked(self, ids):
        value = sg.cond(ids[0] < 3, lambda: sg.gather([1.0, 2.0, 3.0], ids[0]), lambda: 9.0)
        with sg.Session() as session:
            assert session.run(value, {ids: [2]}) == 3
            assert session.run(value, {ids: [7]}) == 9
            with REFUSED:
                session.run(value, {ids: [-1]})

    def test_a_derivative_through_a_loop_of_lookups(self):
        x, n = sg.placeholder(sg.float32, [6, 3]), sg.placeholder(sg.int32, [])
        _, total = sg.while_loop(
            lambda i, s: i < n, lambda i, s: (i + 1, s + sg.reduce_sum(sg.gather(x, i))), [0, 0.0]
        )
        (slope,) = sg.gradients(total, x)
        with sg.Session() as session:
            feeds = {x: np.ones((6, 3))}
            assert session.run(slope, feeds | {n: 2})[:, 0].tolist() == [1, 1, 0, 0, 0, 0]
            with REFUSED:
                session.run(slope, feeds | {n: 7})

    def test_between_stages(self, ids):
        """A lookup before a function in Python is checked, and one after it."""
        first = sg.gather([1.0, 2.0, 3.0], ids)
        seen = sg.py_func(lambda x: x.astype(np.int32), [first], sg.int32)
        seen.set_shape([None])
        last = sg.gather([1.0, 2.0, 3.0], seen)
        with sg.Session() as session:
            assert session.run(last, {ids: [0]}) == [2.0]
            for bad in ([3], [2]):
                with REFUSED:
                    session.run(last, {ids: bad})


class TestProven:
    def test_what_the_graph_proves_is_not_checked(self, table):
        x = sg.placeholder(sg.float32, [4, 6])
        best = sg.argmax(x, axis=1)
        feeds = {x: np.ones((4, 6))}
        assert not is_checked(sg.gather(table, best), feeds)
        assert not is_checked(sg.gather(table, sg.nn.top_k(x, 2)[1]), feeds)
        places = sg.stack([sg.range(4), sg.cast(best, sg.int32)], axis=1)
        assert not is_checked(sg.gather_nd(x, places), feeds)
        assert not is_checked(sg.gather(table, [0, 5]))
        assert not is_checked(sg.range(10) // 3)
        assert not is_checked(sg.map_fn(lambda row: row * 2, x), feeds)

    def test_what_it_does_not_prove_is(self, table, ids):
        x = sg.placeholder(sg.float32, [4, 7])
        assert is_checked(sg.gather(table, sg.argmax(x, axis=1)), {x: np.ones((4, 7))})
        assert is_checked(sg.gather(table, ids), {ids: [1]})
        assert is_checked(sg.gather(table, sg.minimum(ids, 5)), {ids: [1]})
        assert is_checked(sg.gather(table, sg.maximum(sg.minimum(ids, 6), 0)), {ids: [1]})
        assert not is_checked(sg.gather(table, sg.maximum(sg.minimum(ids, 5), 0)), {ids: [1]})
        assert is_checked(7 // ids, {ids: [1]})

    @pytest.mark.parametrize(("most", "checked"), [(6, False), (7, True)])
    def test_the_counter_of_a_loop(self, table, most, checked):
        _, total = sg.while_loop(
            lambda i, s: i < most, lambda i, s: (i + 1, s + sg.gather(table, i)), [0, sg.zeros([3])]
        )
        assert is_checked(total) == checked

    def test_a_counter_below_what_is_fed(self, table):
        n = sg.placeholder(sg.int32, [])

        def summed(limit):
            return sg.while_loop(
                lambda i, s: i < limit, lambda i, s: (i + 1, s + sg.gather(table, i)), [0, sg.zeros([3])]
            )[1]

        assert is_checked(summed(n), {n: 2})
        assert not is_checked(summed(sg.minimum(n, 6)), {n: 2})

    def test_recurrent_nets_are_not_checked(self):
        x, lengths = sg.placeholder(sg.float32, [2, 7, 3]), sg.placeholder(sg.int32, [2])
        cell = sg.nn.rnn_cell.BasicRNNCell(5)
        out, _ = sg.nn.dynamic_rnn(cell, x, sequence_length=lengths, dtype=sg.float32)
        slopes = sg.gradients(out, sg.trainable_variables())
        assert not is_checked([out, *slopes], {x: np.ones((2, 7, 3)), lengths: [7, 3]})


class TestSwitch:
    def test_without_checks(self, ids):
        x = sg.constant([1.0, 2.0])
        labels = sg.nn.sparse_softmax_cross_entropy_with_logits(labels=ids, logits=sg.zeros([1, 2]))
        with sg.Session(check_bounds=False) as session:
            assert session.run(sg.gather(x, ids), {ids: [1, 2, -1]}).tolist() == [2, 0, 0]
            assert np.isnan(session.run(labels, {ids: [2]})).all()
            assert session.run(7 // ids, {ids: [0]}).tolist() == [0]
            assert not session.executable(sg.gather(x, ids), {ids: [1]}).prepared.step.checked

    def test_by_options_and_with_the_guard_against_nan(self, ids):
        logs = sg.log(sg.gather([1.0, -1.0], ids))
        infinite = pytest.raises(InvalidArgumentError, match="the result is Inf")
        with sg.options(check_bounds=False), sg.Session(check_nan=True) as session, infinite:
            session.run(logs, {ids: [5]})
        with sg.Session(check_nan=True) as session:
            with REFUSED:
                session.run(logs, {ids: [5]})
            with pytest.raises(InvalidArgumentError, match="the result is NaN"):
                session.run(logs, {ids: [1]})
            assert session.run(logs, {ids: [0]}) == [0]

    def test_strings_are_always_checked(self, ids):
        with sg.Session() as session, REFUSED:
            session.run(sg.gather(["a", "b"], ids), {ids: [2]})


def test_keras_does_not_train_on_labels_that_are_no_class():
    net = sg.keras.Sequential([sg.keras.layers.Dense(3, activation="softmax", input_shape=(2,))])
    net.compile("sgd", "sparse_categorical_crossentropy")
    x, y = np.ones((8, 2), np.float32), np.array([0, 1, 2, 3, 0, 1, 2, 0])
    before = net.get_weights()
    with REFUSED:
        net.fit(x, y, batch_size=8, verbose=0)
    for old, new in zip(before, net.get_weights(), strict=True):
        np.testing.assert_array_equal(old, new)


def test_a_gpu_looks_at_what_it_computes_itself():
    try:
        standin.host_compiler()
    except standin.BuildError as error:
        pytest.skip(str(error))
    with Graph().as_default(), on(Simulator()):
        table = sg.Variable(np.zeros((6, 3), np.float32))
        picked, ids = sg.Variable([0, 1]), sg.placeholder(sg.int32, [2])
        step = sg.scatter_add(table, picked + ids, sg.ones([2, 3])).op
        with started() as session:
            for number in range(1, 5):
                session.run(step, {ids: [0, 0]})
                with REFUSED:
                    session.run(step, {ids: [0, 5]})
                assert session.run(table)[:2, 0].tolist() == [number, number]
