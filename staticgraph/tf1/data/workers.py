"""Processes that compute a function of elements, for functions that hold Python's lock.

They are forked, so nothing but elements goes to and fro: as bytes, through a pipe for each worker. A worker
has one element at a time, and ends with its pipeline, or when nobody is left at the other end of the pipe.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import multiprocessing
import os
import random
import signal
import sys
import warnings
import weakref
from collections import deque
from collections.abc import Callable
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess

import numpy as np

from staticgraph.compiler.graph import errors
from staticgraph.compiler.graph.errors import OpError, UnknownError, layout
from staticgraph.compiler.graph.provenance import Provenance
from staticgraph.runtime import switches
from staticgraph.runtime.cpu.threads import set_num_threads
from staticgraph.tf1.data.encoding import decoded, encoded
from staticgraph.tf1.data.function import Function
from staticgraph.tf1.data.pipeline import Run
from staticgraph.tf1.data.structure import Element, as_arrays, as_element, dtypes_of

_MADE, _FAILED = b"\0", b"\1"
_pipelines = itertools.count()
_is_worker = False


def workers_for(function: Function, count: int) -> int:
    """Return the number of workers that may compute `function`, or 0 for no workers.

    There are at most as many workers as usable CPUs, and never a single one. There are none for a function
    that needs no Python or is not portable. Only Linux has workers, and a worker or daemon process has none
    of its own. The switch `data_workers`, or the environment variable `SG_DATA_WORKERS`, set to 0 disables
    them.

    Args:
        function: The function of an element.
        count: The number of calls that are wanted at the same time.
    """
    if sys.platform != "linux" or _is_worker or multiprocessing.current_process().daemon:
        return 0  # other systems do not fork safely, and a worker has none of its own
    if not switches.current("data_workers") or not (function.has_python and function.is_portable):
        return 0
    usable = min(count, len(os.sched_getaffinity(0)))
    return usable if usable > 1 else 0


class Workers:
    """`count` processes, for as long as this object lives, which take turns at elements."""

    def __init__(self, function: Function, run: Run, count: int, where: Provenance | None) -> None:
        number = next(_pipelines)
        self.count = count
        self.process = os.getpid()  # that has the other ends of their pipes
        self._workers = deque(Worker(function, run, (number, i), where) for i in range(count))
        self._end = weakref.finalize(self, _end, [worker.process for worker in self._workers], self.process)

    def start(self, element: Element) -> Worker:
        """Have the next worker compute the function of an element: its `result()` is that."""
        self._workers.rotate(-1)
        return self._workers[-1].start(element)


def _end(processes: list[BaseProcess], owner: int) -> None:
    if os.getpid() == owner:  # and not in a process that was forked from it
        for process in processes:
            process.terminate()
        for process in processes:
            process.join()


class Worker:
    """A process, and this end of its pipe."""

    def __init__(
        self, function: Function, run: Run, number: tuple[int, int], where: Provenance | None
    ) -> None:
        self._function = function
        self._where = where
        self._is_asked = False  # and has not answered
        self._pipe, other = multiprocessing.Pipe()
        fork = multiprocessing.get_context("fork")
        arguments = (other, self._pipe, function, run, number)
        self.process = fork.Process(target=_work, args=arguments, name="map", daemon=True)
        with warnings.catch_warnings():
            # Python warns of forks beside threads. The locks of this package are free in the child.
            warnings.simplefilter("ignore", DeprecationWarning)
            self.process.start()
        other.close()

    def start(self, element: Element) -> Worker:
        """Send an element. The worker is ready for it: it has no more than one, so neither waits for ever."""
        data = encoded(as_arrays(element), dtypes_of(self._function.parts))
        with contextlib.suppress(EOFError, OSError):  # where it is dead, `result` tells
            if self._is_asked:
                self._answer()  # that nobody wanted any more
            self._pipe.send_bytes(data)
        self._is_asked = True
        return self

    def result(self) -> Element:
        """The function of the element's values. What it raises there is raised here."""
        try:
            answer = self._answer()
        except (EOFError, OSError):
            raise self._death() from None
        if answer[:1] == _FAILED:
            raise self._failure(json.loads(answer[1:]))
        parts = self._function.made
        return as_element(parts, decoded(answer[1:], dtypes_of(parts)))

    def _answer(self) -> bytes:
        self._pipe.poll(None)  # an interrupt comes here, and not within an answer
        answer = self._pipe.recv_bytes()
        self._is_asked = False
        return answer

    def _failure(self, told: dict[str, str]) -> OpError:
        kind = getattr(errors, told["class"], UnknownError)
        return kind(told["message"], self._function.operation(told["op"]))

    def _death(self) -> OpError:
        self.process.join()
        code = self.process.exitcode or 0
        how = f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"
        text = f"a worker process of map() {how} while it computed an element"
        hint = "SIGKILL may mean that memory ran out; with SG_DATA_WORKERS=0 threads do this work"
        return UnknownError(layout(text, self._where, hint=hint))


def _work(pipe: Connection, other: Connection, function: Function, run: Run, number: tuple[int, int]) -> None:
    """Run a worker: answer until the pipe is closed."""
    global _is_worker
    _is_worker = True
    other.close()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that has the pipeline
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    set_num_threads(1)
    _draw_apart(number)
    call = function.bind(run, alone=True)
    with contextlib.suppress(EOFError, OSError):
        while True:
            pipe.send_bytes(_answer(function, call, pipe.recv_bytes()))
            for stream in (sys.stdout, sys.stderr):
                stream.flush()


def _answer(function: Function, call: Callable[[Element], Element], data: bytes) -> bytes:
    try:
        made = call(as_element(function.parts, decoded(data, dtypes_of(function.parts))))
        return _MADE + encoded(as_arrays(made), dtypes_of(function.made))
    except OpError as error:
        told = {"class": type(error).__name__, "message": error.message, "op": getattr(error.op, "name", "")}
        return _FAILED + json.dumps(told).encode()


def _draw_apart(number: tuple[int, int]) -> None:
    """Give each worker its own stream of Python's and NumPy's random numbers, which their seeds decide."""
    random.seed(f"{random.random()} {number}")
    np.random.seed([*np.random.randint(0, 2**31, 4), *number])
