"""Proximal optimizers: a step along the gradient, then the exact effect of the penalties.

Duchi and Singer, 2009.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from staticgraph.compiler import ops
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.train.optimizers.adagrad import AdagradOptimizer
from staticgraph.train.optimizers.update_rules import Cell, RuleOptimizer


def shrunk(value: Tensor, by: Any) -> Tensor:
    """Each element moved towards zero by `by`, and no further than zero."""
    return ops.sign(value) * ops.maximum(ops.abs(value) - by, 0.0)


def _proximal(value: Tensor, rate: Tensor, l1: float, l2: float) -> Tensor:
    """Apply the proximal operator of `rate` times the penalties: l1 leaves few weights, l2 small ones."""
    return (shrunk(value, rate * l1) if l1 > 0.0 else value) / (1.0 + l2 * rate)


class ProximalGradientDescentOptimizer(RuleOptimizer):
    """Gradient descent with penalties: weights that the l1 penalty outweighs are exactly zero."""

    def __init__(
        self, learning_rate: Any, l1_regularization_strength: float = 0.0,
        l2_regularization_strength: float = 0.0, use_locking: bool = False,
        name: str = "ProximalGradientDescent",
    ) -> None:  # fmt: skip
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate
        self._l1 = l1_regularization_strength
        self._l2 = l2_regularization_strength

    def _prepare(self) -> None:
        self._make_tensors(learning_rate=self._learning_rate)

    def _rule(self, gradient: Any, variable: Cell, slot: Callable[[str], Cell]) -> None:
        rate = self._number("learning_rate", gradient)
        variable.set(_proximal(variable.value - rate * gradient, rate, self._l1, self._l2))


class ProximalAdagradOptimizer(AdagradOptimizer):
    """Adagrad with penalties: weights that the l1 penalty outweighs are exactly zero.

    ValueError unless `initial_accumulator_value` is positive.
    """

    def __init__(
        self, learning_rate: Any, initial_accumulator_value: float = 0.1,
        l1_regularization_strength: float = 0.0, l2_regularization_strength: float = 0.0,
        use_locking: bool = False, name: str = "ProximalAdagrad",
    ) -> None:  # fmt: skip
        super().__init__(learning_rate, initial_accumulator_value, use_locking, name)
        self._l1 = l1_regularization_strength
        self._l2 = l2_regularization_strength

    def _rule(self, gradient: Any, variable: Cell, slot: Callable[[str], Cell]) -> None:
        accumulator = slot("accumulator")
        total = accumulator.set(accumulator.value + gradient * gradient)
        rate = self._number("learning_rate", gradient) * ops.rsqrt(total)
        variable.set(_proximal(variable.value - gradient * rate, rate, self._l1, self._l2))
