"""Compiled step of a GPU: a program, and the functions and calls of libraries that do its launches.

A run needs this and no more. Programs from the disk come in this form, and need no compiler.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field
from functools import cached_property

from staticgraph.compiler.codegen.cuda.function import CudaFunction, FunctionCall, KernelWork
from staticgraph.compiler.compiled_step import CompiledStep, Walked
from staticgraph.compiler.gpu.kept_sorts import NOTHING, KeptSorts, kept_sorts
from staticgraph.compiler.kernel.schedule_gpu.products.convolution import Convolution
from staticgraph.compiler.kernel.schedule_gpu.products.product import Product
from staticgraph.compiler.kernel.stmt import padded
from staticgraph.compiler.lower.buffer_assignment import MemoryUse, memory_use
from staticgraph.compiler.lower.program import Instruction, Launch, Program, walk
from staticgraph.compiler.support.dataclass import dataclass

# Bytes of scratch memory for launches that are done side by side, where they need as much.
SIDE_BY_SIDE = 8 << 20


@dataclass(frozen=True)
class GpuCompiled(CompiledStep):
    """A program, and what a GPU does for each of its launches. Those that need scratch memory get some of
    their own as far as `room` goes.
    """

    works: dict[int, KernelWork] = field(repr=False)  # by the identity of the launch
    room: int = SIDE_BY_SIDE

    def work(self, launch: Launch) -> KernelWork:
        """Return the GPU work of a launch of the program, or of its loops and branches."""
        return self.works[id(launch)]

    def walk(self) -> Iterator[Walked]:
        for instruction, outer in walk(self.program):
            yield instruction, self.works.get(id(instruction)), outer

    @property
    def functions(self) -> list[CudaFunction]:
        """Every function of the step, each once."""
        calls = (call for work in self.works.values() for call in work.calls)
        return list(dict.fromkeys(call.function for call in calls if isinstance(call, FunctionCall)))

    @property
    def convolutions(self) -> list[Convolution]:
        """Convolutions requested from cuDNN, each once."""
        calls = (call for work in self.works.values() for call in work.calls)
        return list(dict.fromkeys(call for call in calls if isinstance(call, Convolution)))

    @property
    def multiplies(self) -> bool:
        """True if cuBLAS is asked for a product."""
        return any(isinstance(call, Product) for work in self.works.values() for call in work.calls)

    @property
    def scratch(self) -> int:
        """Bytes of scratch memory: at least what the launch with the most of it needs."""
        needs = [sum(padded(size) for _, size in work.scratch) for work in self.works.values()]
        return max(min(sum(needs), self.room), max(needs, default=0))

    @cached_property
    def kept(self) -> KeptSorts:
        """Sorts that launches leave to later ones, unless memory is short."""
        return kept_sorts(self.program, self.works, len(self.step.feeds)) if self.room else NOTHING

    @property
    def memory(self) -> MemoryUse:
        """Memory use of the step, by kind. Printed, it is a table."""
        return memory_use(self.program, len(self.step.feeds), self.scratch + self.kept.size)


def every_instruction(program: Program) -> Iterator[Instruction]:
    """Every instruction of a program, those of loops and branches after these."""
    return (instruction for instruction, _ in walk(program))


def launches(program: Program) -> list[Launch]:
    """Every launch of a program, those of loops and branches after these."""
    return [each for each in every_instruction(program) if isinstance(each, Launch)]
