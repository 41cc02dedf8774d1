"""Derivatives as nodes that TensorFlow has: those of a `gradients` operation, which is a single one here.

The derivatives are built in a graph of their own, where placeholders stand for tensors of the graph that is
written, and then written with it. None can be used before all are there: an optimizer must not change what
another derivative still reads. What waits for that is an Identity for each, since TensorFlow takes an
IdentityN for nothing at all, even if it waits for something.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from staticgraph.compiler import ops
from staticgraph.compiler.graph.errors import GraphError, headline
from staticgraph.compiler.graph.graph import Graph
from staticgraph.compiler.graph.opdef import Kind, OpDef
from staticgraph.compiler.graph.shapes import TensorType
from staticgraph.compiler.graph.static_value import static_value
from staticgraph.compiler.graph.tensor import Operation, Tensor
from staticgraph.compiler.passes.prune import gradient_parts
from staticgraph.compiler.passes.regions import regions_of
from staticgraph.graph_def.correspondence import pairs
from staticgraph.graph_def.gradient_rules import RULES, Given, NoRule
from staticgraph.graph_def.signatures import signature
from staticgraph.reachability import differentiable_inputs

__all__ = ["Writing", "write_gradients"]


class Writing(Protocol):
    """A GraphDef that is being written."""

    names: set[str]
    stand_ins: dict[Tensor, str]

    def port(self, tensor: Tensor, op: Operation) -> str:
        """How the node of `op` names an input."""

    def node(
        self, type: str, name: str, inputs: Sequence[str], attrs: Mapping[str, Any], op: Operation
    ) -> str:
        """Add a node."""

    def unique(self, name: str) -> str:
        """A name that no other node has."""

    def write(self, op: Operation) -> None:
        """Add the node of an operation, after those that only serve it."""


def write_gradients(writer: Writing, op: Operation) -> str:
    """Add the nodes of a gradients operation; why that is not possible, or the empty text."""
    backward = _Backward(writer, op)
    try:
        found = backward.run()
    except NoRule as error:
        return str(error)
    except (GraphError, TypeError, AttributeError, ValueError) as error:
        return f"its derivatives need what is not known before the graph runs: {headline(error)}"
    for each in backward.scratch.get_operations():
        if each.outputs[:1] and each.outputs[0] in writer.stand_ins:
            continue
        writer.write(each)
    for type, name, inputs, attrs in backward.raw:
        writer.node(type, name, [writer.port(t, op) for t in inputs], attrs, op)
    ports = [writer.port(t, op) for t in found]
    waits = [f"^{name}" for name in dict.fromkeys(each.partition(":")[0] for each in ports)]
    all_there = writer.node("NoOp", writer.unique(f"{op.name}/group_deps"), waits, {}, op)
    gated = [
        writer.node(
            "Identity", writer.unique(f"{op.name}/gated"), [each, f"^{all_there}"], {"T": t.dtype}, op
        )
        for each, t in zip(ports, found, strict=True)
    ]
    writer.node("IdentityN", op.name, gated, {"T": tuple(t.dtype for t in found)}, op)
    return ""


class _Backward:
    """One walk from ys back to xs."""

    def __init__(self, writer: Writing, op: Operation) -> None:
        self.writer = writer
        self.op = op
        self.scratch = Graph()
        for name in writer.names:
            self.scratch.names.take(name)
        self.raw: list[tuple[str, str, Sequence[Tensor], Mapping[str, Any]]] = []
        self._known: dict[Tensor, Tensor] = {}

    def run(self) -> list[Tensor]:
        """The derivatives, in the graph of their own."""
        ys, seeds, xs, stops = gradient_parts(self.op)
        if self.op.region is not None:
            raise NoRule("it is in a loop or a branch")
        with self.scratch.as_default(), self.scratch.name_scope(f"{self.op.name}/"):
            weights = [self.value(t) for t in seeds] or [ops.ones_like(self.value(y)) for y in ys]
            found = self.walk(ys, weights, xs, stops)
            return [ops.zeros_like(self.value(x)) if g is None else g for x, g in zip(xs, found, strict=True)]

    def walk(
        self,
        ys: Sequence[Tensor],
        weights: Sequence[Tensor | None],
        xs: Sequence[Tensor],
        stops: Sequence[Tensor],
    ) -> list[Tensor | None]:
        """The derivatives by each of `xs`, in the graph of their own; None for one that there is not."""
        received: dict[Tensor, Tensor] = {}

        def receive(tensor: Tensor, g: Tensor) -> None:
            received[tensor] = received[tensor] + g if tensor in received else g

        for y, g in zip(ys, weights, strict=True):
            if g is not None:
                receive(y, g)
        for op in self._between(ys, xs, stops):
            gs = [None if t in stops else received.get(t) for t in op.outputs]
            if any(g is not None for g in gs):
                parts = self._parts(op, gs)
                for place in differentiable_inputs(op):
                    part = parts[place]
                    if part is not None and op.inputs[place] not in stops:
                        receive(op.inputs[place], part)
        return [received.get(x) for x in xs]

    def _between(
        self, ys: Sequence[Tensor], xs: Sequence[Tensor], stops: Sequence[Tensor]
    ) -> list[Operation]:
        """The operations on the way from xs to ys, the last ones first."""
        seen: set[Operation] = set()
        stack = [y.op for y in ys if y not in stops]
        while stack:
            op = stack.pop()
            if op not in seen:
                seen.add(op)
                used = [op.inputs[place] for place in differentiable_inputs(op)]
                stack += [t.op for t in used if t not in stops]
        depends = set(xs)
        found = []
        for op in sorted(seen, key=lambda each: each.id):
            if any(op.inputs[place] in depends for place in differentiable_inputs(op)):
                depends.update(t for t in op.outputs if t not in stops)
                found.append(op)
        return found[::-1]

    def _parts(self, op: Operation, gs: Sequence[Tensor | None]) -> Sequence[Tensor | None]:
        """What each input of an operation receives."""
        definition = op.definition
        rule = RULES.get(definition.name)
        given = Given(self, op)
        if rule is not None:
            return rule(given, *gs)
        if regions_of(op):
            raise NoRule(f"{op.name} ({op.type}) is a loop or a branch, whose derivatives are not written")
        if definition.kind is not Kind.ELEMENTWISE or gs[0] is None:
            text = "has no derivative among the nodes of TensorFlow that are written"
            raise NoRule(f"{op.name} ({op.type}) {text}")
        xs = given.inputs
        parts = self._elementwise(definition, gs[0], given.output(), xs, op.attrs)
        return [None if g is None else given.fitted(g, x) for g, x in zip(parts, xs, strict=True)]

    def _elementwise(
        self, definition: OpDef, g: Tensor, y: Tensor, xs: Sequence[Tensor], attrs: Mapping[str, Any]
    ) -> Sequence[Tensor | None]:
        if definition.grad is not None:
            parts = definition.grad(g, y, *xs, **attrs)
            return parts if isinstance(parts, tuple | list) else (parts,)
        if definition.body is None:
            raise NoRule(f"{definition.name} has no derivative")
        kept = [ops.identity(x) for x in xs]
        return self.walk([definition.body(*kept, **attrs)], [g], kept, kept)

    def value(self, tensor: Tensor) -> Tensor:
        """What stands for a tensor in the graph of their own."""
        if tensor.graph is self.scratch:
            return tensor
        if tensor not in self._known:
            constant = static_value(tensor) if tensor.op.definition.name == "constant" else None
            if constant is not None and tensor.type.size is not None and tensor.type.size <= 16:
                self._known[tensor] = ops.constant(value=tensor.op.attrs["value"])
            else:
                self._known[tensor] = self._stand_in(tensor.type, self.writer.port(tensor, self.op))
        return self._known[tensor]

    def _stand_in(self, type: TensorType, port: str) -> Tensor:
        made: Tensor = ops.placeholder(dtype=type.dtype, shape=type.shape, name="value")
        self.writer.stand_ins[made] = port
        return made

    def node(
        self, type: str, inputs: Sequence[Tensor], attrs: Mapping[str, Any], outputs: Sequence[TensorType]
    ) -> list[Tensor]:
        """A node of TensorFlow's that there is no op for here; what its outputs are."""
        name = self.scratch.unique_name(type)
        self.raw.append((type, name, inputs, attrs))
        return [self._stand_in(t, f"{name}:{at}" if at else name) for at, t in enumerate(outputs)]

    def forward(self, op: Operation, at: int, type: TensorType) -> Tensor:
        """An output that only TensorFlow's node of `op` has."""
        return self._stand_in(type, f"{op.name}:{at}")

    def attributes(self, op: Operation, type: str) -> dict[str, Any]:
        """The attributes of TensorFlow's node of `op` that nodes of another type have too."""
        together, told = pairs(op.definition), signature(type)
        assert together is not None and told is not None
        return {attr.name: op.attrs[p.name] for attr, p in together.attrs if attr.name in told.attrs}
