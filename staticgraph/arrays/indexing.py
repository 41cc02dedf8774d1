"""Parts of tensors: slices, elements picked and written by index, masks, and what their data select.

Indices are data: a compiled program cannot raise on a bad one. An index out of range reads zeros and writes
nothing, as on TF1's GPU.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Sequence
from typing import Any

import numpy as np

from staticgraph.arrays.array_ops import concat, expand_dims, reshape, shape, squeeze
from staticgraph.arrays.creation import ones_like, zeros_like
from staticgraph.arrays.creation import range as range_
from staticgraph.building.composites import for_composites
from staticgraph.building.framework import checked, name_scope
from staticgraph.building.inputs import constant, convert_to_tensor
from staticgraph.compiler import ops
from staticgraph.compiler.graph.dtypes import as_dtype, bool_, float32, int32
from staticgraph.compiler.graph.errors import DtypeError, misuse, require
from staticgraph.compiler.graph.recording.op_count import (
    BackwardCount,
    count_backward,
    count_more,
    counted_as,
)
from staticgraph.compiler.graph.shapes import TensorShape
from staticgraph.compiler.graph.static_value import static_value
from staticgraph.compiler.graph.tensor import Tensor

newaxis = None

unravel_index = ops.unravel_index

Unique = namedtuple("Unique", ["y", "idx"])
UniqueWithCounts = namedtuple("UniqueWithCounts", ["y", "idx", "count"])
ListDiff = namedtuple("ListDiff", ["out", "idx"])


def slice(input_: Any, begin: Any, size: Any, name: str | None = None) -> Tensor:
    """The box of size[i] elements from begin[i] on along each axis i; a size of -1 takes all that are left.

    >>> import staticgraph as sg
    >>> sg.slice(sg.placeholder(sg.float32, [5, 4]), [1, 0], [2, -1]).shape.as_list()
    [2, 4]
    """
    return ops.slice(input_, begin=begin, size=size, name=name)


def strided_slice(
    input_: Any,
    begin: Any,
    end: Any,
    strides: Any = None,
    begin_mask: int = 0,
    end_mask: int = 0,
    ellipsis_mask: int = 0,
    new_axis_mask: int = 0,
    shrink_axis_mask: int = 0,
    var: Any = None,
    name: str | None = None,
) -> Tensor:
    """Return the elements begin:end:strides along each axis, as in Python; `input_[...]` calls it.

    Args:
        input_: The tensor.
        begin: The first position along each axis: a vector of integers.
        end: The position after the last one along each axis: a vector like `begin`.
        strides: The step along each axis; ones by default.
        begin_mask: Bits. If bit i is set, entry i has no lower end.
        end_mask: If bit i is set, entry i has no upper end.
        ellipsis_mask: If bit i is set, entry i stands for all axes that are left.
        new_axis_mask: If bit i is set, entry i adds a new axis of size 1.
        shrink_axis_mask: If bit i is set, entry i takes a single element and drops the axis.
        var: Not supported, must be None. Variables have methods for assignments to slices.
        name: The name of the operation.

    Returns:
        A tensor of the dtype of `input_`.

    Raises:
        ValueError: If `var` is given.

    >>> sg.Session().run(sg.strided_slice([1, 2, 3, 4, 5], [1], [5], [2]))
    array([2, 4], dtype=int32)
    """
    if var is not None:
        raise misuse(
            ValueError, "strided_slice: var= is for assignments to slices, which variables have methods for"
        )
    if strides is None:
        strides = ones_like(begin)
    return ops.strided_slice(
        input_,
        begin=begin,
        end=end,
        strides=strides,
        begin_mask=begin_mask,
        end_mask=end_mask,
        ellipsis_mask=ellipsis_mask,
        new_axis_mask=new_axis_mask,
        shrink_axis_mask=shrink_axis_mask,
        name=name,
    )


@for_composites
def gather(
    params: Any,
    indices: Any,
    validate_indices: bool | None = None,
    name: str | None = None,
    axis: Any = None,
    batch_dims: int | None = 0,
) -> Tensor:
    """Slices of `params` along `axis` (by default the first after the batch axes), picked by `indices`.

    With `batch_dims=None`, all axes of `indices` but the last one are of the batch.

    >>> import staticgraph as sg
    >>> table = sg.placeholder(sg.float32, [100, 8])
    >>> sg.gather(table, [[3, 1], [4, 1]]).shape.as_list()
    [2, 2, 8]
    """
    if batch_dims is None:
        indices = convert_to_tensor(indices, name="indices")
        with checked("gather"):
            require(indices.type.rank, "with batch_dims=None, the rank of the indices must be known")
        batch_dims = indices.shape.ndims - 1
    return ops.gather(
        params, indices, axis=batch_dims if axis is None else axis, batch_dims=batch_dims, name=name
    )


@for_composites
def batch_gather(params: Any, indices: Any, name: str | None = None) -> Tensor:
    """Elements of `params` along the last axis of `indices`, row by row of the axes before it."""
    indices = convert_to_tensor(indices)
    with checked("batch_gather"):
        require(indices.type.rank, "the indices must have a known rank of at least 1")
    batch = indices.shape.ndims - 1
    count_more(indices.graph, 40)  # TensorFlow makes positions in a matrix
    return ops.gather(params, indices, axis=batch, batch_dims=batch, name=name or "BatchGather")


def gather_nd(params: Any, indices: Any, name: str | None = None, batch_dims: int = 0) -> Tensor:
    """Elements or slices of `params` at coordinates that the last axis of `indices` holds.

    >>> import staticgraph as sg
    >>> x = sg.placeholder(sg.float32, [5, 4, 3])
    >>> sg.gather_nd(x, [[0, 1], [4, 2]]).shape.as_list()
    [2, 3]
    """
    if batch_dims == 0:
        return ops.gather_nd(params, indices, name=name)
    indices = convert_to_tensor(indices)
    with checked("gather_nd"):
        require(indices.type.rank, "with batch_dims, the indices must have a known rank of at least 1")
        require(
            0 < batch_dims < indices.shape.ndims,
            f"batch_dims {batch_dims} must be less than the indices' rank",
        )
    with name_scope(name, "BatchGatherND", [params, indices]) as scope:
        first = zeros_like(indices[..., :1])
        sizes = shape(indices)
        rows = [
            first
            + reshape(
                ops.cast(range_(sizes[d]), dtype=indices.dtype), [-1] + [1] * (indices.shape.ndims - 1 - d)
            )
            for d in range(batch_dims)
        ]
        return ops.gather_nd(params, concat([*rows, indices], -1), name=scope)


def scatter_nd(indices: Any, updates: Any, shape: Any, name: str | None = None) -> Tensor:
    """Zeros of `shape`, to which `updates` are added at coordinates that the last axis of `indices` holds.

    >>> import staticgraph as sg
    >>> sg.scatter_nd([[1], [3]], [9.0, 10.0], [5]).shape.as_list()
    [5]
    """
    return ops.scatter_nd(indices, updates, shape=shape, name=name)


def tensor_scatter_update(tensor: Any, indices: Any, updates: Any, name: str | None = None) -> Tensor:
    """`tensor` with `updates` in place of what was at the coordinates in `indices`."""
    return ops.tensor_scatter_update(tensor, indices, updates, name=name)


def tensor_scatter_add(tensor: Any, indices: Any, updates: Any, name: str | None = None) -> Tensor:
    """`tensor` with `updates` added at the coordinates in `indices`.

    >>> sg.Session().run(sg.tensor_scatter_add([1, 2, 3], [[0], [2]], [10, 30]))
    array([11,  2, 33], dtype=int32)
    """
    return ops.tensor_scatter_add(tensor, indices, updates, name=name)


def tensor_scatter_sub(tensor: Any, indices: Any, updates: Any, name: str | None = None) -> Tensor:
    """`tensor` with `updates` subtracted at the coordinates in `indices`.

    >>> sg.Session().run(sg.tensor_scatter_sub([1, 2, 3], [[0], [2]], [1, 1]))
    array([0, 2, 2], dtype=int32)
    """
    return ops.tensor_scatter_sub(tensor, indices, updates, name=name)


tensor_scatter_nd_update = tensor_scatter_update
tensor_scatter_nd_add = tensor_scatter_add
tensor_scatter_nd_sub = tensor_scatter_sub


def invert_permutation(x: Any, name: str | None = None) -> Tensor:
    """The permutation y with y[x[i]] = i.

    >>> sg.Session().run(sg.invert_permutation([2, 0, 1]))
    array([1, 2, 0], dtype=int32)
    """
    return ops.invert_permutation(x, name=name)


@for_composites
def one_hot(
    indices: Any,
    depth: Any,
    on_value: Any = None,
    off_value: Any = None,
    axis: int | None = None,
    dtype: Any = None,
    name: str | None = None,
) -> Tensor:
    """A new axis of size `depth` that holds `on_value` (1) at the index and `off_value` (0) elsewhere.

    The axis is the last one by default. `dtype` is float32 unless it or the values say otherwise.

    >>> import staticgraph as sg
    >>> sg.one_hot([0, 2], 3)
    <sg.Tensor 'one_hot:0' shape=(2, 3) dtype=float32>
    """
    with name_scope(name, "one_hot", [indices, depth, on_value, off_value]) as scope:
        asked = None if dtype is None else as_dtype(dtype)
        values = {"on_value": on_value, "off_value": off_value}
        named = {n: convert_to_tensor(v, preferred_dtype=asked) for n, v in values.items() if v is not None}
        given = list(named.values())
        with checked("one_hot"):
            for label, value in named.items():
                what = f"{label} is {value.dtype}, and dtype is {asked}"
                require(asked is None or value.dtype is asked, what, kind=DtypeError)
            require(
                len({v.dtype for v in given}) < 2,
                "on_value and off_value have different dtypes",
                kind=DtypeError,
            )
        wanted = given[0].dtype if given else asked or float32
        on, off = (
            named[label] if label in named else convert_to_tensor(default, wanted, name=label)
            for label, default in (("on_value", 1), ("off_value", 0))
        )
        return ops.one_hot(indices, on, off, depth=depth, axis=-1 if axis is None else axis, name=scope)


def sequence_mask(lengths: Any, maxlen: Any = None, dtype: Any = bool_, name: str | None = None) -> Tensor:
    """For each length a row of `maxlen` values, of which that many at the beginning are true.

    Without `maxlen` it is the greatest length, which then must be known when the graph is compiled.

    >>> import staticgraph as sg
    >>> sg.sequence_mask(sg.placeholder(sg.int32, [None]), 5).shape.as_list()
    [None, 5]
    """
    with name_scope(name, "SequenceMask", [lengths, maxlen]):
        lengths = convert_to_tensor(lengths)
        if maxlen is None:
            count_more(lengths.graph, 1)  # the axes
            maxlen = ops.maximum(constant(0, lengths.dtype), ops.reduce_max(lengths, axis=None))
        maxlen = convert_to_tensor(maxlen)
        row = range_(constant(0, maxlen.dtype), maxlen, constant(1, maxlen.dtype), name="Range")
        mask = ops.less(row, ops.cast(expand_dims(lengths, -1), dtype=maxlen.dtype))
        return mask if as_dtype(dtype) is bool_ else ops.cast(mask, dtype=as_dtype(dtype))


@for_composites
def where(condition: Any, x: Any = None, y: Any = None, name: str | None = None) -> Tensor:
    """Elements of `x` where `condition` is true and of `y`
    elsewhere; with `condition` alone, where it is true.

    `x` and `y` have one shape, `condition` the same, or that of their first axis. The positions of the true
    elements are int64 of shape [count, rank]; what is computed with them is compiled once per count.

    >>> import staticgraph as sg
    >>> sg.where([True, False], [1.0, 2.0], [3.0, 4.0])
    <sg.Tensor 'Select:0' shape=(2,) dtype=float32>
    """
    if x is None and y is None:
        with name_scope(name, "Where", [condition]) as scope:
            condition = convert_to_tensor(condition, name="condition")
            return ops.where(condition, name=scope)
    if x is None or y is None:
        raise misuse(ValueError, "where needs both x and y, or neither")
    return ops.select_rows(condition, x, y, name=name)


def where_v2(condition: Any, x: Any = None, y: Any = None, name: str | None = None) -> Tensor:
    """As `where`, but the three tensors broadcast."""
    return where(condition, name=name) if x is None and y is None else ops.select(condition, x, y, name=name)


@for_composites
def boolean_mask(tensor: Any, mask: Any, name: str = "boolean_mask", axis: int | None = None) -> Tensor:
    """The slices of `tensor` for which `mask` is true, from `axis` (0) on.

    What is computed with them is compiled once per number of slices: `tensor * cast(mask, ...)` is compiled
    once.

    >>> import staticgraph as sg
    >>> sg.boolean_mask(sg.placeholder(sg.float32, [3, 2]), [True, False, True]).shape.as_list()
    [None, 2]
    """
    with name_scope(name, values=[tensor, mask]):
        tensor, mask = convert_to_tensor(tensor, name="tensor"), convert_to_tensor(mask, name="mask")
        axis = axis or 0
        with checked("boolean_mask"):
            require(
                mask.type.rank is not None, "the rank of the mask must be known", hint="call mask.set_shape"
            )
            require(mask.type.rank, "the mask must have at least one axis")
            require(
                tensor.shape[axis : axis + mask.shape.ndims].is_compatible_with(mask.shape),
                f"mask of shape {mask.shape} does not fit axes {axis} and following of shape {tensor.shape}",
            )
        with counted_as(tensor.graph, 27):  # TensorFlow makes one axis of those of the mask in any case
            # Done for one axis too: the derivative of a reshape is a tensor, never IndexedSlices.
            sizes = shape(tensor)
            tensor = reshape(tensor, concat([sizes[:axis], [-1], sizes[axis + mask.shape.ndims :]], 0))
            mask = reshape(mask, [-1])
            chosen = ops.gather(tensor, squeeze(where(mask), axis=[1]), axis=axis)
        # The rows are made a tensor, and reshaped.
        count_backward(chosen, BackwardCount(5 * (axis == 0), added=True))
        return chosen


def unique(x: Any, out_idx: Any = int32, name: str | None = None) -> Unique:
    """The different elements of a vector in order of first appearance, and where each element is among them.

    >>> import staticgraph as sg
    >>> with sg.Session() as sess:
    ...     sess.run(sg.unique([3, 1, 3]))
    Unique(y=array([3, 1], dtype=int32), idx=array([0, 1, 0], dtype=int32))
    """
    with name_scope(name, "Unique", [x]) as scope:
        x = convert_to_tensor(x, name="x")
        return Unique(*ops.unique(x, out_idx=as_dtype(out_idx), name=scope))


def unique_with_counts(x: Any, out_idx: Any = int32, name: str | None = None) -> UniqueWithCounts:
    """As `unique`, and how often each element occurs.

    >>> sg.Session().run(list(sg.unique_with_counts([3, 1, 3])))
    [array([3, 1], dtype=int32), array([0, 1, 0], dtype=int32), array([2, 1], dtype=int32)]
    """
    with name_scope(name, "UniqueWithCounts", [x]) as scope:
        x = convert_to_tensor(x, name="x")
        return UniqueWithCounts(*ops.unique_with_counts(x, out_idx=as_dtype(out_idx), name=scope))


def setdiff1d(x: Any, y: Any, index_dtype: Any = int32, name: str | None = None) -> ListDiff:
    """The elements of the vector `x` that are not in `y`, and their positions.

    >>> sg.Session().run(list(sg.setdiff1d([1, 2, 3, 4], [2, 4])))
    [array([1, 3], dtype=int32), array([0, 2], dtype=int32)]
    """
    with name_scope(name, "ListDiff", [x, y]) as scope:
        x = convert_to_tensor(x, name="x")
        y = convert_to_tensor(y, x.dtype, name="y")
        return ListDiff(*ops.setdiff1d(x, y, out_idx=as_dtype(index_dtype), name=scope))


def dynamic_partition(
    data: Any, partitions: Any, num_partitions: int, name: str | None = None
) -> list[Tensor]:
    """The slices of `data` sorted by the numbers, int32 from 0 on, in `partitions`.

    `partitions` has the shape of the first axes of `data`, and must be of known rank.
    """
    from staticgraph.arrays.equal_sizes import beginning_alike  # few graphs need it

    with name_scope(name, "DynamicPartition", [data, partitions]) as scope:
        data = convert_to_tensor(data, name="data")
        partitions = convert_to_tensor(partitions, int32, name="partitions")
        with checked("dynamic_partition"):
            rank = partitions.type.rank
            require(rank is not None, "the rank of partitions must be known", hint="call set_shape")
            data = beginning_alike(data, partitions, ("data", "partitions"))
        with counted_as(data.graph, 1):
            if rank != 1:
                data = reshape(data, concat([[-1], shape(data)[rank:]], 0))
            made = ops.partition_places(partitions, num_partitions=num_partitions, name=scope)
            places = made if num_partitions > 1 else (made,)
            return [ops.gather(data, each, axis=0) for each in places]


def _stitched_size(indices: Sequence[Any]) -> int | None:
    """Return the size of the first axis of what `dynamic_stitch` gives; None if not all indices are known."""
    if any(each is None for each in indices):
        return None
    return 1 + max((int(place) for each in indices for place in np.ravel(each)), default=-1)


def dynamic_stitch(indices: Sequence[Any], data: Sequence[Any], name: str | None = None) -> Tensor:
    """Slices of the tensors in `data` at the places that
    `indices`, tensor by tensor, give them in the result.

    Of several slices for one place the last one counts.
    """
    from staticgraph.arrays.equal_sizes import beginning_alike  # few graphs need it

    with name_scope(name, "DynamicStitch", [*indices, *data]) as scope:
        places = [convert_to_tensor(p, int32, name=f"indices_{i}") for i, p in enumerate(indices)]
        items = [convert_to_tensor(d, name=f"data_{i}") for i, d in enumerate(data)]
        with counted_as(items[0].graph, 1):
            with checked("dynamic_stitch"):
                pairs = enumerate(zip(places, items, strict=True))
                fitting = [beginning_alike(d, p, (f"data[{n}]", f"indices[{n}]")) for n, (p, d) in pairs]
            rows = [
                reshape(item, concat([[-1], shape(item)[place.shape.ndims :]], 0))
                for place, item in zip(places, fitting, strict=True)
            ]
            flat = concat([reshape(place, [-1]) for place in places], 0)
            made = ops.gather(concat(rows, 0), ops.stitch_sources(flat), axis=0, name=scope)
            first = _stitched_size([static_value(place) for place in places])
            made.set_shape(TensorShape([first]).concatenate(made.shape[1:]))
            return made
