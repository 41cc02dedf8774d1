"""Capture of derivatives as nodes of a Function, once all shapes are known."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from staticgraph.compiler.capture.prune import gradient_parts, is_of_one_operation
from staticgraph.compiler.capture.step import NeedsFeeds, NeedsStage, Stop
from staticgraph.compiler.capture.walk import RULES, CaptureRule, Made, Walk
from staticgraph.compiler.graph.errors import GradientError, layout
from staticgraph.compiler.graph.function import Value
from staticgraph.compiler.graph.opdef import ops
from staticgraph.compiler.graph.tensor import Operation, Region, Tensor, around, is_loop
from staticgraph.compiler.ops.structural import variable_of

if TYPE_CHECKING:
    from staticgraph.compiler.autodiff.cotangents import Unbounded


def gradient_inputs(op: Operation) -> Iterable[Tensor]:
    """Return the inputs of a gradients operation but for variables to stop at, whose values do not matter."""
    ys, seeds, xs, stops = gradient_parts(op)
    return (*ys, *seeds, *xs, *(t for t in stops if variable_of(t) is None))


def capture_gradients(walk: Walk, op: Operation) -> Made:
    """Return the derivatives that a gradients operation stands for."""
    # Most derivatives are operations of the graph.
    from staticgraph.compiler.autodiff.cotangents import Unbounded
    from staticgraph.compiler.autodiff.reverse import vjp

    ys, seeds, xs, stops = gradient_parts(op)
    targets = [walk.value(t) for t in ys]  # before `_places`: a y that is a variable is read here
    places = [_places(walk, x) for x in xs]
    wanted = [place for each in places for place in each]
    stopped = [place for t in stops for place in _places(walk, t)]
    weights: list[Value | None] = [walk.value(t) for t in seeds] or [None] * len(ys)
    cotangents = vjp(walk.build, targets, weights, wanted, stopped)
    if isinstance(cotangents, Unbounded):
        return _trip_count_needed(walk, op, cotangents)
    if op.region is walk.request.calls.region and not is_of_one_operation(op):
        walk.losses |= dict.fromkeys(targets)
    found = iter(cotangents)
    out = []
    for x, each in zip(xs, places, strict=True):
        parts = [g for g in (next(found) for _ in each) if g is not None]
        total = sum(parts[1:], parts[0]) if parts else ops.zeros_like(walk.value(x))
        out.append(total)
    return out


def capture_seed(walk: Walk, op: Operation) -> Made:
    """Return the cotangent that a derivative begins with. What is differentiated is a loss of the step."""
    y, weight = (walk.value(t) for t in op.tensors)
    if op.region is walk.request.calls.region:
        walk.losses[y] = None
    if weight.shape == y.shape:
        return weight
    if weight.constant is not None and weight.size == 1 and weight.constant.item() == 1:
        return ops.ones_like(y)
    return (ops.reshape if weight.rank else ops.broadcast_to)(weight, shape=y.shape)


def _places(walk: Walk, x: Tensor) -> list[Value]:
    """Return the values by which a derivative by `x` is taken: for a variable, what stands for its reads."""
    owner = variable_of(x)
    if owner is None or owner in walk.feeds.variables:
        return [walk.value(x)]
    return walk.reads.markers(owner)


def _trip_count_needed(walk: Walk, op: Operation, unbounded: Unbounded) -> Stop:
    """Return the need of the trip count of a loop. GradientError if nothing but the derivative counts it."""
    loop = walk.loops.get(unbounded.family)
    if loop is None:  # made of a gradient function in a body
        text = "a derivative of this loop needs to know how many rounds there may be, which data decide"
        raise GradientError(layout(text, walk.build.where, hint="bound it: maximum_iterations="))
    trip_count = loop.outputs[-1]
    if (outer := _loop_around(op, trip_count, walk.request.calls.region)) is not None:
        # An iteration may need the derivative of the one before it: they are counted one after the other.
        from staticgraph.compiler.capture.rules.host import left_to_python  # what few derivatives need

        return left_to_python(walk, outer)
    return (NeedsFeeds if trip_count in walk.feeds.params else NeedsStage)((trip_count,))


def _loop_around(op: Operation, tensor: Tensor, end: Region | None) -> Operation | None:
    """Return the innermost loop inside of `end` that both an operation and a tensor are a part of."""
    for region in () if op.region is None else op.region.around:
        if region is end or region.owner is None:
            return None
        if is_loop(region.owner) and around(tensor, region) is not None:
            return region.owner
    return None


RULES["symbolic_gradients"] = CaptureRule(capture_gradients, gradient_inputs)
RULES["seed"] = CaptureRule(capture_seed)
