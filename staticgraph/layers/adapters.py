"""Adapters of layers: parameters for the options of weights, and the function beside each class."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar

from staticgraph.building.signatures import arguments, named, parameters_of
from staticgraph.state.layer import Layer, applied, variable_options

F = TypeVar("F", bound=Callable[..., Any])

_KINDS = ("initializer", "regularizer", "constraint")


def weight_parameters(initializers: dict[str, Any], activity: bool = True) -> dict[str, Any]:
    """Return the parameters for the weights of a layer, in TensorFlow's order, with their defaults.

    Args:
        initializers: The default initializer of each weight, by the name of the weight.
        activity: If there is also a regularizer of the layer's outputs.

    >>> from staticgraph.layers.adapters import weight_parameters
    >>> [*weight_parameters({"kernel": None})]
    ['kernel_initializer', 'kernel_regularizer', 'activity_regularizer', 'kernel_constraint']
    """
    made = {f"{weight}_initializer": default for weight, default in initializers.items()}
    made |= {f"{weight}_regularizer": None for weight in initializers}
    made |= {"activity_regularizer": None} if activity else {}
    return made | {f"{weight}_constraint": None for weight in initializers}


def with_weights(before: str = "", activity: bool = True, **initializers: Any) -> Callable[[F], F]:
    """Give a constructor with `**options` the parameters for its weights: see `weight_parameters`.

    Their values arrive in the options. They stand before the parameter `before`, else before the options.
    """

    def decorate(function: F) -> F:
        own = list(inspect.signature(function).parameters.values())
        at = [parameter.name for parameter in own].index(before) if before else len(own) - 1
        weights = parameters_of(weight_parameters(initializers, activity))
        signature = inspect.Signature([*own[:at], *weights, *own[at:]], return_annotation="None")

        @functools.wraps(function)
        def construct(*args: Any, **kwargs: Any) -> Any:
            name = type(args[0]).__name__ if args else function.__qualname__
            return function(**named(arguments(name, signature, args, kwargs), signature))

        construct.__signature__ = signature  # type: ignore[attr-defined]
        return construct  # type: ignore[return-value]

    return decorate


def weight_options(options: dict[str, Any], *weights: str) -> dict[str, dict[str, Any]]:
    """Take the options of weights out of the options of a constructor, and return them by weight."""
    return {
        weight: variable_options(*(options.pop(f"{weight}_{kind}", None) for kind in _KINDS))
        for weight in weights
    }


def function_of(layer: type[Layer], reuse: bool = True, order: str = "", **defaults: Any) -> Callable[[F], F]:
    """Make a function of a name and a docstring: it makes a layer and calls it.

    It takes `inputs`, and what the constructor takes.

    Args:
        layer: The class of the layer.
        reuse: If the function also takes `reuse`, as it does if the layer has weights.
        order: The parameters after `inputs`, between spaces, if the order is not the constructor's;
            `training` may be among them.
        defaults: Defaults that are not those of the constructor.
    """
    own = [p for p in inspect.signature(layer).parameters.values() if p.kind is p.POSITIONAL_OR_KEYWORD]
    inputs = inspect.Parameter("inputs", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation="Any")
    made = [parameter.replace(default=defaults.get(parameter.name, parameter.default)) for parameter in own]
    made += parameters_of({"reuse": None} if reuse else {})
    if order:
        known = {parameter.name: parameter for parameter in made}
        known["training"] = inputs.replace(name="training", default=False)
        made = [known[name] for name in order.split()]
    signature = inspect.Signature([inputs, *made], return_annotation="Tensor")

    def decorate(function: F) -> F:
        @functools.wraps(function)
        def apply(*args: Any, **kwargs: Any) -> Any:
            return applied(layer, arguments(function.__name__, signature, args, kwargs))

        apply.__signature__ = signature  # type: ignore[attr-defined]
        return apply  # type: ignore[return-value]

    return decorate
