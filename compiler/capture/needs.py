"""Needs: what a capture lacks, as values that it returns in place of a Step.

The caller finds the answer and captures again:

    match capture(request):
        case Step() as step: ...           # the whole run is captured
        case NeedsFeeds(feeds): ...        # add their values to `request.static`
        case NeedsTypes(variables): ...    # add the types of their values to `request.types`
        case NeedsStage(tensors): ...      # compute them in an earlier stage, and feed them
        case NeedsHost(operation): ...     # call it first, and feed its results

Within a capture, whatever cannot go on returns such a value, and each function on the way hands it up.
"""

from __future__ import annotations

from collections.abc import Mapping

from staticgraph.compiler.graph.shapes import Shape
from staticgraph.compiler.graph.tensor import Operation, Tensor
from staticgraph.compiler.support.dataclass import dataclass


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
