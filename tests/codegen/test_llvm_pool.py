"""The native functions of the thread pool, with work that is a Python function."""

import ctypes
import os
import sys
import threading
from collections.abc import Callable, Iterator
from itertools import pairwise

import numpy as np
import pytest

from staticgraph.compiler.codegen.native import layouts
from staticgraph.compiler.codegen.native import pool as llvm_pool
from staticgraph.compiler.codegen.native.builder import Writer, exported
from staticgraph.compiler.codegen.native.c_types import INT64, UINT64, VOID, pointer
from staticgraph.compiler.codegen.native.values import Register
from staticgraph.compiler.machine import CPU
from staticgraph.runtime.cpu import jit as cpu_jit
from staticgraph.runtime.cpu.pool import Pool

WORK = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p)
RUN = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4, ctypes.c_int64, ctypes.c_void_p, *[ctypes.c_int64] * 2)
HELP = ctypes.CFUNCTYPE(ctypes.c_bool, ctypes.c_void_p, ctypes.c_uint64, ctypes.c_void_p, ctypes.c_int64)


class Bench:
    """A pool of this test, whose work is a Python function of the phase and the chunk."""

    def __init__(self) -> None:
        self.pool = Pool()
        self.address = self.pool.open(64)
        self.words = self.pool._words
        code = llvm_pool.pool_code(cpu_jit.host())
        library = cpu_jit.load(code.codes)
        self._run, self._help = RUN(library[code.run.name]), HELP(library[code.help.name])

    def run(
        self, counts: list[int], work: Callable[[int, int], object], cost: int = 10**9, most: int = 10**6
    ) -> None:
        function = WORK(lambda table, phase, chunk, private: work(phase, chunk))
        sizes = (ctypes.c_uint16 * len(counts))(*counts)
        address = ctypes.cast(function, ctypes.c_void_p)
        self.call(address, None, ctypes.addressof(sizes), len(counts), None, cost, most)

    def call(
        self,
        work: int | ctypes.c_void_p,
        table: int | None,
        counts: int,
        phases: int,
        private: int | None,
        cost: int = 10**9,
        most: int = 10**6,
    ) -> None:
        self._run(self.address, work, table, counts, phases, private, cost, most)

    def record(self, counts: list[int]) -> list[tuple[int, int]]:
        """The phases and chunks of a region in the order in which they are done."""
        done: list[tuple[int, int]] = []
        self.run(counts, lambda phase, chunk: done.append((phase, chunk)))
        return done

    def claim(self) -> int:
        return int(self.words.view(np.uint64)[layouts.CLAIM])

    def help(self, claim: int) -> bool:
        return self._help(self.address, claim, None, 1)


CHUNKS = 12  # of each phase of `spread`


@exported(VOID, pointer(INT64), UINT64, UINT64, pointer(INT64))
def spread(w: Writer, table: Register, phase: Register, chunk: Register, private: Register) -> None:
    """A row of the table is the one before, summed up and shifted; a thread counts its chunks."""
    at = w.locals(sum=w.constant(INT64, 0))
    with w.each(table + phase * CHUNKS, CHUNKS) as number:
        at.sum += number
    table[(phase + 1) * CHUNKS + chunk] = (at.sum + chunk.to(INT64)) & 0xFFFF
    private[0] += 1


@pytest.fixture
def bench() -> Iterator[Bench]:
    made = Bench()
    yield made
    made.pool.close()


@pytest.mark.parametrize("size", [1, 2, 4])
def test_a_phase_sees_what_the_phase_before_it_wrote(bench: Bench, size: int):
    phases, runs = 30, 20
    bench.pool.resize(size)
    work = cpu_jit.load([spread.code()])
    expected = np.ones((phases + 1, CHUNKS), np.int64)
    for phase in range(phases):
        expected[phase + 1] = (expected[phase].sum() + np.arange(CHUNKS)) & 0xFFFF
    own, counts = np.zeros(1, np.int64), np.full(phases, CHUNKS, np.uint16)
    for memory in bench.pool._scratch:
        memory[:] = 0
    for _ in range(runs):
        table = np.ones((phases + 1, CHUNKS), np.int64)
        places = table.ctypes.data, counts.ctypes.data
        bench.call(work[spread.code().name], *places, phases, own.ctypes.data)
        np.testing.assert_array_equal(table, expected)
    done = own[0] + sum(memory.view(np.int64)[0] for memory in bench.pool._scratch)
    assert done == runs * phases * CHUNKS


