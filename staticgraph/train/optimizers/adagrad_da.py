"""Adagrad with dual averaging (Duchi, Hazan and Singer, 2011)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from staticgraph.building.inputs import convert_to_tensor
from staticgraph.compiler import ops
from staticgraph.compiler.graph.errors import misuse
from staticgraph.state.initializers import Constant
from staticgraph.state.variables import Variable
from staticgraph.train.optimizers.proximal import shrunk
from staticgraph.train.optimizers.update_rules import Cell, RuleOptimizer


class AdagradDAOptimizer(RuleOptimizer):
    """Weights follow from the sums of all gradients and of their squares, not from the weights before.

    The penalties grow with the number of steps, `global_step + 1`. ValueError unless
    `initial_gradient_squared_accumulator_value` is positive.
    """

    def __init__(
        self, learning_rate: Any, global_step: Any, initial_gradient_squared_accumulator_value: float = 0.1,
        l1_regularization_strength: float = 0.0, l2_regularization_strength: float = 0.0,
        use_locking: bool = False, name: str = "AdagradDA",
    ) -> None:  # fmt: skip
        if initial_gradient_squared_accumulator_value <= 0.0:
            given = initial_gradient_squared_accumulator_value
            raise misuse(
                ValueError, f"initial_gradient_squared_accumulator_value must be positive, not {given}"
            )
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate
        self._global_step = global_step
        self._initial = initial_gradient_squared_accumulator_value
        self._l1 = l1_regularization_strength
        self._l2 = l2_regularization_strength

    def _create_slots(self, var_list: Sequence[Variable]) -> None:
        for var in var_list:
            self._zeros_slot(var, "gradient_accumulator", self._name)
            self._get_or_make_slot_with_initializer(
                var, Constant(self._initial), var.shape, var.dtype, "gradient_squared_accumulator", self._name
            )

    def _prepare(self) -> None:
        self._make_tensors(learning_rate=self._learning_rate)
        self._tensors["steps"] = ops.identity(convert_to_tensor(self._global_step)) + 1

    def _rule(self, gradient: Any, variable: Cell, slot: Callable[[str], Cell]) -> None:
        rate, steps = self._number("learning_rate", gradient), self._number("steps", gradient)
        sums, squares = slot("gradient_accumulator"), slot("gradient_squared_accumulator")
        pull = sums.set(sums.value + gradient)
        size = ops.sqrt(squares.set(squares.value + gradient * gradient))
        if self._l1 > 0.0:
            pull = shrunk(pull, steps * self._l1)
        variable.set(-rate * pull / (self._l2 * steps * rate + size))
