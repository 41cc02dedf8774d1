"""The optimizers of Keras: the formula of each, with Keras's defaults and places of `epsilon`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from staticgraph.arrays.casts import cast
from staticgraph.building.framework import get_default_graph
from staticgraph.compiler import ops
from staticgraph.compiler.graph.errors import misuse
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.mathematics.math_ops import pow as power
from staticgraph.tf1.keras import initializers
from staticgraph.tf1.keras.optimizers.base import Hyper, Optimizer
from staticgraph.tf1.keras.settings import epsilon as default_epsilon
from staticgraph.train.optimizers.update_rules import Cell

Slot = Callable[[str], Cell]


class SGD(Optimizer):
    """`variable -= rate * gradient`, or with `momentum`, a moving sum of such steps.

    >>> import staticgraph as sg
    >>> optimizer = sg.keras.optimizers.SGD(0.1, momentum=0.9)
    >>> optimizer.get_config()["momentum"]
    0.9
    """

    momentum = Hyper()

    def __init__(
        self, learning_rate: Any = 0.01, momentum: float = 0.0, nesterov: bool = False, name: str = "SGD",
        **kwargs: Any,
    ) -> None:  # fmt: skip
        if not 0 <= momentum <= 1:
            raise misuse(ValueError, f"momentum={momentum} must be between 0 and 1")
        super().__init__(name, learning_rate, kwargs, momentum=momentum)
        self.nesterov = nesterov
        self.slots = ("momentum",) if momentum else ()

    def _rule(self, gradient: Tensor, variable: Cell, slot: Slot) -> None:
        step = self._rate(gradient) * gradient
        if not self.slots:
            return variable.subtract(step)
        momentum, sum_ = self._number("momentum", gradient), slot("momentum")
        moved = sum_.set(momentum * sum_.value - step)
        return variable.subtract(step - momentum * moved if self.nesterov else -moved)

    def get_config(self) -> dict[str, Any]:
        return super().get_config() | {"nesterov": self.nesterov}


class _WithEpsilon(Optimizer):
    """An optimizer that keeps a divisor from zero; None stands for `keras.backend.epsilon()`."""

    def __init__(
        self, name: str, rate: Any, options: dict[str, Any], epsilon: float | None, **hyper: Any
    ) -> None:
        super().__init__(name, rate, options, **hyper)
        self.epsilon = default_epsilon() if epsilon is None else epsilon

    def get_config(self) -> dict[str, Any]:
        return super().get_config() | {"epsilon": self.epsilon}


class Adam(_WithEpsilon):
    """Moving averages of gradients and of their squares; `amsgrad` divides by the largest of the latter."""

    beta_1, beta_2 = Hyper(), Hyper()
    dense = True

    def __init__(
        self, learning_rate: Any = 0.001, beta_1: float = 0.9, beta_2: float = 0.999, epsilon: float = 1e-7,
        amsgrad: bool = False, name: str = "Adam", **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(name, learning_rate, kwargs, epsilon, beta_1=beta_1, beta_2=beta_2)
        self.amsgrad = amsgrad
        self.slots = ("m", "v", "vhat") if amsgrad else ("m", "v")

    def _rule(self, gradient: Tensor, variable: Cell, slot: Slot) -> None:
        beta_1, beta_2, step = (self._number("beta_1", gradient), self._number("beta_2", gradient),
                                self._step(gradient))  # fmt: skip
        m, v = slot("m"), slot("v")
        mean = m.set(m.value + (gradient - m.value) * (1.0 - beta_1))
        squares = v.set(v.value + (gradient * gradient - v.value) * (1.0 - beta_2))
        if self.amsgrad:
            largest = slot("vhat")
            squares = largest.set(ops.maximum(largest.value, squares))
        rate = self._rate(gradient) * ops.sqrt(1.0 - power(beta_2, step)) / (1.0 - power(beta_1, step))
        variable.subtract(rate * mean / (ops.sqrt(squares) + self.epsilon))

    def get_config(self) -> dict[str, Any]:
        return super().get_config() | {"amsgrad": self.amsgrad}


class Adamax(_WithEpsilon):
    """Adam with the largest recent gradient in place of the root of the mean square."""

    beta_1, beta_2 = Hyper(), Hyper()
    slots = ("m", "v")

    def __init__(
        self, learning_rate: Any = 0.001, beta_1: float = 0.9, beta_2: float = 0.999, epsilon: float = 1e-7,
        name: str = "Adamax", **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(name, learning_rate, kwargs, epsilon, beta_1=beta_1, beta_2=beta_2)

    def _rule(self, gradient: Tensor, variable: Cell, slot: Slot) -> None:
        beta_1, beta_2 = self._number("beta_1", gradient), self._number("beta_2", gradient)
        m, v = slot("m"), slot("v")
        mean = m.set(beta_1 * m.value + (1.0 - beta_1) * gradient)
        largest = v.set(ops.maximum(beta_2 * v.value, ops.abs(gradient)))
        rate = self._rate(gradient) / (1.0 - power(beta_1, self._step(gradient)))
        variable.subtract(rate * mean / (largest + self.epsilon))


class Nadam(_WithEpsilon):
    """Adam with Nesterov's momentum."""

    beta_1, beta_2 = Hyper(), Hyper()
    slots = ("m", "v")
    dense = True

    def __init__(
        self, learning_rate: Any = 0.001, beta_1: float = 0.9, beta_2: float = 0.999, epsilon: float = 1e-7,
        name: str = "Nadam", **kwargs: Any,
    ) -> None:  # fmt: skip
        self._schedule_decay = kwargs.pop("schedule_decay", kwargs.pop("decay", 0.004))
        super().__init__(name, learning_rate, kwargs, epsilon, beta_1=beta_1, beta_2=beta_2)
        self._product: Any = None  # of the momenta of all steps

    def _prepare(self, variables: Any) -> None:
        super()._prepare(variables)
        if self._product is None:
            self._product = self.add_weight("momentum_cache", [], initializer="ones")
            self._weights.remove(self._product)
            self._weights.insert(1, self._product)
        like = self._product
        self._before = self._product.read_value()
        now, following = self._momentum(like, 0.0), self._momentum(like, 1.0)
        self._now, self._following = now, following

    def _momentum(self, like: Any, ahead: float) -> Tensor:
        beta_1, step = self._number("beta_1", like), self._step(like) + ahead
        return beta_1 * (1.0 - 0.5 * power(cast(0.96, like.dtype), self._schedule_decay * step))

    def _rule(self, gradient: Tensor, variable: Cell, slot: Slot) -> None:
        beta_1, beta_2 = self._number("beta_1", gradient), self._number("beta_2", gradient)
        now, following = cast(self._now, gradient.dtype), cast(self._following, gradient.dtype)
        product = cast(self._before, gradient.dtype) * now
        m, v = slot("m"), slot("v")
        mean = m.set(beta_1 * m.value + (1.0 - beta_1) * gradient)
        squares = v.set(beta_2 * v.value + (1.0 - beta_2) * gradient * gradient)
        ahead = (1.0 - now) * gradient / (1.0 - product) + following * mean / (1.0 - product * following)
        spread = ops.sqrt(squares / (1.0 - power(beta_2, self._step(gradient)))) + self.epsilon
        variable.subtract(self._rate(gradient) * ahead / spread)

    def _apply(self, pairs: Any, name: str | None, updates: Any) -> Any:
        step = super()._apply(pairs, name, updates)
        with get_default_graph().control_dependencies([step]):
            return self._product.assign(self._before * self._now).op

    def get_config(self) -> dict[str, Any]:
        config = super().get_config()
        return config | {"decay": self._schedule_decay}


