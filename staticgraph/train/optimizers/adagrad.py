"""Adagrad (Duchi, Hazan and Singer, 2011)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from staticgraph.compiler import ops
from staticgraph.compiler.graph.errors import misuse
from staticgraph.state.initializers import Constant
from staticgraph.state.variables import Variable
from staticgraph.train.optimizers.update_rules import Cell, RuleOptimizer


class AdagradOptimizer(RuleOptimizer):
    """`accumulator += gradient ** 2; variable -= learning_rate * gradient / sqrt(accumulator)`.

    ValueError unless `initial_accumulator_value` is positive.

    >>> w = sg.Variable([1.0, 100.0])
    >>> step = sg.train.AdagradOptimizer(0.1).minimize(sg.reduce_sum(w * w))
    >>> with sg.Session() as sess:
    ...     sess.run(sg.global_variables_initializer())
    ...     sess.run(step)
    ...     (sess.run(w) - [1.0, 100.0]).round(3)
    array([-0.099, -0.1  ])
    """

    def __init__(
        self, learning_rate: Any, initial_accumulator_value: float = 0.1, use_locking: bool = False,
        name: str = "Adagrad",
    ) -> None:  # fmt: skip
        if initial_accumulator_value <= 0.0:
            raise misuse(
                ValueError, f"initial_accumulator_value must be positive, not {initial_accumulator_value}"
            )
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate
        self._initial_accumulator_value = initial_accumulator_value

    def _create_slots(self, var_list: Sequence[Variable]) -> None:
        initial = Constant(self._initial_accumulator_value)
        for var in var_list:
            self._get_or_make_slot_with_initializer(
                var, initial, var.shape, var.dtype, "accumulator", self._name
            )

    def _prepare(self) -> None:
        self._make_tensors(learning_rate=self._learning_rate)

    def _rule(self, gradient: Any, variable: Cell, slot: Callable[[str], Cell]) -> None:
        accumulator = slot("accumulator")
        total = accumulator.set(accumulator.value + gradient * gradient)
        variable.subtract(gradient * self._number("learning_rate", gradient) * ops.rsqrt(total))
