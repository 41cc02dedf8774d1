"""Arrays of rows that are made empty: the shape of a row may be known only when one is written."""

from __future__ import annotations

from typing import Any

import numpy as np

from staticgraph.compiler.graph.checks.requirements import index_in
from staticgraph.compiler.graph.dtypes import ANY, DType, blank
from staticgraph.compiler.graph.errors import require
from staticgraph.compiler.graph.opdef import ops
from staticgraph.compiler.graph.shapes import Shape, TensorType, common_shape, merge, operand_shape
from staticgraph.compiler.graph.sizes import AnySize, Size, at_least
from staticgraph.compiler.ops.arrays.movement import INDEX
from staticgraph.compiler.ops.kinds import composite, structural
from staticgraph.compiler.ops.samples import Sample, indices, real


def _array_type(dtype: DType, size: Any, element_shape: Shape | None, number: int) -> TensorType:
    count: Any = size if size is None or isinstance(size, Size) else int(size)
    require(count is None or count >= 0, f"size is {count}, and must not be negative")
    element_shape = operand_shape(element_shape, "element_shape")
    return TensorType(dtype, None if element_shape is None else (count, *element_shape))


@structural(
    tf="TensorArrayV3", type=_array_type, operands=("size",), partial=("size",), differentiable=False,
    numpy=lambda dtype, size, element_shape, number: blank(
        (int(size), *((0,) if element_shape is None else element_shape)), dtype.numpy
    ),
)
def tensor_array(*, dtype: DType, size: Any, element_shape: Shape | None, number: int) -> Any:
    """An array of `size` rows of zeros, each of shape `element_shape`, None if a write will tell.

    What has the same `number` was made from it.
    """


def _is_unshaped(flow: Any, row: Shape) -> bool:
    """Return True if the shape of an array's rows is not known before one of shape `row` is written.

    Such an array has no elements. An open length of its rows that differs from that of `row` is asked for.
    """
    shape = flow.shape
    if len(shape) != 2:
        return False
    if isinstance(shape[1], Size) and len(row) == 1 and (row[0] is None or shape[1] == row[0]):
        return False
    return bool(shape[1] == 0)


def _write_type(flow: TensorType, index: TensorType, value: TensorType, number: int) -> TensorType:
    if flow.shape is None or value.shape is None:
        return TensorType(flow.dtype, None if value.shape is None else (None, *value.shape))
    if _is_unshaped(flow, value.shape):
        merge(index.shape, (), "the index is a number:")
        return TensorType(flow.dtype, (flow.shape[0], *value.shape))
    types: TensorType = ops.row_update.type(flow, index, value)
    return types


def _write(flow: np.ndarray, index: np.ndarray, value: np.ndarray, number: int) -> np.ndarray:
    unshaped = _is_unshaped(flow, value.shape)
    out = blank((len(flow), *value.shape), flow.dtype) if unshaped else flow.copy()
    if 0 <= index < len(out):
        out[int(index)] = value[()]  # of a string, not of an array without axes
    return out


def _at(of: str) -> Any:
    return index_in(of, "index", 1, lambda flow, index, value, number: flow.shape[0])


_DTYPES: dict[str, Any] = {"vars": {"index": "I"}, "dtypes": {"T": ANY, "I": INDEX}, "strings": True}


@composite(
    tf="TensorArrayWriteV3", type=_write_type, numpy=_write, requires=_at("tensor_array_write"), **_DTYPES,
    samples=[Sample(real(3, 2), indices(below=3), real(2), number=0),
             Sample(real(4), indices(below=4, dtype="int64"), real(), number=1),
             Sample(real(2, 3, 2), indices(below=2), real(3, 2), number=2)],
)
def tensor_array_write(flow: Any, index: Any, value: Any, *, number: int) -> Any:
    """The array with another row at `index`; `number` is that of the array."""
    return ops.row_update(_shaped(flow, value.shape), index, value)


