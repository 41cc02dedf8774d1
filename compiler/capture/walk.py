"""Walk through the operations of a run in order of construction, each of which becomes values of a Function.

The rule of an operation says which tensors it takes and makes its values. A walk ends early if an operation
lacks something: then it returns a `Stop` of `step.py`, which rules hand up as it is.

`RULES` has the operations that are captured in a way of their own, and the file of `rules/` that has each. An
operation is looked up by its name, then by its effect; all others only compute. A file is imported when one
of its rules is first asked for.

A walk has the state of the run. An operation that changes something replaces a value of the state. Later
operations take the new value, which keeps them in the order of construction. In a run, a variable has one
value after the other: the value from before the run, then those that assignments give it. An operand that is
the variable itself is read at the turn of the op that takes it, and `read_value` at its own turn.

For differentiation, all of these values are the variable. A derivative by it reaches every read, in loops and
branches too, and nothing flows from a read back into what was assigned. So a read of `value` becomes

    override(reads_of(variable), value)

which is `value`, and passes its cotangent on to the marker `reads_of`. That cotangent is the derivative.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import field
from operator import attrgetter

import numpy as np

from staticgraph.compiler.capture.prune import Wanted
from staticgraph.compiler.capture.segments import is_host
from staticgraph.compiler.capture.step import (
    CaptureRequest,
    Collected,
    Needs,
    NeedsHost,
    NeedsRows,
    NeedsTypes,
    Stop,
    joined,
    uninitialized,
)
from staticgraph.compiler.graph.builder import Builder
from staticgraph.compiler.graph.dtypes import bool_
from staticgraph.compiler.graph.errors import InvalidArgumentError, RuleError, layout, refused
from staticgraph.compiler.graph.function import FEED, Value, as_outputs, substitute_more
from staticgraph.compiler.graph.opdef import Effect, ops
from staticgraph.compiler.graph.shapes import Shape, TensorType
from staticgraph.compiler.graph.size_contexts import Undecided
from staticgraph.compiler.graph.sizes import is_open, same
from staticgraph.compiler.graph.tensor import Operation, Tensor, with_inner
from staticgraph.compiler.ops.structural import variable_of
from staticgraph.compiler.support.dataclass import dataclass
from staticgraph.compiler.support.lazy_names import LazyTable


class Reads:
    """The reads of variables in a run that takes derivatives. In other runs, a read is just the value."""

    def __init__(self, differentiated: Container[object], any_derivatives: bool) -> None:
        self._differentiated = differentiated
        self.any_derivatives = any_derivatives
        self._markers: dict[Operation, list[Value]] = {}  # one for each type that a value had

    def read(self, variable: Operation, value: Value, assigned: bool) -> Value:
        """Return `value`, that of a variable, as an operand. `assigned`: this run has computed it."""
        if not self.any_derivatives or not value.dtype.is_differentiable:
            return value
        if variable not in self._differentiated:
            return ops.stop_gradient(value) if assigned else value
        marker = ops.reads_of(variable=variable.name, type=value.type)
        markers = self._markers.setdefault(variable, [])
        if marker not in markers:
            markers.append(marker)
        return ops.override(marker, value)

    def markers(self, variable: Operation) -> list[Value]:
        """Return what to take the derivative by a variable by: nothing if there were no reads so far.

        InvalidArgumentError if it had values of several shapes: then the derivative has no shape.
        """
        markers = self._markers.get(variable, [])
        if len(markers) > 1:
            shapes = " and ".join(str(m.type) for m in markers)
            text = f"{variable.name} is read as {shapes} in this run, so a derivative by it has no shape"
            raise InvalidArgumentError(layout(text, variable.where), variable)
        return markers


@dataclass(slots=True)
class RunState:
    """Values that operations change.

    Attributes:
        order: A number that each effect takes, and gives a new one of: that keeps effects in order.
        sound: True in a run if all that operations required so far has held.
        variables: The present value of each variable that was read or assigned.
        initial: The parameter for the value from before the run, of each variable that was read first.
        counters: The parameter for the state of each random op from before the run.
        advances: How far a run moves the state of each random op outside of loops and branches.
        draws: The present state of each random op in a loop or branch.
    """

    order: Value
    sound: Value
    variables: dict[Operation, Value] = field(default_factory=dict)
    initial: dict[Operation, Value] = field(default_factory=dict)
    counters: dict[Operation, Value] = field(default_factory=dict)
    advances: dict[Operation, int] = field(default_factory=dict)
    draws: dict[Operation, Value] = field(default_factory=dict)

    def assigned(self, variable: Operation) -> bool:
        """Return True if this run has assigned a variable so far."""
        return variable in self.variables and self.variables[variable] is not self.initial.get(variable)


@dataclass(frozen=True, slots=True)
class Feeds:
    """Fed tensors.

    Attributes:
        params: The parameter of each fed tensor.
        variables: The parameter of each variable that is fed, as itself or as an operand: all that read the
            variable take this value.
        flags: The fed truth values, by their parameters.
        constants: The values for which the step is compiled, by the parameters that they replace.
        known_values: What `known` has found.
    """

    params: dict[Tensor, Value]
    variables: dict[Operation, Value]
    flags: dict[Value, Tensor]
    constants: dict[Value, Value]
    known_values: dict[Value, Value] = field(default_factory=dict)

    def known(self, value: Value) -> Value:
        """Return a value as a constant, if it depends on nothing but the values that are known."""
        if not self.constants:
            return value
        self.known_values.update(self.constants)
        return substitute_more([value], self.known_values)[0]


def feeds_of(
    build: Builder, types: Mapping[Tensor, TensorType], static: Mapping[Tensor, np.ndarray]
) -> Feeds:
    """Return parameters for fed tensors of these types. `static`: the values that are known."""
    params = {
        t: build.parameter(f"{FEED}{t.name}", type.dtype, type.static_shape) for t, type in types.items()
    }
    return Feeds(
        params,
        {owner: param for t, param in params.items() if (owner := variable_of(t)) is not None},
        {param: t for t, param in params.items() if t.dtype is bool_ and param.shape == ()},
        {params[t]: build.constant(value, t.dtype) for t, value in static.items()},
    )


# The values of an operation, one per output; None if it has none in this step; or why there are none yet.
Made = Value | Sequence[Value] | None | Stop

_STATELESS = {Effect.PURE, Effect.SOURCE, Effect.CONTROL, Effect.MARK}


@dataclass(frozen=True, slots=True)
class CaptureRule:
    """Capture of one kind of operations.

    Attributes:
        capture: Make the values of an operation.
        takes: The tensors whose values `capture` asks for: they are there when it is called.
    """

    capture: Callable[[Walk, Operation], Made]
    takes: Callable[[Operation], Iterable[Tensor]] = attrgetter("tensors")


def no_inputs(op: Operation) -> tuple[Tensor, ...]:
    """Return no tensors: a rule that asks for no values, or sees to it itself."""
    return ()


@dataclass(slots=True)
class Walk:
    """A graph on its way into a Function.

    Attributes:
        request: What the capture is asked for.
        wanted: The operations to perform.
        build: The builder of the Function.
        feeds: The fed tensors.
        state: The present values of what operations change.
        reads: The reads of variables that derivatives are taken by.
        rows: The shape of the rows of each array that was made without it, None before a row is written.
        values: The value of each tensor that is captured so far.
        loops: The operation of each family of loops.
        losses: The values outside of regions that are differentiated.
        captured: The inputs of host ops that Python calls after the step, or their padded results by number.
        missing: The tensors that depend on what this walk has found to be lacking.
        acting: The operations in the regions of each loop and branch that `regions.acting` has found.
        may_guess: If the types of a branch may be guessed while shapes of rows are not known.
        guessed: If some were. Then this walk only serves to find these shapes.
    """

    request: CaptureRequest
    wanted: Wanted
    build: Builder
    feeds: Feeds
    state: RunState
    reads: Reads
    rows: dict[int, Shape | None]
    values: dict[Tensor, Value] = field(default_factory=dict)
    loops: dict[int, Operation] = field(default_factory=dict)
    losses: dict[Value, None] = field(default_factory=dict)
    captured: dict[tuple[Operation, Tensor | int], Value] = field(default_factory=dict)
    missing: set[Tensor] = field(default_factory=set)
    acting: dict[Operation, list[Operation]] = field(default_factory=dict)
    may_guess: bool = True
    guessed: bool = False

    @property
    def lacks_rows(self) -> bool:
        """Return True if the types of branches may be guessed, because an array has no rows yet."""
        return self.may_guess and None in self.rows.values()

    def perform(self, operations: Iterable[Operation]) -> Stop | None:
        """Capture operations in this order. Returns what is lacking if the walk must end early.

        Many arrays may lack the shapes of their rows, and shapes may depend on many feeds and tensors. The
        walk goes on with what does not depend on them, as long as no state is concerned, so that one more
        walk, or one stage, can answer for all that it finds.
        """
        found: Collected | None = None
        around = self.build.where
        for op in operations:
            self.build.where = op.where
            try:
                stop = self._perform(op)
            except Undecided as undecided:
                undecided.asked_by = undecided.asked_by or ((op.name, op.where),)
                raise
            except RuleError as error:
                call = f"{op.name} ({op.type})"
                raise refused(error, op.definition.name, call, op.where) from None
            finally:
                self.build.where = around
            if isinstance(stop, Collected):
                found = joined(found, stop)
                self.missing.update(op.outputs)
                if not all(inner.definition.effect in _STATELESS for inner in with_inner([op])):
                    break
            elif stop is not None:
                return stop if found is None else found
        return found

    def _perform(self, op: Operation) -> Stop | None:
        rule = rule_of(self, op)
        if self.missing:
            self.missing.difference_update(op.outputs)  # of another iteration
            if not self.missing.isdisjoint((*op.all_inputs, *rule.takes(op))):
                return NeedsRows({})
        made = self.lacking(rule.takes(op)) or rule.capture(self, op)
        if made is None or isinstance(made, Stop):
            return made
        for tensor, value in zip(op.outputs, as_outputs(made), strict=True):
            if tensor in self.wanted.overridden:
                value = self._overridden(tensor, value)
            if tensor in self.wanted.differentiated:
                value = ops.watch(value, key=tensor.name)
            self.values[tensor] = value
        return None

    def _overridden(self, tensor: Tensor, value: Value) -> Value:
        """Return what is fed in place of a computed value. Derivatives flow into the computed value."""
        fed = self.feeds.params[tensor]
        if fed.rank == value.rank and is_open((*fed.shape, *value.shape)):
            for pair in zip(fed.shape, value.shape, strict=True):
                if not same(*pair):
                    raise Undecided(f"the shape of what is fed for {tensor.name}", pair)
        if fed.type != value.type:
            text = (
                f"{tensor.name} is fed as {fed.type} and computed as {value.type}, so a derivative "
                "cannot flow through it"
            )
            raise InvalidArgumentError(layout(text, tensor.op.where), tensor.op)
        return ops.override(value, fed)

    # Values

    def lacking(self, tensors: Iterable[Tensor]) -> Needs | None:
        """Return what must be known before `value` is asked for these tensors."""
        for tensor in tensors:
            if tensor in self.values or self._is_fed(tensor):
                continue
            owner = variable_of(tensor)
            if owner is None:
                if is_host(tensor.op):
                    return NeedsHost(tensor.op)
            elif owner not in self.feeds.variables and (needs := self.lacking_type(owner)) is not None:
                return needs
        return None

    def lacking_type(self, variable: Operation) -> NeedsTypes | None:
        """Return what must be known before the present value of a variable is asked for."""
        known = variable in self.state.variables or variable in self.request.types
        return None if known or variable.outputs[0].type.is_static else NeedsTypes((variable,))

    def value(self, tensor: Tensor) -> Value:
        """Return the value of a tensor for the operation that is captured now."""
        if self._is_fed(tensor):
            return self.feeds.params[tensor]
        owner = variable_of(tensor)
        if owner is None:
            return self.values[tensor]
        return self.feeds.variables[owner] if owner in self.feeds.variables else self.read(owner)

    def _is_fed(self, tensor: Tensor) -> bool:
        """Return True if the fed value of a tensor is all that there is of the tensor."""
        return tensor in self.feeds.params and tensor not in self.wanted.overridden

    def read(self, variable: Operation) -> Value:
        """Return the present value of a variable, as an operand."""
        return self.reads.read(variable, self.variable(variable), self.state.assigned(variable))

    def variable(self, variable: Operation) -> Value:
        """Return the present value of a variable."""
        if variable not in self.state.variables:
            type = self._initial_type(variable)
            param = self.build.parameter(f"variable {variable.name}", type.dtype, type.static_shape)
            self.state.variables[variable] = self.state.initial[variable] = param
        return self.state.variables[variable]

    def _initial_type(self, variable: Operation) -> TensorType:
        """Return the type of a variable's value before the run.

        The value may have another shape than the graph tells, because `assign` need not check the shape.
        """
        declared = variable.outputs[0].type
        type = self.request.types.get(variable) or declared
        if not type.is_static:
            raise uninitialized([variable])
        return type


# The values of these come from outside: from feeds, from variables, and from the loop around them.
_NONE = CaptureRule(lambda walk, op: None, no_inputs)
GIVEN = dict.fromkeys(("placeholder", "variable", "read_variable", "region_parameter"), _NONE)

# Rules by the name of an operation, or by a name with a star for all others of a kind.
RULES: LazyTable[CaptureRule] = LazyTable()
RULES.found_in(
    "staticgraph.compiler.capture.rules",
    {
        "operations": "constant select select_rows add_n *computed",
        "states": (
            "placeholder_with_default read_value assign is_variable_initialized initialized_value "
            "*write *random"
        ),
        "arrays": "tensor_array tensor_array_write tensor_array_scatter",
        "loops": "while_region",
        "branches": "branch_region",
        "derivatives": "symbolic_gradients seed",
        "custom_gradients": "custom_gradient",
        "effects": "assert_true check_numerics *effect",
        "host": "*host",
        "found_sizes": "range reshape",
    },
)
BY_EFFECT = {Effect.EFFECT: "*effect", Effect.WRITE: "*write", Effect.RANDOM: "*random"}


def rule_of(walk: Walk, op: Operation) -> CaptureRule:
    """Return the rule of an operation. Python does host ops, unless a derivative flows through them."""
    definition = op.definition
    if definition.name in GIVEN:
        return GIVEN[definition.name]
    if is_host(op) and walk.wanted.overridden.isdisjoint(op.outputs):
        return RULES["*host"]
    if RULES.home(definition.name) is not None:
        return RULES[definition.name]
    return RULES[BY_EFFECT.get(definition.effect, "*computed")]
