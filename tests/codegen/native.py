"""Running kernels as machine code, and comparing them with NumPy."""

import ctypes
import functools
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest

from staticgraph.compiler.codegen.abi import KernelCode
from staticgraph.compiler.codegen.llvm.kernel import emit
from staticgraph.compiler.codegen.llvm.text import Code
from staticgraph.compiler.graph.dtypes import DType, bfloat16
from staticgraph.compiler.graph.sizes import evaluate
from staticgraph.compiler.kernel.interpret import NO_SIZES
from staticgraph.compiler.kernel.stmt import Kernel
from staticgraph.runtime.cpu import jit as cpu_jit
from staticgraph.runtime.state.memory import aligned_bytes

Arrays = dict[str, np.ndarray]
each_width = pytest.mark.parametrize(
    "vector_bytes", [width for width in (16, 32, 64) if width <= cpu_jit.host().vector_bytes]
)


def run(kernel: Kernel, arrays: Arrays, vector_bytes: int | None = None, contract: bool = True) -> Arrays:
    """The written arrays after the compiled `kernel` ran on copies of `arrays`, guards around each
    intact.
    """
    target = cpu_jit.host()
    if vector_bytes is not None:
        target = replace(target, vector_bytes=vector_bytes)
    memory = {name: guarded(stored(b.dtype, arrays[name])) for name, b in kernel.buffers.items()}
    launch(emit(kernel, target, contract), [m.ctypes.data + GUARD for m in memory.values()])
    result = {}
    for name, buffer in kernel.buffers.items():
        whole = memory[name]
        assert (whole[:GUARD] == 0xA5).all() and (whole[len(whole) - GUARD :] == 0xA5).all(), (
            f"wrote around {name}"
        )
        if buffer.written:
            inside = whole[GUARD : len(whole) - GUARD].view(_memory(buffer.dtype))
            result[name] = loaded(buffer.dtype, inside).reshape(arrays[name].shape)
    return result


def launch(
    kernel: KernelCode, addresses: list[int], sizes: Mapping[str, int] = NO_SIZES, order: int = 0
) -> None:
    """Run the phases of a kernel on buffers at these addresses, the chunks of each in an order of no meaning.

    `sizes`: the values of symbols. `order`: a seed for the order of chunks.
    What a call finds in its private memory is garbage, and neither scratch memory may be written around.
    """
    library = _library(tuple(phase.code for phase in kernel.phases))
    shared = np.full(kernel.shared_bytes + 2 * GUARD, 0xA5, np.uint8)
    private = np.full(kernel.private_bytes + 2 * GUARD, 0xA5, np.uint8)
    scratch = [m.ctypes.data + GUARD for m in (shared, private)]
    values = [evaluate(size, sizes) for size in kernel.sizes]
    operands = [*map(ctypes.c_void_p, addresses), *map(ctypes.c_int64, values)]
    for phase in kernel.phases:
        given = [*phase.taken(operands), *map(ctypes.c_void_p, scratch)]
        signature = ctypes.CFUNCTYPE(None, *map(type, given), ctypes.c_int64)
        for chunk in np.random.default_rng(order).permutation(evaluate(phase.chunks, sizes)):
            number = phase.first + int(chunk)
            signature(library[phase.code.name])(*given, number)
            private[GUARD:-GUARD] = 0xA5
    assert all((m[:GUARD] == 0xA5).all() and (m[-GUARD:] == 0xA5).all() for m in (shared, private))


@functools.lru_cache(maxsize=8)
def _library(codes: tuple[Code, ...]) -> cpu_jit.Library:
    """Verified machine code: a kernel of open sizes is compiled once for all launches in a row."""
    return cpu_jit.load(codes, verify=True)


def stored(dtype: DType, array: np.ndarray) -> np.ndarray:
    """The array as it lies in memory: bfloat16 as its 16 bits."""
    if dtype is bfloat16:
        return (np.ascontiguousarray(array).view(np.uint32) >> 16).astype(np.uint16)
    return np.ascontiguousarray(array)


def loaded(dtype: DType, memory: np.ndarray) -> np.ndarray:
    return (memory.astype(np.uint32) << 16).view(np.float32) if dtype is bfloat16 else memory.copy()


def ulps(found: np.ndarray, exact: np.ndarray, dtype: DType) -> float:
    """The greatest error in units of the last place of `dtype`; infinite where only one of them is finite.

    `exact` may have more precision than `dtype`.
    """
    with np.errstate(all="ignore"):
        rounded = dtype.round(exact)
        same = (found == rounded) | (np.isnan(found) & np.isnan(rounded))
        spacing = np.abs(np.spacing(rounded)).astype(exact.dtype)
        spacing = spacing * 2.0**16 if dtype is bfloat16 else spacing
        error = np.abs(found.astype(exact.dtype) - exact) / spacing
    return float(
        np.max(
            np.where(same, np.minimum(np.nan_to_num(error), 1), np.nan_to_num(error, nan=np.inf)), initial=0
        )
    )


GUARD = 512  # bytes: more than the widest vector of several registers


def _memory(dtype: DType) -> np.dtype:
    return np.dtype(np.uint16) if dtype is bfloat16 else dtype.numpy


def guarded(array: np.ndarray) -> np.ndarray:
    """The bytes of an array between guards, from an aligned address on."""
    whole = aligned_bytes(array.nbytes + 2 * GUARD)
    whole[:] = 0xA5
    inside(whole)[:] = array.reshape(-1).view(np.uint8)
    return whole


def inside(whole: np.ndarray) -> np.ndarray:
    """The bytes between the guards."""
    return whole[GUARD : len(whole) - GUARD]
