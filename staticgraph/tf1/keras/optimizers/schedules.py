"""Learning rates that follow the number of steps (TF1's `tf.keras.optimizers.schedules`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from staticgraph.building.inputs import convert_to_tensor
from staticgraph.compiler.graph.errors import misuse
from staticgraph.tf1.keras.serialization import deserialize_keras_object, serialize_keras_object
from staticgraph.train import schedules

__all__ = [
    "ExponentialDecay",
    "InverseTimeDecay",
    "LearningRateSchedule",
    "PiecewiseConstantDecay",
    "PolynomialDecay",
    "deserialize",
    "serialize",
]


class LearningRateSchedule:
    """A function from the number of steps to a learning rate. A subclass defines `__call__`."""

    def __call__(self, step: Any) -> Any:
        raise misuse(NotImplementedError, f"{type(self).__name__} defines no __call__(step)")

    def get_config(self) -> dict[str, Any]:
        raise misuse(NotImplementedError, f"{type(self).__name__} defines no get_config()")

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> LearningRateSchedule:
        """The schedule of a `get_config`."""
        return cls(**config)


class _Decay(LearningRateSchedule):
    """A schedule of `staticgraph.train` with its arguments kept."""

    def __init__(self, function: Callable[..., Any], **arguments: Any) -> None:
        self._function, self._arguments = function, arguments
        vars(self).update(arguments)

    def __call__(self, step: Any) -> Any:
        given = dict(self._arguments)
        return self._function(given.pop("initial_learning_rate"), step, **given)

    def get_config(self) -> dict[str, Any]:
        return dict(self._arguments)


class ExponentialDecay(_Decay):
    """`initial_learning_rate * decay_rate ** (step / decay_steps)`."""

    def __init__(
        self, initial_learning_rate: Any, decay_steps: Any, decay_rate: Any, staircase: bool = False,
        name: str | None = None,
    ) -> None:  # fmt: skip
        super().__init__(
            schedules.exponential_decay, initial_learning_rate=initial_learning_rate,
            decay_steps=decay_steps, decay_rate=decay_rate, staircase=staircase, name=name,
        )  # fmt: skip


class InverseTimeDecay(_Decay):
    """`initial_learning_rate / (1 + decay_rate * step / decay_steps)`."""

    def __init__(
        self, initial_learning_rate: Any, decay_steps: Any, decay_rate: Any, staircase: bool = False,
        name: str | None = None,
    ) -> None:  # fmt: skip
        super().__init__(
            schedules.inverse_time_decay, initial_learning_rate=initial_learning_rate,
            decay_steps=decay_steps, decay_rate=decay_rate, staircase=staircase, name=name,
        )  # fmt: skip


class PolynomialDecay(_Decay):
    """From `initial_learning_rate` down to `end_learning_rate` in `decay_steps`, a power of what is left."""

    def __init__(
        self, initial_learning_rate: Any, decay_steps: Any, end_learning_rate: Any = 0.0001,
        power: Any = 1.0, cycle: bool = False, name: str | None = None,
    ) -> None:  # fmt: skip
        super().__init__(
            schedules.polynomial_decay, initial_learning_rate=initial_learning_rate,
            decay_steps=decay_steps, end_learning_rate=end_learning_rate, power=power, cycle=cycle, name=name,
        )  # fmt: skip


class PiecewiseConstantDecay(LearningRateSchedule):
    """`values[i]` up to the step `boundaries[i]`, the last value beyond all of them."""

    def __init__(self, boundaries: Any, values: Any, name: str | None = None) -> None:
        if len(boundaries) != len(values) - 1:
            raise misuse(ValueError, f"{len(boundaries)} boundaries need {len(boundaries) + 1} values")
        self.boundaries, self.values, self.name = list(boundaries), list(values), name

    def __call__(self, step: Any) -> Any:
        bounds = [int(b) for b in self.boundaries] if step.dtype.is_integer else self.boundaries
        limits = [convert_to_tensor(b, step.dtype) for b in bounds]
        return schedules.piecewise_constant(step, limits, self.values, self.name)

    def get_config(self) -> dict[str, Any]:
        return {"boundaries": self.boundaries, "values": self.values, "name": self.name}


_TABLE = {
    made.__name__: made
    for made in (ExponentialDecay, InverseTimeDecay, PiecewiseConstantDecay, PolynomialDecay)
}


def serialize(learning_rate_schedule: LearningRateSchedule) -> Any:
    """The config of a schedule."""
    return serialize_keras_object(learning_rate_schedule)


def deserialize(config: Any, custom_objects: Any = None) -> Any:
    """The schedule of a config."""
    return deserialize_keras_object(config, _TABLE, custom_objects, "schedule")
