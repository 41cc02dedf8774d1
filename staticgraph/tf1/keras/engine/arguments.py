"""Arguments of layers in the words of Keras, and back: names for activations, initializers, regularizers."""

from __future__ import annotations

from typing import Any

from staticgraph.compiler.graph.errors import misuse, shown
from staticgraph.layers import adapters
from staticgraph.tf1.keras import activations, constraints, initializers, regularizers

# Modules with `get` and `serialize`, by the last word of an argument.
_KINDS: dict[str, Any] = {
    "activation": activations,
    "initializer": initializers,
    "regularizer": regularizers,
    "constraint": constraints,
}

# Names in the configuration of a layer: of what goes over an image, and of what has weights.
OF_WINDOWS = ("filters", "kernel_size", "strides", "padding", "data_format")
OF_WEIGHTS = ("activation", "use_bias", "weight_options", "activity_regularizer")

# What most layers start with.
GLOROT: dict[str, Any] = {"kernel_initializer": "glorot_uniform", "bias_initializer": "zeros"}


def axes(name: str, shape: Any) -> list[Any]:
    """Return the sizes of a shape, which is the argument `name`. Raises TypeError if it is no list."""
    try:
        return [*shape]
    except TypeError:
        text = f"{name} is {shown(shape)}, and must be a list of sizes"
        raise misuse(TypeError, text, f"write {name}=[{shown(shape)}]") from None


def resolved(given: dict[str, Any]) -> dict[str, Any]:
    """Return arguments by name, as the layer of `sg.layers` behind a layer takes them.

    Names of activations, initializers, regularizers and constraints become what they stand for.
    """
    return {name: _got(name, value) for name, value in given.items()}


def _got(name: str, value: Any) -> Any:
    kind = name.rpartition("_")[2]
    return _KINDS[kind].get(value) if kind in _KINDS else value


def weight_options(given: dict[str, Any], *weights: str) -> dict[str, dict[str, Any]]:
    """Take the options of weights out of arguments: initializer, regularizer, constraint of each."""
    options = adapters.weight_options(given, *weights)
    return {weight: resolved(options[weight]) for weight in weights}


def written(layer: Any) -> dict[str, Any]:
    """Return the attributes that a layer's classes list in `config_names`, as data for `get_config`.

    `kernel_options` stands for the options of the weight `kernel`, `weight_options` for those of all weights.
    """
    config: dict[str, Any] = {}
    for made in reversed(type(layer).__mro__):
        for name in vars(made).get("config_names", ()):
            value, (prefix, _, kind) = getattr(layer, name), name.rpartition("_")
            if kind != "options":
                config[name] = _as_data(kind, value)
                continue
            for weight, options in (value if prefix == "weight" else {prefix: value}).items():
                config |= {f"{weight}_{key}": _as_data(key, option) for key, option in options.items()}
    return config


def _as_data(kind: str, value: Any) -> Any:
    return _KINDS[kind].serialize(value) if kind in _KINDS else value
