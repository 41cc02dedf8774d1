"""The compiler on one screen: from the step of a graph to the text of its kernels."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from functools import partial

from staticgraph.compiler.capture.step import Step
from staticgraph.compiler.codegen import abi
from staticgraph.compiler.codegen.llvm.clock import Clock, clock_of
from staticgraph.compiler.codegen.llvm.step_function import OpenNumbers
from staticgraph.compiler.codegen.llvm.text import Code
from staticgraph.compiler.codegen.target import CpuTarget
from staticgraph.compiler.compiled_step import CompiledStep, Walked
from staticgraph.compiler.emit_step import TimeTable, Written, walk, write
from staticgraph.compiler.fusion.fuse import fuse
from staticgraph.compiler.fusion.group import Fusion
from staticgraph.compiler.graph.function import Function
from staticgraph.compiler.graph.sizes import AnySize
from staticgraph.compiler.kernel_codes import KernelCache, KernelCodes
from staticgraph.compiler.lower.buffer_assignment import ADDRESSABLE, MemoryUse, does_not_fit, memory_use
from staticgraph.compiler.lower.lower import lower
from staticgraph.compiler.lower.program import Launch, Program
from staticgraph.compiler.passes.pipeline import PIPELINE, pipeline
from staticgraph.compiler.rewrite import Trace
from staticgraph.compiler.stages import Observer, observing, report
from staticgraph.compiler.support.dataclass import dataclass, replace
from staticgraph.compiler.support.gc_pause import collector_paused


@dataclass(frozen=True, slots=True)
class Compiled(CompiledStep):
    """A program with its code: `kernels[i]` is the code of the i-th launch, `segments` say what runs when."""

    written: Written

    def walk(self) -> Iterator[Walked]:
        return walk(self.program, self.written)

    @property
    def kernels(self) -> tuple[abi.KernelCode, ...]:
        return self.written.kernels

    @property
    def segments(self) -> tuple[abi.Segment, ...]:
        return self.written.segments

    @property
    def entry(self) -> Code:
        """The function of the whole step."""
        return self.written.entry

    @property
    def codes(self) -> list[Code]:
        """Every function of the step, each once."""
        return self.written.codes

    @property
    def sizes(self) -> tuple[AnySize, ...]:
        """The open sizes that the code asks for, in order; 0 in place of those that it computes itself."""
        computed = self.written.computed
        return tuple([0 if size in computed else size for size in self.written.sizes])

    def at(self, values: Mapping[str, int]) -> Compiled:
        """The same for values of the open sizes: with the same code."""
        return replace(self, step=self.step.at(values), program=self.program.at(values))

    def closed(self, values: Mapping[str, int]) -> Compiled:
        """The same with all sizes known, also in the loops of kernels: to be looked at."""
        from staticgraph.compiler.lower.closed import closed_program

        program, written = closed_program(self.program, values), self.written.at(values)
        return replace(self.at(values), program=program, written=written)

    @property
    def shared(self) -> int:
        """Bytes of scratch memory that all threads share."""
        return self.written.shared

    @property
    def private(self) -> int:
        """Bytes of scratch memory that each thread needs."""
        return self.written.private

    @property
    def memory(self) -> MemoryUse:
        """Memory use of the step, by kind. Printed, it is a table."""
        return memory_use(self.program, len(self.step.feeds), self.shared + self.private)

    @property
    def cost(self) -> float:
        """The estimated time of a run on one core, in nanoseconds."""
        return self.written.cost

    @property
    def regions(self) -> tuple[AnySize, ...]:
        """The estimated time of each part that several threads may share, in nanoseconds."""
        return self.written.regions


def optimize(
    function: Function,
    observers: Sequence[Observer] = (),
    without: Container[str] = (),
    trace: Trace | None = None,
) -> Fusion:
    """Apply all passes to a Function, but for those in `without`, and partition it into kernels."""
    with observing(*observers):
        passes = PIPELINE if not without and trace is None else pipeline(without, trace)
        return fuse(passes(function), without)


def compile(
    step: Step,
    target: CpuTarget,
    observers: Sequence[Observer] = (),
    written: Callable[[Code], None] = lambda code: None,
    memory_limit: int | None = None,
    kept: KernelCache | None = None,
    may_interpret: bool = True,
    without: Container[str] = (),
    trace: Trace | None = None,
    told: Callable[[int, int], None] = lambda number, total: None,
) -> Compiled:
    """Compile a captured step for a processor: passes, fusion, lowering, code.

    Args:
        step: The step, as `capture` makes it.
        target: The processor.
        observers: Are shown what each stage makes.
        written: Called with each native function as soon as its text is there.
        memory_limit: The most bytes that a run may need; None for any number. Values are rematerialised to
            stay below. What a step with open sizes needs is not known yet.
        kept: A cache of kernels that need not be generated again.
        may_interpret: If a small step that only sets variables is left to NumPy, which is sooner done.
        without: Names of passes to leave out.
        trace: Called for each rewrite rule that is applied.
        told: Called with the number of a kernel and of all kernels, when its code is begun.

    Returns:
        The step with its program and the text of its functions.

    Raises:
        ResourceExhaustedError: If a run needs more memory than `memory_limit` or the address space has.
    """
    with collector_paused(), observing(*observers):
        kernels = KernelCodes(target, written, kept, told, shares="size_classes" not in without)
        coded = partial(_coded, step, target=target, kernels=kernels)
        if may_interpret and step.only_sets:
            from staticgraph.compiler.lower.interpret_initializers import by_meaning, is_small

            if is_small(step.function):
                program = by_meaning(step.function, step.checked)
                report("interpret_initializers", step.function, program)
                return coded(Fusion(step.function, ()), program)
        fusion = optimize(step.function, (), without, trace)
        fused = partial(fuse, without=without)
        lowered = partial(
            lower, fusion, step.fetches, step.updates, fuse=fused, kernels=kernels, checked=step.checked
        )
        made = coded(fusion, lowered())
        if memory_limit is None:
            return made
        peak = made.memory.peak
        if isinstance(peak, int) and (over := peak - memory_limit) > 0:
            program = lowered(max(made.program.arena - over, 0))
            made = coded(fusion, program)
            if made.memory.peak > memory_limit:
                raise does_not_fit(made.memory, memory_limit)
        return made


def timed(compiled: Compiled, clock: Clock) -> tuple[Written, TimeTable]:
    """Write the function of a compiled step once more, with clocks around each part. Kernels are the same.

    Args:
        compiled: The step.
        clock: The clock of the system that it is for.

    Returns:
        The code, and what each entry of its table of times is for.
    """
    codes = {id(instruction): code for instruction, code, _ in walk(compiled.program, compiled.written)}

    def code_of(launch: Launch) -> abi.KernelCode:
        found = codes[id(launch)]
        assert found is not None, launch
        return found

    times = TimeTable(clock)
    places = {size: n for n, size in enumerate(compiled.written.sizes)}
    numbers = OpenNumbers(compiled.program.numbers_slot, places)
    program, looks = compiled.program, clock
    return write(program, code_of, times=times, whole=0, looks=looks, numbers=numbers), times


def _coded(step: Step, fusion: Fusion, program: Program, target: CpuTarget, kernels: KernelCodes) -> Compiled:
    step = replace(step, function=fusion.function)
    if not program.opens and (use := memory_use(program, len(step.feeds), scratch=0)).peak > ADDRESSABLE:
        raise does_not_fit(use)
    made = write(program, kernels.code, looks=clock_of(target.triple))
    report("emit_step", program, made)
    return Compiled(step, fusion, replace(program, watched=made.watched), made)
