"""Capture of what has a state: variables, and the random ops.

An assignment replaces the present value of a variable in the state. A random op takes a state and moves it by
as many numbers as it draws. Outside of loops and branches, the session moves it by an amount that is known.
In them, the step itself counts and returns the new state.
"""

from __future__ import annotations

from staticgraph.compiler.capture.rules.operations import applied
from staticgraph.compiler.capture.step import NeedsTypes, Stop
from staticgraph.compiler.capture.walk import RULES, CaptureRule, Made, Walk, no_inputs
from staticgraph.compiler.graph.dtypes import bool_, uint64
from staticgraph.compiler.graph.errors import InvalidArgumentError, layout
from staticgraph.compiler.graph.function import Value, as_outputs
from staticgraph.compiler.graph.tensor import Operation, Tensor
from staticgraph.compiler.ops.structural import changed_variables, variable_of


def capture_input(walk: Walk, op: Operation) -> Made:
    """Return the value of the first input, for a read, or for a placeholder's default if nothing is fed."""
    return walk.value(op.tensors[0])


def capture_update(walk: Walk, op: Operation) -> Made:
    """Return the new value of a variable, computed from the present one; so are those of its slots."""
    changed = changed_variables(op)
    owners, given = [_owner(op, t) for t in changed], op.tensors[len(changed) :]
    if (needs := walk.lacking(given)) is not None:
        return needs
    for owner in owners:
        if (needs := walk.lacking_type(owner)) is not None:
            return needs
    rest = [walk.value(t) for t in given]
    made = applied(walk, op, [*map(walk.variable, owners), *rest])
    if isinstance(made, Stop):
        return made
    walk.state.variables.update(zip(owners, as_outputs(made), strict=True))
    return walk.read(owners[0])


def capture_assign(walk: Walk, op: Operation) -> Made:
    """Return the value that is assigned. The variable need not have a value before."""
    owner, given = _owner(op, op.tensors[0]), op.tensors[1]
    if (needs := walk.lacking([given])) is not None:
        return needs
    value, known = walk.value(given), owner.outputs[0].type
    if op.attrs.get("validate_shape", True) and known.is_static and known.shape != value.shape:
        text = f"{op.name} assigns {value.type} to the variable {owner.name} of type {known}"
        hint = "Variable(..., validate_shape=False) takes values of any shape"
        raise InvalidArgumentError(layout(text, op.where, [("the variable", owner.where)], hint), op)
    walk.state.variables[owner] = value
    return walk.read(owner)


def capture_is_initialized(walk: Walk, op: Operation) -> Made:
    """Return True, as a constant, if a variable has a value at this point."""
    known = _has_value(walk, op.tensors[0])
    return known if isinstance(known, NeedsTypes) else walk.build.constant(known, bool_)


def capture_initialized_value(walk: Walk, op: Operation) -> Made:
    """Return the value of a variable if it has one at this point, else the value that initializes it."""
    known = _has_value(walk, op.tensors[0])
    if isinstance(known, NeedsTypes):
        return known
    chosen = op.tensors[0 if known else 1]
    return walk.lacking([chosen]) or walk.value(chosen)


def _owner(op: Operation, changed: Tensor) -> Operation:
    """Return the variable that an operation assigns to, which the tensor `changed` stands for."""
    owner = variable_of(changed, through_writes=True)
    if owner is None:
        text = f"{op.name} ({op.type}) assigns to {changed.name}, which is no variable"
        raise InvalidArgumentError(layout(text, op.where), op)
    return owner


def _has_value(walk: Walk, tensor: Tensor) -> bool | NeedsTypes:
    """Return True if a variable has a value at this point: from before the run, or assigned in it."""
    owner = variable_of(tensor)
    assert owner is not None, tensor
    if walk.state.assigned(owner):
        return True
    if owner not in walk.request.types:
        return NeedsTypes((owner,))
    return walk.request.types[owner] is not None


def capture_random(walk: Walk, op: Operation) -> Made:
    """Return the numbers that a random op draws."""
    inputs = [counter(walk, op), *(walk.value(t) for t in op.tensors)]
    made = applied(walk, op, inputs)
    if isinstance(made, Stop):
        return made
    first = made[0] if isinstance(made, tuple) else made
    assert op.definition.advance is not None
    advance = op.definition.advance([v.type for v in inputs], first.shape, **op.attrs)
    if op in walk.state.draws:
        walk.state.draws[op] = inputs[0] + walk.build.constant([advance, 0, 0], uint64)
    else:
        walk.state.advances[op] = advance
    return made


def counter(walk: Walk, op: Operation) -> Value:
    """Return the present state of a random op."""
    state = walk.state
    if op in state.draws:
        return state.draws[op]
    if op not in state.counters:
        state.counters[op] = walk.build.parameter(f"random state of {op.name}", uint64, (3,))
        state.advances[op] = 0
    return state.counters[op]


RULES["placeholder_with_default"] = CaptureRule(capture_input)  # it is not fed
RULES["read_value"] = CaptureRule(capture_input)
RULES["assign"] = CaptureRule(capture_assign, no_inputs)
RULES["is_variable_initialized"] = CaptureRule(capture_is_initialized, no_inputs)
RULES["initialized_value"] = CaptureRule(capture_initialized_value, no_inputs)
RULES["*write"] = CaptureRule(capture_update, no_inputs)
RULES["*random"] = CaptureRule(capture_random)
