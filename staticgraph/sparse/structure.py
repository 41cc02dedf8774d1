"""Sparse tensors made, reordered, cut, joined, and turned into dense ones.

What a function does to places is mostly done on one number for each: its position in row-major order.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from staticgraph.arrays.array_ops import concat as joined
from staticgraph.arrays.array_ops import one_of, stack
from staticgraph.arrays.casts import cast
from staticgraph.arrays.equal_sizes import holds, same_sizes
from staticgraph.arrays.indexed_slices import IndexedSlices
from staticgraph.arrays.indexing import boolean_mask, where
from staticgraph.building.framework import control_dependencies, name_scope
from staticgraph.building.inputs import convert_to_tensor
from staticgraph.building.operation_counts import counts_as
from staticgraph.compiler import ops
from staticgraph.compiler.graph.dtypes import bool_, float32, int32, int64
from staticgraph.compiler.graph.errors import ShapeError, misuse
from staticgraph.compiler.graph.graph import get_default_graph
from staticgraph.compiler.graph.recording.op_count import counted_as, uncounted
from staticgraph.compiler.graph.static_value import static_value
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.mathematics.reductions import (
    reduce_all,
    reduce_any,
    reduce_max,
    reduce_min,
    reduce_prod,
    reduce_sum,
)
from staticgraph.sparse.tensor import SparseTensor, SparseTensorValue, as_sparse


def positions(indices: Tensor, sizes: Tensor) -> Tensor:
    """Row-major numbers of places [n, rank], in a tensor whose axes have the sizes [rank].

    A place that is outside has the number of no place: all of them together.
    """
    numbers = reduce_sum(indices * _strides(sizes), axis=1)
    inside = ops.logical_and(ops.greater_equal(indices, 0), ops.less(indices, sizes))
    return ops.select(reduce_all(inside, axis=1), numbers, reduce_prod(sizes))


class Extents:
    """A box that has all the places of some sparse tensors, inside their shapes or not."""

    def __init__(self, sizes: Tensor, *indices: Tensor) -> None:
        self.first: Any = np.int64(0)
        for each in indices:  # of no places, the greatest and the least number
            self.first = ops.minimum(self.first, reduce_min(each, axis=0))
            sizes = ops.maximum(sizes, reduce_max(each, axis=0) + np.int64(1))
        self._sizes = sizes - self.first

    def positions(self, indices: Tensor) -> Tensor:
        """Row-major numbers of places in the box."""
        return reduce_sum((indices - self.first) * _strides(self._sizes), axis=1)

    def places(self, numbers: Tensor) -> Tensor:
        """The inverse of `positions`."""
        return places(numbers, self._sizes) + self.first


def places(numbers: Tensor, sizes: Tensor) -> Tensor:
    """The inverse of `positions`: [n, rank]. Axes may have no places, and then there are no numbers."""
    sizes = ops.maximum(sizes, np.int64(1))
    quotients = ops.floor_div(ops.expand_dims(numbers, axis=1), _strides(sizes))
    return ops.floormod(quotients, joined([np.full(1, int64.max), sizes[1:]], axis=0))


def _strides(sizes: Tensor) -> Tensor:
    """The distance between neighbours along each axis, in row-major order."""
    return ops.cumprod(sizes, exclusive=True, reverse=True)


def is_axis(x: SparseTensor, *axes: int) -> Tensor:
    """A vector with True for each of these axes, which may be negative."""
    rank = ops.size_of(x.dense_shape)
    numbers = ops.range(np.int32(0), rank, np.int32(1), dtype=int32)
    wanted = ops.floormod(np.array(axes, np.int32), rank)
    return reduce_any(ops.equal(ops.expand_dims(numbers, axis=1), wanted), axis=1)


@counts_as(2)
def to_dense(
    sp_input: Any, default_value: Any = None, validate_indices: bool = True, name: str | None = None
) -> Tensor:
    """The tensor that a sparse one stands for, with `default_value` (0) where nothing is stored.

    >>> import staticgraph as sg
    >>> sg.sparse.to_dense(sg.SparseTensor([[0, 1]], [5.0], [2, 3])).shape.as_list()
    [2, 3]
    """
    x = as_sparse(sp_input)
    made = sparse_to_dense(x.indices, x.dense_shape, x.values, default_value, validate_indices, name)
    made.set_shape(x.shape)
    return made


@counts_as(1, "sparse_indices", "output_shape", "sparse_values", "default_value")
def sparse_to_dense(
    sparse_indices: Any,
    output_shape: Any,
    sparse_values: Any,
    default_value: Any = 0,
    validate_indices: bool = True,
    name: str | None = None,
) -> Tensor:
    """A tensor that is `default_value` everywhere but at `sparse_indices`, where it is `sparse_values`.

    `sparse_indices` is [n, rank], or a vector for a vector, or a scalar; `sparse_values` may be a scalar.
    With `validate_indices`, a run in which they are not in ascending order, each once, is an
    InvalidArgumentError.

    >>> import staticgraph as sg
    >>> sg.sparse_to_dense([1, 3], [5], 1.0, 0.0).shape.as_list()
    [5]
    """
    with name_scope(name, "SparseToDense", [sparse_indices, sparse_values]) as scope:
        values = convert_to_tensor(sparse_values, name="sparse_values")
        default = _zero(values) if default_value is None else default_value
        if not isinstance(default, Tensor) and values.dtype.is_bool:
            default = bool(default)
        where_to = convert_to_tensor(sparse_indices, name="sparse_indices")
        if where_to.type.rank == 0:
            where_to = ops.reshape(where_to, shape=(1, 1))
        elif where_to.type.rank == 1:
            where_to = ops.expand_dims(where_to, axis=1)
        if values.type.rank == 0:
            count = ops.shape_of(where_to, out_type=int64)[:1]
            values = ops.broadcast_to(values, shape=count)
        if validate_indices:
            where_to = ops.ascending_places(where_to)
        fallback = convert_to_tensor(default, dtype=values.dtype)
        if values.dtype.kind == "string":
            return _scattered_strings(where_to, output_shape, values, fallback, scope)
        background = ops.fill(fallback, dims=output_shape)
        return ops.tensor_scatter_update(background, where_to, values, name=scope)


def _scattered_strings(
    where_to: Tensor, output_shape: Any, values: Tensor, fallback: Tensor, name: str
) -> Tensor:
    """Scatter the positions of strings, which are numbers, and look the strings up."""
    count = ops.shape_of(values)[0]
    positions = ops.tensor_scatter_update(
        ops.fill(count, dims=output_shape), where_to, ops.range(0, count, 1, dtype=int32)
    )
    choices = ops.concat([values, ops.reshape(fallback, shape=(1,))], axis=0)
    return ops.gather(choices, positions, axis=0, name=name)


def _zero(values: Tensor) -> Any:
    return "" if values.dtype.kind == "string" else values.dtype.numpy.type(0).item()


def from_dense(tensor: Any, name: str | None = None) -> SparseTensor:
    """Return the elements of a tensor that are not zero, as a SparseTensor.

    A run compiles again if these elements are at other positions than in the runs before.

    Args:
        tensor: A tensor of numbers, bool or strings. Empty strings count as zero.
        name: The name scope.

    Returns:
        A SparseTensor with the positions in row-major order.
    """
    with name_scope(name, "dense_to_sparse", [tensor]):
        dense = convert_to_tensor(tensor)
        indices = where(ops.not_equal(dense, _zero(dense)))
        return SparseTensor(indices, ops.gather_nd(dense, indices), ops.shape_of(dense, out_type=int64))


def eye(
    num_rows: Any, num_columns: Any = None, dtype: Any = float32, name: str | None = None
) -> SparseTensor:
    """The matrix with ones on the diagonal. It is square unless `num_columns` is given."""
    with name_scope(name, "eye"):
        columns = num_rows if num_columns is None else num_columns
        rows, columns = (cast(n, int64) for n in (num_rows, columns))
        numbers = ops.range(np.int64(0), ops.minimum(rows, columns), np.int64(1), dtype=int64)
        ones = cast(ops.ones_like(numbers), dtype)
        return SparseTensor(stack([numbers, numbers], axis=1), ones, stack([rows, columns]))


@counts_as(2)
def reorder(sp_input: Any, name: str | None = None) -> SparseTensor:
    """The same tensor with its places in row-major order."""
    x = as_sparse(sp_input)
    with name_scope(name, "SparseReorder", [x]):
        order = ops.row_major_order(Extents(x.dense_shape, x.indices).positions(x.indices))
        indices, values = (ops.gather(part, order, axis=0) for part in (x.indices, x.values))
        return SparseTensor(indices, values, x.dense_shape)


@counts_as(17, "perm")
def transpose(sp_input: Any, perm: Any = None, name: str | None = None) -> SparseTensor:
    """Axis i of the result is axis perm[i] of the input; without `perm` the axes are reversed."""
    x = as_sparse(sp_input)
    with name_scope(name, "SparseTranspose", [x]):
        if perm is None:
            return reorder(SparseTensor(x.indices[:, ::-1], x.values, x.dense_shape[::-1]))
        order = np.array(perm, np.int32)
        indices, sizes = ops.gather(x.indices, order, axis=1), ops.gather(x.dense_shape, order, axis=0)
        return reorder(SparseTensor(indices, x.values, sizes))


def reshape(sp_input: Any, shape: Any, name: str | None = None) -> SparseTensor:
    """The same elements in row-major order in another shape. One size may be -1: it follows from the others.

    >>> import staticgraph as sg
    >>> sg.sparse_reshape(sg.SparseTensor([[0, 1]], [5.0], [2, 3]), [3, -1]).shape.as_list()
    [3, 2]
    """
    x = as_sparse(sp_input)
    with (
        name_scope(name, "SparseReshape", [x, shape]),
        counted_as(get_default_graph(), _count_of_reshape(x, shape)),
    ):
        wanted = cast(convert_to_tensor(shape), int64)
        total = reduce_prod(x.dense_shape)
        known = -reduce_prod(wanted)  # where one size is -1
        sizes = ops.select(ops.less(wanted, 0), ops.floor_div(total, ops.maximum(known, 1)), wanted)
        numbers = reduce_sum(x.indices * _strides(x.dense_shape), axis=1)  # outside or not, as TensorFlow
        return SparseTensor(places(numbers, sizes), x.values, sizes)


def _count_of_reshape(x: SparseTensor, shape: Any) -> int:
    """Return how many operations TensorFlow makes of a reshape. It packs lists, and casts to int64."""
    parts = shape if isinstance(shape, list | tuple) else [shape]
    tensors = [part for part in parts if isinstance(part, Tensor)]
    made = len(parts) - len(tensors) + (parts is shape) if tensors else 1
    kinds: list[Any] = [t.dtype for t in tensors] or [
        np.asarray(shape).dtype if hasattr(shape, "dtype") else None
    ]
    is_known = x.rank is not None and None not in x.shape.as_list()
    return 2 + made + (int64 not in kinds) + is_known


def expand_dims(sp_input: Any, axis: int | None = None, name: str | None = None) -> SparseTensor:
    """The same tensor with a new axis of size one at `axis` (the last)."""
    x = as_sparse(sp_input)
    with name_scope(name, "expand_dims", [x]):
        zero = ops.zeros_like(x.indices[:, :1])
        one = np.ones(1, np.int64)
        if axis is None or axis == -1:
            indices, sizes = [x.indices, zero], [x.dense_shape, one]
        else:
            at = axis if axis >= 0 else axis + 1
            indices = [x.indices[:, :at], zero, x.indices[:, at:]]
            sizes = [x.dense_shape[:at], one, x.dense_shape[at:]]
        return SparseTensor(joined(indices, axis=1), x.values, joined(sizes, axis=0))


@counts_as(2)
def concat(
    axis: int,
    sp_inputs: Any,
    name: str | None = None,
    expand_nonconcat_dim: bool = False,
    concat_dim: Any = None,
    expand_nonconcat_dims: Any = None,
) -> SparseTensor:
    """Sparse tensors joined along an axis.

    Their other sizes must be equal; with `expand_nonconcat_dims` the largest of each is taken.
    """
    axis = one_of("axis", axis, "concat_dim", concat_dim)
    tensors = [as_sparse(x) for x in ([sp_inputs] if isinstance(sp_inputs, SparseTensor) else sp_inputs)]
    if len(tensors) == 1:
        return tensors[0]
    with name_scope(name, "SparseConcat", tensors):
        along = cast(is_axis(tensors[0], axis), int64)
        offset: Any = np.zeros((), np.int64)
        indices = []
        for x in tensors:
            indices.append(x.indices + offset * along)
            offset = x.dense_shape[axis] + offset
        largest = reduce_max(stack([x.dense_shape for x in tensors]), axis=0)
        others = largest
        if not (expand_nonconcat_dim or expand_nonconcat_dims):
            kept = [x.dense_shape * (1 - along) for x in tensors]
            text = "Input shapes must match but for the axis along which they are joined"
            others = tensors[0].dense_shape * along + same_sizes(text, kept[0], kept[1:])
        shape = others + (offset - others[axis]) * along
        return reorder(SparseTensor(joined(indices, axis=0), joined([x.values for x in tensors], 0), shape))


@counts_as(1, "start", "size")
def slice(sp_input: Any, start: Any, size: Any, name: str | None = None) -> SparseTensor:
    """The box of size[i] elements from start[i] on along each axis i, or as many as there are."""
    x = as_sparse(sp_input)
    with name_scope(name, "SparseSlice", [x]):
        start, size = (cast(convert_to_tensor(n), int64) for n in (start, size))
        moved = x.indices - start
        left = ops.maximum(ops.minimum(size, x.dense_shape - start), 0)
        inside = ops.logical_and(ops.greater_equal(moved, 0), ops.less(moved, left))
        return retain(SparseTensor(moved, x.values, left), reduce_all(inside, axis=1))


@counts_as(1, "axis")
def split(
    keyword_required: Any = None,
    sp_input: Any = None,
    num_split: int | None = None,
    axis: int | None = None,
    name: str | None = None,
    split_dim: int | None = None,
) -> list[SparseTensor]:
    """`num_split` parts along `axis`, which hold equally many; the first ones one more where that fails.

    All arguments are given by name: ValueError else.
    """
    at = one_of("axis", axis, "split_dim", split_dim)
    if keyword_required is not None or sp_input is None or num_split is None or at is None:
        raise misuse(ValueError, "sparse_split needs sp_input=, num_split= and axis=, by their names")
    x = as_sparse(sp_input)
    with name_scope(name, "SparseSplit", [x]):
        along = is_axis(x, at)
        total = x.dense_shape[at]
        each, more = ops.floor_div(total, num_split), ops.floormod(total, num_split)
        parts: list[SparseTensor] = []
        start: Any = np.zeros((), np.int64)
        for i in range(num_split):
            size = each + cast(ops.greater(more, i), int64)
            parts.append(slice(x, cast(along, int64) * start, ops.select(along, size, x.dense_shape)))
            start = size + start
        return parts


@counts_as(8)
def retain(sp_input: Any, to_retain: Any) -> SparseTensor:
    """The elements for which the vector `to_retain` is True."""
    x = as_sparse(sp_input)
    wanted = convert_to_tensor(to_retain, dtype=bool_)
    if wanted.shape.ndims is None:
        wanted = ops.reshape(wanted, np.array([-1], np.int32))  # such as noise of a size that is fed
    kept = ops.reshape(where(wanted), shape=(-1,))
    indices, values = (ops.gather(part, kept, axis=0) for part in (x.indices, x.values))
    return SparseTensor(indices, values, x.dense_shape)


@counts_as(11, "new_shape")
def reset_shape(sp_input: Any, new_shape: Any = None) -> SparseTensor:
    """The same elements in another, no smaller shape; by default in the smallest that holds them."""
    x = as_sparse(sp_input)
    if new_shape is None:
        largest = reduce_max(x.indices, axis=0)  # without elements, the least number
        return SparseTensor(x.indices, x.values, ops.maximum(largest + np.int64(1), np.int64(0)))
    shape = cast(convert_to_tensor(new_shape), int64)
    known, wanted = static_value(x.dense_shape), static_value(shape)
    if known is not None and wanted is not None:
        if len(known) != len(wanted):
            raise misuse(ShapeError, f"reset_shape: {list(known)} and {list(wanted)} have different ranks")
        if any(old > new for old, new in zip(known, wanted, strict=True)):
            text = f"reset_shape: {list(wanted)} should have dimension sizes of at least {list(known)}"
            raise misuse(ShapeError, text)
        return SparseTensor(x.indices, x.values, shape)
    with uncounted(shape.graph):
        fits = reduce_all(ops.less_equal(x.dense_shape, shape))
        text = "reset_shape: no size may be smaller, x <= y did not hold element-wise:"
        checked = holds(fits, text, [x.dense_shape, shape])
        ranks = [ops.size_of(x.dense_shape), ops.size_of(shape)]
        same_rank = holds(ops.equal(*ranks), "reset_shape: the ranks differ, x == y did not hold", ranks)
        with control_dependencies([same_rank, checked]):
            return SparseTensor(x.indices, x.values, ops.identity(shape))


@counts_as(3, "mask_indices")
def mask(a: Any, mask_indices: Any, name: str | None = None) -> IndexedSlices:
    """IndexedSlices without the rows `mask_indices`."""
    with name_scope(name, "sparse_mask", [a.values, mask_indices]):
        unwanted = convert_to_tensor(mask_indices, dtype=a.indices.dtype)
        found = ops.equal(ops.expand_dims(a.indices, axis=1), ops.expand_dims(unwanted, axis=0))
        kept = ops.logical_not(reduce_any(found, axis=1))
        return IndexedSlices(boolean_mask(a.values, kept), boolean_mask(a.indices, kept), a.dense_shape)


@counts_as(1, "default_value")
def fill_empty_rows(
    sp_input: Any, default_value: Any, name: str | None = None
) -> tuple[SparseTensor, Tensor]:
    """A matrix with `default_value` in the first column of each row that has no element, and these rows.

    The second result is a vector of bool.
    """
    x = as_sparse(sp_input)
    with name_scope(name, "SparseFillEmptyRows", [x]):
        rows = x.dense_shape[0]
        used = ops.unsorted_segment_sum(ops.ones_like(x.indices[:, 0]), x.indices[:, 0], num_segments=rows)
        empty = ops.equal(used, 0)
        missing = where(empty)
        added = joined([missing, ops.zeros_like(missing)], axis=1)
        filling = convert_to_tensor(default_value, dtype=x.dtype)
        values = ops.broadcast_to(filling, shape=ops.shape_of(missing, out_type=int64)[:1])
        filled = SparseTensor(joined([x.indices, added], 0), joined([x.values, values], 0), x.dense_shape)
        return reorder(filled), empty


def to_indicator(sp_input: Any, vocab_size: Any, name: str | None = None) -> Tensor:
    """Return True for each number below `vocab_size` that is among the values of a row.

    Args:
        sp_input: A SparseTensor of integers. Its last axis holds the values of a row.
        vocab_size: The number of possible values; all values are below it.
        name: The name scope.

    Returns:
        A bool tensor of shape [..., vocab_size].
    """
    x = as_sparse(sp_input)
    with name_scope(name, "SparseToIndicator", [x]):
        ones = x.with_values(ops.ones_like(cast(x.values, int64)))
        merged = merge(x, ones, vocab_size)
        found = ops.scatter_nd(merged.indices, merged.values, shape=merged.dense_shape)
        return ops.greater(found, 0)


def merge(
    sp_ids: Any, sp_values: Any, vocab_size: Any, name: str | None = None, already_sorted: bool = False
) -> SparseTensor:
    """Rows of numbers and rows of values as one sparse tensor: each number becomes a place in a last axis.

    `sp_ids` and `vocab_size` may be lists, for several new axes.
    """
    is_one = isinstance(sp_ids, SparseTensorValue) or not isinstance(sp_ids, list | tuple)
    several = [sp_ids] if is_one else sp_ids
    sizes = vocab_size if isinstance(vocab_size, list | tuple) else [vocab_size]
    ids, values = [as_sparse(x) for x in several], as_sparse(sp_values)
    with name_scope(name, "SparseMerge", [*ids, values]):
        numbers = [ops.expand_dims(cast(x.values, int64), axis=1) for x in ids]
        indices = joined([ids[0].indices[:, :-1], *numbers], axis=1)
        last = stack([cast(n, int64) for n in sizes])
        made = SparseTensor(indices, values.values, joined([ids[0].dense_shape[:-1], last], axis=0))
        return made if already_sorted else reorder(made)
