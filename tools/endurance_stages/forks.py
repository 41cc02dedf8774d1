"""Forks while other threads run, compile, prefetch and use queues: a child works or raises at once."""

from __future__ import annotations

import contextlib
import faulthandler
import os
import random
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import staticgraph as sg

LONGEST = 60.0  # seconds that a child may take on a busy machine
WORKED, RAISED = 0, 7


def run(count: int, seed: int, folder: Path) -> str:
    """Fork so many times."""
    warnings.simplefilter("ignore", DeprecationWarning)  # that there are threads is what is tried here
    chance = random.Random(seed)
    shared = _Shared(folder)
    outcomes: dict[str, list[int]] = {name: [] for name in shared.children}
    with shared.load():
        for number in range(count):
            name = [*shared.children][number % len(shared.children)]
            time.sleep(chance.uniform(0, 0.02))
            outcomes[name].append(_forked(shared.children[name], name))
    raised = sum(codes.count(RAISED) for codes in outcomes.values())
    assert not set(outcomes["new"]) - {WORKED}, outcomes
    return f"{count} forks: {count - raised} children worked, {raised} raised at once, none hung"


def _forked(work: Callable[[], Any], name: str) -> int:
    """Do some work in a child; return how it ended."""
    child = os.fork()
    if child == 0:
        code = 1
        faulthandler.dump_traceback_later(LONGEST - 5)  # tells where a child hangs
        try:
            work()
            code = WORKED
        except (sg.errors.AbortedError, sg.errors.CancelledError):
            code = RAISED
        except BaseException as error:
            print(f"{name}: {type(error).__name__}: {error}", file=sys.stderr, flush=True)
        finally:
            os._exit(code)
    end = time.monotonic() + LONGEST
    while time.monotonic() < end:
        found, status = os.waitpid(child, os.WNOHANG)
        if found:
            code = os.waitstatus_to_exitcode(status)
            assert code in (WORKED, RAISED), (name, code)
            return code
        time.sleep(0.005)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    raise AssertionError(f"{name}: the child hung")


class _Shared:
    """Sessions, a queue and a pipeline that threads use while the process is forked."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._stop = threading.Event()
        self._n = sg.placeholder(sg.int32, [], name="n")
        self._v = sg.Variable(np.zeros(1000, np.float32))
        step = (lambda i, a: i < self._n, lambda i, a: (i + 1, a + 1.0))
        self._long = sg.while_loop(*step, [0, self._v + 0.0])[1]
        self._short = sg.reduce_sum(self._v) + 6.0
        self._queue = sg.FIFOQueue(8, [sg.float32], shapes=[[]])
        self._enqueue, self._dequeue = self._queue.enqueue([1.0]), self._queue.dequeue()
        data = sg.data.Dataset.range(1_000_000).map(lambda i: i * 2, num_parallel_calls=2).prefetch(4)
        self._element = sg.data.make_one_shot_iterator(data).get_next()
        self._busy, self._idle, self._queued = sg.Session(), sg.Session(), sg.Session()
        for session in (self._busy, self._idle, self._queued):
            session.run(self._v.initializer)
        self.children: dict[str, Callable[[], Any]] = {
            "new": _new,
            "busy": lambda: self._busy.run(self._short),
            "idle": lambda: _expect(self._idle.run(self._short), 6.0),
            "save": lambda: sg.save(folder / "net.sg", {"y": self._short}, session=self._idle),
            "save busy": lambda: sg.save(folder / "busy.sg", {"y": self._short}, session=self._busy),
            "close": self._busy.close,
            "queue": lambda: [self._queued.run(self._dequeue) for _ in range(12)],
            "pipeline": lambda: [self._queued.run(self._element) for _ in range(12)],
            "graph": lambda: sg.constant(1.0) + 2.0,
            "exit": lambda: None,
        }

    @contextlib.contextmanager
    def load(self) -> Iterator[None]:
        """Context in which other threads are busy."""
        works = [self._run, self._compile, self._fill, self._take, self._map]
        threads = [threading.Thread(target=self._until_stop, args=(work,), daemon=True) for work in works]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            self._stop.set()
            self._queued.close()

    def _until_stop(self, work: Callable[[], Any]) -> None:
        with contextlib.suppress(sg.errors.CancelledError, sg.errors.FailedPreconditionError):
            while not self._stop.is_set():
                work()

    def _run(self) -> None:
        self._busy.run(self._long, {self._n: 200_000})

    def _compile(self) -> None:
        with sg.Graph().as_default(), sg.Session() as session:
            session.run(sg.tanh(sg.constant(np.ones(7, np.float32)) * random.random()))

    def _fill(self) -> None:
        self._queued.run(self._enqueue)

    def _take(self) -> None:
        self._queued.run(self._dequeue)

    def _map(self) -> None:
        self._queued.run(self._element)


def _new() -> None:
    """Build, compile and run something that nobody has compiled before."""
    number = random.random()
    with sg.Graph().as_default(), sg.Session() as session:
        x = sg.constant(np.ones(9, np.float32))
        made = session.run(sg.exp(x) * number + sg.cumsum(x))
    np.testing.assert_allclose(made, np.exp(1.0) * number + np.arange(1, 10), rtol=1e-5)


def _expect(found: Any, wanted: float) -> None:
    assert found == wanted, (found, wanted)
