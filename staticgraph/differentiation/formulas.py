"""Backward operations of one operation: the cotangents of its inputs, given those of its outputs.

The op's own formula makes them, the same that the compiler differentiates with, if the formula needs no size
that is open. Then a graph has operations of known types, named as TensorFlow names them:

    y = MatMul(x, w)      ->      gradients/MatMul_grad/MatMul, gradients/MatMul_grad/MatMul_1

A cotangent of a broadcast operand is summed over the axes along which the operand was repeated. Ranks and the
sizes that are 1 tell these axes; if both operands have open sizes, BroadcastGradientArgs finds them out.

Every other operation has one `Gradients` operation, whose ys are its outputs and which stops at its inputs:
the compiler takes the derivative once sizes are known. So has an operation that took a variable which is
assigned to since, if its formula would read the new value.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from functools import reduce
from typing import Any

from staticgraph.compiler import ops
from staticgraph.compiler.graph.errors import GradientError, misuse
from staticgraph.compiler.graph.opdef import Kind, OpDef
from staticgraph.compiler.graph.static_value import static_value
from staticgraph.compiler.graph.tensor import Operation, Tensor
from staticgraph.compiler.ops.derivatives.gradient_nodes import NODES
from staticgraph.compiler.ops.kinds import sizes
from staticgraph.compiler.ops.structural import changed_variables, variable_of
from staticgraph.differentiation.reachability import differentiable_inputs, source

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