def test_a_region_that_turns_out_short_is_done_by_its_own_thread(bench: Bench):
    """Sizes that are open may make it so; then no phase and no chunk is claimed."""
    bench.pool.resize(4)
    before, done = bench.claim(), []
    bench.run([3, 1, 2], lambda phase, chunk: done.append((phase, chunk)), cost=int(CPU.region_ns) - 1)
    assert done == [(0, 0), (0, 1), (0, 2), (1, 0), (2, 0), (2, 1)]
    assert bench.claim() == before
    bench.run([3, 1, 2], lambda phase, chunk: done.append((phase, chunk)), cost=int(CPU.region_ns))
    assert sorted(done[6:]) == done[:6] and bench.claim() != before


@pytest.mark.parametrize("size", [1, 2, 5])
def test_every_chunk_is_done_once_and_phases_follow_each_other(bench: Bench, size: int):
    bench.pool.resize(size)
    counts = [3, 1, 1, 7, 2]
    for _ in range(20):
        done = bench.record(counts)
        assert sorted(done) == [(p, c) for p, n in enumerate(counts) for c in range(n)]
        assert [p for p, _ in done] == sorted(p for p, _ in done)


@pytest.mark.parametrize("size", [1, 2, 5])
@pytest.mark.parametrize("counts", [[2, 0, 3], [0, 0, 1], [0, 2, 0, 0, 5, 0], [0], [0, 0]], ids=str)
def test_phases_without_chunks_are_skipped(bench: Bench, size: int, counts: list[int]):
    bench.pool.resize(size)
    for _ in range(5):
        done = bench.record(counts)
        assert sorted(done) == [(p, c) for p, n in enumerate(counts) for c in range(n)]
        assert [p for p, _ in done] == sorted(p for p, _ in done)
        assert len(bench.record([4, 1])) == 5


def test_a_worker_that_never_comes_holds_up_nothing(bench: Bench):
    bench.words[layouts.LIMIT] = 1  # the pool expects a worker, and there is none
    assert bench.record([4, 4]) == [(phase, chunk) for phase in range(2) for chunk in range(4)]


def test_a_worker_that_was_stopped_touches_nothing_later(bench: Bench):
    """It looked at the pool in one phase, and tries to claim in the next one, or in another region."""
    bench.words[layouts.LIMIT] = 1
    seen: list[int] = []
    done: list[tuple[int, int]] = []

    def work(phase: int, chunk: int) -> None:
        done.append((phase, chunk))
        if len(done) == 1:
            seen.append(bench.claim())
        else:
            assert not bench.help(seen[0])

    bench.run([2, 3], work)
    assert not bench.help(seen[0])
    bench.run([2, 3], work)
    assert len(done) == 10
    assert not bench.help(bench.claim())  # there is nothing to do between regions


def test_a_worker_takes_chunks_from_the_other_end(bench: Bench):
    bench.words[layouts.LIMIT] = 1
    done: list[tuple[int, int]] = []

    def work(phase: int, chunk: int) -> None:
        done.append((phase, chunk))
        if len(done) == 1:
            assert bench.help(bench.claim())

    bench.run([3, 1], work)
    assert done == [(0, 0), (0, 2), (0, 1), (1, 0)]


FEWER_AND_FEWER = [range(6), range(14, 18), range(6, 8), range(8, 10), range(10, 11)]
AT_MOST_TWO = [range(2), range(16, 18), range(2, 4), range(4, 6)]


@pytest.mark.parametrize(("most", "claims"), [(100, FEWER_AND_FEWER), (2, AT_MOST_TWO)])
def test_a_claim_takes_a_part_of_what_is_left(bench: Bench, most: int, claims: list[range]):
    """Two thirds of what there is for each of two threads, and no more than the region allows."""
    bench.words[layouts.LIMIT] = 1
    left: list[tuple[int, int]] = []
    done: list[int] = []

    def work(phase: int, chunk: int) -> None:
        done.append(chunk)
        left.append((bench.claim() >> 16 & 0xFFFF, bench.claim() & 0xFFFF))
        if len(done) == 1:
            assert bench.help(bench.claim())

    bench.run([18], work, most=most)
    assert sorted(done) == list(range(18))
    states = [(0, 18), *dict.fromkeys(left)]
    taken = [range(a, c) if c > a else range(d, b) for (a, b), (c, d) in pairwise(states)]
    assert taken[: len(claims)] == claims


