"""A session that is closed while another thread runs it: the run ends soon, and nobody waits for ever.

Threads that compute ahead for a session end with it, also if nobody closes it.
"""

from __future__ import annotations

import gc
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler.graph.errors import CancelledError, ClosedSessionError

SOON = 30.0  # seconds, of a machine that is busy


def in_machine_code(started: threading.Event) -> Any:
    def begin() -> np.float32:
        started.set()
        return np.float32(1)

    x = sg.py_func(begin, [], sg.float32)
    x.set_shape([])
    return sg.while_loop(lambda n, _: n < 2_000_000_000, lambda n, y: (n + 1, sg.sin(y)), [0, x])[1]


def in_python(started: threading.Event) -> Any:
    def go_on(_: Any) -> np.bool_:
        started.set()
        return np.True_

    return sg.while_loop(lambda n: sg.py_func(go_on, [n], sg.bool), lambda n: n + 1, [0])


def in_a_queue(started: threading.Event) -> Any:
    queue = sg.FIFOQueue(1, [sg.float32], shapes=[[]])

    def begin() -> None:
        started.set()

    with sg.control_dependencies([sg.py_func(begin, [], [])]):
        return queue.dequeue()


@pytest.mark.parametrize("endless", [in_machine_code, in_python, in_a_queue], ids=lambda f: f.__name__)
def test_a_run_without_end_ends(endless: Callable[[threading.Event], Any]):
    started, found = threading.Event(), []
    with sg.Graph().as_default() as graph:
        fetched = endless(started)
    session = sg.Session(graph=graph)

    def run() -> None:
        try:
            session.run(fetched)
        except BaseException as error:
            found.append(error)

    runs, closes = (
        threading.Thread(target=run, daemon=True),
        threading.Thread(target=session.close, daemon=True),
    )
    runs.start()
    assert started.wait(SOON)
    closes.start()
    for thread in (closes, runs):
        thread.join(SOON)
        assert not thread.is_alive()
    [error] = found
    assert isinstance(error, CancelledError), error
    assert "closed" in str(error)
    with pytest.raises(ClosedSessionError):
        session.run(fetched)


def test_a_session_that_is_closed_during_a_call_of_python_cancels_the_run():
    """Others may run during the call. The run that is cancelled did not find the session closed."""

    def closing() -> np.float32:
        closes = threading.Thread(target=session.close)
        closes.start()
        closes.join(SOON)
        return np.float32(1.0)

    with sg.Graph().as_default() as graph:
        value = sg.py_func(closing, [], sg.float32)
    session = sg.Session(graph=graph)
    with pytest.raises(CancelledError, match="the session was closed during the run"):
        session.run(value)


def test_a_run_that_waits_for_another_one_sees_a_closed_session():
    with sg.Graph().as_default() as graph:
        value = sg.constant(1.0) + sg.random_uniform([])
    session, found = sg.Session(graph=graph), []
    session.run(value)

    def run() -> None:
        try:
            session.run(value)
        except BaseException as error:
            found.append(error)

    with session.held():
        waiting = threading.Thread(target=run)
        waiting.start()
        session.close()
    waiting.join(SOON)
    assert isinstance(found[0], ClosedSessionError)


def test_threads_end_with_a_session_that_is_dropped():
    before = {*threading.enumerate()}

    def run() -> None:
        with sg.Graph().as_default() as graph:
            numbers = sg.data.Dataset.range(1 << 40).map(lambda n: n * 2, num_parallel_calls=3).prefetch(5)
            following = numbers.make_one_shot_iterator().get_next()
        session = sg.Session(graph=graph)
        assert [session.run(following) for _ in range(3)] == [0, 2, 4]
        assert {"prefetch", "map_0"} <= {thread.name for thread in ahead()}

    def ahead() -> set[threading.Thread]:
        new = {*threading.enumerate()} - before
        return {thread for thread in new if not thread.name.startswith("staticgraph")}

    run()
    end = time.monotonic() + SOON
    while ahead() and time.monotonic() < end:
        gc.collect()
        time.sleep(0.01)
    assert not ahead()


def test_other_sessions_go_on():
    with sg.Graph().as_default() as graph:
        count = sg.placeholder(sg.int32, [])
        total = sg.while_loop(lambda n, _: n < count, lambda n, y: (n + 1, y + 1.0), [0, 0.0])[1]
    first, second = sg.Session(graph=graph), sg.Session(graph=graph)
    assert first.run(total, {count: 1000}) == second.run(total, {count: 1000}) == 1000
    first._cancel()
    for _ in range(4):  # through Python, and what machine code would do
        with pytest.raises(CancelledError, match="closed during the run"):
            first.run(total, {count: 100_000_000})
        assert second.run(total, {count: 1000}) == second.run(total, {count: 10}, timeout=1000.0) + 990
