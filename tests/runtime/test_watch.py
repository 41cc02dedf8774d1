"""An endless loop of compiled code ends when its time is over, or when a signal handler raises."""

from __future__ import annotations

import ctypes
import signal
import threading
from collections.abc import Callable

import numpy as np
import pytest

from staticgraph.compiler.codegen.abi import BufferRef, HostCallSegment, InnerStep, LoopSegment
from staticgraph.compiler.codegen.llvm.step import step
from staticgraph.compiler.codegen.native.layouts import WatchState as Word
from staticgraph.runtime.cpu import jit as cpu_jit
from staticgraph.runtime.cpu.executable import plain
from staticgraph.runtime.cpu.watch import Watch

MEMORY, HOST, WATCH = range(3)
FLAG, TABLE = BufferRef(MEMORY, 64), BufferRef(MEMORY, 128)
UNUSED = BufferRef(MEMORY)


class Endless:
    """A step that goes on as long as the byte at FLAG is not 0, and calls a function in each round if there
    is one.
    """

    def __init__(self, watch: Watch, called: Callable[[], int] | None = None) -> None:
        self.memory = np.ones(4096, np.uint8)
        self._called = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_int32, ctypes.c_void_p)(
            lambda index, table: called() if called is not None else 0
        )
        address = ctypes.cast(self._called, ctypes.c_void_p).value
        self.table = (ctypes.c_void_p * 3)(self.memory.ctypes.data, address, watch.address)
        body = step([] if called is None else [HostCallSegment(0, 0)], UNUSED, UNUSED, UNUSED)
        loop = LoopSegment(
            InnerStep(body, TABLE, (BufferRef(HOST),)), FLAG, FLAG, (), (), (), UNUSED, 0, 1024
        )
        code = step([loop], UNUSED, UNUSED, BufferRef(WATCH))
        self._library = cpu_jit.load([body, code])
        self.entry = self._library[code.name]

    @property
    def address(self) -> int:
        return ctypes.addressof(self.table)


def test_a_step_ends_when_its_time_is_over_and_the_next_one_has_its_own():
    watch = Watch()
    endless = Endless(watch)
    run = watch.guarded(endless.entry)
    for _ in range(2):
        with watch.limit(0.01):
            assert run(endless.address) != 0
    endless.memory[FLAG.offset] = 0
    assert run(endless.address) == 0


def test_a_step_that_is_done_in_time_is_not_stopped():
    watch = Watch()
    endless = Endless(watch)
    endless.memory[FLAG.offset] = 0
    before = threading.enumerate()
    with watch.limit(1e6):
        assert watch.guarded(endless.entry)(endless.address) == 0
    timers = [t for t in threading.enumerate() if isinstance(t, threading.Timer) and t not in before]
    assert all(t.finished.is_set() for t in timers)  # nothing waits on for the rest of the time


def test_the_flag_is_taken_back():
    watch = Watch()
    words = (ctypes.c_int64 * 6).from_address(watch.address)
    with watch.limit(1e6):
        words[Word.STOP] = 1
    assert words[Word.STOP] == 0


def test_without_a_watch_a_step_is_called_as_it_is():
    watch, rounds = Watch(), []

    def called() -> int:
        rounds.append(1)
        return int(len(rounds) == 5)

    endless = Endless(watch, called)
    assert plain(endless.entry)(endless.address) == 1
    assert len(rounds) == 5


def test_what_a_signal_handler_raises_ends_the_step():
    watch = Watch()
    endless = Endless(watch)
    main = threading.main_thread().ident or 0
    timer = threading.Timer(0.01, signal.pthread_kill, (main, signal.SIGINT))
    with pytest.raises(KeyboardInterrupt):
        timer.start()
        watch.guarded(endless.entry)(endless.address)
    timer.join()


def test_other_threads_run_meanwhile():
    """The loop ends because another thread of Python says so."""
    watch = Watch()
    endless = Endless(watch)

    def end() -> None:
        endless.memory[FLAG.offset] = 0

    timer = threading.Timer(0.01, end)
    timer.start()
    assert watch.guarded(endless.entry)(endless.address) == 0
    timer.join()
