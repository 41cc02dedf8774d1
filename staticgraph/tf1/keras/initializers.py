"""Initial values of weights: those of `sg.initializers`, with the smaller spread that Keras takes."""

from __future__ import annotations

from typing import Any

from staticgraph.building.signatures import with_defaults
from staticgraph.compiler.support.lazy_names import show_public_names
from staticgraph.state.initializers import (
    Constant,
    GlorotNormal,
    GlorotUniform,
    Identity,
    Initializer,
    Ones,
    Orthogonal,
    VarianceScaling,
    Zeros,
    he_normal,
    he_uniform,
    lecun_normal,
    lecun_uniform,
)
from staticgraph.state.initializers import RandomNormal as _RandomNormal
from staticgraph.state.initializers import RandomUniform as _RandomUniform
from staticgraph.state.initializers import TruncatedNormal as _TruncatedNormal
from staticgraph.tf1.keras.serialization import deserialize_keras_object, resolve, serialize_keras_object

__all__ = [
    "Constant",
    "Identity",
    "Initializer",
    "Ones",
    "Orthogonal",
    "RandomNormal",
    "RandomUniform",
    "TruncatedNormal",
    "VarianceScaling",
    "Zeros",
    "constant",
    "deserialize",
    "get",
    "glorot_normal",
    "glorot_uniform",
    "he_normal",
    "he_uniform",
    "identity",
    "lecun_normal",
    "lecun_uniform",
    "normal",
    "ones",
    "orthogonal",
    "random_normal",
    "random_uniform",
    "serialize",
    "truncated_normal",
    "uniform",
    "zeros",
]


class RandomNormal(_RandomNormal):
    """Normal random numbers."""

    __init__ = with_defaults(_RandomNormal, stddev=0.05)


class RandomUniform(_RandomUniform):
    """Uniform random numbers from `minval` (included) to `maxval` (excluded)."""

    __init__ = with_defaults(_RandomUniform, minval=-0.05, maxval=0.05)


class TruncatedNormal(_TruncatedNormal):
    """Normal random numbers; those further than two standard deviations from the mean are drawn again."""

    __init__ = with_defaults(_TruncatedNormal, stddev=0.05)


constant = Constant
glorot_normal = GlorotNormal
glorot_uniform = GlorotUniform
identity = Identity
normal = random_normal = RandomNormal
ones = Ones
orthogonal = Orthogonal
truncated_normal = TruncatedNormal
uniform = random_uniform = RandomUniform
zeros = Zeros

_OTHERS = {"Initializer", "deserialize", "get", "serialize"}
_TABLE: dict[str, Any] = {name: globals()[name] for name in __all__ if name not in _OTHERS} | {
    "GlorotNormal": GlorotNormal,
    "GlorotUniform": GlorotUniform,
    "one": Ones,
    "zero": Zeros,
}
_FUNCTIONS = ("he_normal", "he_uniform", "lecun_normal", "lecun_uniform")


def serialize(initializer: Any) -> Any:
    """The config of an initializer."""
    return serialize_keras_object(initializer)


def deserialize(config: Any, custom_objects: Any = None) -> Any:
    """The initializer of a config."""
    return deserialize_keras_object(config, _TABLE, custom_objects, "initializer")


def get(identifier: Any) -> Any:
    """The initializer that a name, a config or a class stands for; a function is one already."""
    if isinstance(identifier, str) and identifier in _FUNCTIONS:
        return _TABLE[identifier]()
    return resolve(identifier, _TABLE, "initializer")


show_public_names(__name__)
