"""Helpers of the node readers: constants, known values, and sizes that may depend on what is fed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from staticgraph.arrays.casts import of_dtype
from staticgraph.compiler import ops
from staticgraph.compiler.graph.dtypes import DType, float32, int32, int64
from staticgraph.compiler.graph.function import Literal
from staticgraph.compiler.graph.static_value import static_value
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.formats.onnx.errors import UnknownValueError

cast = of_dtype  # no operation where the elements are of the type already
Size = Any  # an int, or a tensor of int64 that depends on what is fed


def constant(value: Any, like: Tensor | DType) -> Tensor:
    """A constant of an element type, or that of another tensor."""
    dtype = like.dtype if isinstance(like, Tensor) else like
    return ops.constant(value=Literal.of(np.asarray(value), dtype))


def constant_of(literal: Literal) -> Tensor:
    """A constant from an attribute."""
    return ops.constant(value=literal)


def known_value(tensor: Tensor) -> np.ndarray | None:
    """The value of a tensor where it does not depend on what is fed, and is not long to compute."""
    match tensor.op.definition.name:
        case "constant":
            return tensor.op.attrs["value"].array
        case "identity":
            return known_value(tensor.op.tensors[0])
    value = static_value(tensor)
    return None if value is None else np.asarray(value, tensor.dtype.numpy)


def sizes(x: Tensor) -> list[Size]:
    """The size of each axis: a number where it is known, else a tensor. The rank must be known."""
    shape = x.type.shape
    if shape is None:
        raise UnknownValueError("the number of axes of its input must be known while the graph is built", x)
    if None not in shape:
        return list(shape)
    fed = ops.shape_of(x, out_type=int64)
    return [
        ops.strided_slice(fed, begin=(axis,), end=(axis + 1,), shrink_axis_mask=1) if n is None else n
        for axis, n in enumerate(shape)
    ]


def vector(entries: Sequence[Size]) -> Any:
    """Sizes as an operand of an op: a tuple of numbers, or a tensor."""
    if all(not isinstance(n, Tensor) for n in entries):
        return tuple(entries)
    return ops.stack([n if isinstance(n, Tensor) else constant(n, int64) for n in entries], axis=0)


def product(entries: Sequence[Size]) -> Size:
    """The number of elements of a box."""
    known = 1
    fed: Tensor | None = None
    for n in entries:
        if isinstance(n, Tensor):
            fed = n if fed is None else fed * n
        else:
            known *= n
    return known if fed is None else fed if known == 1 else fed * constant(known, int64)


def reshape(x: Tensor, entries: Sequence[Size]) -> Tensor:
    """`x` with other sizes; at most one may be -1."""
    return ops.reshape(x, shape=vector(entries))


def expanded(x: Tensor, rank: int) -> Tensor:
    """`x` with axes of size 1 in front, so that it has a number of axes."""
    shape = x.type.shape
    assert shape is not None, x
    missing = rank - len(shape)
    return reshape(x, [1] * missing + sizes(x)) if missing > 0 else x


def permuted(x: Tensor, order: Sequence[int]) -> Tensor:
    """`x` with its axes in another order."""
    same = x.type.rank == len(order) and list(order) == list(range(len(order)))
    return x if same else ops.transpose(x, perm=tuple(order))


def together(*tensors: Tensor) -> list[Tensor]:
    """Tensors of different shapes repeated along axes of size 1, so that they have one shape."""
    known = [shape for shape in map(_known_shape, tensors) if shape is not None]
    common: Any
    if len(known) == len(tensors):
        common = np.broadcast_shapes(*known)
        return [t if t.type.shape == common else ops.broadcast_to(t, shape=common) for t in tensors]
    common = ops.shape_of(tensors[0], out_type=int32)
    for other in tensors[1:]:
        common = ops.broadcast_args(common, ops.shape_of(other, out_type=int32))
    return [ops.broadcast_to(t, shape=common) for t in tensors]


def _known_shape(x: Tensor) -> tuple[int, ...] | None:
    shape = x.type.shape
    return None if shape is None or None in shape else tuple(n for n in shape if n is not None)


def select(condition: Tensor, x: Tensor, y: Tensor) -> Tensor:
    """Elements of `x` where the condition holds, of `y` elsewhere."""
    condition, x, y = together(condition, x, y)
    return ops.select(condition, x, y)


def unstacked(x: Tensor, count: int, axis: int) -> list[Tensor]:
    """The parts of `x` along an axis, without that axis."""
    made = ops.unstack(x, num=count, axis=axis)
    return [made] if isinstance(made, Tensor) else list(made)


def divided(x: Tensor, count: int, axis: int) -> list[Tensor]:
    """Equal parts of `x` along an axis."""
    return [x] if count == 1 else list(ops.split(x, axis=axis, num_split=count))


def wide(dtype: DType) -> DType:
    """The type in which the smaller floating types are computed with."""
    return dtype if dtype.size >= 4 else float32


def part(n: Size, count: int) -> Size:
    """A size divided by a number."""
    return ops.floor_div(n, constant(count, int64)) if isinstance(n, Tensor) else n // count
