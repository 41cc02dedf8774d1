"""Structures of the elements of a dataset: tuples and dicts, nested, of tensors, other values or datasets.

The leaves of a structure are *components*: a `TensorType` for a tensor, `Sparse` for a sparse tensor,
`Ragged` for a ragged one, `Rows` for a TensorArray, or `Nested` for a dataset. In a pipeline an element is
flat. It is a tuple with one value per component, and the value of a tensor is an array. As everywhere in
`tf.data`, a list is not a structure but a tensor.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from staticgraph.building.inputs import convert_to_tensor
from staticgraph.building.nest import like
from staticgraph.compiler.graph.builder import infer_dtype
from staticgraph.compiler.graph.dtypes import DType, as_dtype, int64
from staticgraph.compiler.graph.errors import misuse
from staticgraph.compiler.graph.shapes import Shape, TensorType, as_shape, common_shape, compatible
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.compiler.support.dataclass import dataclass
from staticgraph.domains.ragged.values import RaggedTensorValue
from staticgraph.sparse.tensor import SparseTensor, SparseTensorValue


@dataclass(frozen=True, slots=True)
class Sparse:
    """A sparse tensor; its value is a `SparseTensorValue`."""

    dtype: DType
    shape: Shape | None


@dataclass(frozen=True, slots=True)
class Ragged:
    """A ragged tensor with `rank` axes of rows; its value is a `RaggedTensorValue`, an array for rank 0.

    Rank 0 is for the rows of a ragged tensor: they are plain tensors, and ragged when they are batched.
    """

    dtype: DType
    shape: Shape | None
    rank: int
    splits: DType


@dataclass(frozen=True, slots=True)
class Rows:
    """A TensorArray; its value is the array of all its rows, whose shape this is."""

    dtype: DType
    shape: Shape | None


@dataclass(frozen=True, slots=True)
class Nested:
    """A dataset; its value is a function that returns a new iterator over its elements."""

    structure: Any


Component = TensorType | Sparse | Ragged | Rows | Nested
Element = tuple[Any, ...]


def _is_nested(value: Any) -> bool:
    return isinstance(value, tuple | Mapping) and not isinstance(value, SparseTensorValue)


def is_ragged(value: Any) -> bool:
    """Return True for a ragged tensor, or the value of one. Few programs import their module."""
    return hasattr(type(value), "nested_row_splits")


def is_tensor_array(value: Any) -> bool:
    """Return True for a TensorArray."""
    return hasattr(type(value), "with_flow")


def _parts(value: Any) -> list[Any]:
    return [value[key] for key in sorted(value)] if isinstance(value, Mapping) else list(value)


def leaves(structure: Any) -> list[Any]:
    """The leaves, in order; those of dicts by sorted keys."""
    if not _is_nested(structure):
        return [structure]
    return [leaf for part in _parts(structure) for leaf in leaves(part)]


def map_leaves(function: Callable[..., Any], structure: Any, *others: Any) -> Any:
    """`function` of the leaves of `structure`, and of what stands in their places in `others`."""
    if not _is_nested(structure):
        return function(structure, *others)
    columns = zip(_parts(structure), *(_aligned(structure, other) for other in others), strict=True)
    return like(structure, [map_leaves(function, *column) for column in columns])


def rows(structure: Any, *others: Any) -> list[tuple[Any, ...]]:
    """List each leaf of `structure` with what stands in its place in `others`."""
    found: list[tuple[Any, ...]] = []
    map_leaves(lambda *row: found.append(row), structure, *others)
    return found


def _aligned(structure: Any, other: Any) -> list[Any]:
    """The parts of `other`, which must be nested like `structure`."""
    if isinstance(structure, Mapping):
        if isinstance(other, Mapping) and set(other) == set(structure):
            return _parts(other)
    elif isinstance(other, tuple | list) and len(other) == len(structure):
        return list(other)
    raise misuse(TypeError, f"{other!r} is not nested like the elements, {structure!r}")


def packed(structure: Any, values: Iterable[Any]) -> Any:
    """`values`, one per leaf, nested like `structure`."""
    remaining = iter(values)
    return map_leaves(lambda _: next(remaining), structure)


def as_values(value: Any) -> Any:
    """Return a user's value with arrays, tensors and sparse tensors as its leaves."""
    return map_leaves(_leaf, value)


