"""The host operations around one compiled segment of a run."""

from __future__ import annotations

from staticgraph.compiler.graph.tensor import Operation, Region, Tensor
from staticgraph.compiler.support.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Calls:
    """The host ops around one compiled stage of a run.

    `after`: those that the stage computes the inputs of. `elsewhere`: those that the stage must leave out,
    and operations that an earlier stage has done.
    """

    after: tuple[Operation, ...] = ()
    elsewhere: frozenset[Operation] = frozenset()
    final: bool = True  # whether the variables get the new values that the stage computes
    region: Region | None = None  # whose operations it is about: of the graph itself, or of a loop or branch
    may_fail: bool = False  # whether the run can fail after the stage: variables may not be overwritten in it
    settled: frozenset[Tensor] = frozenset()  # fed tensors of before a cut: no derivative flows through them


NO_CALLS = Calls()
