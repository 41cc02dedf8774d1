"""Derivatives of loops and branches: loops and branches again, in the graph that derivatives are built in.

    loop      v' = body(v), rounds n, n + 1, ...
    backward  while left > before:  g  = the derivative of body at the values kept in row left - 1 (g')
                                    and what the loop takes from outside receives is added up

The rounds go backwards, from the number that the loop came to down to the one that it began at. A branch is
differentiated on the side that was taken, by the same condition.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from staticgraph.building.regions import captures, finish, own
from staticgraph.compiler import ops
from staticgraph.compiler.graph.graph import Graph
from staticgraph.compiler.graph.shapes import TensorType
from staticgraph.compiler.graph.tensor import Operation, Region, Tensor
from staticgraph.differentiation.reachability import differentiable_inputs
from staticgraph.formats.tf.graph_def.write.accumulated import Received
from staticgraph.formats.tf.graph_def.write.kept_rows import Rounds, Source


class Backward(Protocol):
    """Derivatives that are being built."""

    scratch: Graph

    @property
    def row(self) -> Tensor:
        """The number of the rows that are read where derivatives are being built."""

    def value(self, source: Source) -> Tensor: ...
    def like(self, tensor: Tensor) -> Tensor: ...
    def is_array(self, tensor: Tensor) -> bool: ...
    def within(
        self, region: Region, built: Region, row: Tensor, received: Mapping[Tensor, Tensor]
    ) -> AbstractContextManager[None]: ...
    def received(
        self, ys: Sequence[Tensor], weights: Sequence[Tensor | None], stops: Collection[Tensor]
    ) -> dict[Tensor, Received]: ...


def loop_parts(at: Backward, op: Operation, gs: Sequence[Tensor | None]) -> list[Tensor | None]:
    """Return the cotangents of a loop's inputs, given those of its outputs, `gs`."""
    graph, body = at.scratch, op.attrs["body"]
    count, active = len(body.params), _active(body, gs)
    before, after = (at.value(Rounds(body, each)) for each in (False, True))
    init = [after]
    for place in active:
        g = gs[place]
        init.append(ops.zeros_like(at.like(op.outputs[place])) if g is None else g)
    regions = Region(graph.region), Region(graph.region)
    types = [after.type, *(_received_type(at, body.params[place]) for place in active)]
    with graph.inside(regions[1]):
        left, *given = params = [_param(type, "Identity") for type in types]
        row = left - 1
        by_param = {body.params[place]: g for place, g in zip(active, given, strict=True)}
        with at.within(body, regions[1], row, by_param):
            ends = [body.results[place] for place in active]
            found = at.received(ends, given, {*body.params, *op.tensors[count:]})
            results = [row]
            for param, g in by_param.items():
                results.append(_total(found, param, g))
    captured = [place for place in _differentiable(op, count) if op.tensors[place] in found]
    for place in captured:
        tensor = op.tensors[place]
        init.append(ops.zeros_like(at.like(tensor)))
        with graph.inside(regions[1]):
            params.append(_param(_received_type(at, tensor), "Identity"))
            results.append(found[tensor].added_to(params[-1]))
    regions[1].params = tuple(params)
    finish(regions[1], results)
    with graph.inside(regions[0]):
        regions[0].params = tuple(_param(t.type, "Merge") for t in params)
        finish(regions[0], [ops.greater(regions[0].params[0], before)])
    taken, _ = captures(regions)
    made = ops.while_region([*init, *taken], cond=regions[0], body=regions[1])
    own(regions, made[0].op)
    parts: list[Tensor | None] = [None] * len(op.tensors)
    for place, g in zip([*active, *captured], made[1:], strict=False):
        parts[place] = g
    return parts


def branch_parts(at: Backward, op: Operation, gs: Sequence[Tensor | None]) -> list[Tensor | None]:
    """Return the cotangents of a branch's inputs, given those of its outputs, `gs`."""
    graph, row, pred = at.scratch, at.row, at.value(op.tensors[0])
    sides: Sequence[Region] = op.attrs["branches"]
    regions = [Region(graph.region) for _ in sides]
    found = []
    for side, region in zip(sides, regions, strict=True):
        with graph.inside(region), at.within(side, region, row, {}):
            found.append(at.received(side.results, gs, set(op.tensors)))
    reached = [place for place in _differentiable(op, 1) if any(op.tensors[place] in each for each in found)]
    for side, region, each in zip(sides, regions, found, strict=True):
        with graph.inside(region), at.within(side, region, row, {}):
            taken = [op.tensors[place] for place in reached]
            finish(region, [_total(each, t, at.like(t)) for t in taken])
    parts: list[Tensor | None] = [None] * len(op.tensors)
    if reached:
        captured, _ = captures(regions)
        made = ops.branch_region(pred, captured, branches=tuple(regions))
        outputs = made if isinstance(made, tuple) else (made,)
        own(regions, outputs[0].op)
        for place, g in zip(reached, outputs, strict=True):
            parts[place] = g
    return parts


def _param(type: TensorType, name: str) -> Tensor:
    made: Tensor = ops.region_parameter(dtype=type.dtype, shape=type.shape, name=name)
    return made


def _total(found: Mapping[Tensor, Received], tensor: Tensor, like: Tensor) -> Tensor:
    """Return the accumulated gradient of a tensor, in the shape of `like`, or zeros if there is none."""
    total: Tensor = found[tensor].total(lambda: like) if tensor in found else ops.zeros_like(like)
    return total


def _received_type(at: Backward, tensor: Tensor) -> TensorType:
    """The type of what a tensor receives: all rows, in the case of an array, which may have become more."""
    shape = tensor.type.shape
    if shape is not None and at.is_array(tensor):
        shape = (None, *shape[1:])
    return TensorType(tensor.dtype, shape)


def _differentiable(op: Operation, first: int) -> list[int]:
    """The inputs of an operation, from `first` on, that derivatives flow to."""
    return [place for place in differentiable_inputs(op) if place >= first]


def _active(body: Region, gs: Sequence[Tensor | None]) -> list[int]:
    """The carried values that receive something, in the last round or in one before it."""
    reals = {place for place, param in enumerate(body.params) if param.dtype.is_differentiable}
    active = {place for place in reals if gs[place] is not None}
    while True:
        reached = _reached([body.results[place] for place in active], body)
        more = {place for place in reals if body.params[place] in reached} - active
        if not more:
            return sorted(active)
        active |= more


def _reached(ys: Sequence[Tensor], region: Region) -> set[Tensor]:
    """The tensors that derivatives of `ys` flow to, as far as they are computed in `region`."""
    seen: set[Tensor] = set()
    stack = list(ys)
    while stack:
        tensor = stack.pop()
        if tensor not in seen:
            seen.add(tensor)
            if tensor.op.region is region:
                stack += [tensor.op.tensors[place] for place in differentiable_inputs(tensor.op)]
    return seen
