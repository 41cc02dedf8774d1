"""The shape of tensors, and functions that reorder, join and repeat them, under Keras's names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from staticgraph.arrays import array_ops, casts, creation, indexing
from staticgraph.building.framework import checked
from staticgraph.building.inputs import convert_to_tensor
from staticgraph.compiler.graph.errors import misuse, require
from staticgraph.compiler.graph.recording.op_count import counted_as
from staticgraph.compiler.graph.shapes import normalize_axis
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.linear_algebra import linalg
from staticgraph.tf1.keras.engine.node import history
from staticgraph.tf1.keras.settings import checked_format, floatx

# So many operations TensorFlow makes to resize images; it transposes those whose channels come first.
_RESIZED = 8

Shape = tuple[int | None, ...]


def shape(x: Any) -> Tensor:
    """The shape as a vector of the graph."""
    return array_ops.shape(x)


def int_shape(x: Any) -> Shape | None:
    """The static shape as a tuple, None for sizes that are not known; None if nothing is known."""
    found = convert_to_tensor(x).shape if not hasattr(x, "shape") else x.shape
    if isinstance(found, tuple):
        return found
    return None if found.ndims is None else tuple(found.as_list())


def ndim(x: Any) -> int | None:
    """The number of axes."""
    found = int_shape(x)
    return None if found is None else len(found)


def dtype(x: Any) -> str:
    """The name of the dtype."""
    return x.dtype.name


def is_keras_tensor(x: Any) -> bool:
    """Return True if a layer made `x`, so that a model can be built from it."""
    return history(x) is not None


def is_sparse(tensor: Any) -> bool:
    """Return False: there are dense tensors only."""
    return False


def to_dense(tensor: Any) -> Any:
    """The tensor itself."""
    return tensor


def cast(x: Any, dtype: Any) -> Tensor:
    """`x` converted to a dtype."""
    return casts.cast(x, dtype)


def reshape(x: Any, shape: Any) -> Tensor:
    """The elements in another shape; one size may be -1."""
    return array_ops.reshape(x, shape)


def flatten(x: Any) -> Tensor:
    """All elements in a vector."""
    return array_ops.reshape(x, [-1])


def batch_flatten(x: Any) -> Tensor:
    """The elements of each row in a vector."""
    sizes = (int_shape(x) or ())[1:]
    if all(n is not None for n in sizes):
        size = 1
        for n in sizes:
            size *= n or 0
        return array_ops.reshape(x, [-1, size])
    number = array_ops.shape(x)[0]
    return array_ops.reshape(x, array_ops.stack([number, -1]))


def expand_dims(x: Any, axis: int = -1) -> Tensor:
    """`x` with a new axis of size one."""
    return array_ops.expand_dims(x, axis)


def squeeze(x: Any, axis: Any) -> Tensor:
    """`x` without an axis of size one."""
    return array_ops.squeeze(x, axis)


def transpose(x: Any) -> Tensor:
    """`x` with its axes in the opposite order."""
    return array_ops.transpose(x)


def permute_dimensions(x: Any, pattern: Sequence[int]) -> Tensor:
    """Axis i of the result is axis pattern[i] of `x`."""
    return array_ops.transpose(x, pattern)


def concatenate(tensors: Any, axis: int = -1) -> Tensor:
    """Tensors joined along an existing axis."""
    return array_ops.concat(list(tensors), axis)


def stack(x: Any, axis: int = 0) -> Tensor:
    """Tensors joined along a new axis."""
    return array_ops.stack(list(x), axis)


def tile(x: Any, n: Any) -> Tensor:
    """`x` repeated n[i] times along each axis i."""
    return array_ops.tile(x, [n] if isinstance(n, int) else n)


def repeat(x: Any, n: int) -> Tensor:
    """A matrix repeated `n` times along a new second axis."""
    return array_ops.tile(array_ops.expand_dims(x, 1), [1, n, 1])


def repeat_elements(x: Any, rep: int, axis: int) -> Tensor:
    """Each element repeated `rep` times along `axis`."""
    x = convert_to_tensor(x)
    made = array_ops.repeat(x, rep, axis)
    sizes = x.shape.as_list()
    sizes[axis] = None if sizes[axis] is None else sizes[axis] * rep
    made.set_shape(sizes)
    return made


def reverse(x: Any, axes: Any) -> Tensor:
    """The elements in opposite order along `axes`."""
    return array_ops.reverse(x, [axes] if isinstance(axes, int) else list(axes))


def gather(reference: Any, indices: Any) -> Tensor:
    """The rows of `reference` at `indices`."""
    return indexing.gather(reference, indices)


def one_hot(indices: Any, num_classes: int) -> Tensor:
    """A vector with a one at each index."""
    return indexing.one_hot(indices, num_classes, dtype=floatx())


def ones_like(x: Any, dtype: Any = None, name: str | None = None) -> Tensor:
    """Ones in the shape of `x`."""
    return creation.ones_like(x, dtype=dtype, name=name)


def zeros_like(x: Any, dtype: Any = None, name: str | None = None) -> Tensor:
    """Zeros in the shape of `x`."""
    return creation.zeros_like(x, dtype=dtype, name=name)


def arange(start: Any, stop: Any = None, step: Any = 1, dtype: Any = "int32") -> Tensor:
    """The numbers from `start` (0 where only one bound is given) up to `stop`."""
    if stop is None:
        start, stop = 0, start
    made = creation.range(start, stop, step)
    return made if made.dtype.name == dtype else casts.cast(made, dtype)


def dot(x: Any, y: Any) -> Tensor:
    """The product over the last axis of `x` and the last but one of `y`, of any number of axes."""
    x, y = convert_to_tensor(x), convert_to_tensor(y)
    if x.shape.ndims == 2 and y.shape.ndims == 2:
        return linalg.matmul(x, y)
    return linalg.tensordot(x, y, [[-1], [max((y.shape.ndims or 2) - 2, 0)]])


def batch_dot(x: Any, y: Any, axes: Any = None) -> Tensor:
    """The product of each row of `x` with that of `y` over one axis each.

    >>> import staticgraph as sg
    >>> x, y = sg.ones([5, 2, 3]), sg.ones([5, 3, 4])
    >>> sg.keras.backend.batch_dot(x, y, axes=[2, 1]).shape.as_list()
    [5, 2, 4]
    """
    x, y = convert_to_tensor(x), convert_to_tensor(y)
    ranks = (x.shape.ndims or 0, y.shape.ndims or 0)
    with checked("batch_dot"):
        require(
            min(ranks) > 1, f"the tensors have shapes {x.shape} and {y.shape}, and must have 2 axes or more"
        )
    if axes is None:
        axes = [ranks[0] - 1, ranks[1] - 1 if ranks[1] == 2 else ranks[1] - 2]
    first, second = [axes, axes] if isinstance(axes, int) else list(axes)
    with checked("batch_dot"):
        first, second = normalize_axis(first, ranks[0]), normalize_axis(second, ranks[1])
    if min(first, second) == 0:
        raise misuse(ValueError, "batch_dot: axis 0 is the batch, and cannot be summed over")
    outer_x = [d for d in range(1, ranks[0]) if d != first]
    outer_y = [d for d in range(1, ranks[1]) if d != second]
    x_sizes, y_sizes = array_ops.shape(x), array_ops.shape(y)
    left = array_ops.transpose(x, [0, *outer_x, first])
    right = array_ops.transpose(y, [0, second, *outer_y])
    left = _matrices(left, x_sizes, -1, x_sizes[first])
    right = _matrices(right, y_sizes, y_sizes[second], -1)
    sizes: list[Any] = [x_sizes[0], *(x_sizes[d] for d in outer_x), *(y_sizes[d] for d in outer_y)]
    known = [int_shape(x)[0], *(int_shape(x)[d] for d in outer_x), *(int_shape(y)[d] for d in outer_y)]  # type: ignore[index]
    product = linalg.matmul(left, right)
    if len(sizes) == 1:
        sizes, known = [*sizes, 1], [*known, 1]
    made = array_ops.reshape(product, array_ops.stack(sizes))
    made.set_shape(known)
    return made


def _matrices(x: Tensor, sizes: Tensor, rows: Any, columns: Any) -> Tensor:
    return array_ops.reshape(x, array_ops.stack([sizes[0], rows, columns]))


def temporal_padding(x: Any, padding: Sequence[int] = (1, 1)) -> Tensor:
    """Zeros before and after the second of three axes."""
    return array_ops.pad(x, [[0, 0], list(padding), [0, 0]])


def spatial_2d_padding(
    x: Any, padding: Sequence[Sequence[int]] = ((1, 1), (1, 1)), data_format: str | None = None
) -> Tensor:
    """Zeros around images."""
    return _padded(x, padding, data_format)


def spatial_3d_padding(
    x: Any, padding: Sequence[Sequence[int]] = ((1, 1), (1, 1), (1, 1)), data_format: str | None = None
) -> Tensor:
    """Zeros around volumes."""
    return _padded(x, padding, data_format)


def _padded(x: Any, padding: Sequence[Sequence[int]], data_format: str | None) -> Tensor:
    space = [list(pair) for pair in padding]
    first = checked_format(data_format) == "channels_first"
    return array_ops.pad(x, [[0, 0], [0, 0], *space] if first else [[0, 0], *space, [0, 0]])


def resize_images(
    x: Any, height_factor: int, width_factor: int, data_format: str, interpolation: str = "nearest"
) -> Tensor:
    """Images enlarged by whole factors: each pixel repeated, or "bilinear" interpolation between pixels."""
    axis = 2 if checked_format(data_format) == "channels_first" else 1
    with counted_as(x.graph, _RESIZED if axis == 1 else _RESIZED + 4):
        for d, factor in ((axis, height_factor), (axis + 1, width_factor)):
            x = _enlarged(x, factor, d) if interpolation == "bilinear" else repeat_elements(x, factor, d)
    if interpolation not in ("nearest", "bilinear"):
        raise misuse(ValueError, f"interpolation={interpolation!r} is not nearest or bilinear")
    return x


def _enlarged(x: Any, factor: int, axis: int) -> Tensor:
    """Linear interpolation along an axis, with the centres of the new pixels inside the old ones."""
    x = convert_to_tensor(x)
    size = x.shape.as_list()[axis]
    if size is None:
        raise misuse(
            ValueError, f"bilinear resizing needs a known size, axis {axis} of {x.name} has shape {x.shape}"
        )
    at = [min(max((i + 0.5) / factor - 0.5, 0.0), size - 1.0) for i in range(size * factor)]
    low = [int(position) for position in at]
    part = [1] * len(x.shape)
    part[axis] = len(at)
    share = array_ops.reshape(convert_to_tensor([p - n for p, n in zip(at, low, strict=True)], x.dtype), part)
    high = [min(n + 1, size - 1) for n in low]
    below, above = indexing.gather(x, low, axis=axis), indexing.gather(x, high, axis=axis)
    return below + (above - below) * share


def resize_volumes(
    x: Any, depth_factor: int, height_factor: int, width_factor: int, data_format: str
) -> Tensor:
    """Volumes enlarged by whole factors: each element repeated."""
    axis = 2 if checked_format(data_format) == "channels_first" else 1
    for d, factor in enumerate((depth_factor, height_factor, width_factor)):
        x = repeat_elements(x, factor, axis + d)
    return x
