"""Derivatives in the user's graph as nodes of a Function: once all shapes are known."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from staticgraph.compiler import ops
from staticgraph.compiler.autodiff.reverse import RoundsNeeded, vjp
from staticgraph.compiler.graph.function import Value
from staticgraph.compiler.graph.tensor import Operation, Tensor
from staticgraph.compiler.ops.structural import variable_of
from staticgraph.compiler.passes.needed import StaticFeedNeeded, ValueNeeded
from staticgraph.compiler.passes.prune import gradient_parts
from staticgraph.compiler.passes.reads import Reads

if TYPE_CHECKING:
    from staticgraph.compiler.passes.specialise import Specialiser


def watched(operations: Iterable[Operation]) -> tuple[set[Tensor], Reads]:
    """Return the tensors that derivatives in `operations` are taken by or stop at, and the reads."""
    found: set[Tensor] = set()
    for op in operations:
        if op.definition.name == "symbolic_gradients":
            _, _, xs, stops = gradient_parts(op)
            found.update(xs, stops)
    owners = {variable_of(t) for t in found}
    return {t for t in found if variable_of(t) is None}, Reads(owners, bool(found))


def perform_gradients(at: Specialiser, op: Operation) -> tuple[Value, ...]:
    """The derivatives that a gradients operation stands for."""
    ys, seeds, xs, stops = gradient_parts(op)
    places = [_places(at, x) for x in xs]
    wanted = [place for each in places for place in each]
    stopped = [place for t in stops for place in _places(at, t)]
    weights: list[Value | None] = [at.value(t) for t in seeds] or [None] * len(ys)
    try:
        found = iter(vjp(at.build, [at.value(t) for t in ys], weights, wanted, stopped))
    except RoundsNeeded as needed:
        rounds = at.loops[needed.family].outputs[-1]
        raise (StaticFeedNeeded if rounds in at.fed else ValueNeeded)([rounds]) from None
    out = []
    for x, each in zip(xs, places, strict=True):
        parts = [g for g in (next(found) for _ in each) if g is not None]
        total = sum(parts[1:], parts[0]) if parts else ops.zeros_like(at.value(x))
        out.append(total)
    return tuple(out)


def _places(at: Specialiser, x: Tensor) -> list[Value]:
    """Return the values by which a derivative by `x` is taken: for a variable, what stands for its reads."""
    owner = variable_of(x)
    return [at.value(x)] if owner is None or owner in at.fed_variables else at.reads.markers(owner)