def _leaf(value: Any) -> Any:
    if is_ragged(value):
        return _ragged(value)
    if is_tensor_array(value):
        return value
    if isinstance(value, Tensor | SparseTensor | np.ndarray):
        return _array(value) if isinstance(value, np.ndarray) else value
    if isinstance(value, SparseTensorValue):
        return SparseTensor.from_value(value)
    if isinstance(value, list) and any(isinstance(v, Tensor) for v in leaves(tuple(value))):
        return convert_to_tensor(value)
    return _array(value)


def _ragged(value: Any) -> Any:
    """A ragged tensor, also of the value of one."""
    from staticgraph.domains.ragged.tensor import convert  # with all functions of ragged tensors

    return convert(value)


def _array(value: Any) -> np.ndarray:
    try:
        return infer_dtype(value).round(value)
    except (TypeError, ValueError) as error:
        text = f"a component of the dataset cannot be made into a tensor: {error}"
        raise misuse(type(error), text) from None


def as_tensors(value: Any) -> Any:
    """Return the result of a user's function with tensors and sparse tensors as its leaves."""

    def leaf(value: Any) -> Any:
        if isinstance(value, SparseTensorValue):
            return SparseTensor.from_value(value)
        if is_ragged(value):
            return _ragged(value)
        return (
            value if isinstance(value, SparseTensor) or is_tensor_array(value) else convert_to_tensor(value)
        )

    return map_leaves(leaf, value)


def component(value: Any) -> Component:
    """The component that an array, tensor or sparse tensor is a value of."""
    if isinstance(value, Tensor):
        return value.type
    if isinstance(value, SparseTensor):
        return Sparse(value.dtype, value.shape.shape)
    if is_ragged(value):
        splits = value.nested_row_splits[0].dtype
        return Ragged(value.dtype, value.shape.shape, value.ragged_rank, splits)
    if is_tensor_array(value):
        row = value.element_shape.shape
        return Rows(value.dtype, None if row is None else (None, *row))
    return TensorType(infer_dtype(value), value.shape)


def structure_of(values: Any) -> Any:
    """The structure of such leaves."""
    return map_leaves(component, values)


def declared(types: Any, shapes: Any = None) -> Any:
    """The structure of element types and shapes as users write them; without shapes these are unknown."""
    from_types = map_leaves(lambda dtype: TensorType(as_dtype(dtype), None), _tuples(types))
    if shapes is None:
        return from_types
    return map_leaves(lambda type, shape: TensorType(type.dtype, as_shape(shape)), from_types, shapes)


def _tuples(value: Any) -> Any:
    """Lists of types mean tuples."""
    return tuple(map(_tuples, value)) if isinstance(value, list) else value


def class_of(part: Component) -> Any:
    """Return the class that users know a component by; of a dataset those of its elements."""
    match part:
        case Nested(structure):
            return map_leaves(class_of, structure)
        case Sparse():
            return SparseTensor
        case Ragged(rank=rank) if rank:
            from staticgraph.domains.ragged.tensor import RaggedTensor  # with all functions of ragged tensors

            return RaggedTensor
        case Rows():
            from staticgraph.control_flow.tensor_array import TensorArray  # with assertions

            return TensorArray
    return Tensor


def tensor_types(part: Component) -> list[TensorType]:
    """The types of the tensors that a component is made of."""
    match part:
        case TensorType():
            return [part]
        case Sparse(dtype, shape):
            rank = None if shape is None else len(shape)
            return [TensorType(int64, (None, rank)), TensorType(dtype, (None,)), TensorType(int64, (rank,))]
        case Ragged(dtype, shape, rank, splits):
            row = None if shape is None else shape[rank + 1 :]
            flat = shape if not rank else None if row is None else (None, *row)
            return [TensorType(dtype, flat), *(TensorType(splits, (None,)) for _ in range(rank))]
        case Rows(dtype, shape):
            return [TensorType(dtype, shape)]
    return []


