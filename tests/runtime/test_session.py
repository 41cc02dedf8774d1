"""`Session`: state between runs, plans, threads, life time."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler import ops
from staticgraph.compiler.graph.errors import (
    ClosedSessionError,
    FinalizedError,
    InvalidArgumentError,
    ShapeError,
    UninitializedError,
)
from staticgraph.runtime import program_cache
from tests.sessions import initialized

# State


def test_variables_keep_their_values_between_runs(sess):
    w = sg.Variable(1.0)
    raised = w.assign_add(1.0)
    initialized(sess)
    assert [sess.run(raised) for _ in range(3)] == [2, 3, 4]
    assert sess.run(w) == 4
    initialized(sess)
    assert sess.run(w) == 1


def test_uninitialized(sess):
    w = sg.Variable(1.0, name="w")
    v = sg.Variable(1.0, name="v")
    with pytest.raises(UninitializedError, match="Attempting to use uninitialized value w: ") as caught:
        sess.run(w * 2.0)
    assert caught.value.op is w.op
    with pytest.raises(UninitializedError, match="variables w, v have no value yet"):
        sess.run(w + v)
    sess.run(w.initializer)
    assert sess.run(w * 2.0) == 2
    assert sess.run(sg.is_variable_initialized(w)) is np.True_ or sess.run(sg.is_variable_initialized(w))
    assert not sess.run(sg.is_variable_initialized(v))
    found = sess.graph.get_tensor_by_name("w:0")
    assert sess.run(sg.is_variable_initialized(found))
    with pytest.raises(TypeError, match="mul:0 is not the tensor of a variable"):
        sg.is_variable_initialized(sess.graph.get_tensor_by_name("mul:0"))


def test_two_sessions_have_their_own_variables():
    w = sg.Variable(1.0)
    init, raised = sg.global_variables_initializer(), w.assign_add(1.0)
    with sg.Session() as one, sg.Session() as two:
        one.run(init)
        assert one.run(raised) == 2
        with pytest.raises(UninitializedError):
            two.run(w)
        two.run(init)
        assert (one.run(w), two.run(w)) == (2, 1)


def failing(x):
    """A tensor whose computation calls the host and fails there."""
    return ops.cholesky(x)


def test_a_failed_run_changes_nothing(sess):
    """Even a variable that another run would update in place, before or after the failure."""
    a, b = sg.Variable([1.0, 2.0], name="a"), sg.Variable([3.0, 4.0], name="b")
    x = sg.placeholder(sg.float32, [2, 2])
    first = a.assign_add([1.0, 1.0])
    made = failing(x)
    with sg.control_dependencies([made]):
        second = b.assign(b * 2.0)
    noise = sg.random_uniform([2], seed=3)
    initialized(sess)
    with pytest.raises(sg.errors.InvalidArgumentError):
        sess.run([first, made, second, noise], {x: -np.eye(2)})
    np.testing.assert_array_equal(sess.run([a, b]), [[1, 2], [3, 4]])
    sess.run([first, made, second], {x: np.eye(2)})
    np.testing.assert_array_equal(sess.run([a, b]), [[2, 3], [6, 8]])


def test_a_failed_run_does_not_advance_random_numbers():
    def draws(fail: bool) -> np.ndarray:
        with sg.Graph().as_default(), sg.Session() as session:
            noise = sg.random_uniform([2], seed=3)
            x = sg.placeholder(sg.float32, [2, 2])
            made = failing(x)
            if fail:
                with pytest.raises(sg.errors.InvalidArgumentError):
                    session.run([noise, made], {x: -np.eye(2)})
            return session.run(noise)

    np.testing.assert_array_equal(draws(False), draws(True))


def test_random_numbers_advance_and_are_reproducible():
    noise = sg.random_uniform([3], seed=7)
    unseeded = sg.random_uniform([3])
    with sg.Session() as one:
        first = [one.run(noise) for _ in range(3)]
        free = [one.run(unseeded) for _ in range(2)]
    with sg.Session() as two:
        second = [two.run(noise) for _ in range(3)]
    np.testing.assert_array_equal(first, second)
    assert not np.array_equal(first[0], first[1])
    assert not np.array_equal(free[0], free[1])


# Plans


def test_a_second_run_compiles_nothing(sess, compiled):
    x = sg.placeholder(sg.float32, [None])
    y = x * 2.0
    for _ in range(3):
        sess.run(y, {x: [1, 2]})
    assert len(compiled) == 1
    assert len(compiled) == 1
    with sg.Session(open_sizes=True) as opened:
        opened.run(y, {x: [1, 2, 3]})
        opened.run(y, {x: [1, 2]})
    assert len(compiled) == 2
    compiled.clear()
    with sg.Session(open_sizes=False) as closed:
        for count, values in ((1, [1, 2]), (2, [1, 2, 3]), (2, [1, 2])):
            closed.run(y, {x: values})
            assert len(compiled) == count


@pytest.mark.parametrize("open_sizes", [False, True])
def test_programs_for_ever_new_shapes_are_dropped(open_sizes, compiled, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(program_cache, "PROGRAM_LIMIT", 2)
    x = sg.placeholder(sg.float32, [None])
    y = x + 1.0
    with sg.Session(open_sizes=open_sizes) as sess:
        for size in (1, 2, 3, 1, 3):
            assert sess.run(y, {x: np.zeros(size)}).tolist() == [1.0] * size
        assert len(compiled) == (1 if open_sizes else 4)
        (run,) = sess._runs.values()
        assert len(run.programs.known) == 2


def test_a_value_of_another_shape_than_the_graph_tells(sess, compiled):
    """`validate_shape=False` allows it; nothing may be read beyond the value."""
    v = sg.Variable(np.arange(3.0, dtype=np.float32))
    double = v * 2.0
    sess.run(v.initializer)
    assert sess.run(double).tolist() == [0, 2, 4]
    assert sess.run(sg.assign(v, [7.0], validate_shape=False)).tolist() == [7]
    assert sess.run([double, v])[0].tolist() == [14]
    assert sess.run(v).tolist() == [7]
    with pytest.raises(ValueError, match=r"\[1\] and \[3\] differ"):
        sess.run(v.assign_add([1.0, 1.0, 1.0]))
    sess.run(v.initializer)
    assert sess.run(double).tolist() == [0, 2, 4]


def test_feeds_in_another_order_are_the_same_program(sess, compiled):
    x, y = sg.placeholder(sg.float32, []), sg.placeholder(sg.float32, [])
    z = x - 2.0 * y
    assert sess.run(z, {x: 1.0, y: 3.0}) == -5
    assert sess.run(z, {y: 3.0, x: 1.0}) == -5
    assert len(compiled) == 1


def test_a_step_is_one_native_call(sess):
    x = sg.placeholder(sg.float32, [None, 3])
    w = sg.Variable(np.ones((3, 2), np.float32))
    loss = sg.reduce_sum(sg.square(sg.matmul(x, w)))
    step = w.assign_sub(0.1 * sg.gradients(loss, w)[0])
    initialized(sess)
    feeds = {x: np.ones((4, 3))}
    executable = sess.executable([loss, step], feeds)
    for count in range(1, 4):
        sess.run([loss, step], feeds)
        assert executable.calls == count


def test_a_new_batch_size_compiles_only_what_changed(monkeypatch: pytest.MonkeyPatch):
    """Kernels whose shapes do not depend on the batch are found again."""
    sess = sg.Session(open_sizes=False)
    x = sg.placeholder(sg.float32, [None, 3])
    w = sg.Variable(np.ones((3, 2), np.float32))
    loss = sg.reduce_sum(sg.square(sg.matmul(x, w)))
    step = w.assign(sg.tanh(w) * sg.reduce_mean(w))
    initialized(sess)
    plans = [sess.executable([loss, step], {x: np.ones((n, 3))}) for n in (4, 5)]
    names = [{code.name for code in p.compiled.codes} for p in plans]
    assert names[0] & names[1]
    assert names[0] - names[1]


def test_the_graph_may_grow_between_runs(sess):
    x = sg.constant(1.0)
    assert sess.run(x) == 1
    y = x + 1.0
    assert sess.run([x, y]) == [1, 2]


def test_make_callable(sess):
    x, y = sg.placeholder(sg.float32, [None]), sg.placeholder(sg.float32, [])
    call = sess.make_callable([x * y, {"y": y}], [x, y])
    for factor in (2.0, 3.0):
        made = call([1, 2], factor)
        np.testing.assert_array_equal(made[0], np.array([1, 2]) * factor)
        assert made[1] == {"y": factor}
    with pytest.raises(TypeError, match="takes 2 values, 1 were given"):
        call([1, 2])
    assert sess.make_callable(sg.constant(3.0))() == 3


# Threads


def test_threads_share_a_session(sess):
    w = sg.Variable(0, name="w")
    x = sg.placeholder(sg.float32, [None])
    raised, y = w.assign_add(1), x * 2.0
    initialized(sess)
    wrong: list = []

    def work(number: int) -> None:
        value = np.full(number + 1, number, np.float32)
        for _ in range(25):
            made = sess.run(y, {x: value})
            sess.run(raised)
            if not np.array_equal(made, value * 2):
                wrong.append((number, made))

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong
    assert sess.run(w) == 100


# Life time


def test_a_closed_session():
    x = sg.constant(1.0)
    session = sg.Session()
    call = session.make_callable(x)
    session.close()
    session.close()
    for use in (lambda: session.run(x), call, lambda: session.executable(x)):
        with pytest.raises(ClosedSessionError, match="the session is closed"):
            use()


def test_default_sessions():
    x = sg.constant(2.0)
    with pytest.raises(ValueError, match="there is no default session"):
        x.eval()
    with sg.Session() as outer:
        assert x.eval() == 2
        x.op.run()
        assert sg.get_default_session() is outer
        with sg.Session() as inner:
            assert sg.get_default_session() is inner
        assert sg.get_default_session() is outer
    assert sg.get_default_session() is None
    kept = sg.Session()
    with kept.as_default():
        assert x.eval() == 2
    assert kept.run(x) == 2
    assert x.eval(session=kept) == 2
    with sg.Graph().as_default():
        other = sg.constant(1.0)
    with pytest.raises(ValueError, match="the session runs another graph"):
        other.eval(session=kept)
    kept.close()


def test_a_session_makes_its_graph_the_default_one():
    graph = sg.Graph()
    with sg.Session(graph=graph) as session:
        x = sg.constant(1.0)
        assert x.graph is graph
        assert session.run(x) == 1


def test_interactive_session():
    graph = sg.Graph()
    session = sg.InteractiveSession(graph=graph)
    x = sg.constant(2.0)
    assert x.graph is graph
    assert x.eval() == 2
    session.close()
    assert sg.get_default_session() is None
    assert sg.get_default_graph() is not graph


def test_interactive_session_has_the_options_of_a_session():
    session = sg.InteractiveSession(memory_limit=1000)
    try:
        table = r"(?s:.*)session:\n {8}3\.8 MB at most\n "
        with pytest.raises(sg.errors.ResourceExhaustedError, match=rf"may have 1\.0 KB{table}"):
            sg.zeros([1000, 1000]).eval()
    finally:
        session.close()


def test_a_finalized_graph_runs_and_does_not_change(sess):
    x = sg.constant(1.0)
    sess.graph.finalize()
    assert sess.run(x) == 1
    with pytest.raises(FinalizedError, match="Graph is finalized"):
        sg.constant(2.0)


def test_errors_of_a_step_name_the_line(sess):
    """Shapes that only a run knows are checked by the compile, and the message is the user's."""
    x, y = sg.placeholder(sg.float32, [None]), sg.placeholder(sg.float32, [None])
    z = x + y
    with pytest.raises((ShapeError, InvalidArgumentError), match="do not broadcast") as caught:
        sess.run(z, {x: [1, 2], y: [1, 2, 3]})
    assert "z = x + y" in str(caught.value)


@pytest.mark.parametrize(
    "limit, error", [(-5, ValueError), (0, ValueError), (float("nan"), ValueError), ("big", TypeError)]
)
def test_a_memory_limit_is_a_number_of_bytes(limit, error):
    with pytest.raises(error, match="must be a number of bytes above zero") as caught:
        sg.Session(memory_limit=limit)
    assert "test_session.py" in str(caught.value)
