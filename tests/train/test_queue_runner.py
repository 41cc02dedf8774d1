"""Threads that fill queues, with Python functions in the place of operations."""

import logging
import threading

import pytest

import staticgraph as sg
from staticgraph.compiler.graph.errors import CancelledError, OutOfRangeError
from tests.train.stand_ins import CallingSession, Named


def fill(queue, count, error=OutOfRangeError):
    """An operation that adds `count` times and then finds that its input has ended."""
    left = list(range(count))

    def function():
        if not left:
            raise error("the input has ended")
        queue.append(left.pop())

    return function


def test_threads_run_until_the_end_of_the_input_and_the_last_closes_the_queue():
    filled, sess = [], CallingSession()
    ops = [Named(f"enqueue_{n}", fill(filled, n)) for n in (3, 5)]
    runner = sg.train.QueueRunner(Named("queue"), ops)
    assert (runner.name, runner.close_op.name, runner.cancel_op.name) == ("queue", "close", "cancel")
    threads = runner.create_threads(sess, start=True)
    assert [t.name for t in threads] == [
        "QueueRunnerThread-queue-enqueue_3",
        "QueueRunnerThread-queue-enqueue_5",
    ]
    for thread in threads:
        thread.join()
    assert len(filled) == 8
    assert sess.ran == ["close"]
    assert runner.exceptions_raised == []


def test_no_second_set_of_threads_while_the_first_runs():
    sess, go = CallingSession(), threading.Event()

    def wait():
        go.wait()
        raise OutOfRangeError("end")

    runner = sg.train.QueueRunner(Named("queue"), [Named("enqueue", wait)])
    (thread,) = runner.create_threads(sess, start=True)
    assert runner.create_threads(sess, start=True) == []
    assert len(runner.create_threads(CallingSession())) == 1
    go.set()
    thread.join()
    assert len(runner.create_threads(sess)) == 1


def test_a_failure_stops_the_coordinator_which_cancels_the_queue():
    sess, coord = CallingSession(), sg.train.Coordinator()
    runner = sg.train.QueueRunner(Named("queue"), [Named("enqueue", fill([], 2, ValueError))])
    threads = runner.create_threads(sess, coord=coord, daemon=True, start=True)
    assert [t.daemon for t in threads] == [True, True]
    with pytest.raises(ValueError, match="the input has ended"):
        coord.join()
    assert sess.ran == ["cancel"]


def test_a_stop_ends_threads_that_would_go_on():
    sess, coord, turns = CallingSession(), sg.train.Coordinator(), []

    def enqueue():
        turns.append(1)
        if len(turns) == 4:
            coord.request_stop()

    runner = sg.train.QueueRunner(Named("queue"), [Named("enqueue", enqueue)])
    runner.create_threads(sess, coord=coord, start=True)
    coord.join()
    assert (len(turns), sess.ran) == (4, ["cancel"])


def test_a_failure_without_a_coordinator_is_kept(caplog, monkeypatch):
    monkeypatch.setattr(threading, "excepthook", lambda args: None)
    runner = sg.train.QueueRunner(Named("queue"), [Named("enqueue", fill([], 1, KeyError))])
    with caplog.at_level(logging.ERROR, "tensorflow"):
        for thread in runner.create_threads(CallingSession(), start=True):
            thread.join()
    assert [type(error) for error in runner.exceptions_raised] == [KeyError]
    assert "Exception in QueueRunner" in caplog.text


def test_other_errors_can_mean_the_end():
    sess, coord = CallingSession(), sg.train.Coordinator()
    runner = sg.train.QueueRunner(
        Named("queue"),
        [Named("enqueue", fill([], 1, CancelledError))],
        close_op=Named("mine"),
        queue_closed_exception_types=(CancelledError, OutOfRangeError),
    )
    (thread, _) = runner.create_threads(sess, coord=coord, start=True)
    thread.join()
    assert sess.ran == ["mine"]
    assert not coord.should_stop()
    coord.request_stop()
    coord.join()


@pytest.mark.parametrize("types", [[OutOfRangeError], (), (ValueError,), "OutOfRangeError"])
def test_types_that_are_no_errors_of_operations(types):
    with pytest.raises(TypeError, match="must be a tuple of classes of"):
        sg.train.QueueRunner(Named("queue"), [Named("enqueue")], queue_closed_exception_types=types)


def test_runners_are_started_from_their_collection():
    filled, sess, coord = [], CallingSession(), sg.train.Coordinator()
    sg.train.add_queue_runner(sg.train.QueueRunner(Named("a"), [Named("enqueue_a", fill(filled, 2))]))
    sg.train.add_queue_runner(sg.train.QueueRunner(Named("b"), [Named("enqueue_b", fill(filled, 3))]), "mine")
    with sess.as_default():
        threads = sg.train.start_queue_runners(coord=coord)
    threads += sg.train.start_queue_runners(sess, coord, collection="mine")
    assert len(threads) == 4
    coord.request_stop()
    coord.join()


def test_a_monitored_session_has_started_them_itself():
    with sg.train.MonitoredSession() as sess:
        assert sg.train.start_queue_runners(sess) == []
