"""Functions that turn items of collections into messages of meta graphs and back, given by a program."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from staticgraph.compiler.graph.errors import misuse, shown
from staticgraph.formats.tf.meta_graph.collections import PROTO_FUNCTIONS, ProtoFunctions, proto_functions

__all__ = [
    "get_collection_proto_type",
    "get_from_proto_function",
    "get_to_proto_function",
    "register_proto_function",
]


def register_proto_function(
    collection_name: str,
    proto_type: Any = None,
    to_proto: Callable[..., Any] | None = None,
    from_proto: Callable[..., Any] | None = None,
) -> None:
    """Have the items of a collection written to meta graphs as messages.

    Args:
        collection_name: The key of the collection.
        proto_type: The class of the messages.
        to_proto: A function `(item, export_scope=None)` that returns a message, or None to leave it out.
        from_proto: A function `(message, import_scope=None)` that returns the item.

    Raises:
        TypeError: A function cannot be called.
        KeyError: The collection is registered already.
    """
    for name, function in (("to_proto", to_proto), ("from_proto", from_proto)):
        if function is not None and not callable(function):
            raise misuse(TypeError, f"{name} is {shown(function)}, and must be a function")
    if collection_name in PROTO_FUNCTIONS:
        raise misuse(KeyError, f"the collection {collection_name!r} is registered already")
    PROTO_FUNCTIONS[collection_name] = ProtoFunctions(proto_type, to_proto, from_proto)


def get_collection_proto_type(collection_name: str) -> Any:
    """Return the class of messages of a collection, or None."""
    return proto_functions(collection_name).proto_type


def get_to_proto_function(collection_name: str) -> Any:
    """Return the function that makes a message of an item of a collection, or None."""
    return proto_functions(collection_name).to_proto


def get_from_proto_function(collection_name: str) -> Any:
    """Return the function that makes an item of a collection from a message, or None."""
    return proto_functions(collection_name).from_proto
