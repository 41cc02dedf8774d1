"""`tf.contrib.opt`: optimizers that are a formula of their own."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import staticgraph as sg
from staticgraph.compiler.graph.errors import misuse
from staticgraph.train.optimizers.adam import AdamOptimizer
from staticgraph.train.optimizers.optimizer import Optimizer
from staticgraph.train.optimizers.update_rules import Cell, RuleOptimizer, row_count, summed_by_row

__all__ = [
    "AdaMaxOptimizer",
    "AddSignOptimizer",
    "LARSOptimizer",
    "LazyAdamOptimizer",
    "NadamOptimizer",
    "PowerSignOptimizer",
]


class LazyAdamOptimizer(AdamOptimizer):
    """Adam, in which a sparse gradient changes nothing of the rows that it does not touch."""

    _apply_sparse_duplicate_indices = RuleOptimizer._apply_sparse_duplicate_indices


class NadamOptimizer(AdamOptimizer):
    """Adam with Nesterov's momentum (Dozat, 2016): the step takes the gradient's part of the mean twice."""

    def _rule(self, gradient: Any, variable: Cell, slot: Callable[[str], Cell]) -> None:
        beta1, beta2, epsilon = (self._number(name, gradient) for name in ("beta1", "beta2", "epsilon"))
        m, v = slot("m"), slot("v")
        mean = m.set(m.value + (gradient - m.value) * (1.0 - beta1))
        squares = v.set(v.value + (gradient * gradient - v.value) * (1.0 - beta2))
        ahead = mean * beta1 + gradient * (1.0 - beta1)
        variable.subtract(ahead * self._rate(gradient) / (sg.sqrt(squares) + epsilon))

    def _apply_sparse_duplicate_indices(self, grad: sg.IndexedSlices, var: sg.Variable) -> sg.Operation:
        """All means decay, and only the rows that the gradient touches move."""
        beta1, beta2, epsilon = (self._number(name, grad) for name in ("beta1", "beta2", "epsilon"))
        m, v = self.get_slot(var, "m"), self.get_slot(var, "v")
        summed = summed_by_row(grad, row_count(var))
        rows, part = summed.indices, summed.values * (1.0 - beta1)
        decayed = [m.assign(m * beta1), v.assign(v * beta2)]
        mean = sg.gather(decayed[0], rows) + part
        squares = sg.gather(decayed[1], rows) + summed.values * summed.values * (1.0 - beta2)
        step = self._rate(grad) * (part + beta1 * mean) / (sg.sqrt(squares) + epsilon)
        moved = sg.gather(var, rows) - step
        new = {m: mean, v: squares, var: moved}
        return sg.group(*decayed, *(sg.scatter_update(each, rows, value) for each, value in new.items()))


class AdaMaxOptimizer(RuleOptimizer):
    """Adam with the largest of the past gradients in place of the root of their mean square."""

    def __init__(
        self, learning_rate: Any = 0.001, beta1: Any = 0.9, beta2: Any = 0.999, epsilon: Any = 1e-8,
        use_locking: bool = False, name: str = "AdaMax",
    ) -> None:  # fmt: skip
        super().__init__(use_locking, name)
        self._hyperparameters = {
            "learning_rate": learning_rate, "beta1": beta1, "beta2": beta2, "epsilon": epsilon
        }  # fmt: skip

    def _create_slots(self, var_list: Sequence[sg.Variable]) -> None:
        first = min(var_list, key=lambda v: v.name)
        beta1 = self._call_if_callable(self._hyperparameters["beta1"])
        self._create_non_slot_variable(beta1, "beta1_power", first)
        for var in var_list:
            self._zeros_slot(var, "m", self._name)
            self._zeros_slot(var, "v", self._name)

    def _prepare(self) -> None:
        self._make_tensors(**self._hyperparameters)

    def _rule(self, gradient: Any, variable: Cell, slot: Callable[[str], Cell]) -> None:
        rate, beta1, beta2, epsilon = (self._number(name, gradient) for name in self._hyperparameters)
        power = sg.cast(self._get_non_slot_variable("beta1_power"), gradient.dtype)
        m, v = slot("m"), slot("v")
        mean = m.set(m.value + (gradient - m.value) * (1.0 - beta1))
        largest = v.set(sg.maximum(v.value * beta2, sg.abs(gradient)))
        variable.subtract(mean * rate / (1.0 - power) / (largest + epsilon))

    def _finish(self, update_ops: Sequence[sg.Operation], name_scope: str) -> sg.Operation:
        power = self._get_non_slot_variable("beta1_power")
        with sg.control_dependencies(update_ops):
            further = power.assign(power * self._number("beta1", power))
        return sg.group(*update_ops, further, name=name_scope)


class _SignOptimizer(RuleOptimizer):
    """Steps along the gradient, longer where it has the sign of its moving average."""

    def __init__(
        self, learning_rate: Any, beta: Any, sign_decay_fn: Callable[[Any], Any] | None, use_locking: bool,
        name: str,
    ) -> None:  # fmt: skip
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate
        self._beta = beta
        self._sign_decay_fn = sign_decay_fn
        self._sign_decay: Any = 1.0

    def apply_gradients(
        self, grads_and_vars: Iterable[tuple[Any, Any]], global_step: Any = None, name: str | None = None
    ) -> sg.Operation:
        if self._sign_decay_fn is not None:
            self._sign_decay = self._sign_decay_fn(global_step)
        return super().apply_gradients(grads_and_vars, global_step, name)

    def _create_slots(self, var_list: Sequence[sg.Variable]) -> None:
        for var in var_list:
            self._zeros_slot(var, "m", self._name)

    def _prepare(self) -> None:
        self._make_tensors(learning_rate=self._learning_rate, beta=self._beta, sign_decay=self._sign_decay)

    def _rule(self, gradient: Any, variable: Cell, slot: Callable[[str], Cell]) -> None:
        rate, beta, decay = (self._number(name, gradient) for name in ("learning_rate", "beta", "sign_decay"))
        m = slot("m")
        mean = m.set(m.value * beta + gradient * (1.0 - beta))
        agreement = decay * sg.sign(gradient) * sg.sign(mean)
        variable.subtract(rate * self._factor(agreement) * gradient)

    def _factor(self, agreement: Any) -> Any:
        """Return the factor of a step. `agreement`: how well the signs agree, from -1 to 1."""
        raise NotImplementedError

    # All of the average decays; where a sparse gradient has no row nothing moves.
    _apply_sparse_duplicate_indices = Optimizer._apply_sparse_duplicate_indices


class AddSignOptimizer(_SignOptimizer):
    """`variable -= learning_rate * (alpha + decay * sign(gradient) * sign(m)) * gradient` (Bello et al.,
    2017).

    m is the moving average of gradients, and `decay` what `sign_decay_fn(global_step)` gives, or 1.
    """

    def __init__(
        self, learning_rate: Any = 0.1, alpha: float = 1.0, beta: Any = 0.9,
        sign_decay_fn: Callable[[Any], Any] | None = None, use_locking: bool = False,
        name: str = "AddSignOptimizer",
    ) -> None:  # fmt: skip
        super().__init__(learning_rate, beta, sign_decay_fn, use_locking, name)
        self._alpha = alpha

    def _factor(self, agreement: Any) -> Any:
        return self._alpha + agreement


class PowerSignOptimizer(_SignOptimizer):
    """`variable -= learning_rate * base ** (decay * sign(gradient) * sign(m)) * gradient`; see
    AddSignOptimizer.
    """

    def __init__(
        self, learning_rate: Any = 0.1, base: float = math.e, beta: Any = 0.9,
        sign_decay_fn: Callable[[Any], Any] | None = None, use_locking: bool = False,
        name: str = "PowerSignOptimizer",
    ) -> None:  # fmt: skip
        super().__init__(learning_rate, beta, sign_decay_fn, use_locking, name)
        self._base = base

    def _factor(self, agreement: Any) -> Any:
        return sg.exp(math.log(self._base) * agreement)


class LARSOptimizer(RuleOptimizer):
    """Momentum, with a rate per variable: `learning_rate * eeta * |w| / (|g| + weight_decay * |w| +
    epsilon)`.

    (You et al., 2017.) A variable whose name holds one of `skip_list` has the plain rate and no weight decay.
    """

    def __init__(
        self, learning_rate: Any, momentum: Any = 0.9, weight_decay: float = 0.0001, eeta: float = 0.001,
        epsilon: float = 0.0, name: str = "LARSOptimizer", skip_list: Sequence[str] | None = None,
        use_nesterov: bool = False,
    ) -> None:  # fmt: skip
        if momentum < 0.0 or weight_decay < 0.0:
            raise misuse(
                ValueError, f"momentum={momentum} and weight_decay={weight_decay} must not be negative"
            )
        super().__init__(False, name)
        self._learning_rate = learning_rate
        self._momentum = momentum
        self._weight_decay = weight_decay
        self._eeta = eeta
        self._epsilon = epsilon
        self._skip_list = skip_list or ()
        self._use_nesterov = use_nesterov

    def _create_slots(self, var_list: Sequence[sg.Variable]) -> None:
        for var in var_list:
            self._zeros_slot(var, "momentum", self._name)

    def _prepare(self) -> None:
        self._make_tensors(learning_rate=self._learning_rate, momentum=self._momentum)

    def _apply_dense(self, grad: sg.Tensor, var: sg.Variable) -> sg.Operation:
        rate = self._number("learning_rate", grad)
        if not any(part in var.name for part in self._skip_list):
            weights, slope = sg.norm(var), sg.norm(grad)
            trust = self._eeta * weights / (slope + self._weight_decay * weights + self._epsilon)
            rate = rate * sg.where_v2((weights > 0.0) & (slope > 0.0), trust, 1.0)
            grad = grad + self._weight_decay * var
        return super()._apply_dense(grad * rate, var)

    def _apply_sparse_duplicate_indices(self, grad: sg.IndexedSlices, var: sg.Variable) -> sg.Operation:
        scaled = grad.values * self._number("learning_rate", grad)
        return super()._apply_sparse_duplicate_indices(
            sg.IndexedSlices(scaled, grad.indices, grad.dense_shape), var
        )

    def _rule(self, gradient: Any, variable: Cell, slot: Callable[[str], Cell]) -> None:
        momentum, accumulation = self._number("momentum", gradient), slot("momentum")
        new = accumulation.set(accumulation.value * momentum + gradient)
        variable.subtract(gradient + new * momentum if self._use_nesterov else new)
