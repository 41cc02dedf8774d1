"""Phases of a region whose sizes are open are divided among threads only if they turn out to be long."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

from staticgraph.compiler.codegen.abi import BufferRef, KernelCall, PhaseWork, RegionSegment
from staticgraph.compiler.codegen.llvm.kernel import emit
from staticgraph.compiler.codegen.llvm.step import step
from staticgraph.compiler.codegen.llvm.step_function import OpenNumbers
from staticgraph.compiler.graph.dtypes import float32
from staticgraph.compiler.graph.sizes import at_most, evaluate, positive, symbol
from staticgraph.compiler.kernel.expr import Index, Load
from staticgraph.compiler.kernel.stmt import Buffer, Kernel, Loop, LoopKind, Store
from staticgraph.compiler.machine import CPU
from staticgraph.compiler.support.dataclass import replace
from staticgraph.runtime.cpu import jit as cpu_jit

CHUNKS, WIDTH = 4, 8
DATA, PRIVATE, POOL, NUMBERS = range(4)  # slots
_WORK = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p)
_RUN = ctypes.CFUNCTYPE(
    None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.POINTER(ctypes.c_uint16),
    ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64,
)  # fmt: skip


def doubled():
    """A kernel of four chunks that doubles an array in place."""
    chunk, i = Index("chunk", CHUNKS), Index("i", WIDTH)
    at = chunk * WIDTH + i
    store = Store("x", (at,), Load("x", (at,), float32) * 2.0)
    buffers = {"x": Buffer(float32, (CHUNKS * WIDTH,), written=True)}
    loops = Loop(chunk, (Loop(i, (store,)),), LoopKind.PARALLEL)
    return emit(Kernel("double", buffers, (loops,)), cpu_jit.host())


@pytest.mark.parametrize("rows", [0, 1, 100])
def test_phases_that_turn_out_short_have_one_chunk(rows):
    n = symbol("n")
    kernel = doubled()
    call = KernelCall(kernel.phases[0], (BufferRef(DATA),), BufferRef(DATA))
    part = PhaseWork((call,), CHUNKS)
    each = 1000 * int(CPU.shared_ns) // 50  # picoseconds of a row: 50 rows are worth a second thread
    times = (n * each, 10**9, n * n * each)
    time = CPU.region_ns + n * 1000
    region = RegionSegment(((part,), (part,), (part,)), 1e6, time=time, phase_times=times)
    numbers = OpenNumbers(NUMBERS)
    code = step([region], BufferRef(POOL), BufferRef(PRIVATE), BufferRef(PRIVATE), numbers=numbers)
    library = cpu_jit.load([kernel.phases[0].code, code], verify=True)
    seen: list[int] = []

    @_RUN
    def run(pool, work, table, counts, phases, private, cost, together):
        for phase in range(phases):
            seen.append(counts[phase])
            for chunk in range(counts[phase]):
                _WORK(work)(table, phase, chunk, private)

    data = np.ones(CHUNKS * WIDTH, np.float32)
    pool = (ctypes.c_void_p * 1)(ctypes.cast(run, ctypes.c_void_p).value)
    values = np.array([evaluate(size, {"n": rows}) for size in numbers.sizes], np.int64)
    addresses = (data.ctypes.data, data.ctypes.data, ctypes.addressof(pool), values.ctypes.data)
    table = (ctypes.c_void_p * 4)(*addresses)
    ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p)(library[code.name])(ctypes.addressof(table))
    assert (data == 8).all()
    assert seen == [CHUNKS if rows >= 50 else 1, CHUNKS, CHUNKS if rows * rows >= 50 else 1]


@pytest.mark.parametrize("rows", [0, 99, 120, 1000])
def test_a_step_computes_what_its_functions_share(rows):
    kernel = doubled()
    chunks = at_most(positive(symbol("n") // 50), CHUNKS)
    phase = replace(kernel.phases[0], chunks=chunks)
    some, all_chunks = (KernelCall(p, (BufferRef(DATA),), BufferRef(DATA)) for p in (phase, kernel.phases[0]))
    region = RegionSegment(((PhaseWork((some,), CHUNKS), PhaseWork((all_chunks,), CHUNKS)),), 1e6)
    numbers = OpenNumbers(NUMBERS)
    refs = BufferRef(POOL), BufferRef(PRIVATE), BufferRef(PRIVATE)
    code = step([region], *refs, numbers=numbers, outermost=True)
    library = cpu_jit.load([kernel.phases[0].code, code], verify=True)
    assert chunks in numbers.computed

    @_RUN
    def run(pool, work, table, counts, phases, private, cost, together):
        for chunk in range(counts[0]):
            _WORK(work)(table, 0, chunk, private)

    data = np.ones((CHUNKS, WIDTH), np.float32)
    pool = (ctypes.c_void_p * 1)(ctypes.cast(run, ctypes.c_void_p).value)
    given = {size: evaluate(size, {"n": rows}) for size in numbers.sizes}
    values = np.array([-1 if size in numbers.computed else n for size, n in given.items()], np.int64)
    addresses = (data.ctypes.data, data.ctypes.data, ctypes.addressof(pool), values.ctypes.data)
    table = (ctypes.c_void_p * 4)(*addresses)
    ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p)(library[code.name])(ctypes.addressof(table))
    twice = max(1, min(rows // 50, CHUNKS))
    assert (data[:twice] == 4).all() and (data[twice:] == 2).all()
    assert [*values] == [*given.values()]
