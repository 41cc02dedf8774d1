"""Values of attributes as `AttrValue` messages, and back, by the kind that a signature tells."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from staticgraph.compiler.graph.function import Literal
from staticgraph.formats.tf.messages.graph import AttrValue
from staticgraph.formats.tf.messages.tensors import make_ndarray, make_tensor_proto, shape_proto
from staticgraph.formats.tf.messages.types import data_type, dtype_of

FIELDS = {
    "int": "i",
    "float": "f",
    "bool": "b",
    "string": "s",
    "type": "type",
    "shape": "shape",
    "tensor": "tensor",
    "func": "func",
}


_LARGE = 64  # bytes of a value that is not cached
# Kinds whose values cannot be hashed, or are equal and yet differ, as 0.0 and -0.0 do.
_NOT_CACHED = ("float", "list(float)", "func", "list(func)", "list(tensor)")


def attr_value(kind: str, value: Any) -> AttrValue:
    """The message of a value; an unknown shape and an empty list are None."""
    is_large = kind == "tensor" and not (isinstance(value, Literal) and len(value.data) < _LARGE)
    if is_large or kind in _NOT_CACHED:
        return _attr_value(kind, value)
    return AttrValue._encoded_as(_encoded(kind, tuple(value or ()) if kind.startswith("list(") else value))


@lru_cache(1 << 14)
def _encoded(kind: str, value: Any) -> bytes:
    """The bytes of a value, made once: nodes have the same few over and over."""
    return _attr_value(kind, value).SerializeToString()


def _attr_value(kind: str, value: Any) -> AttrValue:
    if kind.startswith("list("):
        made = AttrValue(list={})
        inner = kind[5:-1]
        getattr(made.list, FIELDS[inner]).extend(_one(inner, each) for each in value or ())
        return made
    return AttrValue(**{FIELDS[kind]: _one(kind, value)})


def _one(kind: str, value: Any) -> Any:
    match kind:
        case "string":
            return value.encode() if isinstance(value, str) else bytes(value)
        case "type":
            return value if isinstance(value, int) else data_type(value)
        case "shape":
            return shape_proto(value)
        case "tensor":
            return make_tensor_proto(value.array, value.dtype) if isinstance(value, Literal) else value
        case "int":
            return int(value)
        case "float":
            return float(value)
    return value


def plain_value(kind: str, message: AttrValue) -> Any:
    """The value of a message: strings as text, dtypes, shapes as tuples, tensors as `Literal`s.

    ValueError or TypeError, in one sentence, where it is of another kind.
    """
    encoded = message._encoded
    if encoded is not None and len(encoded) < _LARGE and kind not in ("func", "list(func)"):
        return _decoded(kind, encoded)
    return _plain_value(kind, message)


@lru_cache(1 << 12)
def _decoded(kind: str, data: bytes) -> Any:
    """The value of bytes, read once: nodes have the same few over and over."""
    return _plain_value(kind, AttrValue.FromString(data))


def _plain_value(kind: str, message: AttrValue) -> Any:
    is_list = kind.startswith("list(")
    element = kind[5:-1] if is_list else kind
    told = message.WhichOneof("value")
    wanted = "list" if is_list else FIELDS[element]
    if told != wanted:
        raise ValueError(f"it holds {told or 'nothing'}, and {kind} is expected")
    if is_list:
        return tuple(_plain(element, each) for each in getattr(message.list, FIELDS[element]))
    return _plain(element, getattr(message, wanted))


def _plain(kind: str, value: Any) -> Any:
    match kind:
        case "string":
            try:
                return value.decode()
            except UnicodeDecodeError:
                return bytes(value)
        case "type":
            return dtype_of(value)
        case "shape":
            return shape_of_proto(value)
        case "tensor":
            return Literal.of(make_ndarray(value), dtype_of(value.dtype))
    return value


def shape_of_proto(proto: Any) -> tuple[int | None, ...] | None:
    """The shape of a message: None if its rank is unknown."""
    if proto.unknown_rank:
        return None
    return tuple(None if dim.size < 0 else dim.size for dim in proto.dim)


def same(kind: str, first: Any, second: Any) -> bool:
    """Return True if two values of an attribute are equal in a message, which stores floats as float32."""
    return attr_value(kind, first).SerializeToString() == attr_value(kind, second).SerializeToString()
