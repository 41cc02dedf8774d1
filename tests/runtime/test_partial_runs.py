"""Runs in parts, where TensorFlow's answers do not show what happens."""

import pytest

import staticgraph as sg

pytestmark = pytest.mark.usefixtures("empty_graph")


@pytest.fixture
def empty_graph():
    sg.reset_default_graph()


def test_no_operation_with_an_effect_runs_twice():
    calls = []
    a, b = sg.placeholder(sg.float32, []), sg.placeholder(sg.float32, [])
    told = sg.py_func(lambda x: calls.append(x) or x, [a], sg.float32)
    first, second = told + 1, told * b
    with sg.Session() as sess:
        run = sess.partial_run_setup([first, second], [a, b])
        assert sess.partial_run(run, first, {a: 3.0}) == 4.0
        assert sess.partial_run(run, second, {b: 2.0}) == 6.0
    assert calls == [3.0]


def test_a_part_that_fails_may_be_asked_for_again():
    a = sg.placeholder(sg.float32, [2])
    total = sg.reduce_sum(a)
    with sg.Session() as sess:
        run = sess.partial_run_setup(total, [a])
        with pytest.raises(sg.errors.InvalidArgumentError):
            sess.partial_run(run, total, {a: [1.0, 2.0, 3.0]})
        assert sess.partial_run(run, total, {a: [1.0, 2.0]}) == 3.0


def test_what_an_effect_waits_for_does_not_run_again():
    v = sg.Variable(0.0)
    up = v.assign_add(1.0)
    with sg.control_dependencies([up]):
        after = sg.constant(5.0) + v
    with sg.Session() as sess:
        sess.run(v.initializer)
        run = sess.partial_run_setup([up, after])
        assert sess.partial_run(run, up) == 1.0
        with pytest.raises(sg.errors.UnimplementedError, match="would run once more"):
            sess.partial_run(run, after)
        assert sess.run(v) == 1.0
