"""State of a run, as the walk through its operations finds it, and the feeds that stay the same.

An operation that changes something replaces a value of the state. Later operations take the new value, which
keeps them in the order of construction.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

import numpy as np

from staticgraph.compiler.graph.builder import Builder
from staticgraph.compiler.graph.dtypes import bool_
from staticgraph.compiler.graph.function import Value, substitute_more
from staticgraph.compiler.graph.shapes import TensorType
from staticgraph.compiler.graph.tensor import Operation, Tensor
from staticgraph.compiler.ops.structural import variable_of
from staticgraph.compiler.support.dataclass import dataclass


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
        t: build.parameter(f"feed {t.name}", type.dtype, type.static_shape) for t, type in types.items()
    }
    return Feeds(
        params,
        {owner: param for t, param in params.items() if (owner := variable_of(t)) is not None},
        {param: t for t, param in params.items() if t.dtype is bool_ and param.shape == ()},
        {params[t]: build.constant(value, t.dtype) for t, value in static.items()},
    )
