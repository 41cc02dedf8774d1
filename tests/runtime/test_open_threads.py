"""Threads that ask for a size at the same time compile a step once."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import staticgraph as sg

THREADS = 8


def together(work):
    """Call `work` with a number in each of several threads that start at the same moment."""
    barrier, errors = threading.Barrier(THREADS), []

    def go(number):
        barrier.wait()
        try:
            work(number)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=go, args=(n,)) for n in range(THREADS)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert not errors, errors


@pytest.mark.parametrize("rows", [[5] * THREADS, [*range(THREADS)]], ids=["one size", "many sizes"])
def test_the_first_run_compiles_once(rows):
    x = sg.placeholder(sg.float32, [None, 3], name="x")
    total = sg.reduce_sum(sg.tanh(x) * 2.0, 1)
    made = {}
    with sg.Session(open_sizes=True, device="cpu") as session:
        together(lambda n: made.update({n: session.run(total, {x: np.ones((rows[n], 3))})}))
        assert len(session.compiles) == 1
        for number, result in made.items():
            np.testing.assert_allclose(result, np.full(rows[number], 6 * np.tanh(1)), 1e-6)


def test_a_failed_guard_compiles_once():
    x, y = (sg.placeholder(sg.float32, [None, 3], name=name) for name in "xy")
    total = x + y
    with sg.Session(open_sizes=True, device="cpu") as session:
        session.run(total, {x: np.ones((4, 3)), y: np.ones((4, 3))})
        given = [{x: np.ones((1, 3)), y: np.ones((n + 2, 3))} for n in range(THREADS)]
        together(lambda n: session.run(total, given[n]))
        assert len(session.compiles) == 2


def test_bound_sizes_are_made_once():
    """A size that is new is bound to the program that is there, once for all threads."""
    x = sg.placeholder(sg.float32, [None, 3], name="x")
    total = sg.reduce_sum(x * x)
    with sg.Session(open_sizes=True, device="cpu") as session:
        session.run(total, {x: np.ones((4, 3))})
        programs = session._compiler.programs
        before = len(programs)
        together(lambda n: session.run(total, {x: np.ones((9, 3))}))
        assert len(programs) - before == 1 and len(session.compiles) == 1
