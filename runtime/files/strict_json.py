"""JSON of which nothing is taken for granted: no key twice or unknown, each value of the right kind."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from staticgraph.compiler.graph.errors import InvalidFileError

Kinds = Mapping[str, tuple[type, ...]]


def dump(value: Any) -> str:
    """One line of JSON, the same for the same value."""
    return json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))


def parse(data: Any, what: str) -> Any:
    """The value of a JSON text. InvalidFileError if it is none, or has a key twice."""
    try:
        return json.loads(bytes(data).decode(), object_pairs_hook=_object, parse_constant=_refuse)
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
