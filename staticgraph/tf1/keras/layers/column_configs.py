"""Feature columns as data: what makes an equal column, in the form of Keras's configs."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from staticgraph.compiler.graph.dtypes import DType, as_dtype
from staticgraph.compiler.graph.errors import misuse
from staticgraph.state.initializers import Initializer
from staticgraph.tf1.feature_column import categorical, crossed, embedding, numeric, sequences
from staticgraph.tf1.feature_column.columns import FeatureColumn
from staticgraph.tf1.keras import initializers
from staticgraph.tf1.keras.serialization import deserialize_keras_object, serialize_keras_object

_MODULES = (categorical, crossed, embedding, numeric, sequences)


def serialized(column: FeatureColumn) -> dict[str, Any]:
    """Return the class of a column and its arguments, columns in it too."""
    config = {field.name: _plain(getattr(column, field.name)) for field in fields(column)}  # type: ignore[arg-type]
    return {"class_name": type(column).__name__, "config": config}


def _plain(value: Any) -> Any:
    if isinstance(value, FeatureColumn):
        return serialized(value)
    if isinstance(value, DType):
        return value.name
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return serialize_keras_object(value) if callable(value) or isinstance(value, Initializer) else value


def deserialized(config: dict[str, Any], custom_objects: dict[str, Any] | None = None) -> FeatureColumn:
    """Return the column of a config. ValueError for a class that is no column."""
    kind = _class_of(config["class_name"])
    known = config["config"]
    made = {field.name: _value(field.name, known[field.name], custom_objects) for field in fields(kind)}
    column: FeatureColumn = kind(**made)
    return column


def _class_of(name: str) -> Any:
    for module in _MODULES:
        found = vars(module).get(name)
        if isinstance(found, type) and issubclass(found, FeatureColumn):
            return found
    raise misuse(ValueError, f"{name!r} is no class of feature columns")


def _value(name: str, value: Any, custom_objects: dict[str, Any] | None) -> Any:
    if name == "dtype":
        return as_dtype(value)
    if name == "initializer":
        return initializers.deserialize(value, custom_objects)
    if name == "normalizer_fn":
        return value and deserialize_keras_object(value, {}, custom_objects, "function")
    if isinstance(value, dict):
        return deserialized(value, custom_objects)
    if isinstance(value, list):
        return tuple(_value("", item, custom_objects) for item in value)
    return value
