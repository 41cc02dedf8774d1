"""The thread pool: native functions that all steps of a process share.

A region is work in phases, each of so many independent chunks. Who wants to do chunks claims them, by one
atomic change of one word

    claim = ticket (32 bits), low (16 bits), high (16 bits)

which says that of the phase `ticket` the chunks low..high-1 are not yet taken. Every phase of every region
has a ticket of its own. The master, the thread that runs the step, takes chunks from the low end and the
workers take them from the high end, so that a core sees the same part of the data in every phase and run.
Between cores that are far from each other, a claim costs as much as a short chunk. So a claim takes several
of those: a part of what is left for each thread, fewer and fewer towards the end.

Who finishes the last chunk of a phase publishes the next one that has any, keeping some chunks of it. So
nobody waits for a worker that has claimed nothing: if the workers sleep, or the system has given their core
to another program, the master does all chunks itself. A claim succeeds only if the word has not changed since
the worker looked at it, and while a chunk is claimed its region cannot end. So a worker that was stopped for
a while cannot touch the memory of a region that is over.

Only one region at a time uses the workers. A second one, of a session on another thread, is done by its own
master alone, which needs no atomics.

A worker that finds nothing to do looks again for about half a millisecond and then sleeps. The master wakes
sleeping workers for a region that is long enough, or when there have been many shorter ones. In a long region
it wakes those that fell asleep beside a phase of few chunks, once there are more.
"""

from __future__ import annotations

from staticgraph.compiler.codegen.llvm.text import Code
from staticgraph.compiler.codegen.native.builder import Writer, exported, external, function
from staticgraph.compiler.codegen.native.c_types import (
    ADDRESS,
    BOOL,
    INT64,
    UINT16,
    UINT32,
    UINT64,
    VOID,
    pointer,
)
from staticgraph.compiler.codegen.native.layouts import POOL, WORK
from staticgraph.compiler.codegen.native.system import pause, system_of
from staticgraph.compiler.codegen.native.values import Operand, Register
from staticgraph.compiler.codegen.target import CpuTarget
from staticgraph.compiler.machine import CPU
from staticgraph.compiler.support.dataclass import dataclass

_SHARE, _SHARES = 2, 3  # of an even part of the chunks that are left: what one claim takes
_WORTH_WAKING = 60_000  # ns of work: about what it takes a sleeping thread to begin
_MANY = 1_000_000  # ns of work in shorter regions, after which more of them are likely
_LOOKS = 16_384  # of a worker before it sleeps: about half a millisecond
_PATIENCE = 4_096  # looks of a waiting thread before it offers its core to others

_smaller = external("llvm.umin.i64", UINT64, UINT64, UINT64)
_larger = external("llvm.umax.i64", UINT64, UINT64, UINT64)


@dataclass(frozen=True, slots=True)
class PoolCode:
    """The functions of a pool that others call; see the function of each name."""

    start: Code
    run: Code
    worker: Code
    wake: Code
    help: Code

    @property
    def codes(self) -> tuple[Code, ...]:
        """All of them."""
        return self.start, self.run, self.worker, self.wake, self.help


def pool_code(target: CpuTarget) -> PoolCode:
    """The pool for a processor and its system."""
    return PoolCode(*(each.code(target) for each in (start, run, worker, wake, help)))


def serial_code() -> Code:
    """`run` of a pool without workers, which is nothing but the address of this function."""
    return run_serial.code()


@exported(VOID, POOL)
def start(w: Writer, pool: Register) -> None:
    """Make zeroed memory a pool."""
    system_of(w.target).start(w, pool)


@exported(VOID, POOL)
def wake(w: Writer, pool: Register) -> None:
    """Let sleeping workers look around."""
    system = system_of(w.target)
    system.lock(w, pool)
    pool.wakes += 1
    system.unlock(w, pool)
    system.wake_all(w, pool)


@function(UINT64, POOL, UINT64)
def share(w: Writer, pool: Register, left: Register) -> None:
    """Return how many of the chunks that are left one claim takes."""
    threads = pool.limit.load("monotonic") + 1
    part = left * _SHARE // (threads * _SHARES)
    most = _smaller(w, part, pool.most.load("monotonic"))
    w.return_(_larger(w, most, 1))


