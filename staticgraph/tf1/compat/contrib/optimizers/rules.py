"""`tf.contrib.opt`: optimizers with a rule of their own, or with another one for sparse gradients."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import staticgraph as sg
from staticgraph.building.signatures import with_defaults
from staticgraph.compiler.graph.errors import misuse
from staticgraph.train.optimizers import rules
from staticgraph.train.optimizers.rule_optimizer import AdamOptimizer, RuleOptimizer


class LazyAdamOptimizer(AdamOptimizer):
    """Adam, in which a sparse gradient changes nothing of the rows that it does not touch."""

    rule = rules.lazy_adam


class NadamOptimizer(AdamOptimizer):
    """Adam with Nesterov's momentum (Dozat, 2016): the step takes the gradient's part of the mean twice.

    With a sparse gradient all means decay, and only the rows that it touches move.
    """

    rule = rules.nesterov_adam

    def _numbers(self, like: Any) -> dict[str, Any]:
        return super()._numbers(like) | {"use_nesterov": True}


class AdaMaxOptimizer(AdamOptimizer):
    """Adam with the largest of the past gradients in place of the root of their mean square."""

    rule = rules.adamax
    powers = ("beta1",)

    __init__ = with_defaults(AdamOptimizer, name="AdaMax")


class _SignOptimizer(RuleOptimizer):
    """Steps along the gradient, longer where it has the sign of its moving average.

    `numbers`: the hyperparameter that maps how well the signs agree, from -1 to 1, to the factor of a step.
    """

    slots: Mapping[str, str] = {"m": "m"}

    def __init__(
        self,
        learning_rate: Any,
        beta: Any,
        sign_decay_fn: Callable[[Any], Any] | None,
        use_locking: bool,
        name: str,
        **numbers: Any,
    ) -> None:
        hyperparameters = {"learning_rate": learning_rate, "beta": beta, **numbers, "sign_decay": 1.0}
        super().__init__(use_locking, name, hyperparameters)
        self._sign_decay_fn = sign_decay_fn

    def apply_gradients(
        self, grads_and_vars: Iterable[tuple[Any, Any]], global_step: Any = None, name: str | None = None
    ) -> sg.Operation:
        if self._sign_decay_fn is not None:
            self._hyperparameters["sign_decay"] = self._sign_decay_fn(global_step)
        return super().apply_gradients(grads_and_vars, global_step, name)


class AddSignOptimizer(_SignOptimizer):
    """`variable -= learning_rate * (alpha + decay * sign(gradient) * sign(m)) * gradient` (Bello et al.,
    2017).

    m is the moving average of gradients, and `decay` what `sign_decay_fn(global_step)` gives, or 1.
    """

    rule = rules.add_sign

    def __init__(
        self,
        learning_rate: Any = 0.1,
        alpha: float = 1.0,
        beta: Any = 0.9,
        sign_decay_fn: Callable[[Any], Any] | None = None,
        use_locking: bool = False,
        name: str = "AddSignOptimizer",
    ) -> None:
        super().__init__(learning_rate, beta, sign_decay_fn, use_locking, name, alpha=alpha)


class PowerSignOptimizer(_SignOptimizer):
    """`variable -= learning_rate * base ** (decay * sign(gradient) * sign(m)) * gradient`; see
    AddSignOptimizer.
    """

    rule = rules.power_sign

    def __init__(
        self,
        learning_rate: Any = 0.1,
        base: float = math.e,
        beta: Any = 0.9,
        sign_decay_fn: Callable[[Any], Any] | None = None,
        use_locking: bool = False,
        name: str = "PowerSignOptimizer",
    ) -> None:
        super().__init__(learning_rate, beta, sign_decay_fn, use_locking, name, logbase=math.log(base))


class LARSOptimizer(RuleOptimizer):
    """Momentum, with a rate per variable: `learning_rate * eeta * |w| / (|g| + weight_decay * |w| +
    epsilon)`.

    (You et al., 2017.) A variable whose name holds one of `skip_list` has the plain rate and no weight decay.
    """

    rule = rules.momentum
    slots: Mapping[str, str] = {"accum": "momentum"}

    def __init__(
        self,
        learning_rate: Any,
        momentum: Any = 0.9,
        weight_decay: float = 0.0001,
        eeta: float = 0.001,
        epsilon: float = 0.0,
        name: str = "LARSOptimizer",
        skip_list: Sequence[str] | None = None,
        use_nesterov: bool = False,
    ) -> None:
        if momentum < 0.0 or weight_decay < 0.0:
            raise misuse(
                ValueError, f"momentum={momentum} and weight_decay={weight_decay} must not be negative"
            )
        hyperparameters = {"learning_rate": learning_rate, "momentum": momentum}
        super().__init__(False, name, hyperparameters, use_nesterov=use_nesterov)
        self._weight_decay = weight_decay
        self._eeta = eeta
        self._epsilon = epsilon
        self._skip_list = skip_list or ()

    def _numbers(self, like: Any) -> dict[str, Any]:
        return super()._numbers(like) | {"lr": 1.0}  # which gradients are multiplied by before

    def _apply_dense(self, grad: sg.Tensor, var: sg.Variable) -> sg.Operation:
        rate = self._number("learning_rate", grad)
        if not any(part in var.name for part in self._skip_list):
            weights, slope = sg.norm(var), sg.norm(grad)
            trust = self._eeta * weights / (slope + self._weight_decay * weights + self._epsilon)
            rate = rate * sg.where_v2((weights > 0.0) & (slope > 0.0), trust, 1.0)
            grad = grad + self._weight_decay * var
        return super()._apply_dense(grad * rate, var)

    def _apply_sparse_duplicate_indices(self, grad: sg.IndexedSlices, var: sg.Variable) -> sg.Operation:
        scaled = grad.with_values(grad.values * self._number("learning_rate", grad))
        return super()._apply_sparse_duplicate_indices(scaled, var)
