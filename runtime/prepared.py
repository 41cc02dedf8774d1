"""A program whose code is machine code already, from a file: what a run needs, without the compiler."""

from __future__ import annotations

from dataclasses import field

from staticgraph.compiler.codegen.llvm_text import Code
from staticgraph.compiler.dataclass import dataclass
from staticgraph.compiler.graph.function import Function
from staticgraph.compiler.graph.tensor import Operation
from staticgraph.compiler.lower.program import Program
from staticgraph.compiler.passes.step import Step

NO_FUNCTION = Function((), ())


@dataclass(frozen=True)
class PreparedStep(Step):
    """A step without its Function, of which only the variables that it needs are known."""

    needed: list[Operation] = field(kw_only=True, default_factory=list)


@dataclass(frozen=True, slots=True)
class PreparedProgram(Program):
    """A program without its instructions: all that is known of them is whether they can stop early."""

    stops: bool = False

    @property
    def may_stop(self) -> bool:
        return self.stops


@dataclass(frozen=True, slots=True)
class Prepared:
    """What an `Executable` needs of a compiled step. The code is where `cpu_jit` finds it by its symbol."""

    step: PreparedStep
    program: Program
    entry: Code
    codes: list[Code]
    shared: int
    private: int
    cost: float
    parallel: bool
