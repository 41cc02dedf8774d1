"""A step calls its kernels on the blocks that its table names, each after those that it needs."""

import ctypes
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from staticgraph.compiler.codegen.abi import (
    BufferRef,
    CopyCall,
    HostCallSegment,
    KernelCall,
    KernelCode,
    Phase,
    PhaseWork,
    RegionSegment,
    RequireSegment,
    Work,
)
from staticgraph.compiler.codegen.llvm.kernel import emit
from staticgraph.compiler.codegen.llvm.step import step
from staticgraph.compiler.codegen.llvm.text import Code, with_calls
from staticgraph.compiler.codegen.native.dispatch_layout import UNSOUND
from staticgraph.compiler.graph.dtypes import float32
from staticgraph.compiler.graph.sizes import symbol
from staticgraph.compiler.kernel.expr import Expr, Index, Load
from staticgraph.compiler.kernel.stmt import Buffer, Kernel, Loop, LoopKind, Store
from staticgraph.runtime.cpu import jit as cpu_jit

N = 24
POOL, SCRATCH, WATCH = BufferRef(0), BufferRef(0), BufferRef(0)  # the steps here need none


def kernel(change) -> Kernel:
    i = Index("i", N)
    x: Expr = Load("x", (i,), float32)
    buffers = {"x": Buffer(float32, (N,)), "y": Buffer(float32, (N,), written=True)}
    return Kernel("change", buffers, (Loop(i, (Store("y", (i,), change(x)),), LoopKind.SIMD),))


def functions(*kernels: KernelCode) -> list[Code]:
    return [phase.code for k in kernels for phase in k.phases]


def serial(*work: Work) -> RegionSegment:
    """A region that one thread does."""
    return RegionSegment(((PhaseWork(work),),), 0.0)


def call(code: KernelCode, *args: BufferRef) -> KernelCall:
    (phase,) = code.phases
    return KernelCall(phase, args, SCRATCH)


def table(*addresses: int) -> ctypes.Array:
    return (ctypes.c_void_p * len(addresses))(*addresses)


def test_launches_copies_and_host_calls():
    target = cpu_jit.host()
    double, increment = emit(kernel(lambda x: x * 2.0), target), emit(kernel(lambda x: x + 1.0), target)
    feeds, arena = np.arange(N, dtype=np.float32), np.zeros(3 * N, np.float32)
    seen: list[tuple[int, float]] = []

    @ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_int32, ctypes.c_void_p)
    def host(index: int, given: int) -> int:
        assert given == ctypes.addressof(blocks)
        seen.append((index, float(arena[5])))
        return 0

    part = 4 * N
    code = step(
        [
            serial(call(double, BufferRef(0), BufferRef(1))),
            HostCallSegment(2, 7),
            serial(
                call(increment, BufferRef(1), BufferRef(1, part)),
                CopyCall(BufferRef(1, 2 * part), BufferRef(1, part), part),
                call(increment, BufferRef(1, 2 * part), BufferRef(1)),
            ),
            HostCallSegment(2, 8),
        ],
        POOL,
        SCRATCH,
        WATCH,
    )
    library = cpu_jit.load([*functions(double, increment), code], verify=True)
    address = ctypes.cast(host, ctypes.c_void_p).value
    blocks = table(feeds.ctypes.data, arena.ctypes.data, address)
    ctypes.CFUNCTYPE(None, ctypes.c_void_p)(library[code.name])(ctypes.addressof(blocks))
    np.testing.assert_array_equal(arena, np.concatenate([feeds * 2 + 2, feeds * 2 + 1, feeds * 2 + 1]))
    assert seen == [(7, 10.0), (8, 12.0)]


def test_kernels_loaded_before():
    target = cpu_jit.host()
    negate = emit(kernel(lambda x: -x), target)
    name = negate.phases[0].code.name
    first = cpu_jit.load(functions(negate))
    code = step([serial(call(negate, BufferRef(0), BufferRef(0, 4 * N)))], POOL, SCRATCH, WATCH)
    second = cpu_jit.load([*functions(negate), code])
    assert first[name] == second[name]
    memory = np.concatenate([np.arange(N), np.zeros(N)]).astype(np.float32)
    blocks = table(memory.ctypes.data)
    ctypes.CFUNCTYPE(None, ctypes.c_void_p)(second[code.name])(ctypes.addressof(blocks))
    np.testing.assert_array_equal(memory[N:], -memory[:N])


