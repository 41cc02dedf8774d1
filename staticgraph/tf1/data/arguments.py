"""Arguments of datasets: counts and flags, which may be tensors, and what batches are padded to."""

from __future__ import annotations

import operator
from typing import Any

from staticgraph.compiler.graph.errors import misuse, shown
from staticgraph.compiler.graph.shapes import Shape, TensorType, as_shape, shape_text
from staticgraph.compiler.graph.static_value import static_value
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.tf1.data.structure import Component, Ragged


def number(value: Any) -> Any:
    """A size or count: an int, or a tensor whose value is one."""
    if hasattr(value, "to_tensor"):
        value = value.to_tensor()
    if not isinstance(value, Tensor):
        try:
            return operator.index(value)
        except TypeError:
            text = f"the sizes and counts of a dataset are whole numbers, not {shown(value)}"
            raise misuse(TypeError, text) from None
    if value.shape.ndims not in (None, 0):
        raise misuse(TypeError, f"the sizes and counts of a dataset are whole numbers, not {shown(value)}")
    known = static_value(value)
    return value if known is None else int(known)


def flag(value: Any) -> Any:
    """A bool, or a tensor whose value is one."""
    known = static_value(value) if isinstance(value, Tensor) else value
    return value if known is None else bool(known)


def padded_shape(part: Component, shape: Any) -> Any:
    """Return the shape to pad a component to: sizes, and None for the largest of a batch."""
    if isinstance(part, Ragged) and not part.rank:
        part = TensorType(part.dtype, part.shape)
    if not isinstance(part, TensorType):
        raise misuse(TypeError, f"a component {part} cannot be padded")
    if isinstance(shape, Tensor):
        count = shape.shape[0].value if shape.shape.ndims == 1 else None
        if count is not None and part.shape is not None and count != len(part.shape):
            sizes = shape_text((None,) * count)
            text = f"The padded shape {sizes} is not compatible with the corresponding input component shape"
            raise misuse(ValueError, f"{text} {shape_text(part.shape)}.")
        return shape
    wanted = as_shape(shape)
    if wanted is None or (part.shape is not None and not _may_grow(part.shape, wanted)):
        text = (
            f"padded_shapes has {shape}, which elements of shape {shape_text(part.shape)} cannot be padded to"
        )
        raise misuse(ValueError, text)
    return wanted


def _may_grow(shape: Shape, wanted: Shape) -> bool:
    pairs = zip(shape, wanted, strict=False)
    return len(shape) == len(wanted) and all(None in pair or pair[0] <= pair[1] for pair in pairs)  # type: ignore[operator]


def padding_value(part: TensorType, value: Any) -> Any:
    """Return what to pad a component with: a scalar of its dtype."""
    if isinstance(value, Tensor) and value.dtype is part.dtype:
        return value
    try:
        array = part.dtype.round(value)
    except (TypeError, ValueError):
        array = None
    if array is None or array.ndim or (part.dtype.is_integer and array != value):
        raise misuse(TypeError, f"padding_values has {value!r}, a scalar of type {part.dtype} is needed")
    return array


def negative_unknown(shape: Any) -> Shape | None:
    """Return a shape in which negative sizes are unknown ones."""
    return None if shape is None else tuple(None if n is None or n < 0 else int(n) for n in shape)
