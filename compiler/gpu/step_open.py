"""A step with open sizes on a GPU: a program that is closed for values of its sizes.

    pointwise_1(const float* x, float* y, const int size0)      by n0 / 1024 blocks

`OpenGpuCompiled.at` evaluates numbers of blocks, arguments and offsets in memory, and compiles those kernels
that have to know a size. What it gives depends on the graph and on these values alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING

from staticgraph.compiler.capture.step import Step
from staticgraph.compiler.codegen.cuda.function import FunctionCall, KernelWork
from staticgraph.compiler.gpu.step import GpuCompiled, launches
from staticgraph.compiler.graph.sizes import evaluate
from staticgraph.compiler.kernel.schedule_gpu.products.product import Product
from staticgraph.compiler.kernel.schedule_gpu.target import MOST_BLOCKS, MOST_POSITIONS, GpuTarget
from staticgraph.compiler.lower.buffer_assignment import does_not_fit
from staticgraph.compiler.lower.closed import closed_program
from staticgraph.compiler.lower.program import Launch, Program, buffers_of
from staticgraph.compiler.support.dataclass import dataclass

if TYPE_CHECKING:
    from staticgraph.compiler.fusion.group import Fusion

MOST_CLOSED = 16  # values of sizes, for which a program keeps what was compiled for these alone

Closed = tuple[tuple[str, int], ...]  # values of sizes by name


class Sealed(Exception):
    """A program without its kernels, of which one would have to be compiled."""


@dataclass(frozen=True)
class OpenGpuCompiled:
    """A program with open sizes, and what a GPU does for each of its launches in order, as far as that takes
    sizes. All others are compiled for the values of the sizes.

    Attributes:
        plain: The same without attention as one kernel, for sizes at which that does not pay for each in
            `attentions`, by the number of the launch.
        closed: What was compiled for values of the sizes alone, for the first `MOST_CLOSED` of them: the
            work of launches by number.
        sealed: True if its kernels are not known, so that there is nothing but `works` and `closed`.
    """

    step: Step
    fusion: Fusion
    program: Program
    works: Sequence[KernelWork | None]
    attentions: frozenset[int] = frozenset()
    plain: OpenGpuCompiled | None = None
    closed: dict[Closed, dict[int, KernelWork]] = field(default_factory=dict, repr=False)
    sealed: bool = False

    def at(
        self,
        values: Mapping[str, int],
        target: GpuTarget,
        memory_limit: int | None = None,
        bare: bool = False,
    ) -> GpuCompiled:
        """Return the program for values of its sizes; if `bare`, only what a run needs of it.

        ResourceExhaustedError if it needs more bytes than the limit; `Sealed` if it cannot be told.
        """
        made = self._at(values, target, bare)
        if self.plain is not None and not all(_is_attention(made, n) for n in self.attentions):
            return self.plain.at(values, target, memory_limit, bare)
        if memory_limit is None or made.memory.peak <= memory_limit:
            return made
        if made.convolutions:  # which have workspaces that our own functions do without
            made = self._at(values, replace(target, refused=None), bare)
        made = replace(made, room=0)
        if made.memory.peak > memory_limit:
            raise does_not_fit(made.memory, memory_limit)
        return made

    def _at(self, values: Mapping[str, int], target: GpuTarget, bare: bool) -> GpuCompiled:
        here = [None if w is None else w.at(values) for w in self.works]
        every = launches(self.program)
        known = [
            work if work is not None and _serves(launch, work, values, target) else None
            for launch, work in zip(every, here, strict=True)
        ]
        unseen = {id(launch) for launch, work in zip(every, known, strict=True) if bare and work}
        program = closed_program(self.program, values, unseen)
        key = tuple(sorted(values.items()))
        stored = self.closed.get(key, {}) if self.sealed else {}
        own: dict[int, KernelWork] = {}
        works = {}
        for n, (launch, work) in enumerate(zip(launches(program), known, strict=True)):
            found = work or stored.get(n)
            if found is None:
                if self.sealed:
                    raise Sealed
                from staticgraph.compiler.gpu.compile import work_of  # slow to import, and rarely needed

                found = own[n] = work_of(launch.work, target)
            works[id(launch)] = found
        if own and target.cublas and (key in self.closed or len(self.closed) < MOST_CLOSED):
            self.closed[key] = own
        return GpuCompiled(self.step.at(values), self.fusion, program, works)


def _serves(launch: Launch, work: KernelWork, values: Mapping[str, int], target: GpuTarget) -> bool:
    """True if a launch can be done so: without cuBLAS if that is not to be asked, and for these sizes."""
    if not target.cublas and any(isinstance(call, Product) for call in work.calls):
        return False
    return _is_small(launch, work, values)


def _is_small(launch: Launch, work: KernelWork, values: Mapping[str, int]) -> bool:
    """True if positions in all that a launch works on are those that its functions can count."""
    sizes = [evaluate(buffer.size, values) for buffer in buffers_of(launch.work).values()]
    for call in work.calls:
        if isinstance(call, FunctionCall):
            sizes += (*call.sizes, call.grid[0], *(n * MOST_POSITIONS // MOST_BLOCKS for n in call.grid[1:]))
    return max(sizes, default=0) <= MOST_POSITIONS


def _is_attention(made: GpuCompiled, number: int) -> bool:
    return has_attention(made.work(launches(made.program)[number]))


def has_attention(work: KernelWork) -> bool:
    """Return True if a function does attention as a whole."""
    from staticgraph.compiler.kernel.schedule_gpu.attention.attention import ATTENTION  # few programs have it

    functions = (call.function for call in work.calls if isinstance(call, FunctionCall))
    return any(function.kind in ATTENTION for function in functions)