def test_empty_step():
    code = step([], POOL, SCRATCH, WATCH)
    library = cpu_jit.load([code], verify=True)
    ctypes.CFUNCTYPE(None, ctypes.c_void_p)(library[code.name])(None)


def test_long_lists_of_calls_are_divided():
    increment = emit(kernel(lambda x: x + 1.0), cpu_jit.host())
    here, there = BufferRef(0), BufferRef(0, 4 * N)
    work = [call(increment, here, there), CopyCall(here, there, 4 * N)] * 300
    code = step([serial(*work)], POOL, SCRATCH, WATCH)
    library = cpu_jit.load([*functions(increment), code], verify=True)
    memory = np.zeros(2 * N, np.float32)
    blocks = table(memory.ctypes.data)
    ctypes.CFUNCTYPE(None, ctypes.c_void_p)(library[code.name])(ctypes.addressof(blocks))
    np.testing.assert_array_equal(memory, 300)
    assert code.text.count("call") < 10


@pytest.mark.parametrize(("kernels", "times"), [(20, 2), (200, 1)])
def test_a_region_of_open_sizes_with_many_calls_is_written_once(kernels, times):
    """One with few calls is written a second time, for sizes that no second thread is worth."""
    phase = Phase(Code("kernel", ""), 4)
    calls = [PhaseWork((KernelCall(phase, (BufferRef(0, n),), SCRATCH),), 4) for n in range(kernels)]
    region = RegionSegment(tuple((part,) for part in calls), 1e6, time=symbol("n0"))
    code = step([region], POOL, SCRATCH, WATCH)
    texts = [text for each in with_calls([code]) for text in (each.text, *each.needs)]
    assert sum(text.count("call void @kernel(") for text in texts) == times * kernels


@pytest.mark.parametrize("phases", [24, 25, 60])
def test_many_phases_are_divided_into_functions(phases):
    """Each is compiled on its own, so that several threads share the work."""
    increment = emit(kernel(lambda x: x + 1.0), cpu_jit.host())
    (phase,) = increment.phases
    two = replace(phase, chunks=2)  # which do the same
    places = [BufferRef(1, 4 * N * n) for n in range(phases + 1)]
    calls = [KernelCall(two, (a, b), SCRATCH) for a, b in pairwise(places)]
    code = step([RegionSegment(tuple((PhaseWork((c,), 2),) for c in calls), 1e6)], POOL, SCRATCH, WATCH)
    assert len(code.calls) == (0 if phases <= 24 else -(-phases // 24))

    @ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4, ctypes.c_int64, *[ctypes.c_void_p] * 3)
    def run(pool, work, blocks, counts, number, private, cost, together):
        function = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p)
        chunks = (ctypes.c_int16 * number).from_address(counts)
        for n in range(number):
            for chunk in range(chunks[n]):
                function(work)(blocks, n, chunk, private)

    library = cpu_jit.load([*functions(increment), code], verify=True)
    memory = np.zeros((phases + 1, N), np.float32)
    pool = table(ctypes.cast(run, ctypes.c_void_p).value)
    blocks = table(ctypes.addressof(pool), memory.ctypes.data)
    ctypes.CFUNCTYPE(None, ctypes.c_void_p)(library[code.name])(ctypes.addressof(blocks))
    np.testing.assert_array_equal(memory, np.broadcast_to(np.arange(phases + 1)[:, None], memory.shape))


def test_many_segments_are_divided_into_functions():
    required = [RequireSegment(BufferRef(0, n)) for n in range(200)]
    code = step(required, POOL, SCRATCH, WATCH)
    assert len(code.calls) == 4
    assert max(each.text.count("icmp") for each in (code, *code.calls)) <= 64
    library = cpu_jit.load([code])
    run = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p)(library[code.name])
    flags = np.ones(200, np.uint8)
    assert run(table(flags.ctypes.data)) == 0
    for wrong in (0, 63, 64, 199):
        flags[:] = 1
        flags[wrong] = 0
        assert run(table(flags.ctypes.data)) == UNSOUND
