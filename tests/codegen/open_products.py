"""Products with an open size as machine code: compiled once, run for many values of it."""

import ctypes
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from staticgraph.compiler.codegen.abi import KernelCode, Phase
from staticgraph.compiler.codegen.gemm.gemm import emit
from staticgraph.compiler.graph.sizes import evaluate, symbol
from staticgraph.compiler.kernel.contraction import Contraction
from staticgraph.compiler.kernel.stmt import Buffer
from staticgraph.runtime.cpu import jit as cpu_jit
from tests.codegen.contraction_cases import processor
from tests.codegen.native import Arrays, loaded, stored

B, M = symbol("B"), symbol("M")
SIZES = (0, 1, 2, 3, 5, 8, 13, 31, 32, 64, 100, 257, 1000)
_GUARD = 64


class OpenProduct:
    """A contraction with open sizes `B` and `M`, ready to run; with `code`, if that is given."""

    def __init__(
        self, c: Contraction, vector_bytes: int | None = None, code: KernelCode | None = None
    ) -> None:
        self.c, self.code = c, code or emit(c, processor(vector_bytes))
        self._library = library = cpu_jit.load([phase.code for phase in self.code.phases], verify=True)
        pointers, sizes = [ctypes.c_void_p] * len(c.buffers), [ctypes.c_int64] * len(self.code.sizes)
        self.functions = []
        for phase in self.code.phases:
            numbers = [ctypes.c_int64] * len(phase.numbers)
            scratch = [ctypes.c_void_p] * 2
            signature = ctypes.CFUNCTYPE(None, *pointers, *sizes, *numbers, *scratch, ctypes.c_int64)
            self.functions.append(signature(library[phase.code.name]))

    def inputs(self, size: int, rng: np.random.Generator) -> Arrays:
        """Random numbers for every buffer."""
        return {
            name: rng.random(shape_at(b, size)) < 0.5
            if b.dtype.is_bool
            else b.dtype.round(rng.normal(size=shape_at(b, size)))
            for name, b in self.c.buffers.items()
        }

    def run(self, size: int, arrays: Arrays, threads: int = 1, seed: int = 0) -> Arrays:
        """The written arrays after a run on copies of `arrays`, the chunks of each phase in an order of no
        meaning. Nothing around buffers and scratch memory has changed.
        """
        memory = {
            name: _guarded(stored(b.dtype, arrays[name]).reshape(-1).view(np.uint8))
            for name, b in self.c.buffers.items()
        }
        self.launch([m.ctypes.data + _GUARD for m in memory.values()], size, threads, seed)
        for whole in memory.values():
            _check(whole)
        return {
            name: loaded(
                b.dtype, memory[name][_GUARD:-_GUARD].view(stored(b.dtype, arrays[name]).dtype)
            ).reshape(shape_at(b, size))
            for name, b in self.c.buffers.items()
            if b.written
        }

    def launch(self, addresses: list[int], size: int, threads: int = 1, seed: int = 0) -> None:
        """Run all phases on buffers at these addresses."""
        shared = _guarded(np.full(self.code.shared_bytes, 0xA5, np.uint8))
        sizes = [evaluate(s, values_at(size)) for s in self.code.sizes]

        def work(function: Callable[..., None], phase: Phase, chunks: Iterable[int]) -> None:
            private = _guarded(np.full(self.code.private_bytes, 0xA5, np.uint8))
            for chunk in chunks:
                scratch = shared.ctypes.data + _GUARD, private.ctypes.data + _GUARD
                function(*addresses, *sizes, *phase.numbers, *scratch, int(chunk))
                _check(private)
                private[_GUARD:-_GUARD] = 0xA5

        for function, phase in zip(self.functions, self.code.phases, strict=True):
            order = np.random.default_rng(seed).permutation(evaluate(phase.chunks, values_at(size)))
            if threads == 1:
                work(function, phase, order)
                continue
            with ThreadPoolExecutor(threads) as pool:
                for done in [pool.submit(work, function, phase, order[n::threads]) for n in range(threads)]:
                    done.result()
        _check(shared)

    def check(
        self,
        exact: Callable[[Arrays], tuple[Arrays, Arrays]],
        rng: np.random.Generator,
        sizes: Sequence[int] = SIZES,
    ) -> None:
        """Compare with float64: `exact` returns results and the sums of the magnitudes of their terms.

        The bits must not depend on the order of the chunks, nor on the number of threads.
        """
        for size in sizes:
            arrays = self.inputs(size, rng)
            found = self.run(size, arrays)
            wide = {n: x if x.dtype == bool else x.astype(np.float64) for n, x in arrays.items()}
            wanted, magnitude = exact(wide)
            assert found.keys() == wanted.keys()
            for name, dtype in ((n, self.c.buffers[n].dtype) for n in found):
                eps = 2.0**-7 if dtype.name == "bfloat16" else 2.0**-10 if dtype.name == "float16" else 0.0
                eps += 16 * np.finfo(self.c.dtype.numpy).eps
                error = np.abs(found[name].astype(np.float64) - wanted[name])
                assert found[name].shape == wanted[name].shape
                assert (error <= eps * (magnitude[name] + np.abs(wanted[name]))).all(), (size, name)
            again = self.run(size, arrays, threads=2, seed=1 + size)
            for name in found:
                assert found[name].tobytes() == again[name].tobytes()


def shape_at(buffer: Buffer, size: int) -> tuple[int, ...]:
    """The shape of a buffer for a value of B."""
    return tuple(evaluate(n, values_at(size)) for n in buffer.shape)


def values_at(size: int) -> dict[str, int]:
    """The values of the symbols for a value of B. M is 0, too, where B is 3."""
    return {"B": size, "M": 0 if size == 3 else size // 2 % 11 + size % 3}


def _guarded(inside: np.ndarray) -> np.ndarray:
    edge = np.full(_GUARD, 0xA5, np.uint8)
    return np.concatenate([edge, inside, edge])


def _check(whole: np.ndarray) -> None:
    assert (whole[:_GUARD] == 0xA5).all() and (whole[-_GUARD:] == 0xA5).all()
