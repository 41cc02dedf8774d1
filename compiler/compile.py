"""The compiler on one screen: from the step of a graph to the text of its kernels."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from staticgraph.compiler.codegen import abi, contraction, llvm
from staticgraph.compiler.codegen.llvm_step import step as step_function
from staticgraph.compiler.codegen.llvm_text import Code
from staticgraph.compiler.codegen.target import CpuTarget
from staticgraph.compiler.graph.function import Function
from staticgraph.compiler.kernel.contraction import analyse
from staticgraph.compiler.kernel.cpu import schedule
from staticgraph.compiler.kernel.place import place
from staticgraph.compiler.kernel.stmt import Kernel, structure
from staticgraph.compiler.lower.lower import lower
from staticgraph.compiler.lower.program import PRIVATE, SHARED, Copy, HostCall, Launch, Loops, Program, Ref
from staticgraph.compiler.passes.fuse import fuse
from staticgraph.compiler.passes.group import Fusion
from staticgraph.compiler.passes.pipeline import PIPELINE, Observer
from staticgraph.compiler.passes.specialise import Step


@dataclass(frozen=True, slots=True)
class Compiled:
    """A program with its code: `kernels[i]` is the code of the i-th launch."""

    step: Step
    fusion: Fusion
    program: Program
    kernels: tuple[abi.KernelCode, ...]
    entry: Code

    @property
    def codes(self) -> list[Code]:
        """Every function of the step, each once."""
        phases = (phase for kernel in self.kernels for phase in kernel.phases)
        return list(dict.fromkeys([*(phase.code for phase in phases), self.entry]))

    @property
    def shared(self) -> int:
        """Bytes of scratch memory that all threads share."""
        return max((kernel.shared_bytes for kernel in self.kernels), default=0)

    @property
    def private(self) -> int:
        """Bytes of scratch memory that each thread needs."""
        return max((kernel.private_bytes for kernel in self.kernels), default=0)

    @property
    def cost(self) -> float:
        """The estimated time of a run on one core, in nanoseconds."""
        return sum(kernel.cost for kernel in self.kernels)


def optimize(function: Function, observers: Sequence[Observer] = ()) -> Fusion:
    """The Function after all passes, partitioned into kernels."""
    return fuse(PIPELINE(function, observers))


def compile(
    step: Step,
    target: CpuTarget,
    observers: Sequence[Observer] = (),
    written: Callable[[Code], None] = lambda code: None,
) -> Compiled:
    """The program and code of `step` for a processor. `written` gets each function at once."""
    fusion = optimize(step.function, observers)
    program = lower(fusion, step.fetches, step.updates)
    kernels = []
    for instruction in program.instructions:
        if isinstance(instruction, Launch):
            kernels.append(emit(instruction.work, target))
            for phase in kernels[-1].phases:
                written(phase.code)
    step = replace(step, function=fusion.function)
    return Compiled(step, fusion, program, tuple(kernels), entry(program, kernels))


# By structure, so that the layers of a deep model are generated once.
_emitted: OrderedDict[tuple[object, ...], abi.KernelCode] = OrderedDict()
EMITTED_LIMIT = 4096


def emit(work: Loops | Kernel, target: CpuTarget) -> abi.KernelCode:
    """The code of one kernel: a product where it is one, loops otherwise."""
    key = (target, *_structure(work))
    found = _emitted.get(key)
    if found is None:
        found = _emitted[key] = _generate(work, target)
        if len(_emitted) > EMITTED_LIMIT:
            _emitted.popitem(last=False)
    return found


def _structure(work: Loops | Kernel) -> tuple[object, ...]:
    if isinstance(work, Loops):
        return (work.domain, work.buffers, *map(structure, work.stores))
    return (tuple(work.buffers.items()), *map(structure, work.body))


def _generate(work: Loops | Kernel, target: CpuTarget) -> abi.KernelCode:
    if isinstance(work, Loops):
        buffers = dict(work.buffers)
        product = analyse(work.domain, work.stores, buffers)
        if product is not None:
            return contraction.emit(product, target)
        work = place("loops", buffers, work.domain, work.stores)
    return llvm.emit(schedule(work, target.vector_bytes), target)


def entry(program: Program, kernels: Sequence[abi.KernelCode]) -> Code:
    """The one function of a step, which calls its kernels in order."""
    codes = iter(kernels)
    host = program.slots
    calls: list[abi.Instruction] = []
    hosted = 0
    for instruction in program.instructions:
        match instruction:
            case Launch(args=args):
                calls.append(abi.Launch(next(codes), tuple(map(_ref, args))))
            case Copy(target, source, size):
                calls.append(abi.Copy(_ref(target), _ref(source), size))
            case HostCall():
                calls.append(abi.HostCall(host, hosted))
                hosted += 1
    return step_function(calls, abi.BufferRef(SHARED), abi.BufferRef(PRIVATE))


def _ref(ref: Ref) -> abi.BufferRef:
    return abi.BufferRef(ref.slot, ref.offset)
