"""`Session.plan`: what a run will do, known before it runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from staticgraph.compiler.capture.open_shapes import OpenShapes
from staticgraph.compiler.compiled_step import CompiledStep
from staticgraph.compiler.fusion.group import is_collective
from staticgraph.compiler.fusion.neighbours import neighbours
from staticgraph.compiler.graph.errors import InvalidArgumentError, misuse
from staticgraph.compiler.graph.sizes import Size
from staticgraph.compiler.graph.tensor import Operation, Tensor
from staticgraph.compiler.lower.buffer_assignment import MemoryUse, size_text
from staticgraph.compiler.lower.collectives import overlaps
from staticgraph.compiler.lower.parallel_schedule import memory_of
from staticgraph.compiler.support.dataclass import dataclass
from staticgraph.runtime.executable import Executable
from staticgraph.runtime.profiling.kernels import KernelView, kernels_of
from staticgraph.runtime.reports.compile_log import Compile
from staticgraph.runtime.reports.recompile_reason import symbols_text
from staticgraph.runtime.reports.stage_log import StageLog
from staticgraph.runtime.reports.table import Table, counted, duration, table

_SHOWN = 4  # kernels that run meanwhile


@dataclass(frozen=True, slots=True)
class Apart:
    """Two kernels, by name, of which `reader` reads what `maker` stores, and why they are not one."""

    maker: str
    reader: str
    reason: str


@dataclass(frozen=True, slots=True)
class ExchangeView:
    """A collective outside of loops and branches.

    Attributes:
        name: The name of the operation.
        bytes: The bytes that this process gives.
        meanwhile: The names of the kernels that run while it is under way.
    """

    name: str
    bytes: int
    meanwhile: tuple[str, ...]

    def __str__(self) -> str:
        names = ", ".join(self.meanwhile[:_SHOWN]) + (", ..." if len(self.meanwhile) > _SHOWN else "")
        return f"{self.name} of {size_text(self.bytes)}, meanwhile {names or 'nothing'}"


@dataclass(frozen=True, slots=True)
class StepPlan:
    """Description of one run of some fetches. Printed, it is a table.

    Attributes:
        what: The text of the fetches.
        kernels: The kernels in the order in which they run. Kernels inside loops count once, as trip
            counts are unknown.
        apart: Neighbouring kernels that were not fused.
        memory: The memory that a run takes, at most `memory.peak` bytes.
        recompiled_for: Changes that would make another program necessary.
        compiles: The compiles for this plan; empty if a run had already done them.
        stages: The stages of these compiles, with the effect and the time of each. Print it.
        check_nan: True if kernels also look for NaN.
        check_bounds: True if kernels also look for indices and the like that are out of range.
        exchanges: The collectives with other processes, in order.
    """

    what: str
    kernels: tuple[KernelView, ...]
    apart: tuple[Apart, ...]
    memory: MemoryUse
    recompiled_for: tuple[str, ...]
    compiles: tuple[Compile, ...]
    stages: StageLog
    check_nan: bool = False
    check_bounds: bool = False
    exchanges: tuple[ExchangeView, ...] = ()

    @property
    def flops(self) -> int:
        """Operations on floating numbers."""
        return sum(k.effort.flops for k in self.kernels if k.effort is not None)

    @property
    def bytes(self) -> int:
        """Bytes that kernels read and write."""
        return sum(k.effort.bytes for k in self.kernels if k.effort is not None)

    @property
    def nanoseconds(self) -> float | None:
        """The compiler's guess of the time on one core; None for a GPU, for which there is none."""
        launches = [k for k in self.kernels if k.effort is not None]
        known = [k.nanoseconds for k in launches if k.nanoseconds is not None]
        return sum(known) if len(known) == len(launches) else None

    @property
    def table(self) -> Table:
        """The kernels, one in each row."""
        count = f"{len(self.kernels)} kernel{'s' if len(self.kernels) != 1 else ''}"
        amounts = f"{counted(self.flops, 'FLOP')}, {size_text(self.bytes)} moved"
        time = "" if self.nanoseconds is None else f", about {duration(self.nanoseconds)} on one core"
        title = f"{self.what}: {count}, {amounts}{time}"
        last = "functions" if self.nanoseconds is None else "time"
        head = ("kernel", "ops", "FLOP", "bytes", last, "in", "lines")
        left = (0, 5, 6) if last == "time" else (0, 4, 5, 6)
        return Table(title, head, tuple(map(_row, self.kernels)), left)

    def __repr__(self) -> str:
        return f"<StepPlan of {self.table.title}>"

    def __str__(self) -> str:
        kernels = self.table
        return "\n\n".join([kernels.title, table(kernels.head, kernels.rows, kernels.left), *self.notes()])

    def notes(self) -> Iterator[str]:
        """Return what there is to say beside the kernels, each a text of one or more lines."""
        if self.check_nan:
            yield "check_nan: kernels also find out whether the results of the run are finite"
        if self.check_bounds:
            yield "check_bounds: kernels also find out if indices and the like are in range"
        if self.exchanges:
            yield "\n".join(["exchanged with other processes:", *(f"  {each}" for each in self.exchanges)])
        yield f"memory: {self.memory}"
        if self.apart:
            rows = [f"  {a.reader} reads {a.maker}: {a.reason}" for a in self.apart]
            yield "\n".join(["not fused:", *rows])
        yield "\n".join(["another program is compiled for:", *(f"  {each}" for each in self.recompiled_for)])


