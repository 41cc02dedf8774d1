"""Layout of a thread pool, for its native functions (pool.py) and for code that makes one."""

from staticgraph.compiler.codegen.native.c_types import (
    ADDRESS,
    BYTE,
    INT64,
    UINT16,
    UINT32,
    UINT64,
    VOID,
    Atomic,
    Inline,
    Layout,
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
