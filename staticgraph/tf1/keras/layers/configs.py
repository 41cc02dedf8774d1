"""Layers as configs, and back."""

from __future__ import annotations

from typing import Any

from staticgraph.tf1.keras.serialization import (
    deserialize_keras_object,
    layers_by_name,
    serialize_keras_object,
)


def serialize(layer: Any) -> Any:
    """The config of a layer."""
    return serialize_keras_object(layer)


def deserialize(config: Any, custom_objects: Any = None) -> Any:
    """The layer of a config, with new weights."""
    return deserialize_keras_object(config, layers_by_name(), custom_objects, "layer")
