"""Gradient descent with momentum."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from staticgraph.state.variables import Variable
from staticgraph.train.optimizers.update_rules import Cell, RuleOptimizer


class MomentumOptimizer(RuleOptimizer):
    """`accumulation = momentum * accumulation + gradient; variable -= learning_rate * accumulation`.

    With `use_nesterov`, `variable -= learning_rate * (gradient + momentum * accumulation)`.

    >>> w = sg.Variable(0.0)
    >>> step = sg.train.MomentumOptimizer(0.1, momentum=0.5).minimize(-w)
    >>> with sg.Session() as sess:
    ...     sess.run(sg.global_variables_initializer())
    ...     [round(float(sess.run([step, w])[1]), 3) for _ in range(3)]
    [0.1, 0.25, 0.425]
    """

    def __init__(
        self, learning_rate: Any, momentum: Any, use_locking: bool = False, name: str = "Momentum",
        use_nesterov: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate
        self._momentum = momentum
        self._use_nesterov = use_nesterov

    def _create_slots(self, var_list: Sequence[Variable]) -> None:
        for var in var_list:
            self._zeros_slot(var, "momentum", self._name)

    def _prepare(self) -> None:
        self._make_tensors(learning_rate=self._learning_rate, momentum=self._momentum)

    def _rule(self, gradient: Any, variable: Cell, slot: Callable[[str], Cell]) -> None:
        rate, momentum = self._number("learning_rate", gradient), self._number("momentum", gradient)
        accumulation = slot("momentum")
        new = accumulation.set(accumulation.value * momentum + gradient)
        if self._use_nesterov:
            variable.subtract(gradient * rate + new * momentum * rate)
        else:
            variable.subtract(new * rate)
