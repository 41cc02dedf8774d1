"""Steps without loops stop, too, when their time is over or a signal handler raises. Nothing changes then."""

from __future__ import annotations

import random
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler.codegen.llvm import step_function as llvm_stop
from staticgraph.compiler.codegen.llvm.text import Code
from staticgraph.compiler.lower import in_place
from staticgraph.runtime.cpu import compile_threads
from staticgraph.runtime.cpu.backend import CpuBackend

pytestmark = pytest.mark.takes_long

SIZE = 700
MANY = 100  # runs, tens of seconds in all: a signal may come late where other programs have the processors
posix = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="this system has no timers of signals")


class Interrupted(Exception):
    """Exception of the signal handler."""


@contextmanager
def interrupt_after(seconds: float) -> Iterator[None]:
    """Context in which a signal handler raises after some time."""

    def handle(*_: Any) -> None:
        raise Interrupted

    before = signal.signal(signal.SIGALRM, handle)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@pytest.fixture(params=[1, 2])
def threads(request: pytest.FixtureRequest) -> Iterator[int]:
    before = sg.get_num_threads()
    sg.set_num_threads(request.param)
    yield request.param
    sg.set_num_threads(before)


def chain(count: int) -> tuple[Any, Any, np.ndarray]:
    """Products one after the other: some tenths of a second."""
    m = sg.placeholder(sg.float32, [None, None], name="m")
    z = m
    for _ in range(count):
        z = sg.matmul(z, m)
    return sg.reduce_sum(z), m, np.eye(SIZE, dtype=np.float32)


def test_a_long_step_ends_when_its_time_is_over(threads: int):
    y, m, fed = chain(40)
    with sg.Session() as sess:
        assert sess.run(y, {m: fed}) == SIZE
        for _ in range(4):  # through Python, and what machine code would do
            with pytest.raises(sg.errors.DeadlineExceededError, match="time that the run was given is over"):
                sess.run(y, {m: fed}, timeout=0.02)
        options = sg.RunOptions(timeout_in_ms=20)
        with pytest.raises(sg.errors.DeadlineExceededError):
            sess.run(y, {m: fed}, options=options)
        assert sess.run(y, {m: fed}, timeout=1000) == SIZE


@posix
def test_a_long_step_ends_when_a_signal_handler_raises(threads: int):
    y, m, fed = chain(40)
    with sg.Session() as sess:
        assert sess.run(y, {m: fed}) == SIZE  # the collector of a compile loses what is raised
        for _ in range(4):
            with pytest.raises(Interrupted), interrupt_after(0.03):
                for _ in range(MANY):
                    sess.run(y, {m: fed})
                pytest.fail("it has not been stopped")
        call = sess.make_callable(y, [m])
        assert call(fed) == call(fed) == call(fed) == SIZE
        with pytest.raises(Interrupted), interrupt_after(0.03):
            for _ in range(MANY):
                call(fed)
            pytest.fail("it has not been stopped")
        assert call(fed) == SIZE


@pytest.fixture
def raising() -> Iterator[Callable[[], None]]:
    """Something that has a signal handler raise Interrupted."""

    class Handler:
        def __call__(self, *_: Any) -> None:
            raise Interrupted

    before = signal.signal(signal.SIGINT, Handler())
    yield lambda: signal.raise_signal(signal.SIGINT)
    signal.signal(signal.SIGINT, before)


def test_a_compile_ends_when_a_signal_handler_raises(raising, monkeypatch):
    x = sg.placeholder(sg.float32, [None], name="x")
    compile_open = CpuBackend.compile_open

    def interrupted(*arguments: Any) -> Any:
        monkeypatch.setattr(CpuBackend, "compile_open", compile_open)
        raising()

    monkeypatch.setattr(CpuBackend, "compile_open", interrupted)
    with sg.Session() as sess:
        with pytest.raises(Interrupted):
            sess.run(x * 3.0, {x: [1.0]})
        assert sess.run(x * 3.0, {x: [2.0]}) == 6
        assert sess.compiles[-1].symbols