@function(VOID, POOL, UINT32, UINT64, UINT64, ADDRESS, UINT64)
def chunks(
    w: Writer,
    pool: Register,
    claimed: Register,
    low: Register,
    many: Register,
    private: Register,
    mine: Register,
) -> None:
    """Do claimed chunks, `many` from number `low` on, then some of every phase that this makes the next one.

    `mine` says which end of the chunks is this thread's: 0 the low one, 1 the high one. The description of
    the region stays as it is while a chunk of it is claimed.
    """
    work, table, counts, first, last = pool.work, pool.table, pool.counts, pool.first, pool.last
    at = w.locals(ticket=claimed, low=low, many=many)
    with w.loop():
        phase = (at.ticket - first).to(UINT64)
        with w.range(at.low + at.many, at.low) as chunk:
            work(table, phase, chunk, private)
        all = counts[phase].to(UINT64)  # read now: when the chunks are done, the region may end at any time
        with w.if_(pool.done.fetch_add(at.many, "acq_rel") + at.many != all):
            w.return_()
        pool.done.store(0, "monotonic")
        with w.loop():  # over phases without chunks
            at.ticket += 1
            with w.if_(at.ticket == last):
                pool.claim.store(_claim(w, at.ticket, 0, 0), "release")
                w.return_()
            with w.if_(counts[(at.ticket - first).to(UINT64)] != 0):
                w.break_()
        count = counts[(at.ticket - first).to(UINT64)].to(UINT64)
        with w.if_((mine == 0) & (pool.long != 0)):
            sleepers = pool.sleepers.load("monotonic")
            with w.if_((sleepers != 0) & (count + sleepers > pool.limit.load("monotonic") + 1)):
                _wake_elsewhere(w, pool)
        at.many = share(w, pool, count)
        rest = count - at.many
        with w.if_(mine != 0):
            at.low = rest
            pool.claim.store(_claim(w, at.ticket, 0, rest), "release")
        with w.else_():
            at.low = 0
            pool.claim.store(_claim(w, at.ticket, at.many, count), "release")


@exported(BOOL, POOL, UINT64, ADDRESS, UINT64)
def help(w: Writer, pool: Register, seen: Register, private: Register, mine: Register) -> None:
    """Try to do chunks after the claim `seen` was read. Returns true if some were done.

    They are taken from the low end if `mine` is 0, from the high one if it is 1.
    """
    low, high = (seen >> 16) & 0xFFFF, seen & 0xFFFF
    with w.if_(low >= high):
        w.return_(False)
    many = share(w, pool, high - low)
    is_worker = mine != 0
    fewer = w.select(is_worker, seen - many, seen + (many << 16))
    with w.if_(~pool.claim.compare_exchange(seen, fewer, "acq_rel")):
        w.return_(False)
    begin = w.select(is_worker, high - many, low)
    chunks(w, pool, (seen >> 32).to(UINT32), begin, many, private, mine)
    w.return_(True)


@exported(VOID, POOL, WORK, ADDRESS, pointer(UINT16), UINT64, ADDRESS, INT64, UINT64)
def run(
    w: Writer,
    pool: Register,
    work: Register,
    table: Register,
    counts: Register,
    phases: Register,
    private: Register,
    cost: Register,
    most: Register,
) -> None:
    """Do a region that takes `cost` ns, and of which a thread may take `most` chunks at a time."""
    several = (cost >= int(CPU.region_ns)) & (pool.limit.load("monotonic") != 0)  # of open sizes: maybe not
    with w.if_(several), w.if_(pool.busy.compare_exchange(0, 1, "acquire")):
        _lead(w, pool, work, table, counts, phases, private, cost, most)
        w.return_()
    _alone(w, work, table, counts, phases, private)