class RMSprop(_WithEpsilon):
    """Gradients divided by the root of the moving average of their squares; `centered` takes off the mean."""

    rho, momentum = Hyper(), Hyper()

    def __init__(
        self, learning_rate: Any = 0.001, rho: float = 0.9, momentum: float = 0.0, epsilon: float = 1e-7,
        centered: bool = False, name: str = "RMSprop", **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(name, learning_rate, kwargs, epsilon, rho=rho, momentum=momentum)
        self.centered, self._has_momentum = centered, bool(momentum)
        self.dense = not momentum
        slots = ["rms", *(["momentum"] if momentum else []), *(["mg"] if centered else [])]
        self.slots = tuple(slots)

    def _rule(self, gradient: Tensor, variable: Cell, slot: Slot) -> None:
        rho, rate, rms = self._number("rho", gradient), self._rate(gradient), slot("rms")
        spread = rms.set(rho * rms.value + (1.0 - rho) * gradient * gradient)
        if self.centered:
            mg = slot("mg")
            mean = mg.set(rho * mg.value + (1.0 - rho) * gradient)
            spread = spread - mean * mean
        if not self._has_momentum:
            return variable.subtract(rate * gradient / (ops.sqrt(spread) + self.epsilon))
        moving = slot("momentum")
        step = rate * gradient / ops.sqrt(spread + self.epsilon)
        return variable.subtract(moving.set(self._number("momentum", gradient) * moving.value + step))

    def get_config(self) -> dict[str, Any]:
        return super().get_config() | {"centered": self.centered}


class Adadelta(_WithEpsilon):
    """Steps as large as recent steps were, relative to recent gradients."""

    rho = Hyper()
    slots = ("accum_grad", "accum_var")

    def __init__(
        self, learning_rate: Any = 0.001, rho: float = 0.95, epsilon: float = 1e-7, name: str = "Adadelta",
        **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(name, learning_rate, kwargs, epsilon, rho=rho)

    def _rule(self, gradient: Tensor, variable: Cell, slot: Slot) -> None:
        rho, squares, steps = self._number("rho", gradient), slot("accum_grad"), slot("accum_var")
        spread = squares.set(rho * squares.value + (1.0 - rho) * gradient * gradient)
        step = ops.sqrt(steps.value + self.epsilon) / ops.sqrt(spread + self.epsilon) * gradient
        steps.set(rho * steps.value + (1.0 - rho) * step * step)
        variable.subtract(self._rate(gradient) * step)


class Adagrad(_WithEpsilon):
    """Gradients divided by the root of the sum of all their squares."""

    slots = ("accumulator",)

    def __init__(
        self, learning_rate: Any = 0.001, initial_accumulator_value: float = 0.1, epsilon: float = 1e-7,
        name: str = "Adagrad", **kwargs: Any,
    ) -> None:  # fmt: skip
        if initial_accumulator_value < 0:
            raise misuse(
                ValueError, f"initial_accumulator_value={initial_accumulator_value} must not be negative"
            )
        super().__init__(name, learning_rate, kwargs, epsilon)
        self._first = initial_accumulator_value

    def _initial(self, slot_name: str) -> Any:
        return initializers.Constant(self._first)

    def _rule(self, gradient: Tensor, variable: Cell, slot: Slot) -> None:
        sum_ = slot("accumulator")
        squares = sum_.set(sum_.value + gradient * gradient)
        variable.subtract(self._rate(gradient) * gradient / (ops.sqrt(squares) + self.epsilon))

    def get_config(self) -> dict[str, Any]:
        return super().get_config() | {"initial_accumulator_value": self._first}


class Ftrl(Optimizer):
    """Follows the regularised leader: `l1` keeps weights at exactly zero, `l2` keeps them small."""

    learning_rate_power = Hyper()
    l1_regularization_strength, l2_regularization_strength = Hyper(), Hyper()
    slots = ("accumulator", "linear")

    def __init__(
        self, learning_rate: Any = 0.001, learning_rate_power: float = -0.5,
        initial_accumulator_value: float = 0.1, l1_regularization_strength: float = 0.0,
        l2_regularization_strength: float = 0.0, name: str = "Ftrl",
        l2_shrinkage_regularization_strength: float = 0.0, **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(
            name, learning_rate, kwargs, learning_rate_power=learning_rate_power,
            l1_regularization_strength=l1_regularization_strength,
            l2_regularization_strength=l2_regularization_strength,
        )  # fmt: skip
        self._first, self._shrinkage = initial_accumulator_value, l2_shrinkage_regularization_strength

    def _initial(self, slot_name: str) -> Any:
        return initializers.Constant(self._first) if slot_name == "accumulator" else None

    def _rule(self, gradient: Tensor, variable: Cell, slot: Slot) -> None:
        rate, exponent = self._rate(gradient), -self._number("learning_rate_power", gradient)
        l1 = self._number("l1_regularization_strength", gradient)
        l2 = self._number("l2_regularization_strength", gradient)
        accumulator, linear = slot("accumulator"), slot("linear")
        before = power(accumulator.value, exponent)
        after = power(accumulator.set(accumulator.value + gradient * gradient), exponent)
        shrunk = gradient + 2.0 * self._shrinkage * variable.value
        moved = linear.set(linear.value + shrunk - (after - before) / rate * variable.value)
        kept = ops.minimum(ops.maximum(moved, -l1), l1) - moved
        variable.set(kept / (after / rate + 2.0 * l2))

    def get_config(self) -> dict[str, Any]:
        return super().get_config() | {
            "initial_accumulator_value": self._first,
            "l2_shrinkage_regularization_strength": self._shrinkage,
        }
