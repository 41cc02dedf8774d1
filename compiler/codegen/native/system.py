"""Functions of the system that the thread pool needs: waiting, sleeping and waking, choosing processors."""

from __future__ import annotations

from typing import Protocol

from staticgraph.compiler.codegen.native.builder import Writer, external, function
from staticgraph.compiler.codegen.native.c_types import ADDRESS, BYTE, INT32, UINT32, UINT64, VOID
from staticgraph.compiler.codegen.native.layouts import POOL, PROCESSORS
from staticgraph.compiler.codegen.native.values import NULL, Register
from staticgraph.compiler.codegen.target import CpuTarget


class System(Protocol):
    """A system, as the thread pool sees it."""

    def start(self, w: Writer, pool: Register) -> None:
        """Make the mutex and the condition of a pool."""

    def lock(self, w: Writer, pool: Register) -> None:
        """Acquire the mutex."""

    def unlock(self, w: Writer, pool: Register) -> None:
        """Release the mutex."""

    def sleep(self, w: Writer, pool: Register) -> None:
        """Release the mutex until the condition is signalled, or for no reason."""

    def wake_all(self, w: Writer, pool: Register) -> None:
        """Signal the condition to all who sleep."""

    def offer(self, w: Writer) -> None:
        """Let another thread have this processor."""

    def scatter(self, w: Writer, pool: Register) -> None:
        """Keep workers that are about to be woken away from the processor of this thread."""

    def roam(self, w: Writer, pool: Register) -> None:
        """Let this worker run on every processor again."""


def system_of(target: CpuTarget | None) -> System:
    """The system that a target's triple names."""
    triple = "" if target is None else target.triple
    return _Windows() if "windows" in triple else _Linux() if "linux" in triple else _Posix()


def pause(w: Writer) -> None:
    """Tell the processor that this thread waits."""
    match "" if w.target is None else w.target.triple.partition("-")[0]:
        case "x86_64":
            _x86_pause(w)
        case "aarch64" | "arm64":
            _arm_hint(w, 1)


_x86_pause = external("llvm.x86.sse2.pause", VOID)
_arm_hint = external("llvm.aarch64.hint", VOID, INT32)

_mutex_init = external("pthread_mutex_init", INT32, ADDRESS, ADDRESS)
_cond_init = external("pthread_cond_init", INT32, ADDRESS, ADDRESS)
_mutex_lock = external("pthread_mutex_lock", INT32, ADDRESS)
_mutex_unlock = external("pthread_mutex_unlock", INT32, ADDRESS)
_cond_wait = external("pthread_cond_wait", INT32, ADDRESS, ADDRESS)
_cond_broadcast = external("pthread_cond_broadcast", INT32, ADDRESS)
_sched_yield = external("sched_yield", INT32)


class _Posix:
    def start(self, w: Writer, pool: Register) -> None:
        _mutex_init(w, pool.mutex, NULL)
        _cond_init(w, pool.condition, NULL)

    def lock(self, w: Writer, pool: Register) -> None:
        _mutex_lock(w, pool.mutex)

    def unlock(self, w: Writer, pool: Register) -> None:
        _mutex_unlock(w, pool.mutex)

    def sleep(self, w: Writer, pool: Register) -> None:
        _cond_wait(w, pool.condition, pool.mutex)

    def wake_all(self, w: Writer, pool: Register) -> None:
        _cond_broadcast(w, pool.condition)

    def offer(self, w: Writer) -> None:
        _sched_yield(w)

    def scatter(self, w: Writer, pool: Register) -> None:
        """The system offers no way."""

    def roam(self, w: Writer, pool: Register) -> None:
        """The worker does so already."""


_init_lock = external("InitializeSRWLock", VOID, ADDRESS)
_init_condition = external("InitializeConditionVariable", VOID, ADDRESS)
_acquire = external("AcquireSRWLockExclusive", VOID, ADDRESS)
_release = external("ReleaseSRWLockExclusive", VOID, ADDRESS)
_sleep_condition = external("SleepConditionVariableSRW", INT32, ADDRESS, ADDRESS, INT32, INT32)
_wake_condition = external("WakeAllConditionVariable", VOID, ADDRESS)
_switch_to_thread = external("SwitchToThread", INT32)
_FOREVER = -1


class _Windows(_Posix):
    def start(self, w: Writer, pool: Register) -> None:
        _init_lock(w, pool.mutex)
        _init_condition(w, pool.condition)

    def lock(self, w: Writer, pool: Register) -> None:
        _acquire(w, pool.mutex)

    def unlock(self, w: Writer, pool: Register) -> None:
        _release(w, pool.mutex)

    def sleep(self, w: Writer, pool: Register) -> None:
        _sleep_condition(w, pool.condition, pool.mutex, _FOREVER, 0)

    def wake_all(self, w: Writer, pool: Register) -> None:
        _wake_condition(w, pool.condition)

    def offer(self, w: Writer) -> None:
        _switch_to_thread(w)


_getcpu = external("sched_getcpu", UINT32)
_getaffinity = external("sched_getaffinity", INT32, INT32, UINT64, ADDRESS)
_setaffinity = external("sched_setaffinity", INT32, INT32, UINT64, ADDRESS)
_THIS_THREAD = 0
_MASK_BYTES = PROCESSORS // 8


class _Linux(_Posix):
    def scatter(self, w: Writer, pool: Register) -> None:
        _scatter(w, pool)

    def roam(self, w: Writer, pool: Register) -> None:
        _setaffinity(w, _THIS_THREAD, _MASK_BYTES, pool.usable)


@function(VOID, POOL)
def _scatter(w: Writer, pool: Register) -> None:
    """Keep workers away from the processor of this thread.

    Linux likes to wake a thread on the processor of the one that wakes it. There it would wait until the
    master has finished, or for some milliseconds, while another processor is idle. So workers are kept away
    from it when they are woken, but not longer: the master may come to their processor, and then one of the
    two moves.
    """
    cpu, usable = _getcpu(w), pool.usable
    with w.if_(_getaffinity(w, _THIS_THREAD, _MASK_BYTES, usable) != 0):
        w.return_()
    with w.if_(cpu >= PROCESSORS):
        w.return_()
    others = w.stack(BYTE, _MASK_BYTES)
    w.copy(others, usable, _MASK_BYTES)
    bit = w.constant(BYTE, 1) << (cpu & 7).to(BYTE)
    others[(cpu >> 3).to(UINT64)] &= ~bit
    with w.range(pool.limit.load("monotonic")) as worker:
        thread = pool.threads[worker].load("monotonic")
        with w.if_(thread != 0):
            _setaffinity(w, thread.to(INT32), _MASK_BYTES, others)