def _lead(
    w: Writer,
    pool: Register,
    work: Register,
    table: Register,
    counts: Register,
    phases: Register,
    private: Register,
    cost: Register,
    most: Register,
) -> None:
    """Do a region together with the workers."""
    system = system_of(w.target)
    pool.work, pool.table, pool.counts = work, table, counts
    first = pool.last
    last = first + phases.to(UINT32)
    pool.first, pool.last = first, last
    pool.most.store(most, "monotonic")
    pool.long = w.select(cost >= _WORTH_WAKING, w.constant(INT64, 1), w.constant(INT64, 0))
    begin = w.locals(ticket=first)
    with w.loop():  # over phases without chunks
        with w.if_(begin.ticket == last):
            pool.busy.store(0, "release")
            w.return_()
        with w.if_(counts[(begin.ticket - first).to(UINT64)] != 0):
            w.break_()
        begin.ticket += 1
    count = counts[(begin.ticket - first).to(UINT64)].to(UINT64)
    many = share(w, pool, count)
    pool.claim.store(_claim(w, begin.ticket, many, count), "seq_cst")
    with w.if_(pool.sleepers.load("seq_cst") != 0):
        slept = pool.slept + cost
        pool.slept = slept
        with w.if_((cost >= _WORTH_WAKING) | (slept >= _MANY)):
            pool.slept = 0
            _wake_elsewhere(w, pool)
    chunks(w, pool, begin.ticket, 0, many, private, 0)
    at = w.locals(waited=w.constant(UINT64, 0))
    with w.loop():
        seen = pool.claim.load("acquire")
        with w.if_((seen >> 32).to(UINT32) == last):
            w.break_()
        with w.if_(help(w, pool, seen, private, 0)):
            at.waited = 0
            w.continue_()
        pause(w)
        at.waited += 1
        with w.if_(at.waited == _PATIENCE):
            system.offer(w)
            at.waited = 0
    pool.busy.store(0, "release")


def _wake_elsewhere(w: Writer, pool: Register) -> None:
    """Wake sleeping workers, on other processors than that of this thread."""
    system_of(w.target).scatter(w, pool)
    wake(w, pool)


@exported(VOID, POOL, UINT64)
def worker(w: Writer, pool: Register, number: Register) -> None:
    """The life of a worker."""
    system = system_of(w.target)
    at = w.locals(looked=w.constant(UINT64, 0))
    with w.loop():
        seen = pool.claim.load("acquire")
        private = pool.private[number].load("monotonic")
        with w.if_(help(w, pool, seen, private, 1)):
            at.looked = 0
            w.continue_()
        with w.if_(number >= pool.limit.load("monotonic")):
            w.return_()
        pause(w)
        at.looked += 1
        with w.if_(at.looked % _PATIENCE != 0):
            w.continue_()
        with w.if_(at.looked < _LOOKS):
            system.offer(w)
            w.continue_()
        at.looked = 0
        system.lock(w, pool)
        wakes = pool.wakes
        pool.sleepers.fetch_add(1, "seq_cst")
        with w.loop():
            news = pool.claim.load("seq_cst") != seen
            woken = pool.wakes != wakes
            leaves = number >= pool.limit.load("monotonic")
            with w.if_(news | woken | leaves):
                w.break_()
            system.sleep(w, pool)
        pool.sleepers.fetch_sub(1, "seq_cst")
        system.unlock(w, pool)
        system.roam(w, pool)


@exported(VOID, POOL, WORK, ADDRESS, pointer(UINT16), UINT64, ADDRESS, INT64, UINT64)
def run_serial(
    w: Writer,
    pool: Register,
    work: Register,
    table: Register,
    counts: Register,
    phases: Register,
    private: Register,
    cost: Register,
    most: Register,
) -> None:
    """Do a region without a pool."""
    _alone(w, work, table, counts, phases, private)


def _alone(
    w: Writer, work: Register, table: Register, counts: Register, phases: Register, private: Register
) -> None:
    """Do all chunks of all phases in order."""
    with w.range(phases) as phase, w.range(counts[phase].to(UINT64)) as chunk:
        work(table, phase, chunk, private)


def _claim(w: Writer, ticket: Register, low: Operand, high: Operand) -> Register:
    """The word that says which chunks of a phase are not yet taken."""
    range = w.constant(UINT64, low) << 16 | w.constant(UINT64, high)
    return ticket.to(UINT64) << 32 | range
