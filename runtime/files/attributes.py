"""Attribute values as JSON, from a closed set of types, so that no op needs code of its own to be saved.

null, true, 3, 0.5, "VALID" and lists stand for themselves; lists are tuples.
What JSON has not is an object with one key: {"float": "nan"}, {"dtype":
"float32"}, {"array": [dtype, shape, base64]}, {"weights": key} for large arrays of numbers,
{"region": ...} for the body of a loop.
"""

from __future__ import annotations

import base64
import binascii
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from staticgraph.compiler.graph.dtypes import DTYPES, DType, bool_, string
from staticgraph.compiler.graph.errors import InvalidFileError
from staticgraph.compiler.graph.function import Literal
from staticgraph.compiler.graph.shapes import MOST_AXES, Shape, TensorType, is_array_shape
from staticgraph.compiler.graph.tensor import Region
from staticgraph.runtime.files.strict_json import check, items

INLINE = 256  # bytes: larger arrays go where the weights are
_FLOATS = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}
_DEEPEST = 8


def encode(
    value: Any, store: Callable[[Literal], str], tell: Callable[[Region], list[Any]] | None = None
) -> Any:
    """The JSON of an attribute. `store` takes a large array and gives its key, `tell` says what a region is.
    TypeError for another type.
    """
    match value:
        case None | bool() | str():
            return value
        case int() if -(2**63) <= value < 2**64:
            return int(value)
        case float():
            return value if math.isfinite(value) else {"float": repr(float(value))}
        case tuple() | list():
            return [encode(v, store, tell) for v in value]
        case DType():
            return {"dtype": value.name}
        case Literal():
            data = value.dtype.to_bytes(value.array)
            if len(data) > INLINE and value.dtype is not string:
                return {"weights": store(value)}
            return {"array": [value.dtype.name, list(value.shape), base64.b64encode(data).decode()]}
        case Region() if tell is not None:
            return {"region": tell(value)}
    raise TypeError(type(value).__name__)


def decode(
    value: Any,
    what: str,
    fetch: Callable[[str], Literal],
    region: Callable[[Any], Region] | None = None,
    depth: int = 0,
) -> Any:
    """Decode an attribute: the inverse of `encode`. Raises InvalidFileError.

    Args:
        value: The JSON value.
        what: The name of the attribute in messages.
        fetch: Returns the large array with a key.
        region: Returns the region for a value from the `tell` of `encode`; None if regions are not allowed.
        depth: The depth of nesting so far.
    """
    if depth > _DEEPEST:
        raise InvalidFileError(f"{what} is nested too deeply")
    match value:
        case int() if not -(2**63) <= value < 2**64:
            raise InvalidFileError(f"{what} has an integer that is too large")
        case float() if not math.isfinite(value):
            raise InvalidFileError(f"{what} has a number that is too large")
        case None | bool() | int() | float() | str():
            return value
        case list():
            return tuple(decode(v, what, fetch, region, depth + 1) for v in value)
        case {"float": str(name), **rest} if name in _FLOATS and not rest:
            return _FLOATS[name]
        case {"dtype": name, **rest} if not rest:
            return dtype_of(name, what)
        case {"weights": str(key), **rest} if not rest:
            return fetch(key)
        case {"array": [name, shape, str(text)], **rest} if not rest:
            return _literal(type_of([name, shape], what), text, what)
        case {"region": told, **rest} if not rest and region is not None:
            return region(told)
    raise InvalidFileError(f"{what} is of no known form")


def _literal(type: TensorType, text: str, what: str) -> Literal:
    try:
        data = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise InvalidFileError(f"{what} is not base64") from None
    if type.is_static and type.dtype is string:
        try:
            return Literal.of(type.dtype.from_bytes(data, type.static_shape), string)
        except ValueError:
            raise InvalidFileError(f"{what} is not an array of strings") from None
    if not type.is_static or len(data) > INLINE or len(data) != type.size * type.dtype.size:
        raise InvalidFileError(f"{what} is an array whose size is not that of its type, {type}")
    if type.dtype is bool_ and max(data, default=0) > 1:
        raise InvalidFileError(f"{what} has values that are neither true nor false")
    return Literal(type.dtype.from_bytes(data, type.static_shape).tobytes(), type.dtype, type.static_shape)


def decode_strings(value: Any, what: str) -> np.ndarray:
    """The array of strings that `encode` was given, and nothing else."""
    unknown = f"{what} is of no known form"

    def nowhere_else(_: str) -> Literal:
        raise InvalidFileError(unknown)

    found = decode(value, what, nowhere_else)
    if not isinstance(found, Literal) or found.dtype is not string:
        raise InvalidFileError(unknown)
    return found.array


def encode_type(type: TensorType) -> list[Any]:
    """Dtype and shape, with null for what is unknown."""
    return [type.dtype.name, None if type.shape is None else list(type.shape)]


def type_of(value: Any, what: str) -> TensorType:
    """The type that `encode_type` was given."""
    if len(check(value, what, list)) != 2:
        raise InvalidFileError(f"{what} is not a dtype and a shape")
    return TensorType(dtype_of(value[0], what), _shape(value[1], what))


def dtype_of(name: Any, what: str) -> DType:
    """The dtype of this name."""
    if check(name, what, str) not in DTYPES:
        raise InvalidFileError(f"{what} is of an unknown dtype: {name!r}")
    return DTYPES[name]


def _shape(value: Any, what: str) -> Shape | None:
    if value is None:
        return None
    sizes = items(value, f"the shape of {what}", int, type(None))
    if not is_array_shape(sizes):
        raise InvalidFileError(f"the shape of {what} is impossible: {sizes[:MOST_AXES]}")
    return tuple(sizes)
