"""Loops and branches as TensorFlow 1 has them: taken apart into nodes (see `dataflow`).

What a loop or a branch takes from outside goes through a gate of its own: an Enter, or a Switch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from staticgraph.compiler.graph.dtypes import bool_, float32
from staticgraph.compiler.graph.tensor import Operation, Region, Tensor, regions_of
from staticgraph.formats.tf.graph_def.arrays import Arrays, Made
from staticgraph.formats.tf.messages.types import DataType

RESOURCE = DataType.Value("DT_RESOURCE")  # what handles are of


class Nodes(Protocol):
    """Nodes on their way into a GraphDef."""

    def node(
        self, type: str, name: str, inputs: Sequence[str], attrs: Mapping[str, Any], op: Operation
    ) -> str:
        """Add a node."""

    def unique(self, name: str) -> str:
        """A name that no other node has."""


class ControlFlow:
    """The loops and branches of a graph, all of them or none: `can_be_written` tells which."""

    def __init__(
        self,
        nodes: Nodes,
        operations: Sequence[Operation],
        arrays: Arrays,
        stand_ins: Mapping[Tensor, str],
    ) -> None:
        self._nodes = nodes
        self._arrays = arrays
        self._frames: dict[Operation, _Frame] = {}
        self._gates: dict[tuple[Operation, Tensor | str], str] = {}
        self._stand_ins = stand_ins
        owners = [op for op in operations if regions_of(op)]
        inside = {op.region for op in operations if op.region is not None}
        self.can_be_written = (
            arrays.can_be_written
            and all(map(_is_plain, owners))
            and all(region.owner in owners for region in inside)
        )
        self._ends: dict[Tensor, Operation] = {}
        for op in operations:
            if op.definition.name == "identity" and regions_of(op.tensors[0].op) and not op.controls:
                self._ends.setdefault(op.tensors[0], op)

    # Names

    def port(self, tensor: Tensor, region: Region | None) -> str:
        """Return the name by which a node in `region` takes a tensor."""
        by_reference = tensor.op.definition.name == "variable"
        return self.inside(
            tensor, self._beside(tensor), tensor.op.region, region, self._dtype(tensor), by_reference
        )

    def _beside(self, tensor: Tensor) -> str:
        """Return the name by which a node in the same region takes a tensor."""
        if tensor in self._stand_ins:
            return self._stand_ins[tensor]
        end = self._ends.get(tensor)
        if end is not None:
            return end.name
        if regions_of(tensor.op):
            return self._frame(tensor.op).ends[tensor.value_index]
        if tensor.op.definition.name == "tensor_array":
            return f"{tensor.op.name}:1"
        return tensor.name if tensor.value_index else tensor.op.name

    def handle(self, made: Made, region: Region | None) -> str:
        """Return the name by which a node in `region` takes the tensor array that `made` makes."""
        return self.inside(made.name, made.name, made.region, region, RESOURCE)

    def inside(
        self,
        what: Tensor | str,
        port: str,
        beside: Region | None,
        region: Region | None,
        dtype: Any,
        by_reference: bool = False,
    ) -> str:
        """Return the name by which a node in `region` takes `what`.

        `beside` is the region of `what`, which is `region` or one around it. The name there is `port`.
        """
        if region is beside:
            return port
        assert region is not None, what
        outer = self.inside(what, port, beside, region.parent, dtype, by_reference)
        return self._through(what, outer, region, dtype, by_reference)

    def _through(self, what: Tensor | str, outer: str, region: Region, dtype: Any, by_reference: bool) -> str:
        """Return the name of a value inside a region, where it comes in through a gate.

        The gate is an Enter of the loop, or a Switch of the branch, that the region is a part of. It is added
        once for each value.
        """
        owner = region.owner
        assert owner is not None, what
        frame, reference = self._frame(owner), "Ref" if by_reference else ""
        gate = self._gates.get((owner, what))
        if gate is None and frame.is_loop:
            attrs = {"T": dtype, "frame_name": owner.name, "is_constant": True}
            gate = self._nodes.node(f"{reference}Enter", frame.new("Enter"), [outer], attrs, owner)
        elif gate is None:
            inputs = [outer, frame.pred_id]
            gate = self._nodes.node(f"{reference}Switch", frame.new("Switch"), inputs, {"T": dtype}, owner)
        assert gate is not None
        self._gates[owner, what] = gate
        return gate if region is not _true_side(owner) else f"{gate}:1"

    def _dtype(self, tensor: Tensor) -> Any:
        """The dtype of a tensor in TensorFlow: the state of an array is a number, a table a resource."""
        if tensor.op.definition.name == "table_handle":
            return RESOURCE
        return tensor.dtype if self._arrays.of(tensor) is None else float32

    def pivot(self, region: Region) -> str:
        """The node that those without inputs wait for, so that they are a part of `region`."""
        assert region.owner is not None
        if region.params:
            return region.params[0].op.name
        frame = self._frame(region.owner)
        return frame.pivots[region is _true_side(region.owner)]

    def control(self, op: Operation) -> str:
        """The node that stands for an operation where others wait for it."""
        if not regions_of(op):
            return op.name
        return self.port(op.outputs[0], op.region)

    def _frame(self, owner: Operation) -> _Frame:
        if owner not in self._frames:
            self._frames[owner] = _Frame(owner, self._nodes.unique)
        return self._frames[owner]

    def thread(self, path: Sequence[Region], given: str, dtype: Any, change: Callable[[str], str]) -> str:
        """Carry a value through loops and branches, the outermost first, to where `change` makes another one
        of it; what it is after all of them.
        """
        if not path:
            return change(given)
        (region, *rest), add = path, self._nodes.node
        owner = region.owner
        assert owner is not None, given
        frame, types, pair = self._frame(owner), {"T": dtype}, {"T": dtype, "N": 2}
        if not frame.is_loop:
            switch = add("Switch", frame.new("Switch"), [given, frame.pred_id], types, owner)
            sides = [switch, f"{switch}:1"]
            taken = region is _true_side(owner)
            sides[taken] = self.thread(rest, sides[taken], dtype, change)
            return add("Merge", frame.new("Merge"), sides, pair, owner)
        entering = {**types, "frame_name": owner.name}
        enter = add("Enter", frame.new("Enter"), [given], entering, owner)
        next = frame.new("NextIteration")
        merge = add("Merge", frame.new("Merge"), [enter, next], pair, owner)
        switch = add("Switch", frame.new("Switch"), [merge, frame.test], types, owner)
        add("NextIteration", next, [self.thread(rest, f"{switch}:1", dtype, change)], types, owner)
        return add("Exit", frame.new("Exit"), [switch], types, owner)

    # Nodes

    def write(self, op: Operation) -> bool:
        """Add the nodes of a loop, a branch, a value that one carries, or the end of one; else False."""
        match op.definition.name:
            case "while_region":
                self._loop(op)
            case "branch_region":
                self._branch(op)
            case "region_parameter":
                self._parameter(op)
            case "identity" if self._ends.get(op.tensors[0]) is op:
                self._end(op.tensors[0], op.name, op)
            case _:
                return False
        return True

    def _parameter(self, op: Operation) -> None:
        region = op.region
        assert region is not None and region.owner is not None
        frame, at = self._frame(region.owner), region.params.index(op.outputs[0])
        types = {"T": self._dtype(op.outputs[0])}
        if region is region.owner.attrs["cond"]:
            inputs = [frame.enters[at], frame.nexts[at]]
            self._nodes.node("Merge", op.name, inputs, {**types, "N": 2}, op)
        else:
            self._nodes.node("Identity", op.name, [f"{frame.switches[at]}:1"], types, op)

    def _loop(self, op: Operation) -> None:
        frame, add = self._frame(op), self._nodes.node
        cond, body = regions_of(op)
        controls = [f"^{self.control(each)}" for each in op.controls]
        tested = add("LoopCond", frame.test, [self.port(cond.results[0], cond)], {}, op)
        for at, (merged, result) in enumerate(zip(cond.params, body.results, strict=True)):
            types = {"T": self._dtype(merged)}
            given = [self.port(op.tensors[at], op.region), *controls]
            add("Enter", frame.enters[at], given, {**types, "frame_name": op.name}, op)
            add("Switch", frame.switches[at], [merged.op.name, tested], types, op)
            add("NextIteration", frame.nexts[at], [self.port(result, body)], types, op)
            if op.outputs[at] not in self._ends:
                self._end(op.outputs[at], frame.ends[at], op)

    def _branch(self, op: Operation) -> None:
        frame, add = self._frame(op), self._nodes.node
        pred = self.port(op.tensors[0], op.region)
        controls = [f"^{self.control(each)}" for each in op.controls]
        add("Identity", frame.pred_id, [pred, *controls], {"T": bool_}, op)
        switch = add("Switch", frame.new("Switch"), [frame.pred_id, frame.pred_id], {"T": bool_}, op)
        for at, pivot in enumerate(frame.pivots):
            add("Identity", pivot, [f"{switch}:{at}"], {"T": bool_}, op)
        for at, output in enumerate(op.outputs):
            if output not in self._ends:
                self._end(output, frame.ends[at], op)

    def _end(self, output: Tensor, name: str, op: Operation) -> None:
        """Add the node that a value comes out of."""
        owner, at = output.op, output.value_index
        frame = self._frame(owner)
        if frame.is_loop:
            self._nodes.node("Exit", name, [frame.switches[at]], {"T": self._dtype(output)}, op)
        else:
            holds, does_not = regions_of(owner)
            sides = [self.port(region.results[at], region) for region in (does_not, holds)]
            self._nodes.node("Merge", name, sides, {"T": self._dtype(output), "N": 2}, op)


def _is_plain(op: Operation) -> bool:
    """Return True if a loop or branch has a form of TensorFlow's."""
    if op.definition.name == "while_region":
        return True
    return op.tensors[0].dtype is bool_ and len(regions_of(op)) == 2 and bool(op.outputs)


def _true_side(owner: Operation) -> Region | None:
    return None if owner.definition.name == "while_region" else regions_of(owner)[0]


class _Frame:
    """The names of the nodes that a loop or a branch consists of."""

    def __init__(self, owner: Operation, unique: Callable[[str], str]) -> None:
        scope = owner.name.rpartition("/")[0]
        self._scope = f"{scope}/" if scope else ""
        self._unique = unique
        self.is_loop = owner.definition.name == "while_region"
        if self.is_loop:
            count = len(owner.attrs["body"].params)
            self.test = self.new("LoopCond")
            self.enters, self.switches, self.nexts, self.ends = (
                [self.new(word) for _ in range(count)]
                for word in ("Enter", "Switch", "NextIteration", "Exit")
            )
        else:
            self.pred_id = self.new("pred_id")
            self.pivots = self.new("switch_f"), self.new("switch_t")
            self.ends = [self.new("Merge") for _ in owner.outputs]

    def new(self, word: str) -> str:
        """A new name beside that of the operation."""
        return self._unique(f"{self._scope}{word}")