def test_the_worker_that_finishes_a_phase_goes_on_with_the_next(bench: Bench):
    bench.words[layouts.LIMIT] = 1
    here, order = threading.get_ident(), []
    first_chunk_runs, may_end = threading.Event(), threading.Event()

    def work(phase: int, chunk: int) -> None:
        order.append((phase, chunk, threading.get_ident() == here))
        if (phase, chunk) == (0, 1):
            first_chunk_runs.set()
            assert may_end.wait(60)

    def helper() -> None:
        while not bench.help(bench.claim()):
            pass

    worker = threading.Thread(target=helper)

    def lead(phase: int, chunk: int) -> None:
        if (phase, chunk) == (0, 0):
            worker.start()
            assert first_chunk_runs.wait(60)
            may_end.set()
        work(phase, chunk)

    bench.run([2, 1], lambda phase, chunk: lead(phase, chunk))
    worker.join()
    assert sorted(order)[-1][:2] == (1, 0)
    assert len(order) == 3


def test_a_second_region_is_done_by_its_own_thread(bench: Bench):
    bench.words[layouts.LIMIT] = 1
    inner: list[tuple[int, int]] = []
    outer: list[int] = []

    def work(phase: int, chunk: int) -> None:
        outer.append(chunk)
        bench.run([2, 2], lambda phase, chunk: inner.append((phase, chunk)))

    bench.run([2], work)
    assert outer == [0, 1] and inner == [(0, 0), (0, 1), (1, 0), (1, 1)] * 2


def test_tickets_may_run_over(bench: Bench):
    bench.pool.resize(2)
    bench.words.view(np.uint32)[layouts.TICKET] = 2**32 - 3
    for _ in range(3):
        assert [phase for phase, _ in bench.record([2, 2])] == [0, 0, 1, 1]
    assert bench.words.view(np.uint32)[layouts.TICKET] == 3


def test_scratch_memory_of_workers_grows(bench: Bench):
    bench.pool.resize(3)
    places = bench.words[layouts.PRIVATE : layouts.PRIVATE + 2]
    small = places.copy()
    assert bench.pool.open(32) == bench.address and (places == small).all()
    assert bench.pool.open(1 << 20) == bench.address and (places != small).all()
    assert (places % 64 == 0).all()


@pytest.mark.skipif(sys.platform != "linux", reason="other systems are not told where threads run")
def test_workers_are_woken_away_from_the_master_and_then_roam(bench: Bench):
    usable = os.sched_getaffinity(0)
    if len(usable) < 2:
        pytest.skip("there is one processor")
    ended = threading.Event()
    moved = threading.Thread(target=ended.wait)  # in the place of a worker, to be seen as it is when woken
    moved.start()
    bench.words[layouts.LIMIT] = bench.words[layouts.SLEEPERS] = 1
    bench.words[layouts.THREADS] = moved.native_id
    bench.record([2])
    assert len(usable - os.sched_getaffinity(moved.native_id)) == 1
    ended.set()
    moved.join()
    bench.words[layouts.LIMIT] = bench.words[layouts.SLEEPERS] = bench.words[layouts.THREADS] = 0
    bench.pool.resize(2)
    (worker,) = bench.pool._workers
    while not bench.words[layouts.SLEEPERS]:
        pass
    bench.record([8])
    while os.sched_getaffinity(worker.native_id) != usable:
        pass


def test_a_worker_that_fell_asleep_beside_a_long_chunk_is_woken_for_the_next_phase(bench: Bench):
    """It was left asleep for the rest of the region, which one thread did then."""
    bench.pool.resize(2)
    both = threading.Barrier(2)

    def work(phase: int, chunk: int) -> None:
        if phase == 1:
            both.wait(60)  # each of the two chunks waits for the other one
            return
        while not bench.words[layouts.SLEEPERS]:
            os.sched_yield()

    bench.run([1, 2], work)


def test_the_pool_of_windows_has_its_calls():
    windows = llvm_pool.pool_code(cpu_jit.host().__class__("x86_64-pc-windows-msvc", "", "", "", 32))
    text = "".join(code.text for code in windows.codes)
    assert "SleepConditionVariableSRW" in text and "pthread" not in text and "$" not in text