def _row(kernel: KernelView) -> tuple[str, ...]:
    if kernel.effort is None:
        amounts = ("", "", "MPI" if is_collective(kernel.nodes[-1]) else "NumPy")
    else:
        functions = ", ".join(each.how for each in kernel.listings)
        last = functions if kernel.nanoseconds is None else duration(kernel.nanoseconds)
        amounts = (counted(kernel.effort.flops), size_text(kernel.effort.bytes), last)
    return (kernel.name, str(len(kernel.ops)), *amounts, kernel.inside, kernel.places)


def step_plan(
    what: str,
    program: Executable,
    opened: OpenShapes | None,
    static: Sequence[int],
    variables: Sequence[Operation],
    compiles: Sequence[Compile],
    stages: StageLog,
) -> StepPlan:
    """The plan of a compiled step; InvalidArgumentError if it came as machine code.

    `opened`: the shapes of feeds that its code takes, if sizes are open; `static`: the feeds whose values it
    is for; `variables`: those whose types the graph does not tell.
    """
    compiled = program.compiled
    if not isinstance(compiled, CompiledStep):
        text = f"{what} came as machine code from a file: nobody knows what its kernels are"
        raise misuse(InvalidArgumentError, text, "load the file without trusted=True")
    kernels = kernels_of(compiled)
    names = {kernel.nodes: kernel.name for kernel in reversed(kernels)}
    apart = []
    for pair in neighbours(compiled.fusion):
        maker, reader = (names.get(tuple(group.nodes)) for group in (pair.maker, pair.reader))
        if maker is not None and reader is not None and maker != reader:
            apart.append(Apart(maker, reader, pair.reason))
    again = tuple(_again(compiled, compiled.step.feeds, opened, static, variables))
    guard = program.checks
    finite = guard is not None and guard.finite
    return StepPlan(
        what,
        tuple(kernels),
        tuple(apart),
        compiled.memory,
        again,
        tuple(compiles),
        stages,
        finite,
        guard is not None and not finite,
        tuple(_exchanges(compiled, kernels)),
    )


def _exchanges(compiled: CompiledStep, kernels: Sequence[KernelView]) -> Iterator[ExchangeView]:
    """Yield the collectives of a program."""
    if not any(is_collective(kernel.nodes[-1]) for kernel in kernels):
        return
    names = {id(kernel.instruction): kernel.name for kernel in kernels}
    for call, meanwhile in overlaps(compiled.program.instructions, memory_of(compiled.program)):
        type = call.inputs[0][1]
        running = tuple(dict.fromkeys(names[id(launch)] for launch in meanwhile if id(launch) in names))
        yield ExchangeView(names[id(call)], type.size * type.dtype.size, running)


def _again(
    compiled: CompiledStep,
    feeds: Sequence[Tensor],
    opened: OpenShapes | None,
    static: Sequence[int],
    variables: Sequence[Operation],
) -> Iterator[str]:
    """Yield the changes that need another program."""
    places: dict[Any, list[str]] = {}
    for number, (tensor, type) in enumerate(zip(feeds, compiled.program.arguments, strict=False)):
        name, shape = tensor.op.name, tensor.type.shape
        if shape is None:
            yield f"another shape of {name}, which is {list(type.static_shape)} here"
        for axis, size in enumerate(shape or ()):
            known = None if opened is None else opened.shapes[number][axis]
            if isinstance(known, Size):
                places.setdefault(known, []).append(f"axis {axis} of {name}")
            elif size is None:
                yield f"another size of {name} along axis {axis}, which is {type.static_shape[axis]} here"
    contents = {} if opened is None else dict(zip(opened.sized, opened.contents, strict=True))
    for number, row in contents.items():
        for size in row:
            if isinstance(size, Size):
                places.setdefault(size, []).append(f"the value of {feeds[number].op.name}")
    for several in places.values():
        if len(several) > 1:
            yield f"sizes that differ along {', '.join(several)}"
    if opened is not None and opened.guards:
        guards = ", ".join(map(str, opened.guards))
        yield f"sizes without the guards {guards} ({symbols_text(opened, feeds)})"
    for number in static:
        if number not in contents or not all(isinstance(n, Size) for n in contents[number]):
            yield f"another value of {feeds[number].op.name}: shapes depend on it"
    for op in variables:
        yield f"another shape of the variable {op.name}, or whether it has a value"
    yield "other fetches, or other tensors that are fed; not for other dtypes: values are converted"
