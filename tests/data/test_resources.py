"""Resources of sessions besides variables."""

import threading

import pytest

import staticgraph as sg
from staticgraph.runtime.state.resources import Resources, exclusive, resources, time_limit, wait, waiting


class Owner:
    """Something in a graph."""


class Held:
    """Something in a session."""

    def __init__(self):
        self.is_shut = False

    def shut(self):
        self.is_shut = True


def test_each_owner_has_one():
    held, one, two = Resources(), Owner(), Owner()
    assert held.of(one, Held) is held.of(one, Held) is not held.of(two, Held)


def test_they_end_with_the_session():
    held = Resources()
    owner = Owner()
    found = held.of(owner, Held)
    held.close()
    assert found.is_shut
    with pytest.raises(sg.errors.CancelledError, match="the session is closed"):
        held.of(owner, Held)


def test_a_host_op_finds_those_of_its_session():
    found = []
    with sg.Graph().as_default(), sg.Session() as one, sg.Session() as two:
        note = sg.py_func(lambda: found.append(resources()), [], [])
        for session in (one, two, one):
            session.run(note)
        assert found == [s.variables.resources for s in (one, two, one)]


def test_a_wait_ends_with_its_time():
    condition = threading.Condition()
    with time_limit(5), waiting(), condition, pytest.raises(sg.errors.DeadlineExceededError):
        while True:
            wait(condition)


def test_a_lock_that_another_run_holds():
    lock, order = threading.Lock(), []
    begun, done = threading.Event(), threading.Event()

    def first():
        with exclusive(lock):
            begun.set()
            done.wait(30)
            order.append("first")

    def second():
        with exclusive(lock):
            order.append("second")

    with sg.Graph().as_default(), sg.Session() as sess:
        operations = [sg.py_func(function, [], []) for function in (first, second)]
        finish = sg.py_func(done.set, [], [])
        threads = [threading.Thread(target=sess.run, args=[op]) for op in operations]
        threads[0].start()
        begun.wait(30)
        threads[1].start()
        sess.run(finish)
        for thread in threads:
            thread.join(30)
    assert order == ["first", "second"]
