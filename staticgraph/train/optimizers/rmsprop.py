"""RMSProp (Tieleman and Hinton, 2012)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from staticgraph.compiler import ops
from staticgraph.state.initializers import Ones
from staticgraph.state.variables import Variable
from staticgraph.train.optimizers.update_rules import Cell, RuleOptimizer


class RMSPropOptimizer(RuleOptimizer):
    """Gradients over the root of a moving average of their squares, which begins at one, with momentum.

    With `centered`, over their standard deviation: the
    square of the moving average of gradients is taken off.

    >>> w = sg.Variable([1.0, 100.0])
    >>> step = sg.train.RMSPropOptimizer(0.01).minimize(sg.reduce_sum(w * w))
    >>> with sg.Session() as sess:
    ...     sess.run(sg.global_variables_initializer())
    ...     sess.run(step)
    ...     (sess.run(w) - [1.0, 100.0]).round(3)
    array([-0.018, -0.032])
    """

    def __init__(
        self, learning_rate: Any, decay: Any = 0.9, momentum: Any = 0.0, epsilon: Any = 1e-10,
        use_locking: bool = False, centered: bool = False, name: str = "RMSProp",
    ) -> None:  # fmt: skip
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate
        self._decay = decay
        self._momentum = momentum
        self._epsilon = epsilon
        self._centered = centered

    def _create_slots(self, var_list: Sequence[Variable]) -> None:
        for var in var_list:
            self._get_or_make_slot_with_initializer(var, Ones(), var.shape, var.dtype, "rms", self._name)
            if self._centered:
                self._zeros_slot(var, "mg", self._name)
            self._zeros_slot(var, "momentum", self._name)

    def _prepare(self) -> None:
        self._make_tensors(
            learning_rate=self._learning_rate,
            decay=self._decay,
            momentum=self._momentum,
            epsilon=self._epsilon,
        )

    def _rule(self, gradient: Any, variable: Cell, slot: Callable[[str], Cell]) -> None:
        names = "learning_rate", "decay", "momentum", "epsilon"
        rate, decay, momentum, epsilon = (self._number(name, gradient) for name in names)
        rms, step = slot("rms"), slot("momentum")
        squares = rms.set(rms.value + (gradient * gradient - rms.value) * (1.0 - decay))
        if self._centered:
            mg = slot("mg")
            mean = mg.set(mg.value + (gradient - mg.value) * (1.0 - decay))
            squares = squares - mean * mean
        variable.subtract(step.set(step.value * momentum + gradient * rate * ops.rsqrt(squares + epsilon)))
