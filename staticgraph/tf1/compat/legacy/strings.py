"""`tf.compat.as_bytes` and its relatives: text and bytes were one type when these programs were young."""

from __future__ import annotations

import numbers
import os
from typing import Any

import numpy as np

from staticgraph.compiler.graph.errors import misuse

bytes_or_text_types = (bytes, str)
integral_types = (numbers.Integral, np.integer)
real_types = (numbers.Real, np.integer, np.floating)
complex_types = (numbers.Complex, np.number)


def as_bytes(bytes_or_text: bytes | str, encoding: str = "utf-8") -> bytes:
    """The value as bytes."""
    match bytes_or_text:
        case bytes() | bytearray():
            return bytes(bytes_or_text)
        case str():
            return bytes_or_text.encode(encoding)
    raise misuse(TypeError, f"as_bytes takes text or bytes, not {type(bytes_or_text).__name__}")


def as_text(bytes_or_text: bytes | str, encoding: str = "utf-8") -> str:
    """The value as text."""
    match bytes_or_text:
        case str():
            return bytes_or_text
        case bytes() | bytearray():
            return bytes_or_text.decode(encoding)
    raise misuse(TypeError, f"as_text takes text or bytes, not {type(bytes_or_text).__name__}")


as_str = as_text


def as_str_any(value: Any) -> str:
    """The value as text, numbers and other objects too."""
    return as_text(value) if isinstance(value, bytes) else str(value)


def path_to_str(path: Any) -> Any:
    """A path object as text; anything else as it is."""
    return os.fspath(path) if hasattr(path, "__fspath__") else path
