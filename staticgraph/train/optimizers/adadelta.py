"""Adadelta (Zeiler, 2012)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from staticgraph.compiler import ops
from staticgraph.state.variables import Variable
from staticgraph.train.optimizers.update_rules import Cell, RuleOptimizer


class AdadeltaOptimizer(RuleOptimizer):
    """Steps as large as the root mean square of past steps, over that of past gradients, times
    `learning_rate`.
    """

    def __init__(
        self, learning_rate: Any = 0.001, rho: Any = 0.95, epsilon: Any = 1e-8, use_locking: bool = False,
        name: str = "Adadelta",
    ) -> None:  # fmt: skip
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate
        self._rho = rho
        self._epsilon = epsilon

    def _create_slots(self, var_list: Sequence[Variable]) -> None:
        for var in var_list:
            self._zeros_slot(var, "accum", self._name)
            self._zeros_slot(var, "accum_update", self._name)

    def _prepare(self) -> None:
        self._make_tensors(lr=self._learning_rate, rho=self._rho, epsilon=self._epsilon)

    def _rule(self, gradient: Any, variable: Cell, slot: Callable[[str], Cell]) -> None:
        rate, rho, epsilon = (self._number(name, gradient) for name in ("lr", "rho", "epsilon"))
        squares, steps = slot("accum"), slot("accum_update")
        mean = squares.set(squares.value * rho + gradient * gradient * (1.0 - rho))
        step = ops.sqrt(steps.value + epsilon) * ops.rsqrt(mean + epsilon) * gradient
        steps.set(steps.value * rho + step * step * (1.0 - rho))
        variable.subtract(step * rate)
