"""Optimizers by their names and configs."""

from __future__ import annotations

from typing import Any

from staticgraph.compiler.graph.errors import misuse
from staticgraph.tf1.keras.optimizers.adapters import (
    SGD,
    Adadelta,
    Adagrad,
    Adam,
    Adamax,
    Ftrl,
    Nadam,
    RMSprop,
)
from staticgraph.tf1.keras.optimizers.base import Optimizer
from staticgraph.tf1.keras.optimizers.native import NativeOptimizer
from staticgraph.tf1.keras.serialization import deserialize_keras_object, serialize_keras_object
from staticgraph.train.optimizers.optimizer import Optimizer as TrainOptimizer

_CLASSES = (Adadelta, Adagrad, Adam, Adamax, Ftrl, Nadam, RMSprop, SGD)
_TABLE = {made.__name__: made for made in _CLASSES} | {made.__name__.lower(): made for made in _CLASSES}


def serialize(optimizer: Any) -> Any:
    """The config of an optimizer."""
    return serialize_keras_object(optimizer)


def deserialize(config: Any, custom_objects: Any = None) -> Any:
    """The optimizer of a config."""
    return deserialize_keras_object(config, _TABLE, custom_objects, "optimizer")


def get(identifier: Any) -> Any:
    """The optimizer that a name or config stands for; an optimizer, also of `staticgraph.train`, is one.

    >>> import staticgraph as sg
    >>> sg.keras.optimizers.get("adam").get_config()["beta_1"]
    0.9
    """
    if isinstance(identifier, TrainOptimizer):
        return NativeOptimizer(identifier)
    if isinstance(identifier, Optimizer | NativeOptimizer):
        return identifier
    if isinstance(identifier, str):
        return deserialize({"class_name": identifier.lower(), "config": {}})
    if isinstance(identifier, dict):
        return deserialize(identifier)
    raise misuse(
        ValueError, f"{identifier!r} is not an optimizer: give its name, or one of keras.optimizers or train"
    )
