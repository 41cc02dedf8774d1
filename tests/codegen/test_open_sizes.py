"""Kernels of open sizes: compiled once, right for every size, and nothing is touched around their buffers."""

import functools
from dataclasses import replace

import numpy as np
import pytest

from staticgraph.compiler.codegen.abi import KernelCode
from staticgraph.compiler.codegen.llvm.kernel import emit_phases
from staticgraph.compiler.graph.sizes import AnySize, symbol
from staticgraph.compiler.kernel.interpret import interpret
from staticgraph.compiler.kernel.parallelize import Chunked, chunked
from staticgraph.compiler.kernel.peel import align
from staticgraph.compiler.kernel.schedule_cpu import schedule
from staticgraph.compiler.kernel.verify import verify
from staticgraph.runtime.cpu import jit as cpu_jit
from tests.codegen.native import GUARD, guarded, inside, launch
from tests.kernel.cases import Arrays
from tests.kernel.open_cases import OPEN_CASES, OpenCase

SIZES = (0, 1, 2, 3, 7, 8, 15, 16, 17, 31, 64, 100, 1000)
INTERPRETED = (0, 1, 3)  # at which the slow meaning is run
N, T = symbol("n"), symbol("t")


def phases(case: OpenCase, vector_bytes: int) -> Chunked:
    placed = case.placed()
    verify(placed)
    scheduled = schedule(placed, vector_bytes)
    verify(scheduled)
    split = chunked(scheduled, vector_bytes)
    aligned = tuple(replace(p, body=align(p.body, p.buffers, vector_bytes)) for p in split.phases)
    for phase in aligned:
        verify(phase)
    return Chunked(aligned, split.cost)


@functools.cache
def code(name: str, n: AnySize, t: AnySize, vector_bytes: int | None = None) -> KernelCode:
    target = cpu_jit.host()
    if vector_bytes is not None:
        target = replace(target, vector_bytes=vector_bytes)
    split = phases(OPEN_CASES[name](n, t), target.vector_bytes)
    return emit_phases(split.phases, target, cost=split.cost)


def run(kernel: KernelCode, case: OpenCase, arrays: Arrays, sizes: dict[str, int], order: int = 0) -> Arrays:
    """The written arrays, after a run on copies between guards."""
    memory = {name: guarded(a) for name, a in arrays.items()}
    launch(kernel, [inside(m).ctypes.data for m in memory.values()], sizes, order)
    found = {}
    for name, array in arrays.items():
        whole = memory[name]
        middle = inside(whole)
        assert (whole[:GUARD] == 0xA5).all() and (whole[-GUARD:] == 0xA5).all(), f"wrote around {name}"
        if case.buffers[name].written:
            found[name] = middle.view(array.dtype).reshape(array.shape).copy()
        else:
            assert middle.tobytes() == array.tobytes(), f"{name} has changed"
    return found


def compare(found: Arrays, expected: Arrays, about: str) -> None:
    for name, array in expected.items():
        exact = array.dtype.kind in "biu" or array.size == 0
        scale = 0 if exact else max(1.0, float(np.abs(array[np.isfinite(array)]).max(initial=0)))
        tolerance = 1e-5 if array.dtype == np.float32 else 1e-12
        np.testing.assert_allclose(
            found[name], array, rtol=0, atol=tolerance * scale, err_msg=f"{name}, {about}"
        )


@pytest.mark.parametrize("name", OPEN_CASES)
def test_one_kernel_for_all_sizes(name: str):
    case = OPEN_CASES[name](N, T)
    kernel, placed = code(name, N, T), case.placed()
    assert kernel.sizes
    for n in SIZES:
        sizes = {"n": n, "t": n + 2}
        arrays = case.arrays(sizes, seed=n)
        found = run(kernel, case, arrays, sizes)
        assert found.keys() == case.expected(arrays).keys()
        compare(found, case.expected(arrays), str(sizes))
        again = run(kernel, case, arrays, sizes, order=1)
        assert all(found[k].tobytes() == again[k].tobytes() for k in found), "depends on the order of chunks"
        if n in INTERPRETED:
            meant = {k: a.copy() for k, a in arrays.items()}
            shared = {k: np.empty(b.shape, b.dtype.numpy) for k, b in placed.shared.items()}
            interpret(placed, meant | shared, sizes=sizes)
            compare(found, {k: meant[k] for k in found}, f"{sizes}, interpreted")
