"""The optimizers of Keras: a rule of `train.optimizers.rules` each, with Keras's names and defaults."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from staticgraph.arrays.casts import cast
from staticgraph.building.framework import get_default_graph
from staticgraph.building.inputs import constant
from staticgraph.building.signatures import like, with_defaults
from staticgraph.compiler.graph.errors import misuse
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.mathematics.math_ops import pow as power
from staticgraph.tf1.keras import initializers
from staticgraph.tf1.keras.optimizers.base import Hyper, Optimizer
from staticgraph.tf1.keras.settings import epsilon as default_epsilon
from staticgraph.train.optimizers import rules


class SGD(Optimizer):
    """`variable -= rate * gradient`, or with `momentum`, a moving sum of such steps.

    >>> import staticgraph as sg
    >>> optimizer = sg.keras.optimizers.SGD(0.1, momentum=0.9)
    >>> optimizer.get_config()["momentum"]
    0.9
    """

    momentum = Hyper()

    def __init__(
        self,
        learning_rate: Any = 0.01,
        momentum: float = 0.0,
        nesterov: bool = False,
        name: str = "SGD",
        **kwargs: Any,
    ) -> None:
        if not 0 <= momentum <= 1:
            raise misuse(ValueError, f"momentum={momentum} must be between 0 and 1")
        super().__init__(name, learning_rate, kwargs, momentum=momentum)
        self.nesterov = nesterov
        self.rule = rules.momentum_of_steps if momentum else rules.gradient_descent
        self.slots = {"accum": "momentum"} if momentum else {}
        self.numbers = {"momentum": "momentum"} if momentum else {}

    def _numbers(self, like: Any) -> dict[str, Any]:
        return super()._numbers(like) | ({"use_nesterov": self.nesterov} if self.slots else {})

    def get_config(self) -> dict[str, Any]:
        return super().get_config() | {"nesterov": self.nesterov}


class _WithEpsilon(Optimizer):
    """An optimizer that keeps a divisor from zero; None stands for `keras.backend.epsilon()`."""

    def __init__(
        self, name: str, rate: Any, options: dict[str, Any], epsilon: float | None, **hyper: Any
    ) -> None:
        super().__init__(name, rate, options, **hyper)
        self.epsilon = default_epsilon() if epsilon is None else epsilon

    def _numbers(self, like: Any) -> dict[str, Any]:
        return super()._numbers(like) | {"epsilon": constant(self.epsilon, like.dtype)}

    def get_config(self) -> dict[str, Any]:
        return super().get_config() | {"epsilon": self.epsilon}


class _WithDecayRates(_WithEpsilon):
    """An optimizer with averages `m` and `v`; their decay rates are `beta_1` and `beta_2`."""

    beta_1, beta_2 = Hyper(), Hyper()
    slots: Mapping[str, str] = {"m": "m", "v": "v"}
    numbers: Mapping[str, str] = {"beta1": "beta_1", "beta2": "beta_2"}
    powers: tuple[str, ...] = ("beta1", "beta2")  # decay rates of which the rule needs the power of the step

    def __init__(
        self,
        learning_rate: Any = 0.001,
        beta_1: float = 0.9,
        beta_2: float = 0.999,
        epsilon: float = 1e-7,
        name: str = "",
        **kwargs: Any,
    ) -> None:
        super().__init__(name, learning_rate, kwargs, epsilon, beta_1=beta_1, beta_2=beta_2)

    def _numbers(self, like: Any) -> dict[str, Any]:
        numbers, step = super()._numbers(like), self._step(like)
        return numbers | {f"{rate}_power": power(numbers[rate], step) for rate in self.powers}


class Adam(_WithDecayRates):
    """Moving averages of gradients and of their squares; `amsgrad` divides by the largest of the latter."""

    rule = rules.adam

    @like(_WithDecayRates, after={"amsgrad": "epsilon"}, amsgrad=False, name="Adam")
    def __init__(self, amsgrad: bool, **given: Any) -> None:
        super().__init__(**given)
        self.amsgrad = amsgrad
        if amsgrad:
            self.rule, self.slots = rules.adam_by_largest, {**self.slots, "largest": "vhat"}

    def get_config(self) -> dict[str, Any]:
        return super().get_config() | {"amsgrad": self.amsgrad}


class Adamax(_WithDecayRates):
    """Adam with the largest recent gradient in place of the root of the mean square."""

    rule = rules.adamax
    powers = ("beta1",)

    __init__ = with_defaults(_WithDecayRates, name="Adamax")


class Nadam(_WithDecayRates):
    """Adam with Nesterov's momentum."""

    rule = rules.nadam
    powers = ("beta2",)

    @like(_WithDecayRates, name="Nadam")
    def __init__(self, **given: Any) -> None:
        self._schedule_decay = given.pop("schedule_decay", given.pop("decay", 0.004))
        super().__init__(**given)
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

    def _numbers(self, like: Any) -> dict[str, Any]:
        now, following = cast(self._now, like.dtype), cast(self._following, like.dtype)
        product = cast(self._before, like.dtype) * now
        return super()._numbers(like) | {"now": now, "following": following, "product": product}

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
        self,
        learning_rate: Any = 0.001,
        rho: float = 0.9,
        momentum: float = 0.0,
        epsilon: float = 1e-7,
        centered: bool = False,
        name: str = "RMSprop",
        **kwargs: Any,
    ) -> None:
        super().__init__(name, learning_rate, kwargs, epsilon, rho=rho, momentum=momentum)
        self.centered = centered
        with_momentum = rules.centered_rmsprop if centered else rules.rmsprop
        self.rule = with_momentum if momentum else rules.rmsprop_without_momentum
        total, mean = {"mom": "momentum"} if momentum else {}, {"mg": "mg"} if centered else {}
        self.slots = {"ms": "rms", **total, **mean}
        self.numbers = {"rho": "rho", **({"momentum": "momentum"} if momentum else {})}

    def get_config(self) -> dict[str, Any]:
        return super().get_config() | {"centered": self.centered}


