"""The measured search: a product or convolution is done in several ways, and the fastest one counts.

The plan of a product estimates what is best. Where a compile may take some seconds, `Session(tune=True)` has
it measured instead: one decision after the other, all of its values in turns, on random data and one core.
What was found is kept on disk, so each product is measured once per processor. The results of all ways have
the same bits, which the search checks.

A kernel is timed without a step around it: all of its chunks, in order, on one core.
"""

from __future__ import annotations

import ctypes
import hashlib
import json
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from staticgraph.compiler.codegen.abi import KernelCode
from staticgraph.compiler.codegen.gemm.choice import NO_CHOICE, Choice, from_record, rounds, to_record
from staticgraph.compiler.codegen.gemm.gemm import emit
from staticgraph.compiler.codegen.gemm.plan import direction
from staticgraph.compiler.codegen.gemm.tiles import Along
from staticgraph.compiler.codegen.llvm.text import Code, Emitter
from staticgraph.compiler.codegen.target import CpuTarget
from staticgraph.compiler.graph.sizes import is_open
from staticgraph.compiler.kernel.contraction import Contraction
from staticgraph.compiler.kernel.stmt import Buffer
from staticgraph.runtime.cpu.jit import load
from staticgraph.runtime.disk import object_cache
from staticgraph.runtime.disk.sources import compiler_version
from staticgraph.runtime.reports.compile_log import overwrites
from staticgraph.runtime.state.memory import aligned_bytes, storage_dtype, to_storage

ROUNDS = 5  # in which all ways take turns; the best time of each counts
SLICE = 2e-3  # seconds of work in one turn, at least
LONG = 0.2  # seconds: a product that takes longer is measured once
GAIN = 0.97  # of the time: what is hardly faster may be no faster the next time
MOST_BYTES = 1 << 30  # of the arrays of a product that is measured
Times = Callable[[Sequence[KernelCode]], list[float]]  # seconds of a run of each; infinity: not to be used


def best(product: Contraction, target: CpuTarget) -> Choice:
    """The fastest way, from the disk if it was measured before."""
    sizes = [buffer.size * buffer.dtype.size for buffer in product.buffers.values()]
    if is_open(sizes) or sum(sizes) > MOST_BYTES:
        return NO_CHOICE
    usual = emit(product, target)
    key = _key(usual, target)
    found = _read(key)
    if found is None:
        found = search(product, target, ProductTimer(product))
        object_cache.write(key, json.dumps(to_record(found)).encode())
    return found


def search(product: Contraction, target: CpuTarget, times: Times) -> Choice:
    """The best choice by `times`: for each decision, the values in turns with what was best so far."""
    if direction(product, target) is not Along.COLUMNS:
        return NO_CHOICE
    chosen, code = NO_CHOICE, emit(product, target)
    lanes = target.lanes([product.dtype])
    sizes = product.row_count, product.lanes.extent, product.depth
    for changes in rounds(*sizes, lanes, target.registers):
        ways = {code: chosen}  # other values may come to the same code
        for change in changes:
            candidate = replace(chosen, **change)
            ways.setdefault(emit(product, target, candidate), candidate)
        if len(ways) > 1:
            _tell(sizes)
            took = times([*ways])
            fastest = min(range(len(took)), key=took.__getitem__)
            if took[fastest] < GAIN * took[0]:
                code, chosen = [*ways.items()][fastest]
    _tell(None)
    return chosen


class ProductTimer:
    """The time of ways of doing a product, on random data. A way with another result must not be used."""

    def __init__(self, product: Contraction) -> None:
        rng = np.random.default_rng(0)
        self._buffers = list(product.buffers.values())
        self._start = [_random(buffer, rng) for buffer in self._buffers]
        self._result: list[bytes] | None = None

    def __call__(self, codes: Sequence[KernelCode]) -> list[float]:
        arrays = [aligned_bytes(a.nbytes).view(a.dtype).reshape(a.shape) for a in self._start]
        ways = [StandaloneKernel(code, arrays) for code in codes]
        times = [float("inf")] * len(ways)
        sound = [self._is_sound(way, arrays) for way in ways]
        counts = [max(1, int(SLICE / max(way.time(1), 1e-9))) for way in ways]
        for _ in range(ROUNDS):
            for n, way in enumerate(ways):
                if sound[n]:
                    times[n] = min(times[n], way.time(counts[n]))
            if min(times) > LONG:
                break
        return times

    def _is_sound(self, way: StandaloneKernel, arrays: list[np.ndarray]) -> bool:
        """Return True if a run from the initial data gives the same bits as the first run of all."""
        for array, start in zip(arrays, self._start, strict=True):
            array[...] = start
        way.time(1)
        written = [a.tobytes() for a, b in zip(arrays, self._buffers, strict=True) if b.written]
        self._result = self._result or written
        return written == self._result


def _random(buffer: Buffer, rng: np.random.Generator) -> np.ndarray:
    """An array for a buffer: of floating types numbers around 1, for which hardly a formula is undefined."""
    if not buffer.dtype.is_floating:
        return np.zeros(buffer.shape, storage_dtype(buffer.dtype))
    values = rng.uniform(0.5, 1.5, buffer.shape)
    return to_storage(np.asarray(buffer.dtype.round(values)), buffer.dtype)


def _key(usual: KernelCode, target: CpuTarget) -> str:
    """Return the cache key of a product: its default kernels, the processor and the compiler version."""
    names = [phase.code.name for phase in usual.phases]
    parts = ("choice", compiler_version(), target.cpu, target.features, names)
    return hashlib.blake2b(repr(parts).encode(), digest_size=16).hexdigest()


def _read(key: str) -> Choice | None:
    data = object_cache.read(key)
    try:
        return None if data is None else from_record(json.loads(data))
    except ValueError:  # JSON's errors too
        return None


def _tell(sizes: tuple[int, int, int] | None) -> None:
    """Say on a terminal what is being measured, in one line that goes away."""
    if overwrites(sys.stderr):
        text = "" if sizes is None else f"measuring a product of {' x '.join(map(str, sizes))} ..."
        print(f"\r{text:60}", end="" if sizes else "\r", file=sys.stderr, flush=True)


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
