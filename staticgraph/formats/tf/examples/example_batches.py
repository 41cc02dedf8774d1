"""Features of a batch of examples as arrays: dense, or as the three parts of a sparse tensor.

Each function takes what was read of one feature: for each example its values, or None if it has none.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, TypeVar

import numpy as np

from staticgraph.compiler.graph.dtypes import DType, string
from staticgraph.compiler.graph.errors import InvalidArgumentError, OpError
from staticgraph.compiler.graph.shapes import Shape
from staticgraph.compiler.support.dataclass import dataclass
from staticgraph.formats.tf.messages.wire import DecodeError

Read = TypeVar("Read")
Row: TypeAlias = np.ndarray | None
Sparse = tuple[np.ndarray, np.ndarray, np.ndarray]


@dataclass(frozen=True, slots=True)
class Label:
    """Text by which an error names an example and, if a `key` is given, a feature of it."""

    names: Sequence[bytes]

    def __call__(self, index: int, key: str | None = None) -> str:
        name = f" ({self.names[index].decode(errors='replace')})" if index < len(self.names) else ""
        return (f"feature {key!r} of " if key is not None else "") + f"example {index}{name}"

    def each(self, read: Callable[..., Read], *parts: Sequence[Any], key: str | None = None) -> list[Read]:
        """Apply `read` to the parts of each example, or of its feature `key`. An error names these."""
        made: list[Read] = []
        try:
            for part in zip(*parts, strict=True):
                made.append(read(*part))
        except (InvalidArgumentError, DecodeError) as error:
            raise self.named(error, len(made), key) from None
        return made

    def named(self, error: OpError, index: int, key: str | None) -> InvalidArgumentError:
        """Return an error in reading an example, or its feature `key`, with the name of that."""
        verb = "cannot be parsed: " if isinstance(error, DecodeError) else ""
        return InvalidArgumentError(f"{self(index, key)} {verb}{error.message}")


def dense(
    rows: Sequence[Row], key: str, dtype: DType, shape: Shape, default: np.ndarray, label: Label
) -> np.ndarray:
    """A batch of features that all have the same number of values, or are filled up to the longest."""
    if shape and shape[0] is None:
        return _filled(rows, key, dtype, shape[1:], default, label)
    sizes = [n or 0 for n in shape]
    size = math.prod(sizes)
    found = []
    for index, row in enumerate(rows):
        if row is None:
            if not default.size and size:
                hint = "FixedLenFeature(default_value=...) fills it in; a VarLenFeature may be missing"
                raise InvalidArgumentError(f"{label(index, key)} is missing, and has no default", hint=hint)
            row = default.reshape(-1)
        if row.size != size:
            raise InvalidArgumentError(
                f"{label(index, key)} has {row.size} values, not {size} for {list(shape)}"
            )
        found.append(row)
    return _joined(found, dtype).reshape(len(rows), *sizes)


def _filled(
    rows: Sequence[Row], key: str, dtype: DType, shape: Shape, default: np.ndarray, label: Label
) -> np.ndarray:
    stride = math.prod(n or 0 for n in shape)
    longest = max((row.size for row in rows if row is not None), default=0)
    out = np.full((len(rows), longest), default.reshape(-1)[0], dtype.numpy)
    for index, row in enumerate(rows):
        if row is not None:
            if row.size % max(stride, 1):
                text = f"{label(index, key)} has {row.size} values, no multiple of {stride} for {list(shape)}"
                raise InvalidArgumentError(text)
            out[index, : row.size] = row
    return out.reshape(len(rows), longest // max(stride, 1), *(n or 0 for n in shape))


def dense_steps(
    examples: Sequence[Sequence[Row]], key: str, dtype: DType, shape: Shape, label: Label
) -> tuple[np.ndarray, np.ndarray]:
    """A batch of lists of features of one shape, filled up to the longest list; and the lengths."""
    lengths = [len(steps) for steps in examples]
    size = math.prod(n or 0 for n in shape)
    out = np.full((len(examples), max(lengths, default=0), size), b"" if dtype is string else 0, dtype.numpy)
    for index, steps in enumerate(examples):
        for step, row in enumerate(steps):
            count = 0 if row is None else row.size
            if row is None or count != size:
                text = f"{label(index, key)} has {count} values at step {step}, not {size} for {list(shape)}"
                raise InvalidArgumentError(text)
            out[index, step] = row
    return out.reshape(*out.shape[:2], *(n or 0 for n in shape)), np.array(lengths, np.int64)


def sparse(rows: Sequence[Row], dtype: DType) -> Sparse:
    """A batch of features with any number of values: a row for each example."""
    sizes = [0 if row is None else row.size for row in rows]
    places = [np.repeat(np.arange(len(rows)), sizes), _counts(sizes)]
    shape = [len(rows), max(sizes, default=0)]
    return np.stack(places, axis=1).astype(np.int64), _joined(rows, dtype), np.array(shape, np.int64)


def sparse_steps(examples: Sequence[Sequence[Row]], dtype: DType) -> Sparse:
    """A batch of lists of such features: a matrix for each example."""
    rows = [row for steps in examples for row in steps]
    sizes = [0 if row is None else row.size for row in rows]
    lengths = [len(steps) for steps in examples]
    example, step = np.repeat(np.arange(len(examples)), lengths), _counts(lengths)
    places = [np.repeat(example, sizes), np.repeat(step, sizes), _counts(sizes)]
    shape = [len(examples), max(lengths, default=0), max(sizes, default=0)]
    return np.stack(places, axis=1).astype(np.int64), _joined(rows, dtype), np.array(shape, np.int64)


def _counts(sizes: Sequence[int]) -> np.ndarray:
    """0, 1, ... up to each size, one after the other."""
    ends = np.cumsum([0, *sizes])
    return np.arange(ends[-1]) - np.repeat(ends[:-1], sizes)


def _joined(rows: Sequence[Row], dtype: DType) -> np.ndarray:
    found = [row for row in rows if row is not None]
    if len(found) == 1:
        return found[0].astype(dtype.numpy)
    return np.concatenate(found, dtype=dtype.numpy) if found else np.empty(0, dtype.numpy)
