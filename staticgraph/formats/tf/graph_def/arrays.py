"""Tensors of a graph that stand for tensor arrays: by way of writes and loops, from where one is made."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from staticgraph.compiler.graph.tensor import Operation, Region, Tensor, regions_of

CHANGES = frozenset({"tensor_array_write", "tensor_array_scatter", "tensor_array_grow"})


class Made(Protocol):
    """Maker of an array: an operation, or a node that has no operation."""

    @property
    def name(self) -> str: ...
    @property
    def region(self) -> Region | None: ...


class Arrays:
    """Tensors of a graph that are the flows of arrays, and the operation that made each array.

    `can_be_written`: no value is an array in one place and a tensor in another.
    """

    def __init__(self, operations: Sequence[Operation]) -> None:
        self._made: dict[Tensor, Made] = {}
        self.growing: set[Made] = set()
        self.can_be_written = True
        for op in operations:
            if op.definition.name == "tensor_array":
                self._made[op.outputs[0]] = op
            elif op.definition.name == "region_parameter" or regions_of(op) or op.definition.name in CHANGES:
                self._follow(op)
            elif op.definition.name == "identity" and regions_of(op.tensors[0].op):
                self._pass(op.tensors[0], op.outputs[0])
        for tensor, made in self._made.items():
            if tensor.op.definition.name == "tensor_array_grow":
                self.growing.add(made)

    def of(self, tensor: Tensor) -> Made | None:
        """Return the maker of an array if the tensor is the flow of one, else None."""
        return self._made.get(tensor)

    def let(self, tensor: Tensor, made: Made) -> None:
        """Take `tensor` for the flow of that array."""
        self._made[tensor] = made

    def _pass(self, tensor: Tensor, other: Tensor) -> None:
        if tensor in self._made:
            self._made[other] = self._made[tensor]

    def _follow(self, op: Operation) -> None:
        if op.definition.name in CHANGES:
            self._pass(op.tensors[0], op.outputs[0])
            return
        if op.definition.name == "region_parameter":
            region = op.region
            if region is not None and region.owner is not None:
                self._pass(region.owner.tensors[region.params.index(op.outputs[0])], op.outputs[0])
            return
        loop = op.definition.name == "while_region"
        for at in range(len(op.outputs) - loop):
            ends = [region.results[at] for region in (regions_of(op)[1:] if loop else regions_of(op))]
            found = {self.of(each) for each in (*ends, *op.tensors[at : at + loop])}
            if len(found) > 1:
                self.can_be_written = False
            self._pass(ends[0], op.outputs[at])
