"""Sets in the last axis of sparse tensors: their sizes, and what two of them have in common or not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from staticgraph.compiler.graph.dtypes import int8, int16, int32, int64, string, uint8, uint16
from staticgraph.compiler.graph.errors import InvalidArgumentError, require
from staticgraph.compiler.graph.shapes import TensorType
from staticgraph.compiler.ops.kinds import host

_DTYPES = {"T": frozenset({int8, int16, int32, int64, uint8, uint16, string})}
_FIRST = {"set1_indices": "int64", "set1_values": "T", "set1_shape": "int64"}
_SECOND = {"set2_indices": "int64", "set2_values": "T", "set2_shape": "int64"}
_ONE = {"set_indices": "int64", "set_values": "T", "set_shape": "int64"}

_OPERATIONS: dict[str, Callable[[set[Any], set[Any]], set[Any]]] = {
    "a-b": set.difference,
    "b-a": lambda a, b: b - a,
    "intersection": set.intersection,
    "union": set.union,
}

_Sets = dict[tuple[int, ...], set[Any]]


def _check_parts(parts: tuple[TensorType, ...]) -> None:
    for part, rank in zip(parts, (2, 1, 1) * (len(parts) // 3), strict=True):
        require(part.rank in (None, rank), f"a part of a sparse tensor has {part.rank} axes, not {rank}")


def _operation_type(
    *parts: TensorType, set_operation: str, validate_indices: bool
) -> tuple[TensorType, TensorType, TensorType]:
    _check_parts(parts)
    known = ", ".join(_OPERATIONS)
    require(set_operation in _OPERATIONS, f"set_operation is {set_operation!r}, and must be one of {known}")
    ranks = {(p.shape or (None,))[0] for p in (parts[2], parts[5])} - {None}
    require(len(ranks) <= 1, f"the sets have {' and '.join(map(str, sorted(ranks, key=str)))} axes")
    rank = next(iter(ranks), None)
    return TensorType(int64, (None, rank)), TensorType(parts[1].dtype, (None,)), TensorType(int64, (rank,))


@host(tf="SparseToSparseSetOperation", type=_operation_type, vars=_FIRST | _SECOND, dtypes=_DTYPES)
def set_operation(
    set1_indices: Any,
    set1_values: Any,
    set1_shape: Any,
    set2_indices: Any,
    set2_values: Any,
    set2_shape: Any,
    *,
    set_operation: str,
    validate_indices: bool = True,
) -> Any:
    """The parts of the sparse tensor whose last axis holds, in ascending order, a set made of two sets each.

    `set_operation` is "a-b", "b-a", "intersection" or "union". Places are in row-major order in any case,
    and are looked at whatever `validate_indices` says.
    """
    if tuple(set1_shape[:-1]) != tuple(set2_shape[:-1]):
        shapes = f"{set1_shape[:-1].tolist()} and {set2_shape[:-1].tolist()}"
        raise InvalidArgumentError(f"all axes but the last must agree, and are {shapes}")
    firsts = _sets(set1_indices, set1_values, set1_shape)
    seconds = _sets(set2_indices, set2_values, set2_shape)
    combine = _OPERATIONS[set_operation]
    made = [
        (place, sorted(combine(firsts.get(place, set()), seconds.get(place, set()))))
        for place in sorted(firsts.keys() | seconds.keys())
    ]
    indices = [(*place, at) for place, elements in made for at in range(len(elements))]
    values = np.array([each for _, elements in made for each in elements], set1_values.dtype)
    longest = max((len(elements) for _, elements in made), default=0)
    shape = np.array([*set1_shape[:-1], longest], np.int64)
    return np.array(indices, np.int64).reshape(-1, len(set1_shape)), values, shape


def _size_type(*parts: TensorType, validate_indices: bool) -> TensorType:
    _check_parts(parts)
    rank = (parts[2].shape or (None,))[0]
    return TensorType(int32, None if rank is None else (None,) * (rank - 1))


@host(tf="SetSize", type=_size_type, vars=_ONE, dtypes=_DTYPES)
def set_size(set_indices: Any, set_values: Any, set_shape: Any, *, validate_indices: bool = True) -> Any:
    """The number of different elements in each set, which is the last axis of a sparse tensor.

    Places are looked at whatever `validate_indices` says.
    """
    sizes = np.zeros(tuple(set_shape[:-1]), np.int32)
    for place, elements in _sets(set_indices, set_values, set_shape).items():
        sizes[place] = len(elements)
    return sizes


def _sets(indices: np.ndarray, values: np.ndarray, shape: np.ndarray) -> _Sets:
    """The sets by their places. InvalidArgumentError for places that are outside or out of order."""
    if len(shape) < 2:
        raise InvalidArgumentError(
            f"a tensor of {len(shape)} axes has no sets: they are in the last of two or more"
        )
    found: _Sets = {}
    last: list[int] = []
    for at, (index, value) in enumerate(zip(indices.tolist(), values.tolist(), strict=True)):
        if any(not 0 <= part < size for part, size in zip(index, shape, strict=True)):
            raise InvalidArgumentError(f"indices[{at}] = {index} is outside of {shape.tolist()}")
        if index <= last:
            text = f"indices[{at}] = {index} is out of order: sparse.reorder sorts them"
            raise InvalidArgumentError(text)
        last = index
        found.setdefault(tuple(index[:-1]), set()).add(value)
    return found
