"""Sizes and values that are known while a graph is built.

A size to compute with is a plain number if it is known, and else a scalar tensor.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.graph.checks.arguments import whole_of
from staticgraph.compiler.graph.dtypes import int32
from staticgraph.compiler.graph.errors import ShapeError, misuse
from staticgraph.compiler.graph.shapes import Dimension, TensorShape
from staticgraph.compiler.graph.static_value import static_value
from staticgraph.compiler.graph.tensor import Tensor

Size = Any  # an int, or an int32 tensor that stands for one


def size_of(x: Tensor, axis: int) -> Size:
    """The size of one axis."""
    rank = x.type.rank
    if rank is not None and not -rank <= axis < rank:
        text = f"{x.name} has shape {x.shape}, and no axis {axis}"
        raise misuse(ShapeError, text, made=[(x.name, x.op.where)])
    known = x.type.shape[axis] if x.type.shape is not None else None
    return known if known is not None else ops.shape_of(x, out_type=int32)[axis]


def sizes_of(x: Tensor) -> list[Size]:
    """The sizes of all axes of a tensor of known rank."""
    return [size_of(x, axis) for axis in range(len(x.type.shape or ()))]


def whole(n: Any) -> Size:
    """A number, or a tensor, that a user gave as a size: a plain number where it is known."""
    known = static_value(n) if isinstance(n, Tensor) else n
    return n if known is None else whole_of(known, "a size")


def is_known(*sizes: Size) -> bool:
    """Return True if none of the sizes is a tensor."""
    return not any(isinstance(n, Tensor) for n in sizes)


def larger(a: Size, b: Size) -> Size:
    """The greater of two sizes."""
    return max(a, b) if is_known(a, b) else ops.maximum(a, b)


def smaller(a: Size, b: Size) -> Size:
    """The lesser of two sizes."""
    return min(a, b) if is_known(a, b) else ops.minimum(a, b)


def get_static_value(tensor: Any, partial: bool = False) -> Any:
    """The value of a tensor as an array where it is known while the graph is built, or else None.

    With `partial`, entries of a vector that are not known are None, in an array of objects.

    >>> import staticgraph as sg
    >>> sg.get_static_value(sg.constant([1, 2]) * 2).tolist()
    [2, 4]
    """
    known = static_value(tensor, partial=partial) if isinstance(tensor, Tensor) else tensor
    if known is None:
        return None
    if isinstance(known, tuple) and None in known:
        return None if all(n is None for n in known) else np.array(known, object)
    if not isinstance(tensor, Tensor):
        return np.asarray(known)
    made = np.asarray(known, tensor.dtype.numpy)
    # tuples do not tell the sizes behind an axis that is empty
    return made if made.size else made.reshape(tensor.shape.as_list())


def dimension_value(dimension: Any) -> int | None:
    """A size as a number, or None if it is not known; `dimension` may be such a value itself."""
    return dimension.value if isinstance(dimension, Dimension) else dimension


def dimension_at_index(shape: Any, index: int) -> Dimension:
    """One size of a static shape, not known where the rank is not."""
    shape = TensorShape(shape)
    return Dimension(None) if shape.ndims is None else shape[index]
