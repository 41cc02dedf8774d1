"""Request of a capture: the fetches and targets of a run, all that is known about its inputs, and the host
operations around the step.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field

import numpy as np

from staticgraph.compiler.graph.graph import Graph
from staticgraph.compiler.graph.shapes import TensorType
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
    pads: bool = False  # whether the stage computes the padded results of ops in `after` that have such
    settled: frozenset[Tensor] = frozenset()  # fed tensors of before a cut: no derivative flows through them


NO_CALLS = Calls()
SHORT = 16  # elements of feeds: shapes depend on the values of no more than these


@dataclass(frozen=True, slots=True)
class CaptureRequest:
    """Question that a capture answers with a step or with a need.

    Attributes:
        graph: The user's graph.
        fetches: The tensors to return.
        targets: The operations to run.
        feeds: The fed tensors with their static types.
        types: Types of the values that variables have before the run, None if a variable has no value.
        static: Values of feeds, for which the step is compiled; open sizes are elements of such a value.
        calls: The host ops around the step.
        losses: True if the step also returns the tensors that are differentiated.
        on_host: Test if NumPy shall compute an operation, as far as that can be.
        checks: True if the step tests what its operations require of their inputs, such as indices in range.
    """

    graph: Graph
    fetches: Sequence[Tensor]
    targets: Sequence[Operation]
    feeds: Mapping[Tensor, TensorType]
    types: Mapping[Operation, TensorType | None] = field(default_factory=dict)
    static: Mapping[Tensor, np.ndarray] = field(default_factory=dict)
    calls: Calls = NO_CALLS
    losses: bool = False
    on_host: Callable[[Operation], bool] = lambda op: False
    checks: bool = False
