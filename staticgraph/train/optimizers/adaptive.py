"""Optimizers with a learning rate for each element: Adagrad, Adadelta, RMSProp."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from staticgraph.compiler.graph.checks.arguments import real_of
from staticgraph.compiler.graph.errors import misuse
from staticgraph.state.initializers import Constant, Ones, Zeros
from staticgraph.train.optimizers import rules
from staticgraph.train.optimizers.rule_optimizer import RuleOptimizer


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

    rule = rules.adagrad
    slots: Mapping[str, str] = {"accum": "accumulator"}

    def __init__(
        self,
        learning_rate: Any,
        initial_accumulator_value: float = 0.1,
        use_locking: bool = False,
        name: str = "Adagrad",
    ) -> None:
        if real_of(initial_accumulator_value, "initial_accumulator_value") <= 0.0:
            raise misuse(
                ValueError, f"initial_accumulator_value must be positive, not {initial_accumulator_value}"
            )
        super().__init__(use_locking, name, {"learning_rate": learning_rate})
        self._initial_accumulator_value = initial_accumulator_value

    def _initial(self, slot: str) -> Any:
        return Constant(self._initial_accumulator_value)


class AdadeltaOptimizer(RuleOptimizer):
    """Steps as large as the root mean square of past steps, over that of past gradients, times
    `learning_rate`.
    """

    rule = rules.adadelta
    slots: Mapping[str, str] = {"accum": "accum", "accum_update": "accum_update"}

    def __init__(
        self,
        learning_rate: Any = 0.001,
        rho: Any = 0.95,
        epsilon: Any = 1e-8,
        use_locking: bool = False,
        name: str = "Adadelta",
    ) -> None:
        super().__init__(use_locking, name, {"lr": learning_rate, "rho": rho, "epsilon": epsilon})


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
        self,
        learning_rate: Any,
        decay: Any = 0.9,
        momentum: Any = 0.0,
        epsilon: Any = 1e-10,
        use_locking: bool = False,
        centered: bool = False,
        name: str = "RMSProp",
    ) -> None:
        numbers = {"learning_rate": learning_rate, "decay": decay, "momentum": momentum, "epsilon": epsilon}
        super().__init__(use_locking, name, numbers)
        self.rule = rules.centered_rmsprop if centered else rules.rmsprop
        self.slots = {"ms": "rms", **({"mg": "mg"} if centered else {}), "mom": "momentum"}

    def _initial(self, slot: str) -> Any:
        return Ones() if slot == "rms" else Zeros()
