"""Backward operations in the user's graph: one walk from ys to xs, the last operations first.

    gradients(loss, [w])     ->     gradients/Fill, gradients/Mean_grad/..., gradients/MatMul_grad/MatMul_1

At each operation between them, the cotangents of its outputs become those of its inputs, in this order:

* a gradient function that a script gave to the operation is called (`gradient_functions.py`);
* a gather of rows passes its cotangent on as rows;
* the op's own formula adds operations, if it needs no size that is open, or the one operation that TensorFlow
  has for the derivative;
* all else, loops and branches among them, has one `Gradients` operation, which the compiler expands.

The compiler gets the same Function whichever of the last two it is, but for the order of its nodes. A
derivative by a variable is the sum of what its operands and its reads receive. A second derivative walks
through backward operations as through all others, so that of a linear function is None, as in TensorFlow.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import field
from functools import reduce
from typing import Any

from staticgraph.arrays.indexed_slices import IndexedSlices
from staticgraph.building import inputs
from staticgraph.compiler import ops
from staticgraph.compiler.graph.errors import GradientError, misuse
from staticgraph.compiler.graph.opdef import Kind, OpDef
from staticgraph.compiler.graph.provenance import made_for
from staticgraph.compiler.graph.recording.op_count import uncounted
from staticgraph.compiler.graph.static_value import static_value
from staticgraph.compiler.graph.tensor import Operation, Tensor, may_use, note_original
from staticgraph.compiler.ops.derivatives.gradient_nodes import NODES
from staticgraph.compiler.ops.kinds import sizes
from staticgraph.compiler.ops.structural import changed_variables, variable_of
from staticgraph.compiler.support.dataclass import dataclass
from staticgraph.differentiation.gradient_functions import (
    call,
    gradient_function,
    op_of_type,
    overridden_inputs,
)
from staticgraph.differentiation.reachability import Uses, differentiable_inputs, source

Cotangents = Sequence[Tensor | None]


def has_formula(op: Operation, any_rank: bool = False) -> bool:
    """Return True if the formula of an op makes the cotangents of `op` as operations of the graph.

    Args:
        op: An operation.
        any_rank: If operands that broadcast may have an unknown number of axes. So have their cotangents,
            which TensorFlow can sum and the compiler cannot.
    """
    if op.definition.name in NODES:
        takes: Sequence[str] | None = ()
    else:
        takes = op.definition.grad_takes
    if takes is None or not (_ranks_known(op) or (any_rank and repeats(op))):
        return False
    return not any(n in op.operands and static_value(op.operands[n]) is None for n in takes)


def _ranks_known(op: Operation) -> bool:
    alone = op.definition.kind is Kind.ELEMENTWISE and len(op.tensors) == 1
    if alone or op.definition.name in NODES or op.definition.grad_any_rank:
        return True
    needed = (*op.tensors, *op.outputs) if repeats(op) else op.tensors
    return all(t.type.rank is not None for t in needed)


def repeats(op: Operation) -> bool:
    """Return True if operands of `op` broadcast."""
    together = op.definition.kind is Kind.ELEMENTWISE and len(op.tensors) > 1
    return together or op.definition.broadcasts


def last_writes(recorded: Sequence[Operation]) -> dict[Operation, int]:
    """Return the number of the last operation that assigns to a variable, by variable."""
    found: dict[Operation, int] = {}
    for op in recorded:
        for changed in changed_variables(op):
            owner = variable_of(changed, through_writes=True)
            if owner is not None:
                found[owner] = op.id
    return found


def by_other_formula(op: Operation, gs: Cotangents, other: OpDef) -> list[Tensor | None]:
    """Return the cotangents of the inputs of `op` as the formula of another op makes them.

    Args:
        op: An operation made inside `gradient_override_map`.
        gs: The cotangents of its outputs.
        other: The op whose gradient it was given, with as many inputs.

    Raises:
        GradientError: The formula is one of other inputs, or needs attributes that `op` does not have.
    """
    if other.grad is None and other.differentiable is False:
        return [None] * len(op.tensors)
    one = len(op.outputs) == 1
    formula = NODES.get(other.name, other.grad)
    parts: Cotangents = ()
    if formula is not None:
        with suppress(TypeError):  # it takes other inputs, or attributes
            made = formula(gs[0] if one else tuple(gs), op.outputs[0] if one else op.outputs, *op.tensors)
            parts = list(made) if isinstance(made, tuple | list) else [made]
    if len(parts) != len(op.tensors):
        text = f"the gradient of {other.tf} does not fit the inputs of {op.name} ({op.type})"
        hint = f'write @RegisterGradient("Name") for {op.type}, and give it that name'
        raise misuse(GradientError, text, hint, made=[("the operation", op.where)])
    return fitted(op, parts, list(op.tensors), op.outputs[-1]) if repeats(op) else list(parts)


def by_formula(
    op: Operation, gs: Cotangents, stand_in: Callable[[Tensor], Tensor] = lambda tensor: tensor
) -> list[Tensor | None]:
    """Return the cotangents of the inputs of `op` as its op's formula makes them.

    Args:
        op: An operation that has a formula.
        gs: The cotangents of its outputs.
        stand_in: The tensor to take for one of the operation's, if the formula is to make operations of
            another graph.
    """
    definition = op.definition
    assert definition.grad is not None
    inputs, outputs = list(map(stand_in, op.tensors)), tuple(map(stand_in, op.outputs))
    attrs = dict(op.attrs)
    for name, operand in op.operands.items():
        known = static_value(operand)
        attrs[name] = stand_in(operand) if known is None else known
    one = len(outputs) == 1
    formula: Callable[..., Any] = NODES.get(definition.name, definition.grad)
    made = formula(gs[0] if one else tuple(gs), outputs[0] if one else outputs, *inputs, **attrs)
    parts = list(made) if isinstance(made, tuple | list) else [made]
    return fitted(op, parts, inputs, outputs[-1]) if repeats(op) else parts


def before_writes(
    op: Operation, gs: Cotangents, writes: Mapping[Operation, int]
) -> list[Tensor | None] | None:
    """Return what `by_formula` makes; None if that reads a variable which is assigned to since `op` took it.

    Args:
        op: An operation that has a formula.
        gs: The cotangents of its outputs.
        writes: The number of the last operation that assigns to a variable, by variable.
    """
    owners = (variable_of(t) for t in op.all_inputs)
    late = {owner for owner in owners if owner is not None and writes.get(owner, -1) > op.id}
    if not late:
        return by_formula(op, gs)
    with op.graph.attempt() as forget:
        first = op.graph.version
        made = by_formula(op, gs)
        taken = [t for each in op.graph.recorded[first:] for t in each.all_inputs]
        if any(variable_of(t) in late for t in (*taken, *made) if t is not None):
            forget()
            return None
        return made


def by_compiler(op: Operation, gs: Cotangents, places: Collection[int]) -> list[Tensor | None]:
    """Return the cotangents of the inputs of `op` at `places` by one operation that the compiler expands."""
    inputs = list(dict.fromkeys(source(op.tensors[place]) for place in differentiable_inputs(op)))
    wanted = list(dict.fromkeys(source(op.tensors[place]) for place in places))
    known = [(y, g) for y, g in zip(op.outputs, gs, strict=True) if g is not None]
    made = ops.symbolic_gradients(
        [*(y for y, _ in known), *(g for _, g in known), *wanted, *inputs],
        ys=len(known),
        seeds=len(known),
        xs=len(wanted),
        name=re.sub(r"(V\d)?$", r"Grad\1", op.type, count=1),
    )
    found = dict(zip(wanted, made if isinstance(made, tuple) else (made,), strict=True))
    return [found.pop(source(t), None) if place in places else None for place, t in enumerate(op.tensors)]


# Broadcasting


def fitted(op: Operation, parts: Cotangents, inputs: Sequence[Tensor], y: Tensor) -> list[Tensor | None]:
    """Return cotangents of the shape of `y`, summed over the axes along which the inputs are repeated."""
    found: list[Tensor | None] = []
    shapes: list[Tensor] = []
    for place, (g, x) in enumerate(zip(parts, inputs, strict=True)):
        axes = _repeated_axes(op, place)
        if g is None or axes == ():
            found.append(g)
        elif axes is not None:
            g = ops.reduce_sum(g, axis=axes)
            found.append(g if g.type.rank == x.type.rank else ops.reshape(g, shape=sizes(x)))
        else:
            if not shapes:
                beside = [y] if len(inputs) == 1 else []
                shapes = [ops.shape_of(t) for t in (*inputs, *beside)]
                repeated = _gradient_args(shapes)
            found.append(ops.reshape(ops.reduce_sum(g, axis=repeated[place]), shape=shapes[place]))
    return found


def _gradient_args(shapes: Sequence[Tensor]) -> Sequence[Tensor]:
    """Return the axes along which each of several operands is repeated."""
    if len(shapes) == 2:
        made: Sequence[Tensor] = ops.broadcast_gradient_args(s0=shapes[0], s1=shapes[1])
        return made
    whole = reduce(ops.broadcast_args, shapes)
    return [ops.broadcast_gradient_args(s0=shape, s1=whole)[0] for shape in shapes]


def _repeated_axes(op: Operation, place: int) -> tuple[int, ...] | None:
    """Return the axes of the output along which an input is repeated, None if open sizes leave that open."""
    if op.definition.kind is Kind.ELEMENTWISE and len(set(op.tensors)) == 1:  # x * x
        return ()
    y, x = op.outputs[-1].type.shape, op.tensors[place].type.shape
    if y is None or x is None:
        return None
    others = [t.type.shape or () for n, t in enumerate(op.tensors) if n != place]
    if op.definition.kind is not Kind.ELEMENTWISE:
        others.append(y)
    extra = len(y) - len(x)
    axes = list(range(extra))
    for axis in range(extra, len(y)):
        size = x[axis - extra]
        beside = [shape[axis - len(y)] for shape in others if len(shape) >= len(y) - axis]
        if size not in (1, None) or all(n == 1 for n in beside):
            continue
        if size is None:
            return None
        axes.append(axis)
    return tuple(axes)


ONE_NODE = ("fused_batch_norm",)  # of many formulas, whose derivative is one node in TensorFlow


@dataclass(slots=True)
class Received:
    """Accumulated gradient of a tensor: the cotangents that it has received so far.

    Rows are kept apart as long as nothing needs their sum: a derivative that consists of rows alone is an
    `IndexedSlices`, which an optimizer applies to these rows only.

    Attributes:
        tensors: Cotangents of the tensor's shape.
        gathers: Operations that gather rows of the tensor, each with the cotangent of its result.
        slices: What gradient functions gave as rows.
    """

    tensors: list[Tensor] = field(default_factory=list)
    gathers: list[tuple[Operation, Tensor]] = field(default_factory=list)
    slices: list[IndexedSlices] = field(default_factory=list)

    def add(self, part: Tensor | IndexedSlices) -> None:
        """Receive one more cotangent."""
        if isinstance(part, IndexedSlices):
            self.slices.append(part)
        else:
            self.tensors.append(part)

    def total(self, spread: Callable[[Operation, Tensor], Tensor]) -> Tensor:
        """Return all of it as one tensor. `spread` makes the derivative by what an operation gathers from."""
        parts = [*self.tensors, *(spread(op, g) for op, g in self.gathers)]
        parts += [each.to_tensor() for each in self.slices]
        if len(parts) > 1:
            parts = [ops.add_n(parts, name="AddN")]
        self.tensors, self.gathers, self.slices = parts, [], []
        return parts[0]


class Backward:
    """One walk back from ys.

    Attributes:
        uses: The paths that derivatives flow along.
    """

    def __init__(
        self,
        ys: Sequence[Tensor],
        seeds: Callable[[], Sequence[Tensor]],
        xs: Sequence[Tensor],
        stops: Sequence[Tensor],
        gate: bool,
        colocate: bool = False,
    ) -> None:
        self.uses = Uses(ys, stops)
        if found := self.uses.lacking(xs):
            raise lacking_error(*found)
        if not any(map(self.uses.reaches, xs)):
            return
        self._gate = gate  # if no cotangent of an operation is used before all of them are there
        self._stopped = {source(t) for t in stops}
        self._received: dict[Tensor, Received] = {}
        for y, seed in zip(ys, seeds(), strict=True):
            if y.dtype.is_differentiable:
                self._of(y).add(seed)
        between = sorted(self.uses.between(xs), key=lambda op: op.id, reverse=True)
        self._depends = {source(x) for x in xs}
        self._depends.update(t for op in between for t in op.outputs if t not in self._stopped)
        if between:
            self._writes = last_writes(between[0].graph.recorded)
        for op in between:
            placed = op.graph.colocate_with(op, ignore_existing=True) if colocate else nullcontext()
            with op.graph.as_default(), placed:
                self._pass(op)

    def by(self, x: Tensor) -> Received | None:
        """Return the accumulated gradient of `x`, None if no path leads to it."""
        return self._received.get(source(x)) if self.uses.reaches(x) else None

    def spread(self, op: Operation, g: Tensor) -> Tensor:
        """Return the derivative by what `op` gathers rows from."""
        with op.graph.as_default(), op.graph.name_scope(f"{op.name}_grad"):
            first = op.graph.version
            [found, *_] = made_for(op.where, lambda: by_compiler(op, [g], [0]))
            note_original(op.graph.recorded[first:], op)
        assert found is not None
        return found

    def _of(self, tensor: Tensor) -> Received:
        return self._received.setdefault(source(tensor), Received())

    def _cotangent(self, y: Tensor) -> Tensor | None:
        received = self._received.get(y)
        if received is None or y in self._stopped:
            return None
        with uncounted(y.graph):
            return received.total(self.spread)

    def _pass(self, op: Operation) -> None:
        """Pass the cotangents of the outputs of `op` on to its inputs."""
        [y, *_] = op.outputs
        if op.definition.name == "read_value" and y in self._received and y not in self._stopped:
            there, here = self._of(op.tensors[0]), self._received[y]
            there.tensors += here.tensors
            there.gathers += here.gathers
            there.slices += here.slices
            return
        gs = [self._cotangent(y) for y in op.outputs]
        if all(g is None for g in gs):
            return
        wanted = [n for n in differentiable_inputs(op) if source(op.tensors[n]) in self._depends]
        if not wanted:  # they are there by a way that is stopped
            return
        if gathers_rows(op, 0) and overridden_inputs(op) is None and gs[0] is not None:
            self._of(op.tensors[0]).gathers.append((op, gs[0]))
            return
        for place, part in enumerate(self._parts(op, gs, wanted)):
            if part is not None and place in wanted:
                self._of(op.tensors[place]).add(part)

    def _parts(
        self, op: Operation, gs: list[Tensor | None], wanted: list[int]
    ) -> Sequence[Tensor | IndexedSlices | None]:
        function = gradient_function(op) if may_use(op.graph.region, op.region) else None
        if function is not None:
            with uncounted(op.graph):
                given = [
                    ops.zeros_like(y) if g is None and y.dtype.is_differentiable else g
                    for y, g in zip(op.outputs, gs, strict=True)
                ]
            parts = call(op, function, given)
            with op.graph.name_scope(f"{op.name}_grad"), uncounted(op.graph):
                return self._gated(parts)
        with op.graph.name_scope(f"{op.name}_grad"), uncounted(op.graph):
            first = op.graph.version
            made = made_for(op.where, lambda: self._gated(self._made(op, gs, wanted)))
            note_original(op.graph.recorded[first:], op)
            return made

    def _made(self, op: Operation, gs: list[Tensor | None], wanted: list[int]) -> Sequence[Tensor | None]:
        if op.gradient is not None and (other := op_of_type(op.gradient)) is not None:
            return by_other_formula(op, gs, other)
        made = None
        if op.definition.name not in ONE_NODE and has_formula(op):
            made = before_writes(op, gs, self._writes)
        return by_compiler(op, gs, wanted) if made is None else made

    def _gated(
        self, parts: Sequence[Tensor | IndexedSlices | None]
    ) -> Sequence[Tensor | IndexedSlices | None]:
        return inputs.tuple(parts) if self._gate and sum(g is not None for g in parts) > 1 else parts


def gathers_rows(op: Operation, position: int) -> bool:
    """Return True if `op` gathers rows of its input at `position`."""
    if op.definition.name == "gather_nd" and position == 0:
        shape = op.tensors[1].type.shape
        return shape is not None and len(shape) == 2 and shape[1] == 1  # as TensorFlow has it
    if op.definition.name != "gather" or position != 0 or op.attrs.get("batch_dims", 0) != 0:
        return False
    axis = op.attrs.get("axis") if "axis" not in op.operands else static_value(op.operands["axis"])
    return axis == 0


def lacking_error(op: Operation, x: Tensor) -> GradientError:
    """Return the error of a derivative by `x` through `op`, which has no gradient."""
    text = f"gradients(): {op.name} ({op.type}) has no gradient, and {x.name} is differentiated through it"
    hint = "stop_gradient() of its result takes it as a constant; or give it a gradient: custom_gradient"
    return misuse(GradientError, text, hint, made=[(op.name, op.where)])
