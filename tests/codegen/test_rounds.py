"""Phases that are repeated are in a step once, and every chunk of each round is done once."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

from staticgraph.compiler.codegen.abi import BufferRef, KernelCall, PhaseWork, RegionSegment
from staticgraph.compiler.codegen.llvm.kernel import emit
from staticgraph.compiler.codegen.llvm.rounds import rounds_of
from staticgraph.compiler.codegen.llvm.step import step
from staticgraph.compiler.codegen.llvm.step_function import OpenNumbers
from staticgraph.compiler.graph.dtypes import float32
from staticgraph.compiler.graph.sizes import at_most, evaluate, positive, symbol
from staticgraph.compiler.kernel.expr import Index, Load
from staticgraph.compiler.kernel.stmt import Buffer, Kernel, Loop, LoopKind, Store
from staticgraph.compiler.machine import CPU
from staticgraph.compiler.support.dataclass import replace
from staticgraph.runtime.cpu import jit as cpu_jit

CHUNKS, ROUNDS, MOST = 4, 9, 50
X, Y, PRIVATE, POOL, NUMBERS = range(5)  # slots
_WORK = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p)
_RUN = ctypes.CFUNCTYPE(
    None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.POINTER(ctypes.c_uint16),
    ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64,
)  # fmt: skip


def counting():
    """A kernel that adds 1 to the number of its chunk."""
    chunk = Index("chunk", CHUNKS * MOST)
    store = Store("x", (chunk,), Load("x", (chunk,), float32) + 1.0)
    buffers = {"x": Buffer(float32, (CHUNKS * MOST,), written=True)}
    return emit(Kernel("count", buffers, (Loop(chunk, (store,), LoopKind.PARALLEL),)), cpu_jit.host()).phases[
        0
    ]


def region(rounds: int, is_open: bool = False) -> RegionSegment:
    """Phases with several chunks in x and one in y, again and again, between others."""
    one, n = counting(), symbol("n")

    def phase(slot: int, first: int, chunks: int) -> tuple[PhaseWork, ...]:
        count = at_most(positive(n // 10), chunks) if is_open and chunks > 1 else chunks
        call = KernelCall(replace(one, chunks=count, first=first), (BufferRef(slot),), BufferRef(PRIVATE))
        return (PhaseWork((call,), chunks),)

    repeated = [part for r in range(rounds) for part in (phase(X, r * CHUNKS, CHUNKS), phase(Y, r, 1))]
    phases = phase(Y, 100, 1), *repeated, phase(Y, 150, 1)
    time = n * 1000 if is_open else None
    return RegionSegment(phases, 1e6, time=time, phase_times=(n * 10**9 if is_open else 0,) * len(phases))


def done(made: RegionSegment, n: int) -> tuple[np.ndarray, np.ndarray, list[int]]:
    """Return the times that each chunk was done, and the numbers of chunks that the pool was told."""
    numbers = OpenNumbers(NUMBERS)
    code = step([made], BufferRef(POOL), BufferRef(PRIVATE), BufferRef(PRIVATE), numbers=numbers)
    library, seen = cpu_jit.load([counting().code, code], verify=True), list[int]()

    @_RUN
    def run(pool, work, table, counts, phases, private, cost, together):
        for phase in range(phases):
            seen.append(counts[phase])
            for chunk in range(counts[phase]):
                _WORK(work)(table, phase, chunk, private)

    x, y = (np.zeros(CHUNKS * MOST, np.float32) for _ in range(2))
    pool = (ctypes.c_void_p * 1)(ctypes.cast(run, ctypes.c_void_p).value)
    values = np.array([evaluate(size, {"n": n}) for size in numbers.sizes], np.int64)
    places = x.ctypes.data, y.ctypes.data, x.ctypes.data, ctypes.addressof(pool), values.ctypes.data
    table = (ctypes.c_void_p * 5)(*places)
    ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p)(library[code.name])(ctypes.addressof(table))
    return x, y, seen


def test_rounds_are_found_between_other_phases() -> None:
    (found,) = rounds_of(region(ROUNDS))
    assert (found.start, found.period, found.count) == (1, 2, ROUNDS)
    assert sorted(found.steps.values()) == [1, CHUNKS]


@pytest.mark.parametrize("rounds", [3, ROUNDS, 40])
def test_every_chunk_of_every_round_is_done_once(rounds: int) -> None:
    x, y, seen = done(region(rounds), 0)
    assert seen == [1, *(CHUNKS, 1) * rounds, 1]
    assert x.sum() == rounds * CHUNKS and (x[: rounds * CHUNKS] == 1).all()
    assert y.sum() == rounds + 2 and (y[:rounds] == 1).all() and y[100] == y[150] == 1


@pytest.mark.parametrize(("n", "chunks"), [(1, 0), (100_000, CHUNKS)], ids=["alone", "with others"])
def test_rounds_of_open_sizes(n: int, chunks: int) -> None:
    """Little work is done without the pool."""
    assert (n * 1000 < CPU.region_ns) == (not chunks)
    x, y, seen = done(region(ROUNDS, is_open=True), n)
    assert seen == ([1, *(CHUNKS, 1) * ROUNDS, 1] if chunks else [])
    each = CHUNKS if chunks else 1
    assert x.sum() == ROUNDS * each
    assert (x[: ROUNDS * CHUNKS : CHUNKS] == 1).all()
    assert y.sum() == ROUNDS + 2 and (y[:ROUNDS] == 1).all()


def test_more_rounds_are_no_more_text() -> None:
    few, many = (
        step([region(rounds)], BufferRef(POOL), BufferRef(PRIVATE), BufferRef(PRIVATE)) for rounds in (10, 40)
    )
    lines = [
        sum(map(str.count, (code.text, *code.needs), "\n" * (1 + len(code.needs)))) for code in (few, many)
    ]
    assert lines[1] == lines[0]


def test_a_call_that_turns_out_to_have_no_chunks_is_skipped() -> None:
    """By a thread alone, that of chunks that a phase may have."""
    one, n = counting(), symbol("n")
    call = KernelCall(replace(one, chunks=at_most(n, CHUNKS)), (BufferRef(X),), BufferRef(PRIVATE))
    segment = RegionSegment(((PhaseWork((call,), CHUNKS),),), 1e6, time=n + 1, phase_times=(n + 1,))
    for some in (0, 1, CHUNKS + 1):
        x, _, seen = done(segment, some)
        assert x.sum() == min(some, CHUNKS) and not seen
