"""Parts of tensors: a variable that was partitioned lies in a checkpoint as several boxes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np

from staticgraph.compiler.graph.errors import InvalidFileError
from staticgraph.compiler.graph.shapes import MOST_AXES, is_array_shape
from staticgraph.formats.tf.messages.tensor_bundle import TensorSliceProto

Box = tuple[slice, ...]


def box(part: TensorSliceProto, shape: Sequence[int]) -> Box:
    """Return the box of a part in a tensor of this shape.

    Args:
        part: The begin and the length of the part along each axis.
        shape: The sizes of the tensor.

    Returns:
        A slice for each axis.

    Raises:
        InvalidFileError: If the part does not lie in the tensor, or has another number of axes.

    >>> box(TensorSliceProto(extent=[{}, {"start": 1, "length": 2}]), (4, 3))
    (slice(0, 4, None), slice(1, 3, None))
    """
    if len(part.extent) != len(shape) or not is_array_shape(shape):
        raise InvalidFileError(
            f"a part has {len(part.extent)} axes, its tensor the shape {list(shape)[:MOST_AXES]}"
        )
    found = []
    for extent, size in zip(part.extent, shape, strict=True):
        begin, length = extent.start, extent.length if _is_bounded(extent) else size
        if begin < 0 or length < 0 or begin + length > size:
            raise InvalidFileError("a part lies outside of its tensor")
        found.append(slice(begin, begin + length))
    return tuple(found)


def box_shape(where: Box) -> tuple[int, ...]:
    """The shape of what lies there."""
    return tuple(each.stop - each.start for each in where)


def joined(shape: Sequence[int], parts: Iterable[tuple[Box, np.ndarray]]) -> np.ndarray:
    """The tensor that parts make up. InvalidFileError if they do not cover it."""
    parts = list(parts)
    if sum(array.size for _, array in parts) != math.prod(shape) or not parts:
        raise InvalidFileError("its parts do not cover it")
    if len(parts) == 1:
        return parts[0][1]
    whole, covered = np.zeros(shape, parts[0][1].dtype), np.zeros(shape, bool)
    for where, array in parts:
        whole[where] = array
        covered[where] = True
    if not covered.all():
        raise InvalidFileError("its parts do not cover it")
    return whole


def part_key(name: str, part: TensorSliceProto) -> bytes:
    r"""The key of a part in the index: a zero, the name, and the extents, so written that keys are in order.

    >>> part_key("w", TensorSliceProto(extent=[{}, {"start": 3, "length": 200}]))
    b'\x00w\x00\x01\x01\x02\x80\x7f\x83\xc0\xc8'
    """
    text = name.encode().replace(b"\0", b"\0\xff")
    out = [b"\0", text, b"\0\x01", _unsigned(len(part.extent))]
    for extent in part.extent:
        out += [_signed(extent.start), _signed(extent.length if _is_bounded(extent) else -1)]
    return b"".join(out)


def _is_bounded(extent: TensorSliceProto.Extent) -> bool:
    return extent.WhichOneof("has_length") is not None


def _unsigned(value: int) -> bytes:
    """Return the number of bytes of a value in one byte, followed by the bytes, the highest first."""
    data = value.to_bytes((value.bit_length() + 7) // 8, "big")
    return bytes([len(data)]) + data


def _signed(value: int) -> bytes:
    """Seven bits a byte, after as many ones (zeros in a negative number) as there are bytes."""
    count = 1
    while not -(1 << 7 * count - 1) <= value < 1 << 7 * count - 1:
        count += 1
    ones = ((1 << count) - 1) << 8 * count - count
    return ((value + (1 << 8 * count)) % (1 << 8 * count) ^ ones).to_bytes(count, "big")
