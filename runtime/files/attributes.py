"""Values as JSON of which nothing is taken for granted, and attribute values from a closed set of types.

No key occurs twice or is unknown, and each value is of the right kind. No op needs code of its own to be
saved: null, true, 3, 0.5, "VALID" and lists stand for themselves; lists are tuples. What JSON has not is an
object with one key: {"float": "nan"}, {"dtype": "float32"}, {"array": [dtype, shape, base64]},
{"weights": key} for large arrays of numbers, {"region": ...} for the body of a loop.
"""

from __future__ import annotations

import base64
import binascii
import json
import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from staticgraph.compiler.graph.dtypes import DTYPES, DType, bool_, string
from staticgraph.compiler.graph.errors import InvalidFileError
from staticgraph.compiler.graph.function import Literal
from staticgraph.compiler.graph.shapes import MOST_AXES, Shape, TensorType, is_array_shape
from staticgraph.compiler.graph.tensor import Region
from staticgraph.compiler.support.gc_pause import collector_paused

Kinds = Mapping[str, tuple[type, ...]]


def dump(value: Any) -> str:
    """One line of JSON, the same for the same value."""
    return json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))


def read_json(text: str | bytes, **hooks: Any) -> Any:
    """Return the value of a JSON text, which may be nested deeper than Python can follow.

    If Python looked for garbage at the last level, what it calls then would fail, such as the end of a
    session that nobody has any more. So it does not look meanwhile.

    Args:
        text: The text.
        hooks: Further arguments of `json.loads`.

    Raises:
        ValueError: It is no JSON.
        RecursionError: It is nested too deeply.

    >>> read_json('{"a": [1, 2.5, null]}')
    {'a': [1, 2.5, None]}
    """
    with collector_paused(may_collect=False):
        return json.loads(text, **hooks)


def parse(data: Any, what: str) -> Any:
    """The value of a JSON text. InvalidFileError if it is none, or has a key twice."""
    try:
        return read_json(bytes(data).decode(), object_pairs_hook=_object, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise InvalidFileError(f"{what} is not valid JSON: {error}") from None


def fields(value: Any, what: str, required: Kinds, optional: Kinds | None = None) -> dict[str, Any]:
    """`value`, an object with exactly these fields; optional ones that it lacks are None in the result."""
    optional = optional or {}
    check(value, what, dict)
    for key in (*value, *required):
        if key not in value:
            raise InvalidFileError(f"{what} has no {key!r}")
        if key not in required and key not in optional:
            raise InvalidFileError(f"{what} has a field {key!r}, which this version does not know")
        check(value[key], f"{key!r} of {what}", *(required.get(key) or optional[key]))
    return {**dict.fromkeys(optional), **value}


def check(value: Any, what: str, *kinds: type) -> Any:
    """`value`, which must be of one of `kinds`. A bool is no int."""
    if type(value) not in kinds:
        names = " or ".join("null" if k is type(None) else k.__name__ for k in kinds)
        raise InvalidFileError(f"{what} must be {names}, not {type(value).__name__}")
    return value


def items(value: Any, what: str, *kinds: type) -> list[Any]:
    """`value`, which must be a list of values of these kinds."""
    return [check(v, f"an entry of {what}", *kinds) for v in check(value, what, list)]


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        raise ValueError("a key occurs twice")
    return made


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is not JSON")


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
