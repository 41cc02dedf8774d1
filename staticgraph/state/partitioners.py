"""Functions for `get_variable(partitioner=)`: into how many parts a variable is cut, along one axis."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from staticgraph.compiler.graph.dtypes import DType, float32, string
from staticgraph.compiler.graph.errors import misuse
from staticgraph.compiler.graph.shapes import TensorShape
from staticgraph.state.scopes import variable_scope
from staticgraph.state.variables import Variable

Partitioner = Callable[..., list[int]]


def fixed_size_partitioner(num_shards: int, axis: int = 0) -> Partitioner:
    """Return a partitioner that cuts a variable into `num_shards` parts.

    Args:
        num_shards: The number of parts; fewer if the axis is shorter.
        axis: The axis that is cut; the first by default.

    Returns:
        A function of `shape` and `dtype`, for `get_variable` and `variable_scope`.

    >>> import staticgraph as sg
    >>> with sg.variable_scope("net", partitioner=sg.fixed_size_partitioner(2)):
    ...     [part.name for part in sg.get_variable("w", [4, 3])]
    ['net/w/part_0:0', 'net/w/part_1:0']
    """

    def partitioner(shape: TensorShape, dtype: DType | None = None) -> list[int]:
        return _cut(shape, axis, min(num_shards, _size(shape, axis)))

    return partitioner


def min_max_variable_partitioner(
    max_partitions: int = 1,
    axis: int = 0,
    min_slice_size: int = 256 << 10,
    bytes_per_string_element: int = 16,
) -> Partitioner:
    """Return a partitioner whose parts have at least `min_slice_size` bytes.

    Args:
        max_partitions: The greatest number of parts.
        axis: The axis that is cut.
        min_slice_size: The least size of a part in bytes.
        bytes_per_string_element: The size that a string is taken to have.

    Returns:
        A function of `shape` and `dtype`.

    >>> import staticgraph as sg
    >>> sg.min_max_variable_partitioner(16)(sg.TensorShape([1024, 1024]), sg.float32)
    [16, 1]
    """

    def partitioner(shape: TensorShape, dtype: DType) -> list[int]:
        total = (shape.num_elements() or 0) * _element_size(dtype, bytes_per_string_element)
        fitting = math.ceil(total / min_slice_size)
        return _cut(shape, axis, max(1, min(_size(shape, axis), max_partitions, fitting)))

    return partitioner


def variable_axis_size_partitioner(
    max_shard_bytes: int, axis: int = 0, bytes_per_string_element: int = 16, max_shards: int | None = None
) -> Partitioner:
    """Return a partitioner whose parts have at most `max_shard_bytes` bytes, if one axis is enough for that.

    Args:
        max_shard_bytes: The greatest size of a part in bytes.
        axis: The axis that is cut.
        bytes_per_string_element: The size that a string is taken to have.
        max_shards: The greatest number of parts, which goes before their size.

    Returns:
        A function of `shape` and `dtype`.

    Raises:
        ValueError: A number of bytes is not positive, or `max_shards` is negative.

    >>> import staticgraph as sg
    >>> sg.variable_axis_size_partitioner(1 << 20)(sg.TensorShape([1024, 1024]), sg.float32)
    [4, 1]
    """
    if max_shard_bytes < 1 or bytes_per_string_element < 1:
        text = f"max_shard_bytes={max_shard_bytes} and bytes_per_string_element={bytes_per_string_element}"
        raise misuse(ValueError, f"{text}: both must be positive")
    if max_shards and max_shards < 1:
        raise misuse(ValueError, f"max_shards={max_shards} must be positive")

    def partitioner(shape: TensorShape, dtype: DType) -> list[int]:
        size = _size(shape, axis)
        row = (shape.num_elements() or 0) / size * _element_size(dtype, bytes_per_string_element)
        count = math.ceil(size / max(1, math.floor(max_shard_bytes / row)))
        return _cut(shape, axis, min(count, max_shards or count))

    return partitioner


def create_partitioned_variables(
    shape: Sequence[int],
    slicing: Sequence[int],
    initializer: Any,
    dtype: Any = float32,
    trainable: bool = True,
    collections: Any = None,
    name: str | None = None,
    reuse: Any = None,
) -> list[Variable]:
    """Return the parts of a new partitioned variable.

    Args:
        shape: The shape of the whole.
        slicing: The number of parts along each axis; one of them may be greater than one.
        initializer: A tensor of that shape, or a function of shape and dtype that makes each part.
        dtype: The dtype, if the initializer is a function.
        trainable: False keeps optimizers away.
        collections: The collections of the variables.
        name: The name of the whole.
        reuse: True finds the variables instead.

    Raises:
        ValueError: `slicing` does not fit the shape.

    >>> import staticgraph as sg
    >>> [v.name for v in sg.create_partitioned_variables([4, 2], [2, 1], sg.zeros_initializer(), name="w")]
    ['w/part_0:0', 'w/part_1:0']
    """
    if len(shape) != len(slicing) or not len(shape):
        text = f"shape={list(shape)} and slicing={list(slicing)} need the same number of axes, one at least"
        raise misuse(ValueError, text)
    with variable_scope(name, "PartitionedVariable", reuse=reuse) as scope:
        if scope.custom_getter is not None:
            text = "create_partitioned_variables does not ask the custom getter of its variable scope"
            raise misuse(ValueError, text, "use get_variable with a partitioner")
        is_value = not callable(initializer)
        whole: Any = scope.copy(name="").get_variable(
            scope.name,
            shape,
            None if is_value else dtype,
            initializer=initializer,
            trainable=trainable,
            collections=collections,
            partitioner=lambda **_: list(slicing),
        )
    return list(whole)


def _size(shape: TensorShape, axis: int) -> int:
    sizes = shape.as_list()
    if not -len(sizes) <= axis < len(sizes):
        text = f"a variable of shape {shape} has no axis {axis} to cut"
        raise misuse(ValueError, text)
    return sizes[axis] or 0


def _cut(shape: TensorShape, axis: int, count: int) -> list[int]:
    partitions = [1] * len(shape.as_list())
    partitions[axis] = count
    return partitions


def _element_size(dtype: DType, of_string: int) -> int:
    return of_string if dtype is string else dtype.size
