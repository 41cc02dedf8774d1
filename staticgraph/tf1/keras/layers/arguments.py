"""Arguments of layers in the words of Keras: activations, initializers, regularizers, constraints by name."""

from __future__ import annotations

from typing import Any

from staticgraph.state.layer import variable_options
from staticgraph.tf1.keras import activations, constraints, initializers, regularizers

_GET = {
    "activation": activations.get,
    "initializer": initializers.get,
    "regularizer": regularizers.get,
    "constraint": constraints.get,
}


def resolved(arguments: dict[str, Any]) -> dict[str, Any]:
    """Return the `locals()` of a constructor as arguments for the layer of `sg.layers` behind it.

    Names of activations, initializers, regularizers and constraints become what they stand for.
    """
    own = {name: value for name, value in arguments.items() if name not in ("self", "kwargs", "__class__")}
    given = own | arguments["kwargs"]
    return {name: _GET.get(name.rpartition("_")[2], _as_it_is)(value) for name, value in given.items()}


def _as_it_is(value: Any) -> Any:
    return value


def weight_options(prefix: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """The initializer, regularizer and constraint of one weight of a layer, as `add_weight` takes them."""
    kinds = ("initializer", "regularizer", "constraint")
    return variable_options(*(_GET[kind](arguments.get(f"{prefix}_{kind}")) for kind in kinds))


def weight_config(prefix: str, options: dict[str, Any]) -> dict[str, Any]:
    """`weight_options` as they stand in a config."""
    return {
        f"{prefix}_initializer": initializers.serialize(options["initializer"]),
        f"{prefix}_regularizer": regularizers.serialize(options["regularizer"]),
        f"{prefix}_constraint": constraints.serialize(options["constraint"]),
    }
