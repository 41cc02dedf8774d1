"""Derivatives as nodes that TensorFlow has: those of a `gradients` operation, which is a single one here.

The derivatives are built in a graph of their own (`gradient_graph`), by short rules (`gradient_rules`) and,
for loops and branches, as such again (`gradient_loops`), and then written with the other. None can be used
before all are there: an optimizer must not change what another derivative still reads. What waits for that is
an Identity for each, since TensorFlow takes an IdentityN for nothing at all, even if it waits for something.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import Any

from staticgraph.compiler import ops
from staticgraph.compiler.capture.prune import gradient_parts
from staticgraph.compiler.capture.segments import taken, written
from staticgraph.compiler.graph.errors import GraphError, headline
from staticgraph.compiler.graph.opdef import Effect, Kind, OpDef
from staticgraph.compiler.graph.tensor import Operation, Tensor, outermost, regions_of, with_inner
from staticgraph.differentiation.backward import by_formula, fitted, has_formula, repeats
from staticgraph.differentiation.reachability import differentiable_inputs, source
from staticgraph.formats.tf.graph_def.write.accumulated import Received, Rows
from staticgraph.formats.tf.graph_def.write.gradient_graph import GradientGraph, Writing
from staticgraph.formats.tf.graph_def.write.gradient_loops import branch_parts, loop_parts
from staticgraph.formats.tf.graph_def.write.gradient_rules import RULES, Given, NoRule


def write_gradients(writer: Writing, op: Operation) -> str:
    """Add the nodes of a gradients operation; why that is not possible, or the empty text."""
    backward = _Backward(writer, op)
    try:
        found = backward.run()
    except NoRule as error:
        return str(error)
    except (GraphError, TypeError, AttributeError, ValueError) as error:
        return f"its derivatives need what is not known before the graph runs: {headline(error)}"
    ports = backward.write(found)
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


class _Backward(GradientGraph):
    """One walk from ys back to xs."""

    def run(self) -> list[Tensor]:
        """The derivatives, in the graph of their own."""
        ys, seeds, xs, stops = gradient_parts(self.op)
        if self.op.region is not None:
            raise NoRule("it is in a loop or a branch")
        with self.scratch.as_default(), self.scratch.name_scope(f"{self.op.name}/"):
            weights = [self.value(t) for t in seeds] or [ops.ones_like(self.value(y)) for y in ys]
            found = self.received(ys, weights, stops, xs)
            return [self._total(found, x) for x in xs]

    def _total(self, found: Mapping[Tensor, Received], x: Tensor) -> Tensor:
        """Return the derivative by `x`: for a variable, what all of its operands and reads received."""
        parts = [each.total(partial(self.like, x)) for t, each in found.items() if source(t) is source(x)]
        return sum(parts[1:], parts[0]) if parts else ops.zeros_like(self.value(x))

    def received(
        self,
        ys: Sequence[Tensor],
        weights: Sequence[Tensor | None],
        stops: Collection[Tensor],
        xs: Collection[Tensor] | None = None,
    ) -> dict[Tensor, Received]:
        """Return the accumulated gradients of the tensors on the way from `ys` back to `xs`.

        Args:
            ys: The tensors to begin at.
            weights: The cotangents of `ys`. None if there is none.
            stops: Tensors that gradients do not flow through.
            xs: The tensors to end at. By default the `stops`.
        """
        xs = stops if xs is None else xs
        found: dict[Tensor, Received] = {}
        for y, g in zip(ys, weights, strict=True):
            if g is not None:
                found.setdefault(_received_by(y), Received()).add(g)
        for op in self._between([y for y in ys if y in found], xs, stops):
            gs = [
                None if t in stops or t not in found else found[t].total(partial(self.like, t))
                for t in op.outputs
            ]
            if any(g is not None for g in gs):
                parts = self._parts(op, gs)
                for place in differentiable_inputs(op):
                    part = parts[place]
                    if part is not None:
                        found.setdefault(_received_by(op.tensors[place]), Received()).add(part)
        return found

    def _between(
        self, ys: Sequence[Tensor], xs: Collection[Tensor], stops: Collection[Tensor]
    ) -> list[Operation]:
        """The operations on the way from xs to ys, the last ones first."""
        seen: set[Operation] = set()
        stack = [y.op for y in ys if y not in stops]
        while stack:
            op = stack.pop()
            if op not in seen:
                seen.add(op)
                used = [op.tensors[place] for place in differentiable_inputs(op)]
                stack += [t.op for t in used if t not in stops]
        depends = set(map(source, xs))
        found = []
        for op in sorted(seen, key=lambda each: each.id):
            if op.definition.name == "read_variable":  # an operand of the variable, and what `_total` adds up
                continue
            if any(source(op.tensors[place]) in depends for place in differentiable_inputs(op)):
                depends.update(t for t in op.outputs if t not in stops)
                found.append(op)
        return found[::-1]

    def _parts(self, op: Operation, gs: Sequence[Tensor | None]) -> Sequence[Tensor | Rows | None]:
        """Return the cotangents of an operation's inputs, given those of its outputs, `gs`."""
        definition = op.definition
        self._check_read(op)
        rule = RULES.get(definition.name)
        given = Given(self, op)
        made = None if rule is None else rule(given, *gs)
        if made is not None:
            return made
        if has_formula(op, any_rank=True):
            return by_formula(op, gs, self.value)
        if regions_of(op):
            if not self.writer.has_arrays:
                raise NoRule(f"{op.name} ({op.type}) is in a graph with loops or branches of our own type")
            with self.scratch.name_scope(f"{op.name.rpartition('/')[2]}_grad"):
                return (loop_parts if definition.name == "while_region" else branch_parts)(self, op, gs)
        if definition.name == "symbolic_gradients":
            raise NoRule(f"{op.name} is a derivative itself, and those of derivatives are not written")
        if definition.kind is not Kind.ELEMENTWISE or gs[0] is None:
            text = "has no derivative among the nodes of TensorFlow that are written"
            raise NoRule(f"{op.name} ({op.type}) {text}")
        parts = self._elementwise(definition, gs[0], given.inputs, op.attrs)
        return fitted(op, parts, given.inputs, given.output()) if repeats(op) else parts

    def _check_read(self, op: Operation) -> None:
        """Raise NoRule if `op` has read a variable that is assigned to before its derivative is computed.

        A node that takes a variable reads it when it runs, and the nodes of derivatives run later.
        """
        read = taken(op)
        if not read or op.definition.name == "read_value" or regions_of(op):
            return
        since = [op.graph.recorded[op.id : self.op.id], with_inner([outermost(op.outputs[0])])]
        for write in itertools.chain(*since):
            if write.definition.effect is Effect.WRITE and read & written(write):
                raise NoRule(f"{write.name} assigns to a variable that {op.name} has read before")

    def _elementwise(
        self, definition: OpDef, g: Tensor, xs: Sequence[Tensor], attrs: Mapping[str, Any]
    ) -> Sequence[Tensor | None]:
        if definition.body is None:
            raise NoRule(f"{definition.name} has no derivative")
        kept = [ops.identity(x) for x in xs]
        found = self.received([definition.body(*kept, **attrs)], [g], kept)
        return [found[x].whole if x in found else None for x in kept]


def _received_by(tensor: Tensor) -> Tensor:
    """Return what receives the derivative by `tensor`: the variable for the result of an assignment to it."""
    return source(tensor) if tensor.op.definition.effect is Effect.WRITE else tensor
