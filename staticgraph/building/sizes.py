"""Sizes to compute with while a graph is built: plain numbers where they are known, else scalar tensors."""

from __future__ import annotations

from typing import Any

from staticgraph.compiler import ops
from staticgraph.compiler.graph.checks.arguments import whole_of
from staticgraph.compiler.graph.dtypes import int32
from staticgraph.compiler.graph.errors import ShapeError, misuse
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
