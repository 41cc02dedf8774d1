"""State of a run, as the walk through its operations finds it: values of variables, and of feeds.

An operation that changes something replaces a value of the state. Later operations take the new value, which
keeps them in the order of construction.

In a run, a variable has one value after the other: the value from before the run, then those that assignments
give it. An operand that is the variable itself is read at the turn of the op that takes it, and `read_value`
at its own turn.

For differentiation, all of these values are the variable. A derivative by it reaches every read, in loops and
branches too, and nothing flows from a read back into what was assigned. So a read of `value` becomes

    override(reads_of(variable), value)

which is `value`, and passes its cotangent on to the marker `reads_of`. That cotangent is the derivative.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import field

import numpy as np

from staticgraph.compiler.graph.builder import Builder
from staticgraph.compiler.graph.dtypes import bool_
from staticgraph.compiler.graph.errors import InvalidArgumentError, layout
from staticgraph.compiler.graph.function import FEED, Value, substitute_more
from staticgraph.compiler.graph.opdef import ops
from staticgraph.compiler.graph.shapes import TensorType
from staticgraph.compiler.graph.tensor import Operation, Tensor
from staticgraph.compiler.ops.structural import variable_of
from staticgraph.compiler.support.dataclass import dataclass


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
