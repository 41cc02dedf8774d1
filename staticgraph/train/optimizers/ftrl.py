"""FTRL-Proximal (McMahan et al., 2013)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from staticgraph.building.inputs import constant
from staticgraph.compiler import ops
from staticgraph.compiler.graph.errors import misuse
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.state.variables import Variable
from staticgraph.train.optimizers.update_rules import Cell, RuleOptimizer


class FtrlOptimizer(RuleOptimizer):
    """Follow the regularized leader: weights that the l1 penalty outweighs are exactly zero.

    `l2_shrinkage_regularization_strength` penalises large weights, while the l2 strength only steadies the
    update. ValueError for negative strengths or accumulator, or a positive `learning_rate_power`.
    """

    def __init__(
        self, learning_rate: Any, learning_rate_power: float = -0.5, initial_accumulator_value: float = 0.1,
        l1_regularization_strength: float = 0.0, l2_regularization_strength: float = 0.0,
        use_locking: bool = False, name: str = "Ftrl", accum_name: str | None = None,
        linear_name: str | None = None, l2_shrinkage_regularization_strength: float = 0.0,
    ) -> None:  # fmt: skip
        super().__init__(use_locking, name)
        not_negative = {
            "initial_accumulator_value": initial_accumulator_value,
            "l1_regularization_strength": l1_regularization_strength,
            "l2_regularization_strength": l2_regularization_strength,
            "l2_shrinkage_regularization_strength": l2_shrinkage_regularization_strength,
        }
        for what, value in not_negative.items():
            if value < 0.0:
                raise misuse(ValueError, f"{what} must not be negative, it is {value}")
        if learning_rate_power > 0.0:
            raise misuse(ValueError, f"learning_rate_power must not be positive, it is {learning_rate_power}")
        self._learning_rate = learning_rate
        self._learning_rate_power = learning_rate_power
        self._initial_accumulator_value = initial_accumulator_value
        self._l1 = l1_regularization_strength
        self._l2 = l2_regularization_strength
        self._shrinkage = l2_shrinkage_regularization_strength
        self._accum_name = accum_name
        self._linear_name = linear_name

    def _create_slots(self, var_list: Sequence[Variable]) -> None:
        for var in var_list:
            initial = constant(self._initial_accumulator_value, var.dtype, var.shape)
            self._get_or_make_slot(var, initial, "accum", self._accum_name or self._name)
            self._zeros_slot(var, "linear", self._linear_name or self._name)

    def _prepare(self) -> None:
        self._make_tensors(learning_rate=self._learning_rate)

    def _rule(self, gradient: Any, variable: Cell, slot: Callable[[str], Cell]) -> None:
        rate = self._number("learning_rate", gradient)
        accum, linear = slot("accum"), slot("linear")
        before = accum.value
        after = accum.set(before + gradient * gradient)
        shrunk = gradient + 2.0 * self._shrinkage * variable.value if self._shrinkage else gradient
        pull = linear.set(
            linear.value + shrunk - (self._root(after) - self._root(before)) / rate * variable.value
        )
        steepness = self._root(after) / rate + 2.0 * self._l2
        moved = (self._l1 * ops.sign(pull) - pull) / steepness
        if self._l1:
            moved = ops.select(ops.greater(ops.abs(pull), self._l1), moved, ops.zeros_like(moved))
        variable.set(moved)

    def _root(self, accumulator: Tensor) -> Tensor:
        """The accumulator to the power `-learning_rate_power`."""
        if self._learning_rate_power == -0.5:
            return ops.sqrt(accumulator)
        return ops.pow(accumulator, -self._learning_rate_power)
