"""Recorder of a program, as far as loops and branches need it, and the tables of addresses that it fills."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

import numpy as np

from staticgraph.compiler.codegen.cuda.function import CudaFunction, FunctionCall
from staticgraph.compiler.lower.program import (
    ARENA,
    ARGUMENTS,
    CONSTANTS,
    Branch,
    Inner,
    Instruction,
    Program,
    Ref,
)
from staticgraph.runtime.gpu.device import Device
from staticgraph.runtime.gpu.graphs.order import Span
from staticgraph.runtime.gpu.graphs.predicate import Predicate


class Recording(Protocol):
    """A recorder of a program. See `GraphRecorder`."""

    merges: bool  # whether work may be asked for in other forms, and in another order, than a program says

    @property
    def device(self) -> Device:
        """The GPU that it asks."""

    @property
    def plans(self) -> bool:
        """True while functions are looked for, to be compiled before what is asked for is captured."""

    @property
    def predicate(self) -> Predicate | None:
        """The loop or branch that what is asked for belongs to, if that is left to the GPU."""

    def predicate_of(self, instruction: Branch, table: Sequence[int]) -> Predicate | None:
        """Return the predicate by which to ask for all branches; None if the host chooses one."""

    def under(self, predicate: Predicate) -> AbstractContextManager[None]:
        """Context in which what is asked for belongs to a loop or branch."""

    def functions(self, ask: Callable[[], None]) -> Collection[CudaFunction]:
        """Return the functions that `ask` asks for. Nothing is done."""

    def program(self, program: Program, table: Sequence[int]) -> None:
        """Ask for all of a program."""

    def captured(
        self, ask: Callable[[], None], program: Program, table: Sequence[int]
    ) -> list[Callable[[], None]]:
        """Return the actions that do all that `ask` asks for, which is that program."""

    def predicated(
        self, ask: Callable[[], None], predicate: Predicate, late: bool
    ) -> Callable[[], None] | None:
        """Return the action that does all that `ask` asks for, each piece only if its loop has not ended.

        None if that cannot be, or if functions would have to be compiled for it and may not be. `late`: they
        may be, even in the first run.
        """

    def call(
        self, call: FunctionCall, given: Sequence[int], reads: Sequence[Span], writes: Sequence[Span]
    ) -> None:
        """Ask for a function with these addresses, whether a loop has ended or not."""

    def fetch(self, host: np.ndarray, address: int) -> None:
        """Ask for bytes of the GPU to be brought to pinned memory."""

    def decide(self, action: Callable[[], None], instruction: Instruction) -> None:
        """Have the host do something at this point, for an instruction. NotPredicable under a predicate."""

    def copy(self, target: int, source: int, size: int) -> None:
        """Ask for a copy on the GPU."""

    def clear(self, address: int, size: int) -> None:
        """Ask for bytes of the GPU to be zero."""

    def number(self, address: int, dtype: np.dtype) -> int:
        """Return a number on the GPU, once all that was asked for is done."""


Table = Sequence[int]  # the addresses of the bases of slots


def at(table: Table, ref: Ref) -> int:
    """The address of a place."""
    return table[ref.slot] + ref.offset


def inner_table(outer: Table, inner: Inner, places: Sequence[int]) -> tuple[int, ...]:
    """The table of a program inside another one; `places` are those of its arguments and results."""
    table = [0] * inner.program.slots
    table[ARENA], table[CONSTANTS] = at(outer, inner.arena), at(outer, inner.constants)
    table[ARGUMENTS : ARGUMENTS + len(places)] = places
    return tuple(table)
