"""From the step of a graph to what a GPU runs: passes and plan of memory are those of a processor, the
code of each kernel is CUDA C.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from staticgraph.compiler.codegen.cuda.choose import emit, emit_kernel
from staticgraph.compiler.codegen.cuda.function import Call, Function, Work
from staticgraph.compiler.codegen.cuda.product import Precision
from staticgraph.compiler.compile import CompiledStep, Walked, optimize, structure_of
from staticgraph.compiler.graph.collector import collector_paused
from staticgraph.compiler.kernel.stmt import Kernel, padded
from staticgraph.compiler.lower.lower import lower
from staticgraph.compiler.lower.memory_use import MemoryUse, does_not_fit, memory_use
from staticgraph.compiler.lower.program import Instruction, Launch, Loops, Program, walk
from staticgraph.compiler.passes.fuse import fuse
from staticgraph.compiler.passes.group import Fusion
from staticgraph.compiler.passes.pipeline import Observer
from staticgraph.compiler.passes.step import Step
from staticgraph.compiler.rewrite.engine import Trace

# What pays on a processor only: a GPU has enough arithmetic, and would wait for the rounds of its loops.
LEFT_OUT = frozenset({"fewer_products"})


@dataclass(frozen=True)
class GpuCompiled(CompiledStep):
    """A program, and what a GPU does for each of its launches."""

    works: dict[int, Work] = field(repr=False)  # by the identity of the launch

    def work(self, launch: Launch) -> Work:
        """What a GPU does for a launch of the program, or of those inside it."""
        return self.works[id(launch)]

    def walk(self) -> Iterator[Walked]:
        for instruction, outer in walk(self.program):
            yield instruction, self.works.get(id(instruction)), outer

    @property
    def functions(self) -> list[Function]:
        """Every function of the step, each once."""
        calls = (call for work in self.works.values() for call in work.calls)
        return list(dict.fromkeys(call.function for call in calls if isinstance(call, Call)))

    @property
    def scratch(self) -> int:
        """Bytes of scratch memory that the launch with the most of it needs."""
        return max((sum(padded(size) for _, size in work.scratch) for work in self.works.values()), default=0)

    @property
    def memory(self) -> MemoryUse:
        """What the step needs, by kind; print it."""
        return memory_use(self.program, len(self.step.feeds), self.scratch)


def compile_gpu(
    step: Step,
    observers: Sequence[Observer] = (),
    memory_limit: int | None = None,
    without: Collection[str] = (),
    trace: Trace | None = None,
    precision: Precision = Precision.FLOAT32,
) -> GpuCompiled:
    """The program of `step` for a GPU. `precision` is that of products of float32, the other keywords are
    those of `compile`.
    """
    left_out = LEFT_OUT.union(without)
    with collector_paused():
        fusion = optimize(step.function, observers, left_out, trace)
        lowered = partial(lower, fusion, step.fetches, step.updates, fuse=partial(fuse, without=left_out))
        made = _coded(step, fusion, lowered(), precision)
        if memory_limit is not None and (over := made.memory.peak - memory_limit) > 0:
            made = _coded(step, fusion, lowered(max(made.program.arena - over, 0)), precision)
            if made.memory.peak > memory_limit:
                raise does_not_fit(made.memory, memory_limit)
        return made


def _coded(step: Step, fusion: Fusion, program: Program, precision: Precision) -> GpuCompiled:
    launches = [i for i in every_instruction(program) if isinstance(i, Launch)]
    works = {id(launch): work_of(launch.work, precision) for launch in launches}
    return GpuCompiled(replace(step, function=fusion.function), fusion, program, works)


def every_instruction(program: Program) -> Iterator[Instruction]:
    """Every instruction of a program, those of loops and branches after these."""
    return (instruction for instruction, _ in walk(program))


# By structure, so that the layers of a deep model are generated once.
_works: OrderedDict[tuple[object, ...], Work] = OrderedDict()
WORKS_LIMIT = 4096


def work_of(work: Loops | Kernel, precision: Precision = Precision.FLOAT32) -> Work:
    """What a GPU does for one kernel."""
    key = precision, *structure_of(work)
    found = _works.get(key)
    if found is None:
        found = _works[key] = _generate(work, precision)
        if len(_works) > WORKS_LIMIT:
            _works.popitem(last=False)
    return found


def _generate(work: Loops | Kernel, precision: Precision) -> Work:
    if isinstance(work, Kernel):
        return emit_kernel(work)
    return emit(work.nests, dict(work.buffers), work.rows, work.sums, precision)
