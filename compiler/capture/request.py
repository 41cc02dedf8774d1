"""Request of a capture, and needs: what it lacks, as values that it returns in place of a Step.

A request has the fetches and targets of a run, all that is known about its inputs, and the host operations
around the step. The caller finds the answer to a need and captures again:

    match capture(request):
        case Step() as step: ...           # the whole run is captured
        case NeedsFeeds(feeds): ...        # add their values to `request.static`
        case NeedsTypes(variables): ...    # add the types of their values to `request.types`
        case NeedsStage(tensors): ...      # compute them in an earlier stage, and feed them
        case NeedsHost(operation): ...     # call it first, and feed its results

Within a capture, whatever cannot go on returns such a value, and each function on the way hands it up.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field

import numpy as np

from staticgraph.compiler.graph.graph import Graph
from staticgraph.compiler.graph.shapes import Shape, TensorType
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


@dataclass(frozen=True, slots=True)
class NeedsFeeds:
    """Values of feeds, on which a shape, an axis or the branch that is taken depends."""

    feeds: tuple[Tensor, ...]


@dataclass(frozen=True, slots=True)
class NeedsTypes:
    """Types of variables: the step depends on whether they have values, or on the shapes of these."""

    variables: tuple[Operation, ...]


@dataclass(frozen=True, slots=True)
class NeedsStage:
    """Values of tensors, on which a shape or an axis depends: an earlier stage must compute them."""

    tensors: tuple[Tensor, ...]


@dataclass(frozen=True, slots=True)
class NeedsHost:
    """Results of a host op, which constants alone do not tell: Python must call it before the step."""

    operation: Operation


@dataclass(frozen=True, slots=True)
class NeedsRows:
    """Shapes of the rows of arrays that were made before one was written, by the number of each array.

    `capture` answers this need itself: it begins anew and makes the arrays in these shapes.
    """

    shapes: Mapping[int, Shape]


Needs = NeedsFeeds | NeedsTypes | NeedsStage | NeedsHost  # the caller's to answer
NeedsSegments = NeedsStage | NeedsHost  # a run in several segments answers these
Stop = Needs | NeedsRows  # all that ends a walk before its last operation


def lacking_operations(stop: Stop) -> tuple[Operation, ...]:
    """Return the operations whose results an earlier stage or Python must compute."""
    match stop:
        case NeedsHost(operation):
            return (operation,)
        case NeedsStage(tensors):
            return tuple(t.op for t in tensors)
    return ()
