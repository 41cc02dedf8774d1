"""`Optimizer`: an update rule with hyperparameters that can be changed while training."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from staticgraph.arrays.casts import cast
from staticgraph.arrays.indexed_slices import IndexedSlices
from staticgraph.building.framework import control_dependencies, get_default_graph, name_scope
from staticgraph.building.inputs import group
from staticgraph.compiler.graph.dtypes import int64
from staticgraph.compiler.graph.errors import GradientError, misuse
from staticgraph.compiler.graph.tensor import Operation, Tensor
from staticgraph.differentiation.gradients import gradients, why_no_gradient
from staticgraph.mathematics.clip import clip_by_norm
from staticgraph.mathematics.math_ops import clip_by_value
from staticgraph.state import replicas
from staticgraph.state.state_ops import assign_add
from staticgraph.state.variables import Variable
from staticgraph.tf1.keras import initializers, state
from staticgraph.tf1.keras.optimizers.schedules import LearningRateSchedule
from staticgraph.tf1.keras.optimizers.schedules import deserialize as deserialize_schedule
from staticgraph.train.optimizers.optimizer import exchanged, statistics_of
from staticgraph.train.optimizers.rules import Rule

_OLD_NAMES = {"lr": "learning_rate"}
_OPTIONS = {"clipnorm", "clipvalue", "lr", "decay"}


class Hyper:
    """A hyperparameter as an attribute: a variable, which setting changes in the session."""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = _OLD_NAMES.get(name, name)

    def __get__(self, optimizer: Any, owner: type) -> Any:
        return self if optimizer is None else optimizer._hyper_variable(self.name)

    def __set__(self, optimizer: Any, value: Any) -> None:
        made = optimizer._hyper_variables.get(self.name)
        if made is None:
            optimizer._hyper[self.name] = value
        elif isinstance(value, LearningRateSchedule) or isinstance(made, LearningRateSchedule):
            raise misuse(
                ValueError, "a learning rate cannot become a schedule, or stop being one, after compile()"
            )
        else:
            state.set_value(made, value)


class Optimizer:
    """The base of the optimizers of Keras. `learning_rate` (or `lr`) is a number or a schedule.

    `clipnorm` and `clipvalue` limit each gradient, `decay` divides the rate by `1 + decay * steps`. A
    subclass names its `rule`.
    """

    learning_rate, lr, decay = Hyper(), Hyper(), Hyper()
    rule: Rule
    slots: Mapping[str, str] = {}  # names by arguments of the rule, in the order in which they are made
    numbers: Mapping[str, str] = {}  # hyperparameters by arguments of the rule, besides the learning rate

    def __init__(self, name: str, learning_rate: Any, options: dict[str, Any], **hyper: Any) -> None:
        if unknown := set(options) - _OPTIONS:
            raise misuse(TypeError, f"{type(self).__name__}() got an unknown argument {sorted(unknown)[0]!r}")
        for limit in ("clipnorm", "clipvalue"):
            if options.get(limit) is not None and options[limit] < 0:
                raise misuse(ValueError, f"{limit} must not be negative")
            if options.get(limit) is not None:
                setattr(self, limit, options[limit])
        self._name = name
        self._hyper: dict[str, Any] = {
            "learning_rate": options.get("lr", learning_rate),
            "decay": options.get("decay", 0.0),
            **hyper,
        }
        self._hyper_variables: dict[str, Any] = {}
        self._iterations: Variable | None = None
        self._slots: dict[tuple[Variable, str], Variable] = {}
        self._weights: list[Variable] = []

    # Hyperparameters

    def _hyper_variable(self, name: str) -> Any:
        """The variable of a hyperparameter; a schedule stays one."""
        if name not in self._hyper_variables:
            value = self._hyper[name]
            if not isinstance(value, LearningRateSchedule | Tensor):
                value = self._variable(name, float(value() if callable(value) else value))
            self._hyper_variables[name] = value
        return self._hyper_variables[name]

    def _variable(self, name: str, value: Any, dtype: Any = None) -> Variable:
        graph = get_default_graph()
        with graph.control_dependencies(None), name_scope(None):
            array = np.asarray(value, dtype or "float32")
            made = Variable(array, trainable=False, name=f"{self._name}/{name}")
        state.track(made)
        return made

    @property
    def iterations(self) -> Variable:
        """The number of steps made so far, in a variable."""
        if self._iterations is None:
            self._iterations = self._variable("iter", 0, int64.numpy)
            self._weights.insert(0, self._iterations)
        return self._iterations

    def _number(self, name: str, like: Any) -> Tensor:
        """A hyperparameter in the dtype of `like`."""
        return cast(self._hyper_variable(name), like.dtype)

    def _step(self, like: Any) -> Tensor:
        """The number of the present step, from one on."""
        return cast(self.iterations, like.dtype) + 1.0

    def _rate(self, like: Any) -> Tensor:
        """The learning rate of the present step."""
        rate = self._hyper_variable("learning_rate")
        rate = rate(self.iterations) if isinstance(rate, LearningRateSchedule) else rate
        rate = cast(rate, like.dtype)
        if self._hyper["decay"]:
            rate = rate / (1.0 + self._number("decay", like) * cast(self.iterations, like.dtype))
        return rate

    # Steps

    def get_gradients(self, loss: Any, params: Sequence[Any]) -> list[Any]:
        """The gradients of `loss`, limited. GradientError if the loss does not depend on a parameter."""
        found = gradients(loss, params)
        for parameter, gradient in zip(params, found, strict=True):
            if gradient is None:
                text = f"the loss does not depend on {parameter.name}: {why_no_gradient(loss, parameter)}"
                hint = (
                    "give the optimizer only weights that the loss depends on, or make others not trainable"
                )
                raise misuse(GradientError, text, hint)
        return [self._limited(g) for g in found]

    def _limited(self, gradient: Any) -> Any:
        if hasattr(self, "clipnorm"):
            gradient = clip_by_norm(gradient, self.clipnorm)
        if hasattr(self, "clipvalue"):
            limits = -self.clipvalue, self.clipvalue
            if isinstance(gradient, IndexedSlices):
                return gradient.with_values(clip_by_value(gradient.values, *limits))
            gradient = clip_by_value(gradient, *limits)
        return gradient

    def get_updates(self, loss: Any, params: Sequence[Any]) -> list[Operation]:
        """The operations of one training step."""
        pairs = list(zip(self.get_gradients(loss, params), params, strict=True))
        return [self._apply(exchanged(pairs), None, [])]

    def minimize(self, loss: Any, var_list: Any, grad_loss: Any = None, name: str | None = None) -> Operation:
        """An operation that changes `var_list` so that `loss`, a tensor or a function, falls."""
        value = loss() if callable(loss) else loss
        variables = list(var_list() if callable(var_list) else var_list)
        found = gradients(value, variables, grad_ys=None if grad_loss is None else [grad_loss])
        pairs = [(None if g is None else self._limited(g), v) for g, v in zip(found, variables, strict=True)]
        return self.apply_gradients(pairs, name)

    def apply_gradients(
        self, grads_and_vars: Iterable[tuple[Any, Any]], name: str | None = None
    ) -> Operation:
        """An operation that changes each variable by its gradient; pairs without one are left out.

        It also runs the updates of layers that the same loss needs, such as moving averages.
        """
        if (replica := replicas.present()) is not None:
            return replica.apply(lambda pairs: self.apply_gradients(pairs, name), list(grads_and_vars))
        pairs = [(g, v) for g, v in grads_and_vars if g is not None]
        if not pairs:
            raise misuse(GradientError, "No gradients provided for any variable")
        return self._apply(exchanged(pairs), name, None)

    def _apply(self, pairs: list[tuple[Any, Any]], name: str | None, updates: Any) -> Operation:
        with name_scope(name or self._name):
            self._prepare([v for _, v in pairs])
            numbers: dict[Any, dict[str, Any]] = {}  # by dtype: all updates take the same
            for gradient, _ in pairs:
                if gradient.dtype not in numbers:
                    numbers[gradient.dtype] = self._numbers(gradient)
            steps = [self._update(gradient, v, numbers[gradient.dtype]) for gradient, v in pairs]
            if updates is None:
                steps += statistics_of(pairs, steps)
            with control_dependencies(steps):
                counted = assign_add(self.iterations, 1)
            return group(*steps, counted)

    def _prepare(self, variables: Sequence[Any]) -> None:
        """Make all variables before the first of them is changed."""
        _ = self.iterations
        for name in self._hyper:
            self._hyper_variable(name)
        for slot in self.slots.values():
            for variable in variables:
                self.add_slot(variable, slot)

    def _update(self, gradient: Any, variable: Any, numbers: Mapping[str, Any]) -> Operation:
        slots = {argument: self.get_slot(variable, slot) for argument, slot in self.slots.items()}
        with name_scope(f"update_{variable.op.name}"):
            written = self.rule.apply(gradient, variable, slots, numbers)
            if variable.constraint is None:
                return written
            with control_dependencies([written]):
                return variable.assign(variable.constraint(variable.read_value())).op

    def _numbers(self, like: Any) -> dict[str, Any]:
        """The hyperparameters of the rule, in the dtype of `like`."""
        own = {argument: self._number(name, like) for argument, name in self.numbers.items()}
        return {"lr": self._rate(like)} | own

    # Slots and weights

    def add_slot(self, var: Any, slot_name: str, initializer: Any = "zeros") -> Variable:
        """A variable of the optimizer that belongs to `var`."""
        if (var, slot_name) not in self._slots:
            make = initializers.get(self._initial(slot_name) or initializer)
            with get_default_graph().control_dependencies(None), name_scope(None):
                made = Variable(
                    lambda: make(var.shape.as_list(), dtype=var.dtype),
                    trainable=False,
                    name=f"{self._name}/{var.op.name}/{slot_name}",
                )
            state.track(made)
            self._slots[var, slot_name] = made
            self._weights.append(made)
        return self._slots[var, slot_name]

    def _initial(self, slot_name: str) -> Any:
        """The initializer of a slot where it is not zeros."""
        return None

    def get_slot(self, var: Any, slot_name: str) -> Variable:
        return self._slots[var, slot_name]

    def get_slot_names(self) -> list[str]:
        return list(self.slots.values())

    def add_weight(
        self,
        name: str,
        shape: Any,
        dtype: Any = None,
        initializer: Any = "zeros",
        trainable: Any = None,
        synchronization: Any = None,
        aggregation: Any = None,
    ) -> Variable:
        """A variable of the optimizer that belongs to none in particular."""
        make = initializers.get(initializer)
        with get_default_graph().control_dependencies(None), name_scope(None):
            made = Variable(lambda: make(shape, dtype=dtype or "float32"), trainable=False, name=name)
        state.track(made)
        self._weights.append(made)
        return made

    def _checkpoint_dependencies(self) -> list[tuple[str, Any]]:
        """Return the variables that a `Checkpoint` saves besides the slots, by name."""
        return [("iter", self._iterations), *self._hyper_variables.items()]

    @property
    def weights(self) -> list[Variable]:
        """The number of steps, and all slots."""
        return list(self._weights)

    def variables(self) -> list[Variable]:
        return self.weights

    def get_weights(self) -> list[Any]:
        """The values of `weights` as arrays."""
        return state.batch_get_value(self.weights)

    def set_weights(self, weights: Sequence[Any]) -> None:
        """Set `weights`. ValueError if their number or a shape differs."""
        if len(weights) != len(self.weights):
            text = f"{self._name} has {len(self.weights)} weights, {len(weights)} were given"
            raise misuse(ValueError, f"{text}: they exist once the model has been trained for a step")
        state.batch_set_value(list(zip(self.weights, weights, strict=True)))

    # As data

    def _plain(self, name: str) -> Any:
        """The present value of a hyperparameter, as data."""
        value = self._hyper_variables.get(name, self._hyper[name])
        if isinstance(value, LearningRateSchedule):
            return {"class_name": type(value).__name__, "config": value.get_config()}
        return float(state.get_value(value)) if hasattr(value, "handle") else value

    def get_config(self) -> dict[str, Any]:
        """The arguments that make an equal optimizer."""
        limits = {name: getattr(self, name) for name in ("clipnorm", "clipvalue") if hasattr(self, name)}
        return {"name": self._name, **limits, **{name: self._plain(name) for name in self._hyper}}

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: Any = None) -> Any:
        """The optimizer of a `get_config`."""
        arguments = dict(config)
        if isinstance(arguments.get("learning_rate"), dict):
            arguments["learning_rate"] = deserialize_schedule(arguments["learning_rate"], custom_objects)
        return cls(**arguments)
