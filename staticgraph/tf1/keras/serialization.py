"""Objects by name: from a string or a config to an object, and back.

A config is data: {"class_name": ..., "config": {...}}. It names an entry of a table, or of the custom objects
that the program registered; nothing is ever imported or run because a file names it.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from staticgraph.compiler.graph.errors import misuse, shown
from staticgraph.compiler.support.lazy_names import load

_custom: dict[str, Any] = {}


@cache
def layers_by_name() -> dict[str, Any]:
    """Return the classes of layers and models that a config may name."""
    modules = load("staticgraph.tf1.keras.layers"), load("staticgraph.tf1.keras.models")
    found = {name: getattr(module, name) for module in modules for name in module.__all__}
    return {name: made for name, made in found.items() if isinstance(made, type)}


def get_custom_objects() -> dict[str, Any]:
    """The objects of the program that configs may name, as one dict that can be added to."""
    return _custom


class CustomObjectScope:
    """Context in which configs may name the objects of these dicts."""

    def __init__(self, *args: Mapping[str, Any]) -> None:
        self._added = {name: thing for given in args for name, thing in given.items()}
        self._before: dict[str, Any] = {}

    def __enter__(self) -> CustomObjectScope:
        self._before = dict(_custom)
        _custom.update(self._added)
        return self

    def __exit__(self, *_: object) -> None:
        _custom.clear()
        _custom.update(self._before)


def custom_object_scope(*args: Mapping[str, Any]) -> CustomObjectScope:
    """Context in which configs may name the objects of these dicts.

    >>> import staticgraph as sg
    >>> def double(x):
    ...     return x * 2
    >>> with sg.keras.utils.custom_object_scope({"double": double}):
    ...     sg.keras.activations.get("double") is double
    True
    """
    return CustomObjectScope(*args)


def serialize_keras_object(instance: Any) -> Any:
    """The config of an object, the name of a function, None for None."""
    if instance is None:
        return None
    if hasattr(instance, "get_config"):
        return {"class_name": type(instance).__name__, "config": instance.get_config()}
    if hasattr(instance, "__name__"):
        return instance.__name__
    raise misuse(ValueError, f"{instance!r} cannot be written: it has neither get_config() nor a name")


def deserialize_keras_object(
    identifier: Any,
    module_objects: Mapping[str, Any] | None = None,
    custom_objects: Mapping[str, Any] | None = None,
    printable_module_name: str = "object",
) -> Any:
    """The object that a config or a name stands for. ValueError if nothing has that name."""
    if identifier is None:
        return None
    if isinstance(identifier, Mapping):
        if not ({"class_name", "config"} <= set(identifier) and isinstance(identifier["class_name"], str)):
            text = f"{shown(identifier)} is not the config of a {printable_module_name}"
            raise misuse(ValueError, text, 'write {"class_name": name, "config": arguments}')
        made = find(identifier["class_name"], module_objects, custom_objects, printable_module_name)
        return _from_config(made, dict(identifier["config"]), custom_objects)
    found = find(identifier, module_objects, custom_objects, printable_module_name)
    return found() if isinstance(found, type) else found


def find(
    name: Any,
    table: Mapping[str, Any] | None,
    custom_objects: Mapping[str, Any] | None,
    kind: str,
) -> Any:
    """Return the object that `name` stands for: first of the custom objects, then of the table.

    Raises:
        ValueError: No object has this name.
    """
    if isinstance(name, str):
        for names in (custom_objects or {}, _custom, table or {}):
            if name in names:
                return names[name]
    text = f"unknown {kind}: {shown(name)}; register your own with custom_objects or custom_object_scope"
    from staticgraph.compiler.support.nearest import nearest_name  # needed only then

    close = nearest_name(name, {**(table or {}), **_custom, **(custom_objects or {})})
    raise misuse(ValueError, text, close and f"did you mean {close!r}?")


def _from_config(made: Any, config: dict[str, Any], custom_objects: Mapping[str, Any] | None) -> Any:
    if not hasattr(made, "from_config"):
        return made(**config)
    with CustomObjectScope(custom_objects or {}):
        return made.from_config(config)


def resolve(identifier: Any, table: Mapping[str, Any], kind: str) -> Any:
    """`identifier` itself where it is an object or a function; else what it names. None stays None."""
    if isinstance(identifier, type):
        return identifier()
    if identifier is None or callable(identifier):
        return identifier
    if isinstance(identifier, str | Mapping):
        return deserialize_keras_object(identifier, table, None, kind)
    raise misuse(ValueError, f"{shown(identifier)} is not a {kind}")
