"""The back end of a GPU, for programs that are compared with NumPy: each is called in memory of its own."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from functools import partial

import numpy as np

from staticgraph.compiler.capture.step import Step
from staticgraph.compiler.compiled_step import CompiledStep
from staticgraph.compiler.fusion.group import Fusion
from staticgraph.compiler.gpu.compile import coded, compile_gpu, fused
from staticgraph.compiler.gpu.step import GpuCompiled
from staticgraph.compiler.graph.function import Function
from staticgraph.compiler.kernel.schedule_gpu.products.product import Precision
from staticgraph.compiler.kernel.schedule_gpu.target import GpuTarget
from staticgraph.compiler.kernel.stmt import padded
from staticgraph.compiler.lower.buffer_assignment import bytes_of
from staticgraph.compiler.lower.program import ARENA, ARGUMENTS, CONSTANTS, Program
from staticgraph.compiler.support.dataclass import dataclass
from staticgraph.runtime.debug.device_under_test import Arrays, loaded, stored
from staticgraph.runtime.gpu.cuda.driver import Direction
from staticgraph.runtime.gpu.cuda.nvrtc import source
from staticgraph.runtime.gpu.device import Device
from staticgraph.runtime.gpu.graphs.recorder import GraphRecorder, prepare
from staticgraph.runtime.gpu.staging import send_constants
from staticgraph.runtime.state.memory import empty

_LOOSE = {Precision.FLOAT32: 1.0, Precision.TF32: 2.0**13, Precision.BFLOAT16: 2.0**16}  # bits not looked at


@dataclass(frozen=True, slots=True)
class GpuUnderTest:
    """The back end of `device`. `library`: its library does convolutions, as far as it can."""

    device: Device
    precision: Precision = Precision.FLOAT32
    library: bool = True
    language = "cu"

    @property
    def loose(self) -> float:
        return _LOOSE[self.precision]

    @property
    def _target(self) -> GpuTarget:
        refused = self.device.refused if self.library else None
        return GpuTarget(self.precision, refused, self.device.machine)

    def step(self, step: Step, without: Collection[str]) -> GpuCompiled:
        return self._accepted(partial(compile_gpu, step, without=without))

    def fused(self, function: Function, without: Collection[str]) -> Fusion:
        return fused(function, self._target, without)

    def kernel(self, step: Step, fusion: Fusion, program: Program) -> GpuCompiled:
        return self._accepted(partial(coded, step, fusion, program))

    def _accepted(self, compiled: Callable[..., GpuCompiled]) -> GpuCompiled:
        """Compile, and once more without the library's convolutions that the device has refused."""
        made = compiled(target=self._target)
        return compiled(target=self._target) if self.device.refuses(made.convolutions) else made

    def called(self, compiled: CompiledStep, arguments: Arrays) -> list[np.ndarray]:
        assert isinstance(compiled, GpuCompiled)
        program = compiled.program
        prepare(self.device, compiled)
        with self._memory() as memory:
            arena = memory.room(padded(program.arena + 1) + compiled.scratch)
            table = [0] * program.slots
            table[ARENA], table[CONSTANTS] = arena, memory.room(len(program.constants))
            send_constants(self.device.driver, program.constants, table[CONSTANTS])
            for number, array in enumerate(stored(compiled.step, arguments)):
                table[ARGUMENTS + number] = memory.room(array.nbytes)
                memory.send(table[ARGUMENTS + number], array)
            for number, type in enumerate(program.results):
                old = compiled.step.updates.get(number, -1)
                here = table[ARGUMENTS + old] if old in program.in_place else memory.room(bytes_of(type))
                table[program.first_result + number] = here
            GraphRecorder(self.device, compiled, arena + padded(program.arena + 1)).program(program, table)
            results = [empty(type) for type in program.results]
            for number, array in enumerate(results):
                memory.fetch(array, table[program.first_result + number])
        return loaded(compiled.step, results)

    def code(self, compiled: CompiledStep) -> str:
        assert isinstance(compiled, GpuCompiled)
        return source(compiled.functions)

    @contextmanager
    def _memory(self) -> Iterator[_Memory]:
        memory = _Memory(self.device, [])
        try:
            yield memory
        finally:
            self.device.release(memory.taken)


@dataclass(frozen=True, slots=True)
class _Memory:
    """Memory of a GPU that is `taken` for one call."""

    device: Device
    taken: list[int]

    def room(self, size: int) -> int:
        self.taken.append(self.device.driver.allocate(max(size, 1)))
        return self.taken[-1]

    def send(self, address: int, array: np.ndarray) -> None:
        if array.nbytes:
            self.device.driver.copy(address, array.ctypes.data, array.nbytes, Direction.TO_DEVICE)

    def fetch(self, array: np.ndarray, address: int) -> None:
        if array.nbytes:
            self.device.driver.copy(array.ctypes.data, address, array.nbytes, Direction.FROM_DEVICE)
