"""Arrays of strings: object arrays of bytes, as TF1 fetches them, and their form in constants and files.

A string is any sequence of bytes. NumPy's own arrays of bytes have one length for all elements and drop zero
bytes at the end, so they are only taken as input.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from staticgraph.compiler.graph.errors import misuse

_LENGTH = np.dtype("<u8")


def as_strings(value: Any) -> np.ndarray:
    """`value` as an object array of bytes; text is encoded as UTF-8. TypeError for what is no string.

    >>> from staticgraph.compiler.graph.strings import as_strings
    >>> as_strings(["a", b"b"])
    array([b'a', b'b'], dtype=object)
    """
    array = np.asarray(value, object)
    if array.size and all(type(v) is bytes for v in array.flat):
        return array
    out = np.empty(array.shape, object)
    out.reshape(-1)[:] = [_bytes(v) for v in array.flat]
    return out


def _bytes(value: Any) -> bytes:
    if isinstance(value, str):
        try:
            return value.encode()
        except UnicodeEncodeError:
            text = f"{value!r} has half of a character, which UTF-8 cannot write"
            raise misuse(ValueError, text, "give bytes, such as those of os.fsencode") from None
    if isinstance(value, (bytes, bytearray)):
        return bytes(value)
    text = f"{value!r} is not a string, and others beside it are"
    raise misuse(TypeError, text, "all are numbers, or all are strings")


def join_strings(array: np.ndarray) -> bytes:
    """The elements' lengths, eight bytes each, then the elements: the contents of a constant."""
    items = array.ravel().tolist()
    return np.array([len(v) for v in items], _LENGTH).tobytes() + b"".join(items)


def split_strings(data: bytes, shape: tuple[int, ...]) -> np.ndarray:
    """The array that `join_strings` was given. ValueError if the data are of no such array."""
    start = math.prod(shape) * _LENGTH.itemsize
    lengths = np.frombuffer(data[:start], _LENGTH) if start <= len(data) else None
    if lengths is None or sum(map(int, lengths)) != len(data) - start:
        raise ValueError(f"{len(data)} bytes are not an array of strings of shape {shape}")
    out = np.empty(shape, object)
    ends = [start + end for end in np.cumsum(lengths, dtype=np.int64).tolist()]
    items = [data[a:b] for a, b in zip([start, *ends], ends, strict=False)]
    out.reshape(-1)[:] = items
    return out
