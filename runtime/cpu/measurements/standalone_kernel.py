"""One kernel without a step around it, for who measures kernels: all of its chunks, in order, on one core."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Sequence

import numpy as np

from staticgraph.compiler.codegen.abi import KernelCode
from staticgraph.compiler.codegen.llvm.text import Code, Emitter
from staticgraph.runtime.cpu.jit import load
from staticgraph.runtime.state.memory import aligned_bytes


class StandaloneKernel:
    """A kernel with `arrays` as its arguments, aligned and in their order."""

    def __init__(self, kernel: KernelCode, arrays: Sequence[np.ndarray]) -> None:
        scratch = [aligned_bytes(size + 64) for size in (kernel.shared_bytes, kernel.private_bytes)]
        memory = [*arrays, *scratch]
        again = _again(kernel, len(memory))
        self._library = load([*(phase.code for phase in kernel.phases), again])
        function = ctypes.CFUNCTYPE(None, ctypes.c_int64, *[ctypes.c_void_p] * len(memory))
        self._run = function(self._library[again.name])
        self._addresses = [array.ctypes.data for array in memory]
        self._memory = memory  # what the addresses lead to

    def time(self, times: int) -> float:
        """Run it so many times, without Python in between: the seconds of one."""
        start = time.perf_counter()
        self._run(times, *self._addresses)
        return (time.perf_counter() - start) / times


def _again(kernel: KernelCode, pointers: int) -> Code:
    """The function that runs the kernel several times."""
    names = [f"%p{n}" for n in range(pointers)]
    repeat = Emitter()
    with repeat.loop(0, "%times"):
        for phase in kernel.phases:
            operands = [("ptr", name) for name in (*phase.taken(names[:-2]), *names[-2:])]
            with repeat.loop(phase.first, phase.first + phase.chunks) as chunk:
                repeat.call("void", phase.code.name, *operands, ("i64", chunk.index))
    return repeat.finish(["i64 %times", *(f"ptr {name}" for name in names)])
