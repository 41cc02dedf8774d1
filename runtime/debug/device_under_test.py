"""Back ends that compile and call the programs compared with NumPy: one for the CPU, one for a GPU."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Protocol

import numpy as np

from staticgraph.compiler.capture.step import Step
from staticgraph.compiler.codegen.llvm.text import module
from staticgraph.compiler.codegen.target import CpuTarget
from staticgraph.compiler.compile import Compiled, compile
from staticgraph.compiler.compiled_step import CompiledStep
from staticgraph.compiler.emit_step import write
from staticgraph.compiler.fusion.fuse import fuse
from staticgraph.compiler.fusion.group import Fusion
from staticgraph.compiler.graph.function import Function
from staticgraph.compiler.graph.shapes import TensorType
from staticgraph.compiler.kernel_codes import emit
from staticgraph.compiler.lower.program import Program
from staticgraph.compiler.support.dataclass import dataclass
from staticgraph.runtime.cpu import jit as cpu_jit
from staticgraph.runtime.cpu.executable import CpuExecutable
from staticgraph.runtime.state.memory import empty, from_storage, to_storage

Arrays = Sequence[np.ndarray]
_FAST = 64.0  # how much less exact math="fast" may be


class DeviceUnderTest(Protocol):
    """`loose`: how much less exact than rounding its results may be. `language`: of its code, as a file
    ends.
    """

    @property
    def loose(self) -> float: ...

    @property
    def language(self) -> str: ...

    def step(self, step: Step, without: Collection[str]) -> CompiledStep:
        """A whole step, compiled without some of the optional passes."""

    def fused(self, function: Function, without: Collection[str]) -> Fusion:
        """The kernels that a Function becomes, such as the body of a loop."""

    def kernel(self, step: Step, fusion: Fusion, program: Program) -> CompiledStep:
        """A program that has been lowered, such as that of one kernel."""

    def called(self, compiled: CompiledStep, arguments: Arrays) -> list[np.ndarray]:
        """The results of a program, called as a session would."""

    def code(self, compiled: CompiledStep) -> str:
        """The text of its functions."""


@dataclass(frozen=True, slots=True)
class CpuUnderTest:
    """The back end of the processor."""

    target: CpuTarget
    language = "ll"

    @classmethod
    def of(cls, math: str = "precise") -> CpuUnderTest:
        """As a session with this switch compiles for this machine."""
        return cls(replace(cpu_jit.host(), fast_math=math == "fast"))

    @property
    def loose(self) -> float:
        return _FAST if self.target.fast_math else 1.0

    def step(self, step: Step, without: Collection[str]) -> Compiled:
        return compile(step, self.target, may_interpret=False, without=without)

    def fused(self, function: Function, without: Collection[str]) -> Fusion:
        return fuse(function, without)

    def kernel(self, step: Step, fusion: Fusion, program: Program) -> Compiled:
        written = write(program, lambda launch: emit(launch.work, self.target))
        return Compiled(step, fusion, program, written)

    def called(self, compiled: CompiledStep, arguments: Arrays) -> list[np.ndarray]:
        assert isinstance(compiled, Compiled)
        layout, given = compiled.program, stored(compiled.step, arguments)
        results = []
        for number, type in enumerate(layout.results):
            old = compiled.step.updates.get(number, -1)
            results.append(given[old] if old in layout.in_place else empty(type))
        CpuExecutable(compiled)(given, results)
        return loaded(compiled.step, results)

    def code(self, compiled: CompiledStep) -> str:
        assert isinstance(compiled, Compiled)
        return module(compiled.codes, self.target)


def stored(step: Step, arguments: Arrays) -> list[np.ndarray]:
    """Copies of the arguments of a step, as programs have them in memory."""
    params = step.function.params
    return [
        _owned(to_storage(p.dtype.round(a), p.dtype), p.type) for a, p in zip(arguments, params, strict=True)
    ]


def loaded(step: Step, results: Arrays) -> list[np.ndarray]:
    """Convert the results of a step from the storage of programs to NumPy values."""
    return [from_storage(r, v.dtype) for r, v in zip(results, step.function.results, strict=True)]


def _owned(array: np.ndarray, type: TensorType) -> np.ndarray:
    place = empty(type)
    place[...] = array
    return place
