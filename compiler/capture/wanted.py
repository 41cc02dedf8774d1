"""Wanted operations of a run: those that its fetches need, and the tensors inside of loops and branches."""

from __future__ import annotations

from collections.abc import Iterable

from staticgraph.compiler import stages
from staticgraph.compiler.capture.prune import gradient_parts, is_gradients, prune
from staticgraph.compiler.capture.regions import is_branch, is_rounds, outermost, with_inner
from staticgraph.compiler.capture.request import CaptureRequest
from staticgraph.compiler.graph.errors import UnimplementedError, layout
from staticgraph.compiler.graph.tensor import Operation, Tensor
from staticgraph.compiler.support.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Wanted:
    """Operations and tensors that a run takes of a graph.

    Attributes:
        needed: The operations outside of regions, in order of construction.
        overridden: The fed tensors that are computed too, since derivatives flow through them.
        differentiated: The tensors and variables that derivatives are taken by, or stop at.
        counted: The loops whose trip count is fetched.
        inner: The fetched tensors inside of loops and branches, by the operation that contains them. The walk
            adds those of the region that it is in.
        entered: The branches of which only tensors inside are wanted. The walk adds those inside of regions.
    """

    needed: list[Operation]
    overridden: set[Tensor]
    differentiated: set[Tensor]
    counted: set[Operation]
    inner: dict[Operation, list[Tensor]]
    entered: set[Operation]


def wanted_of(request: CaptureRequest) -> Wanted:
    """Return what a run takes of a graph. FeedError for a placeholder that is not fed."""
    calls = request.calls
    inner: dict[Operation, list[Tensor]] = {}
    for tensor in request.fetches:
        owner = outermost(tensor, calls.region)
        if owner is not tensor.op and tensor not in request.feeds:
            inner.setdefault(owner, []).append(tensor)
    computed = [t for t in request.fetches if t not in request.feeds]
    roots = [*(outermost(t, calls.region) for t in computed), *request.targets, *calls.after]
    needed, overridden = prune(roots, request.feeds, calls.elsewhere)
    stages.report("prune", request.graph, needed)
    for tensor in overridden & calls.settled:
        text = f"no derivative flows back through {tensor.name}, from after a loop or branch to before it"
        hint = "it is done in Python, as it calls Python, and shares variables with the rest of the run"
        raise UnimplementedError(layout(text, tensor.op.where, hint=hint), tensor.op)
    wanted = (*(t.op for t in computed if t.op.region is calls.region), *request.targets, *calls.after)
    entered = only_entered(filter(is_branch, inner), needed, wanted) if inner else set()
    counted = {t.op for t in request.fetches if is_rounds(t)}
    return Wanted(needed, overridden, _differentiated(with_inner(needed)), counted, inner, entered)


def only_entered(
    roots: Iterable[Operation], operations: Iterable[Operation], wanted: Iterable[Operation]
) -> set[Operation]:
    """Return those of `roots` of which nothing is wanted but tensors inside.

    Such an operation is neither `wanted` itself nor used by `operations`.
    """
    used = set(wanted)
    for op in operations:
        used.update(t.op for t in op.all_inputs)
        used.update(op.controls)
    return set(roots) - used


def _differentiated(operations: Iterable[Operation]) -> set[Tensor]:
    found: set[Tensor] = set()
    for op in filter(is_gradients, operations):
        _, _, xs, stops = gradient_parts(op)
        found.update(xs, stops)
    return found
