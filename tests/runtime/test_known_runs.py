"""Known runs are found by machine code, and whatever differs from them goes the long way."""

import gc
import sys
import threading
from collections import OrderedDict

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler.graph.errors import ClosedSessionError, FeedError, InvalidArgumentError
from staticgraph.runtime import session
from staticgraph.runtime.cpu.fast_path import dispatch
from staticgraph.runtime.cpu.fast_path.known_runs import MOST, KnownRuns
from staticgraph.runtime.state.variables import VariableStore

native_only = pytest.mark.skipif(
    dispatch.unsupported() is not None, reason="objects are laid out in another way here"
)
RUNS = 5


@pytest.fixture
def long_way(monkeypatch: pytest.MonkeyPatch) -> list:
    """The fetches of the runs that were not found."""
    seen: list = []
    run = session.Session._run
    monkeypatch.setattr(
        session.Session, "_run", lambda self, fetches, fed: seen.append(fetches) or run(self, fetches, fed)
    )
    return seen


def repeated(call, times: int = RUNS) -> list:
    return [call() for _ in range(times)]


@native_only
def test_what_ran_before_is_found(sess, long_way):
    x, y = sg.placeholder(sg.float32), sg.placeholder(sg.float32)
    both = [x + y, x * y]
    repeated(lambda: sess.run([*both], {x: 2.0, y: 3.0}))
    long_way.clear()
    assert repeated(lambda: sess.run([*both], {x: 2.0, y: 3.0})) == [[5.0, 6.0]] * RUNS
    assert sess.run([*both], feed_dict={x: 1.0, y: 7.0}) == [8.0, 7.0]
    assert not long_way


@native_only
def test_no_feeds_are_none_or_an_empty_dict(sess, long_way):
    two = sg.constant(1.0) + sg.constant(1.0)
    repeated(lambda: sess.run(two))
    repeated(lambda: sess.run(two, {}))
    long_way.clear()
    assert [sess.run(two), sess.run(two, {}), sess.run(two, None)] == [2.0] * 3
    assert not long_way


def test_whatever_differs_is_another_run(sess):
    x, y = sg.placeholder_with_default(1.0, []), sg.placeholder_with_default(10.0, [])
    total = x - y
    repeated(lambda: sess.run(total, {x: 2.0, y: 3.0}))
    for fed, wanted in (
        ({y: 3.0, x: 2.0}, -1.0),
        ({x: 2.0}, -8.0),
        ({y: 3.0}, -2.0),
        ({}, -9.0),
        (None, -9.0),
        (OrderedDict({x: 2.0, y: 3.0}), -1.0),
        ({x: 4.0, y: 3.0}, 1.0),
    ):
        assert repeated(lambda fed=fed: sess.run(total, fed)) == [wanted] * RUNS
    assert repeated(lambda: sess.run([total], {x: 2.0, y: 3.0})) == [[-1.0]] * RUNS
    assert repeated(lambda: sess.run((total,), {x: 2.0, y: 3.0})) == [(-1.0,)] * RUNS
    assert repeated(lambda: sess.run([total, x], {x: 2.0, y: 3.0})) == [[-1.0, 2.0]] * RUNS
    assert repeated(lambda: sess.run({"a": total}, {x: 2.0, y: 3.0})) == [{"a": -1.0}] * RUNS


def test_a_structure_that_was_changed_is_another_run(sess):
    a, b = sg.constant(1.0), sg.constant(2.0)
    inner, named = [a], {"x": a}
    assert repeated(lambda: sess.run([inner, named])) == [[[1.0], {"x": 1.0}]] * RUNS
    inner[0] = named["x"] = b
    assert sess.run([inner, named]) == [[2.0], {"x": 2.0}]


@native_only
def test_a_graph_that_has_grown_is_looked_at_once(sess, long_way):
    x = sg.placeholder(sg.float32)
    double = x * 2.0
    repeated(lambda: sess.run(double, {x: 2.0}))
    sg.constant(5.0)
    long_way.clear()
    assert repeated(lambda: sess.run(double, {x: 2.0})) == [4.0] * RUNS
    assert long_way == [double]


def test_errors_come_through(sess):
    x = sg.placeholder(sg.float32, [2])
    double = x * 2.0
    fed = {x: np.ones(2, np.float32)}
    repeated(lambda: sess.run(double, fed))
    for _ in range(RUNS):
        with pytest.raises(FeedError):
            sess.run(double, {x: np.ones(3, np.float32)})
    np.testing.assert_array_equal(sess.run(double, fed), [2.0, 2.0])
    repeated(lambda: sess.run(double, fed))
    sess.close()
    with pytest.raises(ClosedSessionError):
        sess.run(double, fed)