def test_work_ahead_of_a_compile_ends_when_a_signal_handler_raises(raising, monkeypatch):
    monkeypatch.setattr(compile_threads, "THREADS", 0)
    ahead = compile_threads.CompileThreads(lambda code: raising())
    code = Code("some", "")
    ahead.begin(code)
    with pytest.raises(Interrupted):
        ahead.finish([code])
    assert code not in ahead


def test_a_step_of_another_thread_that_a_run_waits_for(threads: int):
    """Waiting for the session counts, too."""
    y, m, fed = chain(60)
    with sg.Session() as sess:
        sess.run(y, {m: fed})
        with sess.held():
            waiting = threading.Thread(target=sess.run, args=(y, {m: fed}))
            waiting.start()

            def hurried() -> None:
                with pytest.raises(sg.errors.DeadlineExceededError):
                    sess.run(y, {m: fed}, timeout=0.01)
                done.append(True)

            done: list[bool] = []
            others = threading.Thread(target=hurried)
            others.start()
            others.join()
            assert done
        waiting.join()


def training(updates_early: bool) -> tuple[Callable[[sg.Session], list[float]], Any]:
    """Two variables that a step overwrites: after some products, or between them."""
    a = sg.Variable(np.eye(SIZE, dtype=np.float32))
    b = sg.Variable(np.eye(SIZE, dtype=np.float32))
    z = a
    for _ in range(12):
        z = sg.matmul(z, b)
    if updates_early:
        step = sg.group(a.assign_add(a), b.assign(z + b), sg.matmul(z, z))
    else:
        step = sg.group(a.assign(z + 1.0), b.assign_add(b))

    def state(sess: sg.Session) -> list[float]:
        found = [array.tobytes() for array in sess.run([a, b])]
        return [hash(each) for each in found]

    return state, step


@pytest.mark.parametrize("updates_early", [False, True])
def test_all_variables_change_or_none(threads: int, updates_early: bool, monkeypatch: pytest.MonkeyPatch):
    """Whenever a step is stopped; where it is so long that updates may not come early, as well."""
    chance = random.Random(threads)
    outcomes = set()
    for unstoppable in (in_place._UNSTOPPABLE, 1.0):
        monkeypatch.setattr(in_place, "_UNSTOPPABLE", unstoppable)
        with sg.Graph().as_default(), sg.Session() as sess:
            state, step = training(updates_early)
            initial = sg.global_variables_initializer()
            sess.run(initial)
            old = state(sess)
            sess.run(step)
            new = state(sess)
            for _ in range(6):
                sess.run(initial)
                assert state(sess) == old
                try:
                    sess.run(step, timeout=chance.uniform(0.001, 0.06))
                    expected = new
                except sg.errors.DeadlineExceededError:
                    expected = old
                outcomes.add(expected is new)
                assert state(sess) == expected
    assert False in outcomes


def test_short_steps_do_not_look_at_the_watch():
    x = sg.placeholder(sg.float32, [64, 64])
    y = sg.matmul(x, x)
    with sg.Session() as sess:
        assert not sess.executable(y, {x: np.ones((64, 64))}).prepared.program.may_stop


def test_a_long_chain_of_small_kernels_looks_at_the_watch(monkeypatch: pytest.MonkeyPatch):
    """Even if one thread does them all."""
    monkeypatch.setattr(llvm_stop, "LOOK", 10.0)
    monkeypatch.setattr("staticgraph.compiler.emit_step.STOPPABLE", 10.0)
    monkeypatch.setattr("staticgraph.compiler.codegen.llvm.step.LOOK", 10.0)
    x = sg.placeholder(sg.float32, [8])
    y = x
    for _ in range(5):
        y = sg.cumsum(sg.sin(y))
    with sg.Session() as sess:
        program = sess.executable(y, {x: np.ones(8)})
        assert program.prepared.program.may_stop
        program.watch._words[0] = 1
        with pytest.raises(sg.errors.DeadlineExceededError):
            sess.run(y, {x: np.ones(8)})
        program.watch._words[0] = 0
        assert np.isfinite(sess.run(y, {x: np.ones(8)})).all()
