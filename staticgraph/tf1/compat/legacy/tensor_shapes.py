"""`tensorflow.python.framework.tensor_shape`: functions that make shapes."""

from __future__ import annotations

from typing import Any

import staticgraph as sg


def as_shape(shape: Any) -> sg.TensorShape:
    """A shape from a shape, a list of sizes, or None."""
    return shape if isinstance(shape, sg.TensorShape) else sg.TensorShape(shape)


def as_dimension(value: Any) -> sg.Dimension:
    """A size from a size, a number, or None."""
    return value if isinstance(value, sg.Dimension) else sg.Dimension(value)


def unknown_shape(ndims: int | None = None, rank: int | None = None) -> sg.TensorShape:
    """A shape of unknown sizes, or of an unknown number of them.

    >>> unknown_shape(2), unknown_shape()
    (TensorShape([Dimension(None), Dimension(None)]), TensorShape(None))
    """
    count = rank if ndims is None else ndims
    return sg.TensorShape(None if count is None else [None] * count)


def scalar() -> sg.TensorShape:
    """The shape of a number."""
    return sg.TensorShape([])


def vector(length: Any) -> sg.TensorShape:
    """The shape of a vector."""
    return sg.TensorShape([length])


def matrix(rows: Any, cols: Any) -> sg.TensorShape:
    """The shape of a matrix."""
    return sg.TensorShape([rows, cols])