def from_tensors(part: Component, tensors: Iterator[Any]) -> Any:
    """A component's tensor, or its value, of as many tensors or values as it is made of."""
    match part:
        case Sparse():
            parts = [next(tensors) for _ in range(3)]
            return (SparseTensor if isinstance(parts[0], Tensor) else SparseTensorValue)(*parts)
        case Ragged(rank=rank):
            parts = [next(tensors) for _ in range(rank + 1)]
            return _ragged_of(parts[0], parts[1:])
        case Rows(shape=shape):
            rows = next(tensors)
            return rows if isinstance(rows, np.ndarray) else _tensor_array(rows, shape)
    return next(tensors)


def _ragged_of(flat: Any, splits: Sequence[Any]) -> Any:
    """A ragged tensor, or its value, of its innermost values and the splits of all levels."""
    if not splits:
        return flat
    if not isinstance(flat, Tensor):
        for level in reversed(splits):
            flat = RaggedTensorValue(flat, level)
        return flat
    from staticgraph.domains.ragged.tensor import RaggedTensor  # with all functions of ragged tensors

    return RaggedTensor.from_nested_row_splits(flat, splits, validate=False)


def _tensor_array(rows: Tensor, shape: Shape | None) -> Any:
    from staticgraph.control_flow.tensor_array import TensorArray  # with assertions

    return TensorArray(rows.dtype, flow=rows, element_shape=None if shape is None else shape[1:])


def to_tensors(value: Any) -> list[Any]:
    """The reverse."""
    if isinstance(value, SparseTensor | SparseTensorValue):
        return [value.indices, value.values, value.dense_shape]
    if is_ragged(value):
        return [value.flat_values, *value.nested_row_splits]
    return [value.flow] if is_tensor_array(value) else [value]


def as_arrays(element: Element) -> list[Any]:
    """The values of an element's tensors."""
    return [array for value in element for array in to_tensors(value)]


def as_element(parts: Sequence[Component], arrays: Iterable[Any]) -> Element:
    """The reverse, for an element of these components."""
    values = iter(arrays)
    return tuple(from_tensors(part, values) for part in parts)


def dtypes_of(parts: Sequence[Component]) -> list[DType]:
    """The types of the tensors that elements of these components are made of."""
    return [type.dtype for part in parts for type in tensor_types(part)]


def relaxed(a: Any, b: Any) -> Any:
    """The structure that elements of both have; TypeError if there is none."""

    def leaf(one: Component, other: Any) -> Component:
        if isinstance(one, TensorType) and isinstance(other, TensorType) and one.dtype is other.dtype:
            return TensorType(one.dtype, common_shape(one.shape, other.shape))
        if one != other:
            raise misuse(TypeError, f"elements are {one} in one dataset and {other} in the other")
        return one

    return map_leaves(leaf, a, b)


def fits(shape: Shape | None, array: np.ndarray) -> bool:
    """Return True if a value has the declared shape."""
    return array.shape == shape or compatible(shape, array.shape)


def batched(part: Component, size: int | None) -> Component:
    """A component with one more axis in front."""
    if isinstance(part, Nested):
        raise misuse(TypeError, "datasets cannot be batched", "flat_map them first")
    if isinstance(part, Rows):
        raise misuse(TypeError, "a TensorArray cannot be batched", "map(lambda array: array.stack()) first")
    shape = None if part.shape is None else (size, *part.shape)
    if isinstance(part, Ragged):
        return Ragged(part.dtype, shape, part.rank + 1, part.splits)
    return type(part)(part.dtype, shape)


def slice_of(part: Component) -> Component:
    """A component without its first axis. ValueError if it has none."""
    if isinstance(part, Nested | Rows) or part.shape == ():
        text = f"{part} has no first axis along which it could be cut"
        raise misuse(ValueError, text, "from_tensors makes one element of it")
    shape = None if part.shape is None else part.shape[1:]
    if isinstance(part, Ragged):
        return (
            Ragged(part.dtype, shape, part.rank - 1, part.splits)
            if part.rank
            else TensorType(part.dtype, shape)
        )
    return type(part)(part.dtype, shape)