@native_only
def test_runs_keep_no_references(sess):
    x = sg.placeholder(sg.float32, [64, 300])
    w = sg.Variable(np.ones((300, 300), np.float32))
    value, total = np.ones((64, 300), np.float32), sg.reduce_sum(sg.matmul(x, w))
    sess.run(sg.global_variables_initializer())
    other = sg.constant(1.0)
    repeated(lambda: sess.run([total, other], {x: value}))
    objects = [value, x, total, other, NotImplemented]
    gc.collect()
    before = [sys.getrefcount(each) for each in objects]
    for _ in range(100):
        sess.run([total, other], {x: value})
    assert [sys.getrefcount(each) for each in objects] == before


@native_only
def test_the_newest_are_kept():
    found = KnownRuns([])
    found.size = 0
    whats = [object() for _ in range(MOST + 5)]
    for n, what in enumerate(whats):
        found.add(what, (), lambda n=n: n)
    made = [found.call(what, None) for what in whats]
    assert made == [NotImplemented] * 5 + [*range(5, MOST + 5)]
    found.clear()
    assert found.call(whats[-1], None) is NotImplemented


@native_only
def test_arguments_of_another_kind_are_not_known():
    found = KnownRuns([])
    found.size = 0
    key = object()
    found.add("a", (key,), lambda x: x)
    assert found.call("a", {key: 1}) == 1
    for feeds in ([], 1, "a", {key: 1, "b": 2}, {"b": 2}, {}, None, OrderedDict({key: 1})):
        assert found.call("a", feeds) is NotImplemented
    assert found.call("b", {key: 1}) is NotImplemented
    found.size = 1
    assert found.call("a", {key: 1}) is NotImplemented


def test_a_session_is_held_while_a_long_step_runs(sess):
    """Steps of several threads add up, though they run without Python's lock and find themselves by machine
    code; and who holds the session sees all of a step or nothing.
    """
    count, size = sg.Variable(0.0), 300
    x = sg.placeholder(sg.float32, [size, size])
    w = sg.Variable(np.zeros((size, size), np.float32))
    step = sg.group(sg.assign_add(count, 1.0), sg.assign_add(w, sg.matmul(x, x) * 0.0 + 1.0))
    sess.run(sg.global_variables_initializer())
    value = np.ones((size, size), np.float32)
    repeated(lambda: sess.run(step, {x: value}))
    seen: list = []

    def work():
        for _ in range(40):
            sess.run(step, {x: value})

    def look():
        for _ in range(40):
            with sess.held():
                seen.append((sess.run(count), sess.run(w)[0, 0], sess.run(w)[-1, -1]))

    threads = [threading.Thread(target=f) for f in (work, work, look)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sess.run(count) == RUNS + 80
    assert all(a == b == c for a, b, c in seen)


@native_only
def test_a_long_step_waits_for_who_holds_the_session(sess, monkeypatch):
    x = sg.placeholder(sg.float32, [300, 300])
    square = sg.matmul(x, x)
    value = np.ones((300, 300), np.float32)
    repeated(lambda: sess.run(square, {x: value}), 10)
    assert not sess.variables._lock._is_owned()
    waits, got = threading.Event(), []
    enter = VariableStore.__enter__
    monkeypatch.setattr(VariableStore, "__enter__", lambda self: waits.set() or enter(self))
    thread = threading.Thread(target=lambda: got.append(sess.run(square, {x: value})[0, 0]))
    with sess.held():
        waits.clear()
        thread.start()
        waits.wait()
        assert not got
    thread.join()
    assert got == [300.0]
    assert not sess.variables._lock._is_owned()


@native_only
def test_an_error_of_a_long_step_leaves_the_session_free():
    x = sg.placeholder(sg.float32, [300, 300])
    root = sg.sqrt(sg.matmul(x, x))
    with sg.Session(check_nan=True) as sess:
        good, bad = np.ones((300, 300), np.float32), np.eye(300, dtype=np.float32)
        bad[0, 0], bad[0, 1], bad[1, 0] = 0.0, -1.0, 1.0
        repeated(lambda: sess.run(root, {x: good}))
        for _ in range(RUNS):
            with pytest.raises(InvalidArgumentError):
                sess.run(root, {x: bad})
            assert not sess.variables._lock._is_owned()
        assert sess.run(root, {x: good})[0, 0] == np.float32(np.sqrt(300))
