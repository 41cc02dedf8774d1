"""The functions of a saved graph, compiled: in one step each, or in stages if the data decide sizes."""

from __future__ import annotations

from staticgraph.compiler.capture.all_sizes import OpenMade
from staticgraph.compiler.capture.open_shapes import OpenShapes
from staticgraph.compiler.capture.step import Step
from staticgraph.compiler.codegen.llvm.staged_interface import RowCut
from staticgraph.compiler.compile import Compiled
from staticgraph.compiler.graph.shapes import TensorType
from staticgraph.compiler.support.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class CompiledFunction:
    """One function of the file: its inputs in order, and for each output the fetch that it is.

    Attributes:
        name: Its name in the file.
        inputs: The names of its inputs.
        outputs: For each output the number of the fetch.
        shapes: The shapes of the inputs, and the contents of those whose values are sizes, with a symbol for
            each open size.
        programs: Its programs, which differ in the sizes that they take.
        is_stage: If it is a stage of a function.
        commits: If it keeps new values of variables, as all but early stages do.
    """

    name: str
    inputs: tuple[str, ...]
    outputs: dict[str, int]
    shapes: OpenShapes
    programs: tuple[OpenMade[Compiled], ...]
    is_stage: bool = False
    commits: bool = True

    @property
    def steps(self) -> list[Step]:
        return [each.made.step for each in self.programs]

    @property
    def is_open(self) -> bool:
        """True if it takes sizes, and memory for them. All stages do."""
        return self.is_stage or self.shapes.count > 0

    @property
    def stages(self) -> tuple[CompiledFunction, ...]:
        return (self,)


@dataclass(frozen=True, slots=True)
class StageStep:
    """Run of a stage: the stage, and the numbers of the values that it takes."""

    stage: CompiledFunction
    feeds: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class StagedFunction:
    """One function of the file that is compiled in stages.

    Attributes:
        name: Its name in the file.
        inputs: The names of its inputs.
        types: The types of the inputs, with None for sizes that are open.
        steps: What it does, in order. Values are numbered: the inputs, then what each step makes.
        outputs: For each output the number of its value, and its type.
    """

    name: str
    inputs: tuple[str, ...]
    types: tuple[TensorType, ...]
    steps: tuple[StageStep | RowCut, ...]
    outputs: dict[str, tuple[int, TensorType]]

    @property
    def stages(self) -> tuple[CompiledFunction, ...]:
        return tuple(step.stage for step in self.steps if isinstance(step, StageStep))

    @property
    def is_open(self) -> bool:
        return False  # no function tells its sizes


AnyFunction = CompiledFunction | StagedFunction
