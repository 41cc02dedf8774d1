"""Gradient descent, and with momentum."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from staticgraph.train.optimizers import rules
from staticgraph.train.optimizers.rule_optimizer import RuleOptimizer


class GradientDescentOptimizer(RuleOptimizer):
    """`variable -= learning_rate * gradient`.

    >>> w = sg.Variable([1.0, 2.0])
    >>> step = sg.train.GradientDescentOptimizer(0.5).minimize(sg.reduce_sum(w * w) / 2.0)
    >>> with sg.Session() as sess:
    ...     sess.run(sg.global_variables_initializer())
    ...     sess.run(step)
    ...     sess.run(w)
    array([0.5, 1. ], dtype=float32)
    """

    rule = rules.gradient_descent
    sparse_operations = 2

    def __init__(self, learning_rate: Any, use_locking: bool = False, name: str = "GradientDescent") -> None:
        super().__init__(use_locking, name, {"learning_rate": learning_rate})


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

    rule = rules.momentum
    slots: Mapping[str, str] = {"accum": "momentum"}

    def __init__(
        self,
        learning_rate: Any,
        momentum: Any,
        use_locking: bool = False,
        name: str = "Momentum",
        use_nesterov: bool = False,
    ) -> None:
        hyperparameters = {"learning_rate": learning_rate, "momentum": momentum}
        super().__init__(use_locking, name, hyperparameters, use_nesterov=use_nesterov)
