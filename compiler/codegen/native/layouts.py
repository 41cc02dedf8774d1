"""Layouts of what native functions share with the runtime, which makes it: a thread pool; the watch that
tells a step to stop; the record by which a step calls MPI, which is filled once per process.
"""

from __future__ import annotations

from staticgraph.compiler.codegen.native.c_types import (
    ADDRESS,
    BYTE,
    INT32,
    INT64,
    UINT16,
    UINT32,
    UINT64,
    VOID,
    Atomic,
    Inline,
    Layout,
    Record,
    function_pointer,
    pointer,
)

MOST_WORKERS = 255
PROCESSORS = 1024  # of a machine, as far as they are counted
_PRIVATE = 1408
_THREADS = _PRIVATE + 8 * MOST_WORKERS
_USABLE = _THREADS + 8 * MOST_WORKERS

WORK = function_pointer(VOID, ADDRESS, UINT64, UINT64, ADDRESS)  # (table, phase, chunk, private)


class PoolState(Layout):
    """A thread pool.

    What different threads write lies 128 bytes apart: processors load cache lines in pairs.
    """

    RUN = 0, ADDRESS  # for the code of steps
    READY = 8, INT64  # 1 if all workers have been started
    CLAIM = 128, Atomic(UINT64)
    DONE = 256, Atomic(UINT64)  # how many chunks of the phase are finished
    # The region.
    WORK = 384, WORK
    TABLE = 392, ADDRESS
    COUNTS = 400, pointer(UINT16)
    FIRST = 408, UINT32  # its first ticket
    LAST = 412, UINT32  # the first ticket after it
    MOST = 416, Atomic(UINT64)  # chunks of it that one claim takes
    BUSY = 512, Atomic(UINT64)  # 1 if there is a region
    SLEPT = 520, INT64  # ns of work since the last wake, done while workers slept
    LONG = 528, INT64  # 1 if the region is worth waking workers for
    LIMIT = 640, Atomic(UINT64)  # workers with this number or a higher one leave
    SLEEPERS = 768, Atomic(UINT64)  # how many workers sleep
    WAKES = 776, INT64  # how often they were woken
    MUTEX = 896, Inline(BYTE)  # 256 bytes each: more than any system needs
    CONDITION = 1152, Inline(BYTE)
    PRIVATE = _PRIVATE, Inline(Atomic(ADDRESS))  # scratch memory: an address per worker
    THREADS = _THREADS, Inline(Atomic(INT64))  # what the system calls each worker; 0 if that is not known
    USABLE = _USABLE, Inline(BYTE)  # the processors that workers may use: a bit for each


POOL = pointer(PoolState)
POOL_BYTES = PoolState.USABLE + PROCESSORS // 8
_P = PoolState
_FIELDS = (_P.RUN, _P.READY, _P.CLAIM, _P.LIMIT, _P.SLEEPERS, _P.PRIVATE, _P.THREADS)
RUN, READY, CLAIM, LIMIT, SLEEPERS, PRIVATE, THREADS = (field // 8 for field in _FIELDS)  # in 8 bytes
TICKET = PoolState.LAST // 4  # that of the next region, in 4 bytes


class WatchState(Record):
    """The words that a step looks at."""

    STOP = Atomic(INT64)  # 1 asks for a stop
    ENSURE = function_pointer(INT32)  # functions of Python
    RELEASE = function_pointer(VOID, INT32)
    SIGNALS = function_pointer(INT32)
    SAVE = function_pointer(ADDRESS)
    RESTORE = function_pointer(VOID, ADDRESS)
    TIMES = ADDRESS  # the table of times, for timed code
    SKIPPED = Atomic(INT64)  # 1 if a part of the step was skipped for a stop: so must be the rest
    NEXT = INT64  # when to ask for signals again
    IDENT = function_pointer(INT64)  # tells the number of a thread
    MAIN = pointer(INT64)  # the number of the main thread
    COLLECTIVES = ADDRESS  # of a record by which a step calls MPI, if it does


# The order of handles in `Collectives`: the types of elements, and what reductions combine with.
_INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
ELEMENTS = ("byte", "float32", "float64", *_INTEGERS)
COMBINERS = ("sum", "prod", "min", "max")
KINDS = ("all_reduce", "reduce_scatter", "all_gather", "all_to_all", "broadcast")

# A handle of MPI is an int or an address. Passed in 64 bits, it has the same register or place of the stack.
_HANDLE = INT64
_REDUCTION = function_pointer(INT32, ADDRESS, ADDRESS, INT32, _HANDLE, _HANDLE, _HANDLE, ADDRESS)
_EXCHANGE = function_pointer(INT32, ADDRESS, INT32, _HANDLE, ADDRESS, INT32, _HANDLE, _HANDLE, ADDRESS)


class Begun(Record):
    """Note of a collective that was begun: what another process needs to take part in it."""

    COMM = INT64
    NUMBER = INT64  # among all that this process has begun by this communicator, from 1 on
    KIND = INT64  # in KINDS
    COUNT = INT64
    ELEMENT = INT64  # in ELEMENTS
    HOW = INT64  # the number of the combiner, or the root


class Collectives(Record):
    """Functions and handles of MPI."""

    ALL_REDUCE = _REDUCTION
    REDUCE_SCATTER = _REDUCTION
    ALL_GATHER = _EXCHANGE
    ALL_TO_ALL = _EXCHANGE
    BROADCAST = function_pointer(INT32, ADDRESS, INT32, _HANDLE, INT32, _HANDLE, ADDRESS)
    TEST = function_pointer(INT32, ADDRESS, pointer(INT32), ADDRESS)
    PAUSE = function_pointer(INT32)  # lets another process have the processor
    COMM = INT64
    TYPES = pointer(INT64)
    COMBINERS = pointer(INT64)
    BEGUN = pointer(INT64)  # counts the collectives that were begun by the communicator
    REQUESTS = pointer(INT64)  # one for each collective of a step
    NOTES = pointer(Begun)  # likewise
    STATUS = ADDRESS  # memory that MPI may write to
    ERROR = INT64  # what a function of MPI returned if it failed
    COMPLETED = pointer(INT64)  # counts the collectives that are complete
