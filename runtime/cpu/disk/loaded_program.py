"""A program whose code is machine code already: what a run needs, without the compiler."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any

from staticgraph.compiler.capture.step import Step
from staticgraph.compiler.codegen.llvm.text import Code
from staticgraph.compiler.graph.function import Function
from staticgraph.compiler.graph.open_sizes import of_data, to_data
from staticgraph.compiler.graph.shapes import TensorType
from staticgraph.compiler.graph.sizes import AnySize
from staticgraph.compiler.graph.tensor import Operation
from staticgraph.compiler.lower.program import Constants, HostCall, Program
from staticgraph.compiler.machine import CPU
from staticgraph.compiler.support.dataclass import dataclass, replace

if TYPE_CHECKING:
    from staticgraph.compiler.compile import Compiled
    from staticgraph.compiler.lower.buffer_assignment import MemoryUse

NO_FUNCTION = Function((), ())


@dataclass(frozen=True)
class LoadedStep(Step):
    """A step without its Function, of which only the variables that it needs are known."""

    needed: list[Operation] = field(kw_only=True, default_factory=list)
    known_sources: list[Operation] = field(kw_only=True, default_factory=list)

    def sources(self) -> list[Operation]:
        return self.known_sources


@dataclass(frozen=True, slots=True)
class ProgramLayout(Program):
    """A program without its instructions. Of these, only the collectives are known, and if one can stop
    early.
    """

    stops: bool = False
    collectives: tuple[HostCall, ...] = ()

    @property
    def may_stop(self) -> bool:
        return self.stops

    @property
    def host_calls(self) -> list[HostCall]:
        return [*self.collectives]


@dataclass(frozen=True, slots=True)
class LoadedProgram:
    """The parts of a compiled step that an `Executable` needs.

    `cpu_jit` finds the machine code by its symbol.
    """

    step: LoadedStep
    program: Program
    entry: Code
    codes: list[Code]
    shared: int
    private: int
    cost: float
    regions: tuple[AnySize, ...]
    sizes: tuple[AnySize, ...] = ()

    def at(self, values: Mapping[str, int]) -> LoadedProgram:
        """The same for values of the open sizes: with the same code."""
        return replace(self, step=self.step.at(values), program=self.program.at(values))

    closed = at  # its kernels are not known

    @property
    def memory(self) -> MemoryUse:
        """Memory use of the step, by kind. Printed, it is a table."""
        from staticgraph.compiler.lower.buffer_assignment import memory_use  # what few runs ask for

        return memory_use(self.program, len(self.step.feeds), self.shared + self.private)


def layout_of(compiled: Compiled) -> dict[str, Any]:
    """Return the data of a compiled step that a run needs, as plain values.

    The step itself, the types and the constants are not included.
    """
    others = (code.name for code in compiled.codes if code is not compiled.entry)
    opened = {name: [*map(to_data, getattr(compiled, name))] for name in ("sizes", "regions")}
    return {
        **(opened if compiled.program.opens else {}),
        "in_place": sorted(compiled.program.in_place),
        "arena": to_data(compiled.program.arena),
        "shared": compiled.shared,
        "private": compiled.private,
        "cost": float(compiled.cost),
        "parallel": bool(compiled.regions),
        "stops": compiled.program.may_stop,
        "codes": [compiled.entry.name, *others],
    }


def prepared(
    step: LoadedStep,
    arguments: Iterable[TensorType],
    results: Iterable[TensorType],
    layout: Mapping[str, Any],
    constants: bytes,
    collectives: Sequence[HostCall] = (),
) -> LoadedProgram:
    """The program of `step` that `layout_of` told of."""
    sizes = tuple(map(of_data, layout.get("sizes", ())))
    program = ProgramLayout(
        (),
        tuple(arguments),
        tuple(results),
        step.fetches,
        frozenset(layout["in_place"]),
        of_data(layout["arena"]),
        Constants.of(constants),
        (),
        opens="sizes" in layout,
        stops=layout["stops"],
        collectives=tuple(collectives),
    )
    codes = [Code(name, "") for name in layout["codes"]]
    always = [CPU.region_ns] if layout["parallel"] else []
    regions = tuple(map(of_data, layout.get("regions", always)))
    shared, private, cost = (layout[n] for n in ("shared", "private", "cost"))
    return LoadedProgram(step, program, codes[0], codes, shared, private, cost, regions, sizes)
