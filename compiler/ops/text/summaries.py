"""Texts of tensors in messages: all, the first, or the first and last of their elements."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterator
from typing import Any

import numpy as np


def first_elements(array: Any, most: int) -> str:
    """The first `most` elements in the order of memory, all if that is negative.

    >>> first_elements(np.arange(6).reshape(2, 3), 4)
    '[0 1 2][3...]...'
    """
    array = np.asarray(array)
    if not array.size:
        return ""
    left = iter(range(array.size if most < 0 else most))
    return _rows(array, left, outermost=True) + ("..." if 0 <= most < array.size else "")


def _rows(array: np.ndarray, left: Iterator[int], outermost: bool = False) -> str:
    """The elements while there are numbers `left`."""
    if array.ndim > 1:
        parts = []
        for row in array:
            if not operator.length_hint(left):
                break
            parts.append(f"[{_rows(row, left)}]")
        return "".join(parts)
    flat = array.reshape(-1)
    texts = [_bare(value) for value, _ in zip(flat, left, strict=False)]
    return " ".join(texts) + ("..." if len(texts) < len(flat) and not outermost else "")


def _bare(value: Any) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else element(value)


def both_ends(array: Any, most: int, depth: int = 1) -> str:
    """The first and the last `most` elements of each axis, all if that is negative; rows on lines of their
    own.

    >>> both_ends(np.arange(10), 2)
    '[0 1 ... 8 9]'
    """
    array = np.asarray(array)
    if not array.ndim:
        return element(array[()])
    shortened = 0 <= 2 * most < len(array)
    rows = [*array[:most], *array[len(array) - most :]] if shortened else list(array)
    texts = [both_ends(row, most, depth + 1) for row in rows]
    if shortened:
        texts.insert(most, "...")
    between = "\n" * (array.ndim - 1) + " " * (depth if array.ndim > 1 else 1)
    return f"[{between.join(texts)}]"


def element(value: Any) -> str:
    """A number with as few digits as tell it, or nearly so; a string in quotes."""
    match value:
        case bytes():
            return f'"{value.decode(errors="surrogateescape")}"'
        case bool() | np.bool_():
            return str(int(value))
        case np.floating() if not math.isfinite(value):
            return str(value)
        case np.floating():
            few, enough = (15, 17) if value.dtype == np.float64 else (6, 9)
            text = f"{float(value):.{few}g}"
            return text if value.dtype.type(float(text)) == value else f"{float(value):.{enough}g}"
    return str(value)
