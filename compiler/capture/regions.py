"""Regions of the user's graph: the bodies of loops and branches, and what lies in or around them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from staticgraph.compiler.graph.opdef import Effect
from staticgraph.compiler.graph.tensor import Operation, Region, Tensor

# The regions that are carried out as a part of an operation, by the name of its definition.
WITH_REGIONS: dict[str, Callable[[dict[str, Any]], tuple[Region, ...]]] = {
    "while_region": lambda attrs: (attrs["cond"], attrs["body"]),
    "branch_region": lambda attrs: tuple(attrs["branches"]),
}

_ACTS = (Effect.WRITE, Effect.RANDOM, Effect.EFFECT)


def regions_of(op: Operation) -> tuple[Region, ...]:
    """Return the regions that are carried out as a part of an operation."""
    regions = WITH_REGIONS.get(op.definition.name)
    return () if regions is None else regions(op.attrs)


def held_regions(op: Operation) -> tuple[Region, ...]:
    """Return all regions that belong to an operation, also those that only its gradient carries out."""
    if op.definition.name == "custom_gradient" and op.attrs["derivative"] is not None:
        return (op.attrs["derivative"],)
    return regions_of(op)


def with_inner(operations: Iterable[Operation]) -> list[Operation]:
    """Return `operations`, and those in their regions at any depth."""
    found = []
    for op in operations:
        found.append(op)
        if op.definition.name in WITH_REGIONS:
            for region in regions_of(op):
                found += with_inner(region.operations())
    return found


def acting(operations: Iterable[Operation], known: dict[Operation, list[Operation]]) -> list[Operation]:
    """Return what changes state or checks its inputs of `operations` and all in their regions, at any depth.

    `known` has those in the regions of an operation: with it, nested loops are looked at once, not once for
    each loop around them.
    """
    found = []
    for op in operations:
        if op.definition.effect in _ACTS or op.definition.requires is not None:
            found.append(op)
        if op.definition.name in WITH_REGIONS:
            if op not in known:
                inner = (each for region in regions_of(op) for each in region.operations())
                known[op] = acting(inner, known)
            found += known[op]
    return found


def whole(operations: Iterable[Operation]) -> list[Operation]:
    """Return `operations` and all in their regions, even unused params, in order of construction."""
    return sorted(_all_inside(operations), key=lambda op: op.id)


def _all_inside(operations: Iterable[Operation]) -> set[Operation]:
    found = set(operations)
    for op in list(found):
        for region in held_regions(op):
            found |= _all_inside(region.operations(tuple(p.op for p in region.params)))
    return found


def around(tensor: Tensor, region: Region | None) -> Operation | None:
    """Return the operation of `region` that computes `tensor` or contains it; None if it is outside."""
    op: Operation | None = tensor.op
    while op is not None and op.region is not region:
        op = None if op.region is None else op.region.owner
    return op


def outermost(tensor: Tensor, region: Region | None = None) -> Operation:
    """Return the operation outside of all regions, or in `region`, that computes or contains `tensor`.

    A tensor from outside of `region` is computed by its own operation.
    """
    op = around(tensor, region)
    return tensor.op if op is None else op


def is_loop(op: Operation) -> bool:
    """Return True if an operation is a loop."""
    return op.definition.name == "while_region"


def is_branch(op: Operation) -> bool:
    """Return True if an operation is a branch."""
    return op.definition.name == "branch_region"


def is_rounds(tensor: Tensor) -> bool:
    """Return True if `tensor` is the trip count of a loop."""
    return is_loop(tensor.op) and tensor is tensor.op.outputs[-1]
