"""Functions around a step that may be stopped: by a signal that Python handles, or by a flag."""

from __future__ import annotations

import functools

from staticgraph.compiler.codegen.llvm.clock import Clock
from staticgraph.compiler.codegen.native.builder import NativeFunction, Writer, exported, external, function
from staticgraph.compiler.codegen.native.c_types import ADDRESS, INT32, INT64, function_pointer, pointer
from staticgraph.compiler.codegen.native.layouts import WatchState
from staticgraph.compiler.codegen.native.values import NULL, Register

_WATCH = pointer(WatchState)
_SHARE = 100  # of the time at most one part is spent on waiting for Python's lock
_larger = external("llvm.umax.i64", INT64, INT64, INT64)


@function(INT32, _WATCH)
def handle_signals(w: Writer, watch: Register) -> None:
    """Let Python run its signal handlers, which only its main thread does. Not 0 if one of them raised."""
    ident = watch.ident
    with w.if_(ident != NULL), w.if_(ident() != watch.main[0]):
        w.return_(0)
    state = watch.ensure()
    raised = watch.signals()
    watch.release(state)
    w.return_(raised)


@functools.cache
def watch(clock: Clock) -> NativeFunction:
    """The function `i32 @watch(ptr)`, by this clock."""

    def read(w: Writer) -> Register:
        if clock.needs:
            w.need(clock.needs)
        return w.value(INT64, clock.read)

    @function(INT32, _WATCH)
    def watch(w: Writer, watch: Register) -> None:
        """Return 0, or another number if the flag is set or a signal handler raised.

        To handle signals it needs Python's lock, which other threads may not give back for some milliseconds:
        the longer it waits, the longer it does not ask again.
        """
        with w.if_(watch.stop.load("monotonic") != 0):
            w.return_(1)
        now = read(w)
        with w.if_((watch.next - now > 0) | (watch.ensure == NULL)):
            w.return_(0)
        raised = handle_signals(w, watch)
        then = read(w)
        watch.next = then + _larger(w, (then - now) * _SHARE, clock.moment)
        w.return_(raised)

    return watch


@exported(INT32, function_pointer(INT32, ADDRESS), ADDRESS, _WATCH)
def guarded(w: Writer, step: Register, table: Register, watch: Register) -> None:
    """Run a step while other threads of Python run.

    If an exception was raised during it, it is the thread's when this returns.
    """
    restore = watch.restore
    thread = watch.save()
    status = step(table)
    restore(thread)
    w.return_(status)
