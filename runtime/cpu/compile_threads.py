"""Threads that compile functions while the program goes on to write the text of the next ones.

LLVM works without Python's lock. A caller that needs a function at last helps with what is still to be done.

    ahead = CompileAhead(compile)
    ahead.begin(a);  ahead.begin(b)     at once
    ahead.begin_after(c)                once nothing else is left to do
    ahead.finish([a, b])                returns when both are compiled

A thread that comes back from LLVM has to ask for Python's lock, and the one that has it keeps it for a turn,
five milliseconds unless the program says otherwise: longer than LLVM takes for a small function. While
functions are being compiled turns are shorter.

A process may be forked at any time: the threads are made to pause for it, since a child that inherits a lock
which a thread of its parent held would wait for ever. The child starts threads of its own when it needs them.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import queue
import sys
import threading
import weakref
from collections.abc import Callable, Iterable, Sequence

from staticgraph.compiler.codegen.llvm.text import Code
from staticgraph.compiler.support import forks

LARGE = 1 << 15  # characters of a text that takes as long as a batch of usual ones, and is taken by itself
BATCH = 4  # functions that a thread takes at once, at most: the fewer, the more evenly the last are shared
THREADS = max(1, min(4, os.cpu_count() or 1) - 1)  # the caller is busy with the next text meanwhile
TURN = 0.0005  # seconds
_LONG = 10_000  # characters of a text that LLVM takes milliseconds for: no other waits behind it


class _Job:
    """A function that is to be compiled."""

    def __init__(self, code: Code) -> None:
        self.code = code
        self.done = threading.Event()
        self.is_long = len(code.text) > _LONG


class CompileThreads:
    """Calls `work(codes)` in threads of its own. What it raises is dropped: a caller does the work again."""

    def __init__(self, work: Callable[[Sequence[Code]], object]) -> None:
        self._work = work
        self._turn = 0.0  # how long turns are otherwise, while they are shorter
        self._forget()
        _ALL.add(self)

    def _forget(self) -> None:
        """Act like new, as in a forked process, which has no threads."""
        self._pending: dict[str, _Job] = {}
        self._jobs: queue.SimpleQueue[_Job] = queue.SimpleQueue()
        self._after: list[_Job] = []  # that nobody waits for yet
        self._working: list[threading.Lock] = []  # one per thread, held while it works
        self._end_short_turns()

    def __contains__(self, code: Code) -> bool:
        """Return True if the compile of a function has begun and is not done."""
        return code.name in self._pending

    @property
    def crowded(self) -> bool:
        """True if so many functions wait that a thread takes several at once."""
        return self._jobs.qsize() > BATCH * THREADS

    def begin(self, code: Code) -> bool:
        """Start to compile a function. Return True if so many short ones wait that threads take several."""
        if code not in self:
            job = self._new_job(code)
            self._jobs.put(job)
            return self.crowded and not job.is_long
        return False

    def begin_after(self, code: Code) -> None:
        """Compile a function once nothing is left for a caller of `finish` to do: beside what comes next."""
        if code not in self:
            self._after.append(self._new_job(code))

    def _new_job(self, code: Code) -> _Job:
        if not self._pending and (turn := sys.getswitchinterval()) > TURN:
            self._turn = turn
            sys.setswitchinterval(TURN)
        job = self._pending[code.name] = _Job(code)
        with _STARTS:
            if len(self._working) < min(THREADS, len(self._pending)):
                self._start_thread()
        return job

    def finish(self, codes: Iterable[Code]) -> None:
        """Wait until what was begun of `codes` is done."""
        waiting = [job for code in codes if (job := self._pending.get(code.name)) is not None]
        if waiting:
            self._put_largest_first()
            with contextlib.suppress(queue.Empty):
                while True:
                    self._do(self._with_more(self._jobs.get_nowait()))
            while self._after:
                self._jobs.put(self._after.pop())
        for job in waiting:
            job.done.wait()

    def _put_largest_first(self) -> None:
        """Sort what waits: a large function that is begun last has all other threads wait for one."""
        jobs: list[_Job] = []
        with contextlib.suppress(queue.Empty):
            while True:
                jobs.append(self._jobs.get_nowait())
        for job in sorted(jobs, key=lambda job: len(job.code.text), reverse=True):
            self._jobs.put(job)

    def _start_thread(self) -> None:
        working = threading.Lock()
        self._working.append(working)
        arguments = (self._jobs, working)
        threading.Thread(target=self._run, args=arguments, name="staticgraph compiler", daemon=True).start()

    def _run(self, jobs: queue.SimpleQueue[_Job], working: threading.Lock) -> None:
        while True:
            job = jobs.get()
            with working:
                self._do(self._with_more(job))

    def _with_more(self, job: _Job) -> list[_Job]:
        """A job, and some of those that wait if there are enough for all threads; none behind a long one."""
        found = [job]
        if len(job.code.text) >= LARGE:
            return found
        with contextlib.suppress(queue.Empty):
            while len(found) < BATCH and not found[-1].is_long and self.crowded:
                found.append(self._jobs.get_nowait())
        return found

    def _do(self, jobs: Sequence[_Job]) -> None:
        try:
            self._work([job.code for job in jobs])
        except Exception as error:
            from staticgraph.compiler.support.signals import from_handler  # only where something failed

            if from_handler(error):
                raise
        finally:
            self._end(jobs)

    def _end(self, jobs: Sequence[_Job]) -> None:
        for job in jobs:
            self._pending.pop(job.code.name, None)
        if not self._pending:
            self._end_short_turns()
        for job in jobs:
            job.done.set()

    def leave(self) -> None:
        """Leave out what has not begun, and wait for the rest: LLVM must not end while a thread is in it."""
        jobs, self._after = self._after, []
        with contextlib.suppress(queue.Empty):
            while True:
                jobs.append(self._jobs.get_nowait())
        self._end(jobs)
        for working in self._working:
            with working:
                pass

    def _end_short_turns(self) -> None:
        """Turns are as long as they were."""
        turn, self._turn = self._turn, 0.0
        if turn:
            sys.setswitchinterval(turn)


_ALL: weakref.WeakSet[CompileThreads] = weakref.WeakSet()
_STARTS = threading.RLock()  # of threads; held by a fork, and taken after the patient locks
_paused: list[threading.Lock] = []  # by the fork in progress


def _pause() -> None:
    _STARTS.acquire()
    for ahead in _ALL:
        for working in ahead._working:
            working.acquire()
            _paused.append(working)


def _resume() -> None:
    while _paused:
        _paused.pop().release()
    _STARTS.release()


def _forget() -> None:
    _paused.clear()
    _STARTS._at_fork_reinit()  # type: ignore[attr-defined]
    for ahead in _ALL:
        ahead._forget()


def _leave() -> None:
    for ahead in [*_ALL]:
        ahead.leave()


atexit.register(_leave)
forks.pausing(_pause, _resume)
forks.in_child(_forget)