class Adadelta(_WithEpsilon):
    """Steps as large as recent steps were, relative to recent gradients."""

    rho = Hyper()
    rule = rules.adadelta
    slots: Mapping[str, str] = {"accum": "accum_grad", "accum_update": "accum_var"}
    numbers: Mapping[str, str] = {"rho": "rho"}

    def __init__(
        self,
        learning_rate: Any = 0.001,
        rho: float = 0.95,
        epsilon: float = 1e-7,
        name: str = "Adadelta",
        **kwargs: Any,
    ) -> None:
        super().__init__(name, learning_rate, kwargs, epsilon, rho=rho)


class Adagrad(_WithEpsilon):
    """Gradients divided by the root of the sum of all their squares."""

    rule = rules.adagrad_with_epsilon
    slots: Mapping[str, str] = {"accum": "accumulator"}

    def __init__(
        self,
        learning_rate: Any = 0.001,
        initial_accumulator_value: float = 0.1,
        epsilon: float = 1e-7,
        name: str = "Adagrad",
        **kwargs: Any,
    ) -> None:
        if initial_accumulator_value < 0:
            raise misuse(
                ValueError, f"initial_accumulator_value={initial_accumulator_value} must not be negative"
            )
        super().__init__(name, learning_rate, kwargs, epsilon)
        self._first = initial_accumulator_value

    def _initial(self, slot_name: str) -> Any:
        return initializers.Constant(self._first)

    def get_config(self) -> dict[str, Any]:
        return super().get_config() | {"initial_accumulator_value": self._first}


class Ftrl(Optimizer):
    """Follows the regularised leader: `l1` keeps weights at exactly zero, `l2` keeps them small."""

    learning_rate_power = Hyper()
    l1_regularization_strength, l2_regularization_strength = Hyper(), Hyper()
    slots: Mapping[str, str] = {"accum": "accumulator", "linear": "linear"}
    numbers: Mapping[str, str] = {
        "lr_power": "learning_rate_power",
        "l1": "l1_regularization_strength",
        "l2": "l2_regularization_strength",
    }

    def __init__(
        self,
        learning_rate: Any = 0.001,
        learning_rate_power: float = -0.5,
        initial_accumulator_value: float = 0.1,
        l1_regularization_strength: float = 0.0,
        l2_regularization_strength: float = 0.0,
        name: str = "Ftrl",
        l2_shrinkage_regularization_strength: float = 0.0,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            name,
            learning_rate,
            kwargs,
            learning_rate_power=learning_rate_power,
            l1_regularization_strength=l1_regularization_strength,
            l2_regularization_strength=l2_regularization_strength,
        )
        self._first, self._shrinkage = initial_accumulator_value, l2_shrinkage_regularization_strength
        self.rule = rules.ftrl_with_shrinkage if self._shrinkage else rules.ftrl

    def _initial(self, slot_name: str) -> Any:
        return initializers.Constant(self._first) if slot_name == "accumulator" else None

    def _numbers(self, like: Any) -> dict[str, Any]:
        return super()._numbers(like) | ({"l2_shrinkage": self._shrinkage} if self._shrinkage else {})

    def get_config(self) -> dict[str, Any]:
        return super().get_config() | {
            "initial_accumulator_value": self._first,
            "l2_shrinkage_regularization_strength": self._shrinkage,
        }
