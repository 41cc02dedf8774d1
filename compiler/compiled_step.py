"""Compiled step of any device: what its program does, and how much memory that takes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import TYPE_CHECKING

from staticgraph.compiler.capture.step import Step
from staticgraph.compiler.codegen.abi import LaunchCode
from staticgraph.compiler.lower.program import Branch, Instruction, LoopInstruction, Program
from staticgraph.compiler.support.dataclass import dataclass

if TYPE_CHECKING:
    from staticgraph.compiler.fusion.group import Fusion
    from staticgraph.compiler.lower.buffer_assignment import MemoryUse

Walked = tuple[Instruction, LaunchCode | None, LoopInstruction | Branch | None]


@dataclass(frozen=True, slots=True)
class CompiledStep(ABC):
    """Compiled step for any device: the step, its fusion and its program."""

    step: Step
    fusion: Fusion
    program: Program

    @abstractmethod
    def walk(self) -> Iterator[Walked]:
        """Every instruction, those of loops and branches after these; the code of launches; and the loop or
        branch that it is in.
        """

    @property
    @abstractmethod
    def memory(self) -> MemoryUse:
        """Memory use of the step, by kind. Printed, it is a table."""
