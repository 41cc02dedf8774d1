"""Learning rates that follow the number of steps (TF1's `tf.keras.optimizers.schedules`)."""

from __future__ import annotations

from collections.abc import Callable
from inspect import Parameter, Signature
from typing import Any

from staticgraph.building.inputs import convert_to_tensor
from staticgraph.building.signatures import derived
from staticgraph.compiler.graph.errors import misuse
from staticgraph.compiler.support.lazy_names import show_public_names
from staticgraph.tf1.keras.serialization import deserialize_keras_object, serialize_keras_object
from staticgraph.train import schedules


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


class Decay(LearningRateSchedule):
    """A schedule of `staticgraph.train` with its arguments kept."""

    def _keep(self, function: Callable[..., Any], arguments: dict[str, Any]) -> None:
        self._function, self._arguments = function, arguments
        vars(self).update(arguments)

    def __call__(self, step: Any) -> Any:
        given = dict(self._arguments)
        return self._function(given.pop("initial_learning_rate"), step, **given)

    def get_config(self) -> dict[str, Any]:
        return dict(self._arguments)


def arguments_of(schedule: Callable[..., Any]) -> Any:
    """The constructor that keeps the arguments of a schedule, which is told the step later."""
    signature = Signature.from_callable(schedule)
    rate, _, *others = signature.parameters.values()
    placed = [Parameter("self", rate.kind), rate.replace(name="initial_learning_rate"), *others]
    return derived(
        Signature(placed, return_annotation="None"), lambda given: given.pop("self")._keep(schedule, given)
    )


class ExponentialDecay(Decay):
    """`initial_learning_rate * decay_rate ** (step / decay_steps)`."""

    __init__ = arguments_of(schedules.exponential_decay)


class InverseTimeDecay(Decay):
    """`initial_learning_rate / (1 + decay_rate * step / decay_steps)`."""

    __init__ = arguments_of(schedules.inverse_time_decay)


class PolynomialDecay(Decay):
    """From `initial_learning_rate` down to `end_learning_rate` in `decay_steps`, a power of what is left."""

    __init__ = arguments_of(schedules.polynomial_decay)


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


show_public_names(__name__)
