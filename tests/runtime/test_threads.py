"""Runs of one session in several threads, whichever way they take."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler.codegen.native.layouts import READY
from staticgraph.runtime.cpu.pool import POOL
from tests.sessions import initialized

RUNS = 5


@pytest.fixture
def switching() -> Iterator[None]:
    """Threads take turns as often as they can."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(interval)


def in_threads(*works: Callable[[], None]) -> None:
    failed: list[BaseException] = []

    def guarded(work: Callable[[], None]) -> None:
        try:
            work()
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=guarded, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed, failed


def test_a_run_sees_all_of_another_run_or_nothing(sess, way, switching):
    a = sg.Variable(np.zeros([64], np.float32))
    b = sg.Variable(np.zeros([64], np.float32))
    raised = a.assign_add(np.ones([64], np.float32))
    with sg.control_dependencies([raised]):
        copied = b.assign(sg.reverse(a.value(), [0]))
    initialized(sess)
    count = 300

    def write() -> None:
        for _ in range(count):
            sess.run([raised.op, copied.op])

    def read() -> None:
        for _ in range(count):
            left, right = sess.run([a, b])
            assert left.min() == left.max() == right.min() == right.max()

    in_threads(write, read, write, read)
    assert sess.run(a).tolist() == [2 * count] * 64


def test_threads_with_their_own_feeds(sess, way, switching):
    x = sg.placeholder(sg.float32, [None])
    y = x * sg.Variable(2.0)
    initialized(sess)
    call = sess.make_callable(y, [x])

    def work(number: int) -> None:
        value = np.full(number + 1, number, np.float32)
        for _ in range(200):
            for made in (call(value), sess.run(y, {x: value}), call([number] * (number + 1))):
                assert made.tolist() == [2 * number] * (number + 1)

    in_threads(*(lambda number=number: work(number) for number in range(4)))


def test_nothing_runs_while_the_session_is_held(sess, way):
    w = sg.Variable(1.0)
    raised = w.assign_add(1.0)
    initialized(sess)
    for _ in range(RUNS):
        sess.run(raised)
    done = threading.Event()

    def work() -> None:
        sess.run(raised)
        done.set()

    thread = threading.Thread(target=work)
    with sess.held() as store:
        thread.start()
        before = float(store.read(w.op))
        done.wait(0.05)
        assert float(store.read(w.op)) == before
        assert sess.run(w) == before  # the holder itself may run
    thread.join()
    assert sess.run(w) == before + 1


def test_helpers_are_there_for_every_run_that_needs_them(sess, way, monkeypatch: pytest.MonkeyPatch):
    """Some may be missing, as in a forked process."""
    asked: list[bool] = []
    monkeypatch.setattr(POOL, "ensure", lambda: asked.append(True))
    x = sg.placeholder(sg.float32, [1000, 1000])
    y = sg.exp(x) + sg.sin(x)
    value = np.ones((1000, 1000), np.float32)
    assert sess.executable(y, {x: value}).parallel
    for count in range(1, RUNS):
        POOL._words[READY] = 0
        sess.run(y, {x: value})
        assert len(asked) >= count
    POOL._words[READY] = 1
    asked.clear()
    sess.run(y, {x: value})
    assert way == "python" or not asked  # nothing of Python's is called where none are missing
