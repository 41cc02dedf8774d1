"""Every stage from the user's graph to text, in order, and observers of them.

`STAGES` is the list. A stage runs in every compile for the processor unless its last column says when. The
part `kernel` runs for one kernel after the other, and everything else once per step; a second program is made
if the first takes more memory than it may. Loops and branches are small steps of their own: their passes,
fusion and lowering belong to the stages `loops` and `control_flow`.

A stage reports what it took and what it made. Without an observer that is one look at a variable:

    def shown(stage, before, after):
        print(stage, "changed nothing" if unchanged(before, after) else after)

    with observing(shown):
        compile(step, target)

This file imports no stage, so that each may import it. `module` says where to read on.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import field
from typing import Any, TypeVar

from staticgraph.compiler.support.dataclass import dataclass

# Called with the name of a stage, what it took and what it made, to look at during the call: `join` goes on
# with the groups of `fuse`. If a stage changed nothing, the two are equal.
Observer = Callable[[str, Any, Any], None]
Report = tuple[str, Any, Any]  # the same, kept for later


@dataclass(frozen=True, slots=True)
class Stage:
    """One stage of the compiler.

    Attributes:
        part: The part of the compiler, which is also how often it runs: `kernel` is once per kernel.
        name: The name under which it reports, and by which an optional stage is left out.
        about: One line that says what it does.
        takes: The form that it is given.
        makes: The form that it gives.
        module: Its module below `compiler`.
        when: When it runs; empty if it always does.
        optional: True if `SG_PASSES=-name` leaves it out.
    """

    part: str
    name: str
    about: str
    takes: str
    makes: str
    module: str
    when: str = ""
    optional: bool = False


# The user's Graph has Operations. A Function has Values; a Step is one with its feeds and variables. A Fusion
# has Groups of nodes, each of which becomes the Loops of one Kernel; a Program has them in order.
STAGES = (
    # capture: shapes fixed, state explicit, derivatives taken
    Stage("capture", "prune", "keep the operations that the fetches need",
          "Graph", "Operations", "capture.prune"),
    Stage("capture", "capture", "fix shapes, make state explicit and take derivatives",
          "Operations", "Function", "capture.capture"),
    Stage("capture", "merge_loops", "keep one loop of all forms that fetches and derivatives made of it",
          "Function", "Function", "passes.loops"),
    Stage("capture", "prove_requirements", "drop the tests of inputs that always hold, such as of indices",
          "Function", "Function", "passes.prove_requirements", "a step that tests its inputs"),
    Stage("capture", "nan_guard", "add a test that all results are finite",
          "Function", "Function", "capture.nan_guard", "with check_nan"),
    Stage("capture", "feed_checks", "take out the tests of feeds that the processor does beforehand",
          "Function", "Function", "capture.feed_checks", "a checked step on a GPU"),

    # passes: one Function after the other. `loops` is first: the others then see what was taken out of loops.
    # `expand`: composites and markers have done their work once gradients are taken.
    # `defined` is last: by then, derivatives that nothing uses are gone.
    Stage("passes", "loops", "make loops and branches as small as can be",
          "Function", "Function", "passes.loops"),
    Stage("passes", "expand", "replace composite operations by what they are made of",
          "Function", "Function", "passes.expand"),
    Stage("passes", "fewer_products", "compute convolutions with fewer products (Winograd)",
          "Function", "Function", "passes.winograd", "on a processor", optional=True),
    Stage("passes", "simplify", "apply rewrite rules until none fits",
          "Function", "Function", "passes.simplify", optional=True),
    Stage("passes", "sink_reshapes", "do arithmetic before a reshape, in the kernel of what is reshaped",
          "Function", "Function", "passes.sink_reshapes", optional=True),
    Stage("passes", "side_by_side", "concatenate padded parts of a tensor that are added up",
          "Function", "Function", "passes.side_by_side", optional=True),
    Stage("passes", "defined", "refuse derivatives that are used and not defined",
          "Function", "Function", "passes.undefined_derivatives"),

    # fusion: one group of nodes per kernel
    Stage("fusion", "long_routines", "replace what few threads of a GPU could work on",
          "Function", "Function", "passes.long_routines", "on a GPU"),
    Stage("fusion", "fuse", "merge nodes into the kernels that read them",
          "Function", "Fusion", "fusion.fuse", optional=True),
    Stage("fusion", "join", "make one kernel of groups over the same elements or rows (horizontal fusion)",
          "Fusion", "Fusion", "fusion.horizontal_fusion", optional=True),
    Stage("fusion", "attention", "make one kernel of the products and the softmax of attention",
          "Fusion", "Fusion", "fusion.attention", "on a GPU"),

    # lower: the order of kernels, and memory
    Stage("lower", "interpret_initializers", "leave a small step that only sets variables to NumPy",
          "Function", "Program", "lower.interpret_initializers", "such a step, in place of all others"),
    Stage("lower", "order", "put groups in order, new values of variables after their last reads",
          "Groups", "Groups", "lower.lower"),
    Stage("lower", "in_place", "let routines overwrite what nothing reads later",
          "Groups", "Values", "lower.in_place"),
    Stage("lower", "control_flow", "make the programs of loops and branches",
          "Groups", "Programs", "lower.control_flow", "a step with loops or branches"),
    Stage("lower", "rematerialize", "compute again what takes more memory than it is worth",
          "Groups", "Groups", "lower.rematerialize"),
    Stage("lower", "update_in_place", "let new values of variables overwrite the old ones",
          "Groups", "Results", "lower.lower"),
    Stage("lower", "buffer_assignment", "give every value an address, by its lifetime",
          "Groups", "Addresses", "lower.buffer_assignment"),
    Stage("lower", "program", "write instructions, with the address of every operand",
          "Fusion", "Program", "lower.lower"),

    # kernel: from a group to code. A product goes from `product` to `print_gemm`, and a routine begins at
    # `flatten`. A GPU goes from `build_kernel` to `schedule_gpu`.
    Stage("kernel", "build_kernel", "pull elements through a group down to buffers, once for equal groups",
          "Group", "Loops", "lower.kernels"),
    Stage("kernel", "size_classes", "make one kernel of those that differ in sizes alone",
          "Loops", "Loops", "lower.size_classes", "three such kernels, on a processor", optional=True),
    Stage("kernel", "product", "recognise matrix products and convolutions, with predicated loads",
          "Loops", "Contraction", "kernel.contraction", "a product on a processor"),
    Stage("kernel", "row_schedule", "finish one row before the next, with an accumulator for each reduction",
          "Loops", "Kernel", "kernel.schedule_cpu.row_schedule"),
    Stage("kernel", "flatten", "give every buffer one axis, every position one offset",
          "Kernel", "Kernel", "kernel.loops.nests"),
    Stage("kernel", "interchange", "make the loop that runs along memory the innermost",
          "Kernel", "Kernel", "kernel.loops.nests"),
    Stage("kernel", "merge", "make one loop of two that walk through memory as one",
          "Kernel", "Kernel", "kernel.loops.nests"),
    Stage("kernel", "column_groups", "add up groups of neighbouring columns from the sums of columns",
          "Kernel", "Kernel", "kernel.schedule_cpu.column_groups", "sums over several axes, on a processor"),
    Stage("kernel", "fuse_loops", "make one loop of loops side by side",
          "Kernel", "Kernel", "kernel.loops.fusion"),
    Stage("kernel", "vectorize", "run the loop that gains the most in vector lanes",
          "Kernel", "Kernel", "kernel.schedule_cpu.vectorize"),
    Stage("kernel", "unroll_and_jam", "do rows together that load the same elements",
          "Kernel", "Kernel", "kernel.schedule_cpu.unroll_and_jam"),
    Stage("kernel", "parallelize", "cut loops into phases of chunks; spill what crosses phases to memory",
          "Kernel", "Kernels", "kernel.schedule_cpu.schedule"),
    Stage("kernel", "accumulators", "add to several partial sums where there are few columns",
          "Kernels", "Kernels", "kernel.schedule_cpu.accumulators"),
    Stage("kernel", "peel", "begin vector loops where memory is aligned",
          "Kernels", "Kernels", "kernel.schedule_cpu.vectorize"),
    Stage("kernel", "print_llvm", "approximate functions by arithmetic, and write LLVM IR",
          "Kernels", "text", "codegen.llvm.kernel"),
    Stage("kernel", "print_gemm", "choose tiles, pack operands, and write LLVM IR",
          "Contraction", "text", "codegen.gemm.gemm", "a product or a transposition, on a processor"),
    Stage("kernel", "schedule_gpu", "choose blocks, threads and tiles, and what waits in shared memory",
          "Loops", "GpuSchedule", "kernel.schedule_gpu.schedule", "on a GPU"),
    Stage("kernel", "print_cuda", "write CUDA C",
          "GpuSchedule", "text", "codegen.cuda.print", "on a GPU"),

    # step: what threads do when
    Stage("step", "parallel_schedule", "put instructions that do not conflict side by side",
          "Tasks", "Schedule", "lower.parallel_schedule", "on a processor"),
    Stage("step", "emit_step", "write the function of the whole step",
          "Program", "text", "emit_step", "on a processor"),
)

NAMES = {stage.name: stage for stage in STAGES}
NUMBERS = {stage.name: number for number, stage in enumerate(STAGES, 1)}


def part(name: str) -> tuple[Stage, ...]:
    """Return the stages of one part of the compiler, in order."""
    return tuple([stage for stage in STAGES if stage.part == name])


def describe() -> str:
    """Return the list as a table.

    >>> print(describe().splitlines()[0])
     1 prune                   Graph -> Operations       keep the operations that the fetches need
    """
    lines = []
    for number, stage in enumerate(STAGES, 1):
        forms = f"{stage.takes} -> {stage.makes}"
        when = f" ({stage.when})" if stage.when else ""
        lines.append(f"{number:2} {stage.name:24}{forms:26}{stage.about}{when}")
    return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class Observation:
    """Observers, and the kernels that they have seen: a cached kernel is made once more for them."""

    observers: tuple[Observer, ...]
    _seen: set[Hashable] = field(default_factory=set)

    def first(self, kernel: Hashable) -> bool:
        """Return True if a kernel has not been seen; then it has."""
        new = kernel not in self._seen
        self._seen.add(kernel)
        return new


_Made = TypeVar("_Made")
_OBSERVATION: ContextVar[Observation | None] = ContextVar("observation", default=None)
observation = _OBSERVATION.get  # None if nothing observes the stages here


def report(name: str, before: Any, after: _Made) -> _Made:
    """Tell observers what a stage took and what it made. Return what it made."""
    watching = _OBSERVATION.get()
    if watching is not None:
        for observe in watching.observers:
            observe(name, before, after)
    return after


def unchanged(before: Any, after: Any) -> bool:
    """Return True if a stage changed nothing: it made the same object, or an equal one.

    A Function is equal to another with the same results.
    """
    results = getattr(before, "results", None)
    if results is not None and type(before) is type(after):
        return bool(results == after.results)
    return before is after or (type(before) is type(after) and bool(before == after))


@contextmanager
def observing(*observers: Observer) -> Iterator[None]:
    """Call `observers` after each stage that runs inside the `with`, in addition to those around it."""
    around = _OBSERVATION.get()
    if not observers:
        yield
        return
    token = _OBSERVATION.set(Observation((*(around.observers if around is not None else ()), *observers)))
    try:
        yield
    finally:
        _OBSERVATION.reset(token)


@contextmanager
def unobserved() -> Iterator[None]:
    """Call no observers inside the `with`: what happens there belongs to the stage around it."""
    token = _OBSERVATION.set(None)
    try:
        yield
    finally:
        _OBSERVATION.reset(token)
