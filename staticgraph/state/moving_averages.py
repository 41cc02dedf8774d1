"""Exponential moving averages of variables and tensors."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from functools import partial
from typing import Any

from staticgraph.arrays import creation
from staticgraph.building.framework import (
    GraphKeys,
    add_to_collection,
    get_default_graph,
    init_scope,
    name_scope,
)
from staticgraph.building.inputs import convert_to_tensor, group
from staticgraph.building.read_only import read_only
from staticgraph.compiler import ops
from staticgraph.compiler.graph.dtypes import FLOATING, float32
from staticgraph.compiler.graph.errors import misuse
from staticgraph.compiler.graph.recording.op_count import count_more
from staticgraph.compiler.graph.tensor import Operation, Tensor
from staticgraph.state import replicas
from staticgraph.state.initializers import Zeros
from staticgraph.state.scopes import VariableScope, get_variable, variable_scope
from staticgraph.state.slots import slot_scope
from staticgraph.state.variable_lists import global_variables, moving_average_variables, trainable_variables
from staticgraph.state.variables import Variable

__all__ = ["ExponentialMovingAverage", "assign_moving_average"]


def assign_moving_average(
    variable: Variable, value: Any, decay: Any, zero_debias: bool = True, name: str | None = None
) -> Tensor:
    """Assign `variable * decay + value * (1 - decay)` to `variable`; the output is the new value.

    With `zero_debias`, a variable that began at zero is divided by how much it has seen, `1 - decay**steps`:
    two more variables, `biased` and `local_step`, keep the account.
    """
    if (replica := replicas.present()) is not None:
        follow = partial(assign_moving_average, variable, decay=decay, zero_debias=zero_debias, name=name)
        return replica.once(follow, convert_to_tensor(value), "mean")
    with name_scope(name, "AssignMovingAvg", [variable, value, decay]) as scope:
        weight = convert_to_tensor(1.0 - decay, name="decay")
        if weight.dtype is not variable.dtype:
            weight = ops.cast(weight, dtype=variable.dtype)
        if zero_debias:
            return _debiased(variable, convert_to_tensor(value), weight, scope)
        return ops.assign_sub(variable.handle, (variable - value) * weight, name=scope)


def _debiased(variable: Variable, value: Tensor, weight: Tensor, name: str) -> Tensor:
    with variable_scope(variable.op.name) as scope:
        biased = get_variable(
            _unused(scope, "biased"), variable.shape, variable.dtype, Zeros(), trainable=False
        )
        step = get_variable(_unused(scope, "local_step"), [], variable.dtype, Zeros(), trainable=False)
    total = biased.assign_sub((biased - value) * weight)
    steps = step.assign_add(1.0)
    seen = 1.0 - ops.pow(1.0 - weight, steps)
    return ops.assign(variable.handle, total / seen, name=name)


def _unused(scope: VariableScope, name: str) -> str:
    """`name`, with a number if `scope` has a variable of that name and does not reuse variables."""
    taken = {variable.op.name for variable in scope.global_variables()}
    numbered = (f"{name}_{i}" if i else name for i in itertools.count())
    return name if scope.reuse else next(n for n in numbered if f"{scope.name}/{n}" not in taken)


class ExponentialMovingAverage:
    """Keeps averages `average * decay + value * (1 - decay)` of variables, each in a variable of its own.

    `num_updates`, for instance the global step, makes the decay small at first: `min(decay, (1 + num_updates)
    / (10 + num_updates))`. Averages of variables begin at their initial values, those of tensors at zero;
    `zero_debias` takes the bias of that out.

    >>> import staticgraph as sg
    >>> w = sg.Variable([1.0, 2.0], name="w")
    >>> ema = sg.train.ExponentialMovingAverage(0.99)
    >>> update = ema.apply([w])
    >>> ema.average(w)
    <sg.Variable 'w/ExponentialMovingAverage:0' shape=(2,) dtype=float32>
    """

    def __init__(
        self,
        decay: Any,
        num_updates: Any = None,
        zero_debias: bool = False,
        name: str = "ExponentialMovingAverage",
    ) -> None:
        self._decay = decay
        self._num_updates = num_updates
        self._zero_debias = zero_debias
        self._name = name
        self._averages: dict[Any, Variable] = {}

    name: str = read_only("name")

    def apply(self, var_list: Iterable[Any] | None = None) -> Operation:
        """An operation that updates the averages of `var_list`, of all trainable variables by default.

        One that has an average already keeps it, and one that is listed twice is averaged once. TypeError for
        an element that is not floating.
        """
        listed = list(dict.fromkeys(trainable_variables() if var_list is None else var_list))
        tensors = {var for var in listed if not isinstance(var, Variable)}
        for var in listed:
            if var.dtype not in FLOATING:
                raise misuse(
                    TypeError, f"the average of {var.name} would need a floating type, it is {var.dtype}"
                )
            if var in self._averages:
                continue
            self._averages[var] = self._shadow(var, zero=var in tensors)
            if isinstance(var, Variable):
                add_to_collection(GraphKeys.MOVING_AVERAGE_VARIABLES, var)
        with name_scope(self._name) as scope:
            decay = self._present_decay()
            updates = [
                assign_moving_average(
                    self._averages[var], var, decay, zero_debias=self._zero_debias and var in tensors
                )
                for var in listed
            ]
            return group(updates, name=scope)

    def _shadow(self, var: Any, zero: bool) -> Variable:
        with init_scope(), name_scope(None), slot_scope(var, self._name) as make:
            if zero:
                with name_scope("Initializer"):
                    initial = creation.zeros(var.shape, var.dtype)
            else:
                initial = var.initialized_value()
            count_more(var.graph, 0 if zero else 12)  # TensorFlow makes sure that it is initialized once more
            return make(initial)

    def _present_decay(self) -> Any:
        if self._num_updates is None:
            return convert_to_tensor(self._decay, name="decay")
        decay = convert_to_tensor(self._decay, name="decay")
        done = ops.cast(self._num_updates, dtype=float32)
        return ops.minimum(decay, (1.0 + done) / (10.0 + done))

    def average(self, var: Any) -> Variable | None:
        """The variable that holds the average of `var`, or None."""
        return self._averages.get(var)

    def average_name(self, var: Any) -> str:
        """The name of the average of `var`; in the present name scope if the average is not made yet."""
        made = self._averages.get(var)
        if made is not None:
            return made.op.name
        return get_default_graph().unique_name(f"{var.op.name}/{self._name}", mark_as_used=False)

    def variables_to_restore(self, moving_avg_variables: Any = None) -> dict[str, Variable]:
        """Variables by the names to restore them from, for a Saver that restores averages in place of some.

        Args:
            moving_avg_variables: The variables that get the values of their averages. Default: those that
                have averages, and all trainable ones.

        Returns:
            These variables by the names of their averages, and all other global variables by their own names.
        """
        averaged = set(
            moving_average_variables() + trainable_variables()
            if moving_avg_variables is None
            else moving_avg_variables
        )
        out = {self.average_name(var): var for var in averaged}
        others = [v for v in global_variables() if v not in averaged and v.op.name not in out]
        return out | {v.op.name: v for v in others}
