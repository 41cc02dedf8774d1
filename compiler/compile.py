"""The compiler on one screen: from the step of a graph to the text of its kernels."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from staticgraph.compiler.arrange import arrange
from staticgraph.compiler.codegen import abi, contraction, llvm
from staticgraph.compiler.codegen.llvm_step import step as step_function
from staticgraph.compiler.codegen.llvm_text import Code
from staticgraph.compiler.codegen.target import CpuTarget
from staticgraph.compiler.graph.collector import collector_paused
from staticgraph.compiler.graph.function import Function
from staticgraph.compiler.kernel.chunk import chunked
from staticgraph.compiler.kernel.contraction import analyse
from staticgraph.compiler.kernel.cpu import schedule
from staticgraph.compiler.kernel.digest import digest
from staticgraph.compiler.kernel.place_rows import place_rows
from staticgraph.compiler.kernel.stmt import Kernel, structure
from staticgraph.compiler.lower.lower import lower
from staticgraph.compiler.lower.memory_use import MemoryUse, does_not_fit, memory_use
from staticgraph.compiler.lower.once import by_meaning, runs_once
from staticgraph.compiler.lower.program import PRIVATE, Launch, Loops, Program
from staticgraph.compiler.passes.fuse import fuse
from staticgraph.compiler.passes.group import Fusion
from staticgraph.compiler.passes.pipeline import PIPELINE, Observer
from staticgraph.compiler.passes.specialise import Step


@dataclass(frozen=True, slots=True)
class Compiled:
    """A program with its code: `kernels[i]` is the code of the i-th launch.

    `segments` say what runs when; `shared` is the size of the scratch memory that all threads share.
    """

    step: Step
    fusion: Fusion
    program: Program
    kernels: tuple[abi.KernelCode, ...]
    segments: tuple[abi.Segment, ...]
    shared: int
    entry: Code

    @property
    def codes(self) -> list[Code]:
        """Every function of the step, each once."""
        phases = (phase for kernel in self.kernels for phase in kernel.phases)
        return list(dict.fromkeys([*(phase.code for phase in phases), self.entry]))

    @property
    def private(self) -> int:
        """Bytes of scratch memory that each thread needs."""
        return max((kernel.private_bytes for kernel in self.kernels), default=0)

    @property
    def memory(self) -> MemoryUse:
        """What the step needs, by kind; print it."""
        return memory_use(self.program, len(self.step.feeds), self.shared + self.private)

    @property
    def cost(self) -> float:
        """The estimated time of a run on one core, in nanoseconds."""
        return sum(kernel.cost for kernel in self.kernels)

    @property
    def parallel(self) -> bool:
        """Whether several threads can work on it."""
        return any(isinstance(s, abi.Region) and s.parallel for s in self.segments)


class Kept(Protocol):
    """Code that was generated before, perhaps by another process, by the digest of what it was made from."""

    def read(self, digest: str) -> abi.KernelCode | None: ...
    def write(self, digest: str, code: abi.KernelCode) -> None: ...


def optimize(function: Function, observers: Sequence[Observer] = ()) -> Fusion:
    """The Function after all passes, partitioned into kernels."""
    return fuse(PIPELINE(function, observers))


def compile(
    step: Step,
    target: CpuTarget,
    observers: Sequence[Observer] = (),
    written: Callable[[Code], None] = lambda code: None,
    memory_limit: int | None = None,
    kept: Kept | None = None,
) -> Compiled:
    """The program and code of `step` for a processor. `written` gets each function at once.

    What is in `kept` is not generated again. Where the step would need more than `memory_limit` bytes, values
    are computed again rather than stored. ResourceExhaustedError if that is not enough.
    """
    with collector_paused():
        if runs_once(step):
            return _coded(step, Fusion(step.function, ()), by_meaning(step.function), target, written, kept)
        fusion = optimize(step.function, observers)
        made = _coded(step, fusion, lower(fusion, step.fetches, step.updates), target, written, kept)
        if memory_limit is not None and (over := made.memory.peak - memory_limit) > 0:
            program = lower(fusion, step.fetches, step.updates, max(made.program.arena - over, 0))
            made = _coded(step, fusion, program, target, written, kept)
            if made.memory.peak > memory_limit:
                raise does_not_fit(made.memory, memory_limit)
        return made


def _coded(
    step: Step,
    fusion: Fusion,
    program: Program,
    target: CpuTarget,
    written: Callable[[Code], None],
    kept: Kept | None,
) -> Compiled:
    kernels = []
    for instruction in program.instructions:
        if isinstance(instruction, Launch):
            kernels.append(emit(instruction.work, target, kept))
            for phase in kernels[-1].phases:
                written(phase.code)
    step = replace(step, function=fusion.function)
    segments, shared = arrange(program, kernels)
    entry = step_function(segments, abi.BufferRef(program.pool_slot), abi.BufferRef(PRIVATE))
    return Compiled(step, fusion, program, tuple(kernels), tuple(segments), shared, entry)


# By structure, so that the layers of a deep model are generated once.
_emitted: OrderedDict[tuple[object, ...], abi.KernelCode] = OrderedDict()
EMITTED_LIMIT = 4096


def emit(work: Loops | Kernel, target: CpuTarget, kept: Kept | None = None) -> abi.KernelCode:
    """The code of one kernel: a product where it is one, loops otherwise."""
    key = (target, *_structure(work))
    found = _emitted.get(key)
    if found is None:
        found = _emitted[key] = _from(kept, work, target) if kept is not None else _generate(work, target)
        if len(_emitted) > EMITTED_LIMIT:
            _emitted.popitem(last=False)
    return found


def _from(kept: Kept, work: Loops | Kernel, target: CpuTarget) -> abi.KernelCode:
    name = digest(repr(target), _structure(work))
    found = kept.read(name)
    if found is None:
        found = _generate(work, target)
        kept.write(name, found)
    return found


def _structure(work: Loops | Kernel) -> tuple[object, ...]:
    if isinstance(work, Loops):
        nests = [(nest.domain, *map(structure, nest.stores)) for nest in (*work.nests, *work.sums)]
        return (work.rows, len(work.sums), work.buffers, *nests)
    return (tuple(work.buffers.items()), *map(structure, work.body))


def _generate(work: Loops | Kernel, target: CpuTarget) -> abi.KernelCode:
    if isinstance(work, Loops):
        buffers = dict(work.buffers)
        product = None if work.rows else analyse(work.nests[0].domain, work.nests[0].stores, buffers)
        if product is not None:
            return contraction.emit(product, target)
        work = place_rows("loops", buffers, work.rows, work.nests, work.sums)
    split = chunked(schedule(work, target.vector_bytes), target.vector_bytes)
    return llvm.emit_phases(split.phases, target, cost=split.cost)
