"""Calls of MPI from a step: a collective begins with one function and ends with another.

In between, the step goes on with what needs neither its result nor the memory that it reads: so values travel
while others are computed. Addresses of functions and handles are different in every process, and those of
types differ between implementations of MPI. They are in a record to which the watch of the step leads.
"""

from __future__ import annotations

from staticgraph.compiler.codegen.native.builder import NativeFunction, Writer, function
from staticgraph.compiler.codegen.native.c_types import (
    ADDRESS,
    INT32,
    INT64,
    function_pointer,
    pointer,
)
from staticgraph.compiler.codegen.native.layouts import KINDS, Collectives, WatchState
from staticgraph.compiler.codegen.native.values import Register
from staticgraph.compiler.codegen.native.watch import handle_signals

_WATCH = pointer(WatchState)
_TESTS = 64  # before another process may have the processor
_PAUSES = 1024  # and before Python looks after the others: some milliseconds
_HOST = function_pointer(INT32, INT32, ADDRESS)


def _begun(
    mpi: Register, at: Register, kind: str, count: Register, element: Register | int, how: Register | int
) -> None:
    """Note what is begun now, for the others if this run fails."""
    total, note = mpi.begun, mpi.notes[at]
    total[0] += 1
    note.comm, note.number, note.kind = mpi.comm, total[0], KINDS.index(kind)
    note.count, note.element, note.how = count, element, how


def _done(w: Writer, mpi: Register, status: Register) -> None:
    """Keep the error of a call, and return if there is one."""
    mpi.error = status.to(INT64)
    w.return_(status)


def _combining(name: str) -> NativeFunction:
    """Return the function that begins to combine elements of all processes by MPI's function `name`.

    `count` is the number of elements that a process gets, `type` and `combine` tell what to do with them.
    """

    def begin(
        w: Writer,
        watch: Register,
        at: Register,
        source: Register,
        target: Register,
        count: Register,
        type: Register,
        combine: Register,
    ) -> None:
        mpi = watch.collectives.to(pointer(Collectives))
        _begun(mpi, at, name, count, type, combine)
        element, op, size = mpi.types[type], mpi.combiners[combine], count.to(INT32)
        call = getattr(mpi, name)
        _done(w, mpi, call(source, target, size, element, op, mpi.comm, mpi.requests + at))

    begin.__name__ = f"begin_{name}"
    return function(INT32, _WATCH, INT64, ADDRESS, ADDRESS, INT64, INT64, INT64)(begin)


def _exchanging(name: str) -> NativeFunction:
    """Return the function that begins to exchange bytes with all processes by MPI's function `name`.

    `count` is the number of bytes from each process.
    """

    def begin(
        w: Writer, watch: Register, at: Register, source: Register, target: Register, count: Register
    ) -> None:
        mpi = watch.collectives.to(pointer(Collectives))
        _begun(mpi, at, name, count, 0, 0)
        byte, size, call = mpi.types[0], count.to(INT32), getattr(mpi, name)
        _done(w, mpi, call(source, size, byte, target, size, byte, mpi.comm, mpi.requests + at))

    begin.__name__ = f"begin_{name}"
    return function(INT32, _WATCH, INT64, ADDRESS, ADDRESS, INT64)(begin)


@function(INT32, _WATCH, INT64, ADDRESS, INT64, INT64)
def begin_broadcast(
    w: Writer, watch: Register, at: Register, target: Register, count: Register, root: Register
) -> None:
    """Begin to send `count` bytes of the process `root`, which are in `target` there, to all."""
    mpi = watch.collectives.to(pointer(Collectives))
    _begun(mpi, at, "broadcast", count, 0, root)
    byte, size = mpi.types[0], count.to(INT32)
    _done(w, mpi, mpi.broadcast(target, size, byte, root.to(INT32), mpi.comm, mpi.requests + at))


# By the name of the collective.
BEGINS = {
    **{name: _combining(name) for name in ("all_reduce", "reduce_scatter")},
    **{name: _exchanging(name) for name in ("all_gather", "all_to_all")},
    "broadcast": begin_broadcast,
}


@function(INT32, _WATCH, INT64, _HOST, INT32, ADDRESS)
def complete(
    w: Writer, watch: Register, request: Register, host: Register, index: Register, table: Register
) -> None:
    """Wait until a collective is complete. Return 0, or another number if the step must end.

    A step that waits for long has signals handled every few milliseconds, and calls `host` with `index`.
    Python then looks if another process has failed, and may end the step.
    """
    mpi = watch.collectives.to(pointer(Collectives))
    place, flag = mpi.requests + request, w.stack(INT32)
    at = w.locals(tests=w.constant(INT64, 0), pauses=w.constant(INT64, 0))
    with w.loop():
        flag[0] = 0
        status = mpi.test(place, flag, mpi.status)
        with w.if_(status != 0):
            mpi.error = status.to(INT64)
            w.return_(host(index, table))
        with w.if_(flag[0] != 0):
            completed = mpi.completed
            completed[0] += 1
            w.return_(0)
        at.tests += 1
        with w.if_(at.tests >= _TESTS):
            mpi.pause()
            at.pauses += 1
        with w.if_(at.pauses >= _PAUSES):
            at.pauses = 0
            with w.if_(handle_signals(w, watch) != 0):
                w.return_(1)
            stopped = host(index, table)
            with w.if_(stopped != 0):
                w.return_(stopped)
