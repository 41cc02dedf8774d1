"""Threads that stop together."""

import sys
import threading

import pytest

import staticgraph as sg
from staticgraph.compiler.graph.errors import CancelledError, OutOfRangeError


def thread(function):
    made = threading.Thread(target=function)
    made.start()
    return made


def test_join_waits_for_threads_that_end_without_a_request():
    coord, go, done = sg.train.Coordinator(), threading.Event(), []
    worker = thread(lambda: (go.wait(), done.append(1)))
    coord.register_thread(worker)
    joiner = thread(coord.join)
    assert not coord.joined
    go.set()
    joiner.join()
    assert done == [1]
    assert coord.joined
    assert not coord.should_stop()


def test_a_request_ends_all_threads():
    coord, turns = sg.train.Coordinator(), []

    def work():
        coord.wait_for_stop()
        turns.append(1)

    threads = [thread(work) for _ in range(3)]
    coord.request_stop()
    coord.join(threads)
    assert turns == [1, 1, 1]


def test_the_exception_of_a_thread_is_raised_with_its_traceback():
    coord = sg.train.Coordinator()

    def fails_here():
        with coord.stop_on_exception():
            raise ValueError("in a thread")

    with pytest.raises(ValueError, match="in a thread") as caught:
        coord.join([thread(fails_here)])
    assert caught.traceback[-1].name == "fails_here"


def test_exc_info_and_exceptions_that_nobody_raised():
    coord = sg.train.Coordinator()
    try:
        raise KeyError("given as exc_info")
    except KeyError:
        coord.request_stop(sys.exc_info())
    with pytest.raises(KeyError, match="given as exc_info"):
        coord.join()
    coord.clear_stop()
    coord.request_stop(RuntimeError("never raised before"))
    with pytest.raises(RuntimeError, match="never raised before"):
        coord.raise_requested_exception()


@pytest.mark.parametrize(("clean", "raised"), [(None, OutOfRangeError), ([CancelledError], CancelledError)])
def test_clean_exceptions_are_no_failure(clean, raised):
    coord = sg.train.Coordinator(clean_stop_exception_types=clean)
    coord.request_stop(raised("done"))
    coord.join()
    assert coord.should_stop()


def test_exceptions_that_are_not_clean():
    coord = sg.train.Coordinator(clean_stop_exception_types=[])
    coord.request_stop(OutOfRangeError("done"))
    with pytest.raises(OutOfRangeError):
        coord.join()


def test_a_thread_that_does_not_stop_is_named_with_the_line_that_waits():
    coord, release = sg.train.Coordinator(), threading.Event()
    worker = threading.Thread(target=release.wait, name="slow", daemon=True)
    worker.start()
    coord.request_stop()
    with pytest.raises(RuntimeError, match="still running: slow") as caught:
        coord.join([worker], stop_grace_period_secs=0)
    assert "test_coordinator.py" in str(caught.value)
    release.set()


def test_join_from_a_registered_thread_does_not_wait_for_itself():
    coord, found = sg.train.Coordinator(), []

    def work():
        coord.request_stop()
        coord.join(ignore_live_threads=True, stop_grace_period_secs=0)
        found.append(coord.joined)

    worker = threading.Thread(target=work)
    coord.register_thread(worker)
    worker.start()
    worker.join()
    assert found == [True]


def test_a_looper_calls_its_target_until_the_stop():
    coord, calls = sg.train.Coordinator(), []

    def target(a, b):
        calls.append((a, b))
        if len(calls) == 3:
            coord.request_stop()

    looper = sg.train.LooperThread.loop(coord, 0.0, target, (1,), {"b": 2})
    coord.join()
    assert calls == [(1, 2)] * 3
    assert looper.daemon
    assert not looper.is_alive()