def _shaped(flow: Any, row: Shape) -> Any:
    """The array, with rows of zeros where nothing was known of them."""
    if not _is_unshaped(flow, row):
        return flow
    return ops.fill(flow.recorder.constant(0, flow.dtype), dims=(flow.shape[0], *row))


def _scatter_type(flow: TensorType, index: TensorType, value: TensorType, number: int) -> TensorType:
    if flow.shape is None or value.shape is None:
        return TensorType(flow.dtype, None)
    require(flow.shape and value.shape, "an array and its rows must have at least one axis")
    merge(index.shape, value.shape[:1], "the positions and the rows,")
    if _is_unshaped(flow, value.shape[1:]):
        return TensorType(flow.dtype, (flow.shape[0], *value.shape[1:]))
    return TensorType(flow.dtype, (flow.shape[0], *(merge(flow.shape[1:], value.shape[1:], "rows") or ())))


def _scatter(flow: np.ndarray, index: np.ndarray, value: np.ndarray, number: int) -> np.ndarray:
    unshaped = _is_unshaped(flow, value.shape[1:])
    out = blank((len(flow), *value.shape[1:]), flow.dtype) if unshaped else flow.copy()
    inside = (index >= 0) & (index < len(out))
    out[index[inside]] = value[inside]
    return out


@composite(
    tf="TensorArrayScatterV3", type=_scatter_type, numpy=_scatter, requires=_at("tensor_array_scatter"),
    **_DTYPES,
    samples=[Sample(real(4, 2), indices(1, below=4), real(1, 2), number=0),
             Sample(real(5), indices(1, below=5), real(1), number=1),
             Sample(real(3, 2, 2), indices(0, below=3, dtype="int64"), real(0, 2, 2), number=2)],
)
def tensor_array_scatter(flow: Any, index: Any, value: Any, *, number: int) -> Any:
    """The array with other rows at the positions `index`; `number` is that of the array."""
    return ops.tensor_scatter_update(_shaped(flow, value.shape[1:]), ops.expand_dims(index, axis=1), value)


def _more(size: AnySize, rows: AnySize) -> AnySize:
    """Return how many rows an array of `rows` must get to have `size`."""
    return at_least(size - rows, 0)


def _grow_type(flow: TensorType, size: Any, row: Any) -> TensorType:
    if flow.shape is None:
        return flow
    require(flow.shape, "an array must have at least one axis")
    (rows, *shape), count = flow.shape, size
    if size is not None and rows is not None:
        count = rows + _more(size, rows)
    if row is not None:
        require(isinstance(row, tuple), f"row is {row}, and must be a list of sizes")
        operand_shape(row, "row")
    if row is not None and rows == 0:
        shape = list(row)
    elif row is not None and rows is None:  # there may be none
        known = common_shape(tuple(shape), row)
        return TensorType(flow.dtype, None if known is None else (count, *known))
    return TensorType(flow.dtype, (count, *shape))


def _grow(flow: np.ndarray, size: int, row: Any) -> np.ndarray:
    if row is not None and not len(flow):
        return blank((int(size), *row), flow.dtype)
    return np.concatenate([flow, blank((max(0, int(size) - len(flow)), *flow.shape[1:]), flow.dtype)])


@composite(
    type=_grow_type, operands=("size", "row"), partial=("size", "row"), numpy=_grow, strings=True,
    samples=[Sample(real(2, 3), size=5), Sample(real(3), size=3), Sample(real(1, 2, 2), size=4),
             Sample(real(0), size=2, row=(3,))],
)
def tensor_array_grow(flow: Any, *, size: Any, row: Any = None) -> Any:
    """The array with rows of zeros after its own, `size` rows in all. One without any takes rows of the shape
    `row`: what it was made with may have been a guess.
    """
    rows = flow.shape[0]
    if row is not None and rows == 0:
        return ops.fill(flow.recorder.constant(0, flow.dtype), dims=(size, *row))
    more = _more(size, rows)
    if isinstance(more, int) and not more:
        return flow
    return ops.pad(flow, paddings=((0, more), *((0, 0) for _ in flow.shape[1:])))
