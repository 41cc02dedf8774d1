"""The threads that help with a step. How they share the work is in compiler/codegen/native/pool.py.

There is one pool in a process. Its workers are Python threads that spend their life in one native call, so
that the interpreter knows them and they hold up neither it nor its end. They are started when the first step
comes that several threads can work on; a forked process has none of them and starts its own.
"""

from __future__ import annotations

import atexit
import ctypes
import threading
import warnings

import numpy as np

from staticgraph.compiler.codegen.native.layouts import (
    LIMIT,
    MOST_WORKERS,
    POOL_BYTES,
    PRIVATE,
    READY,
    RUN,
    THREADS,
)
from staticgraph.compiler.codegen.native.pool import PoolCode, pool_code
from staticgraph.compiler.support import forks
from staticgraph.runtime.cpu import jit as cpu_jit
from staticgraph.runtime.cpu.jit import Library, host, load
from staticgraph.runtime.cpu.threads import follow, get_num_threads
from staticgraph.runtime.state.memory import aligned_bytes

_POOL_FUNCTION = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
_WORKER = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64)


class Pool:
    """Memory that native code knows as the pool, and the threads that work there."""

    def __init__(self) -> None:
        self._size = 0  # 0: what was chosen for the process
        self._code: PoolCode | None = None
        self._library: Library | None = None
        self._words = np.empty(0, np.int64)
        self._private = 0  # bytes of scratch memory of a worker
        self._closed = False
        self._forget()

    @property
    def size(self) -> int:
        """The number of threads: the workers and the one that runs a step."""
        return self._size or get_num_threads()

    @property
    def ready(self) -> int:
        """The address of a word that is 0 while `ensure` has something to do. After `open`."""
        return self._words.ctypes.data + 8 * READY

    def expect(self) -> None:
        """A step that is being compiled may need the pool: compile its code meanwhile."""
        if self._code is None and self.size > 1:
            for code in pool_code(host()).codes:
                cpu_jit.begin(code)

    def open(self, private: int) -> int:
        """The address of the pool, for steps whose kernels need so many bytes of private scratch memory."""
        with self._lock:
            if self._code is None:
                code = pool_code(host())
                library, words = load(code.codes), aligned_bytes(POOL_BYTES).view(np.int64)
                self._words, self._library, self._code = words, library, code
                self._prepare()
            if private > self._private:
                more = [aligned_bytes(private) for _ in self._workers]  # all of it, or nothing has changed
                self._private = private
                for number, memory in enumerate(more):
                    self._give_scratch(number, memory)
            return self._words.ctypes.data

    def ensure(self) -> None:
        """Start the workers that are missing."""
        if self._words[READY] or self._closed:
            return
        with self._lock:
            try:
                while len(self._workers) < self.size - 1:
                    self._start_worker(len(self._workers))
            except (RuntimeError, MemoryError) as error:  # no more threads or memory, or the interpreter ends
                self._size = len(self._workers) + 1
                self._words[LIMIT] = len(self._workers)
                warnings.warn(f"{self._size} threads work on a step: {error}", RuntimeWarning, stacklevel=2)
            self._words[READY] = 1

    def resize(self, size: int) -> None:
        """Let `size` threads work on steps."""
        with self._lock:
            self._size = size
            if self._code is not None:
                self._words[READY] = 0
                self._leave(size - 1)
                self.ensure()

    def close(self) -> None:
        """Send all workers away, and start none any more."""
        with self._lock:
            self._closed = True
            if self._code is not None:
                self._words[READY] = 0
                self._leave(0)

    def after_fork(self) -> None:
        """Begin anew in a forked process, which has the memory but not the workers."""
        self._forget()
        if self._code is not None:
            self._prepare()

    def _forget(self) -> None:
        self._workers: list[threading.Thread] = []
        self._scratch: list[np.ndarray] = []  # all that was ever given to workers, as one may still be in it
        self._lock = threading.RLock()

    def _prepare(self) -> None:
        """Make the memory a pool without workers."""
        assert self._code is not None and self._library is not None
        self._words[:] = 0
        self._words[RUN] = self._library[self._code.run.name]
        _POOL_FUNCTION(self._library[self._code.start.name])(self._words.ctypes.data)

    def _start_worker(self, number: int) -> None:
        assert self._code is not None and self._library is not None
        work = _WORKER(self._library[self._code.worker.name])
        self._give_scratch(number, aligned_bytes(self._private))
        self._words[LIMIT] = number + 1
        thread = threading.Thread(
            target=work,
            args=(self._words.ctypes.data, number),
            name=f"staticgraph worker {number}",
            daemon=True,
        )
        thread.start()
        self._workers.append(thread)
        self._words[THREADS + number] = thread.native_id or 0

    def _give_scratch(self, number: int, memory: np.ndarray) -> None:
        self._scratch.append(memory)
        self._words[PRIVATE + number] = memory.ctypes.data

    def _leave(self, remaining: int) -> None:
        """Send all workers but the first `remaining` away, and wait until they are gone."""
        assert self._code is not None and self._library is not None
        leaving = self._workers[remaining:]
        if leaving:
            self._words[THREADS + remaining : THREADS + MOST_WORKERS] = 0
            self._words[LIMIT] = remaining
            _POOL_FUNCTION(self._library[self._code.wake.name])(self._words.ctypes.data)
            for thread in leaving:
                thread.join()
            del self._workers[remaining:]


POOL = Pool()
follow(POOL.resize)
atexit.register(POOL.close)
forks.in_child(POOL.after_fork)
