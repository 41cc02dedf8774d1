"""The forms of functions of tensors that take ragged tensors: joins, rows by number, reductions, masks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from staticgraph.arrays.creation import ones_like, zeros_like
from staticgraph.arrays.indexing import one_hot
from staticgraph.building.framework import control_dependencies, name_scope
from staticgraph.building.inputs import convert_to_tensor, identity
from staticgraph.compiler import ops
from staticgraph.compiler.graph.dtypes import as_dtype, bool_, int32
from staticgraph.compiler.graph.errors import misuse
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.debugging.comparisons import assert_equal
from staticgraph.domains.ragged.construction import range as ragged_range
from staticgraph.domains.ragged.elementwise import Elementwise
from staticgraph.domains.ragged.partitions import lengths_of_ids, splits_of_lengths
from staticgraph.domains.ragged.tensor import RaggedTensor, convert
from staticgraph.mathematics.math_ops import clip_by_value


def map_flat_values(op: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call a function with the innermost values of all ragged tensors among its arguments.

    Args:
        op: The function. The first axis of its result is that of the innermost values.
        *args, **kwargs: Its arguments. Ragged tensors among them have the same rows.

    Returns:
        A ragged tensor of these rows with the result as its innermost values; without a ragged tensor among
        the arguments, what the function returns.

    >>> import staticgraph as sg
    >>> x = sg.ragged.constant([[1.0], [], [2.0, 3.0]])
    >>> with sg.Session() as sess:
    ...     sess.run(sg.ragged.map_flat_values(sg.square, x)).to_list()
    [[1.0], [], [4.0, 9.0]]
    """
    operands = dict(enumerate(args)) | kwargs
    ragged = {
        str(k): v
        for k, v in operands.items()
        if isinstance(v, RaggedTensor)
        or (isinstance(v, list | tuple) and any(isinstance(each, RaggedTensor) for each in v))
    }
    if not ragged:
        return op(*args, **kwargs)
    flat, like = Elementwise(next(iter(_of(ragged.values())))).aligned(ragged)
    given = [flat.get(str(at), each) for at, each in enumerate(args)]
    made = op(*given, **{name: flat.get(name, each) for name, each in kwargs.items()})
    values = convert_to_tensor(made)
    if values.type.rank == 0:
        raise misuse(ValueError, "the function returned a number, not a result for each of the flat values")
    return like.with_flat_values(values)


def _of(values: Any) -> Any:
    for value in values:
        if isinstance(value, RaggedTensor):
            yield value
        elif isinstance(value, list | tuple):
            yield from _of(value)


def gather(
    params: Any, indices: Any, validate_indices: Any = None, name: str | None = None, axis: Any = None,
    batch_dims: int = 0,
) -> Any:  # fmt: skip
    """Rows by their numbers; ragged numbers give rows of rows."""
    if batch_dims:
        return batch_gather(params, indices, name)
    if axis not in (None, 0):
        raise misuse(ValueError, f"gather of a RaggedTensor along axis {axis}: only axis 0 is supported")
    with name_scope(name, "RaggedGather", [indices]):
        params, indices = convert(params), convert(indices)
        if isinstance(indices, RaggedTensor):
            return indices.with_values(gather(params, indices.values))
        if not isinstance(params, RaggedTensor):
            return ops.gather(params, indices, axis=0)
        if indices.type.rank == 0:
            return params[indices]
        if indices.type.rank != 1:
            inner = ops.reshape(indices, shape=(-1,))
            sizes = ops.shape_of(indices, out_type=params.row_splits.dtype)
            made: Any = gather(params, inner)
            for axis_at in np.arange(indices.type.rank - 1, 0, -1).tolist():
                count = ops.reduce_prod(sizes[:axis_at])
                splits = ops.range(0, count + 1, 1, dtype=sizes.dtype) * sizes[axis_at]
                made = RaggedTensor(made, splits, internal=True)
            return made
        starts = ops.gather(params.row_starts(), indices, axis=0)
        limits = ops.gather(params.row_limits(), indices, axis=0)
        return rows_between(params, starts, limits)


def rows_between(params: RaggedTensor, starts: Tensor, limits: Tensor, step: int = 1) -> RaggedTensor:
    """Return rows of the values of `params`: those between `starts` and `limits`."""
    places = ragged_range(starts, limits, ops.cast(step, dtype=starts.dtype), row_splits_dtype=starts.dtype)
    return places.with_values(gather(params.values, places.values))


def batch_gather(params: Any, indices: Any, name: str | None = None) -> Any:
    """Values of each row by their numbers in it; both have the same number of rows."""
    with name_scope(name, "RaggedBatchGather"):
        params, indices = convert(params), convert(indices)
        if not isinstance(indices, RaggedTensor):
            indices = RaggedTensor.from_tensor(indices, row_splits_dtype=params.row_splits.dtype)
        if not isinstance(params, RaggedTensor):
            params = RaggedTensor.from_tensor(params, row_splits_dtype=indices.row_splits.dtype)
        starts = ops.gather(params.row_starts(), indices.value_rowids(), axis=0)
        places = ops.cast(indices.values, dtype=starts.dtype) + starts
        return indices.with_values(gather(params.values, places))


def concat(values: Any, axis: int, name: str = "concat") -> Any:
    """Join along the first axis, or join the rows of the same number along another one."""
    with name_scope(name, "RaggedConcat"):
        parts = [convert(each) for each in (values if isinstance(values, list | tuple) else [values])]
        axis = axis_of(axis, next(_of(parts)))
        if axis == 0:
            return _joined(parts)
        if axis == 1:
            return _joined_rows(parts)
        like = next(_of(parts))
        return like.with_values(concat([part.values for part in parts], axis - 1))


def _joined(parts: Sequence[Any]) -> Any:
    ragged = list(_of(parts))
    if not ragged:
        return ops.concat(list(parts), axis=0)
    dtype = ragged[0].row_splits.dtype
    rank = ragged[0].ragged_rank
    parts = [
        p
        if isinstance(p, RaggedTensor)
        else RaggedTensor.from_tensor(p, ragged_rank=rank, row_splits_dtype=dtype)
        for p in parts
    ]
    lengths = ops.concat([ops.cast(p.row_lengths(), dtype=dtype) for p in parts], axis=0)
    return RaggedTensor(_joined([p.values for p in parts]), splits_of_lengths(lengths), internal=True)


def _joined_rows(parts: Sequence[Any]) -> Any:
    dtype = next(_of(parts)).row_splits.dtype
    parts = [
        p if isinstance(p, RaggedTensor) else RaggedTensor.from_tensor(p, row_splits_dtype=dtype)
        for p in parts
    ]
    rows, count = parts[0].nrows(), len(parts)
    checks = []
    for other in parts[1:]:
        known = parts[0].shape[0].value, other.shape[0].value
        if None not in known and known[0] != known[1]:
            raise misuse(ValueError, f"concat: there are {known[0]} and {known[1]} rows to join")
        checks.append(assert_equal(rows, ops.cast(other.nrows(), dtype=rows.dtype), message="rows to join"))
    with control_dependencies([check for check in checks if check is not None]):
        all_rows = _joined(parts)
        starts = identity(rows)
    # The rows of the same number beside each other: 0, n, 2n, ..., 1, n + 1, ...
    numbers = ops.range(0, starts * count, 1, dtype=dtype)
    order = ops.reshape(
        ops.transpose(
            ops.reshape(numbers, shape=ops.stack([ops.cast(count, dtype=dtype), starts], axis=0)), perm=(1, 0)
        ),
        shape=(-1,),
    )
    ordered = gather(all_rows, order)
    return RaggedTensor(ordered.values, ordered.row_splits[::count], internal=True)


def stack(values: Any, axis: int = 0, name: str | None = None) -> Any:
    """Ragged tensors along a new axis.

    Args:
        values: A list of ragged tensors or tensors of one rank.
        axis: Where the new axis is: 0, or 1 for the rows of the same number beside each other.
        name: The name scope.

    >>> import staticgraph as sg
    >>> x = sg.ragged.constant([[1], [2, 3]])
    >>> with sg.Session() as sess:
    ...     sess.run(sg.ragged.stack([x, x])).to_list()
    [[[1], [2, 3]], [[1], [2, 3]]]
    """
    with name_scope(name, "RaggedStack"):
        parts = [convert(each) for each in values]
        if not list(_of(parts)):
            parts = [RaggedTensor.from_tensor(ops.expand_dims(each, axis=0)) for each in parts]
            return _joined(parts) if axis == 0 else _joined_rows([expand_dims(p[0], 1) for p in parts])
        return concat([expand_dims(each, axis) for each in parts], axis)


def expand_dims(input: Any, axis: Any = None, name: str | None = None, dim: Any = None) -> Any:
    """A new axis of size 1."""
    axis = dim if axis is None else axis
    with name_scope(name, "RaggedExpandDims"):
        if not isinstance(input, RaggedTensor):
            return ops.expand_dims(input, axis=axis)
        axis = axis_of(axis, input, extra=1)
        dtype = input.row_splits.dtype
        if axis == 0:
            splits = ops.stack([ops.cast(0, dtype=dtype), input.nrows()], axis=0)
            return RaggedTensor(input, splits, internal=True)
        if axis == 1:
            return RaggedTensor(input, ops.range(0, input.nrows() + 1, 1, dtype=dtype), internal=True)
        return input.with_values(expand_dims(input.values, axis - 1))


def axis_of(axis: int, x: RaggedTensor, extra: int = 0) -> int:
    """Return the axis, counted from the first, of a tensor like `x` with `extra` axes more."""
    rank = x.shape.ndims
    if axis < 0 and rank is not None:
        axis += rank + extra
    if axis < 0 or (rank is not None and axis >= rank + extra):
        raise misuse(ValueError, f"axis={axis} is out of range for {rank} axes")
    return axis


def boolean_mask(data: Any, mask: Any, name: str | None = None) -> Any:
    """The rows, or the elements of rows, at which a mask is True.

    Args:
        data: A ragged tensor or a tensor.
        mask: True for what is kept: a vector for rows, more axes for elements of rows. A ragged mask has the
            rows of `data`.
        name: The name scope.

    Returns:
        A ragged tensor if the mask has two axes or more, or if `data` is ragged.

    >>> import staticgraph as sg
    >>> with sg.Session() as sess:
    ...     sess.run(sg.ragged.boolean_mask([[1, 2], [3, 4]], [[True, False], [True, True]])).to_list()
    [[1], [3, 4]]
    """
    with name_scope(name, "RaggedMask"):
        data, mask = convert(data), convert(mask)
        if mask.dtype is not bool_:
            raise misuse(TypeError, f"mask is {mask.dtype.name}, and must be bool")
        rank = mask.shape.ndims
        if not rank:
            raise misuse(ValueError, f"mask has shape {mask.shape}, and must have an axis")
        if rank == 1 and not isinstance(mask, RaggedTensor):
            kept = ops.reshape(ops.where(mask), shape=(-1,))
            return gather(data, kept)
        if not isinstance(mask, RaggedTensor):
            dtype = data.row_splits.dtype if isinstance(data, RaggedTensor) else None
            mask = RaggedTensor.from_tensor(mask, row_splits_dtype=dtype or mask_dtype())
        if not isinstance(data, RaggedTensor):
            data = RaggedTensor.from_tensor(data, row_splits_dtype=mask.row_splits.dtype)
        if isinstance(mask.values, RaggedTensor):
            return data.with_values(boolean_mask(data.values, mask.values))
        values = boolean_mask(data.values, mask.values)
        rows, dtype = mask.value_rowids(), mask.row_splits.dtype
        lengths = ops.unsorted_segment_sum(
            ops.cast(mask.values, dtype=dtype), rows, num_segments=mask.nrows()
        )
        return RaggedTensor(values, splits_of_lengths(lengths), internal=True)


def mask_dtype() -> Any:
    """Return the dtype of splits where nothing else tells one."""
    return as_dtype("int64")


def stack_dynamic_partitions(data: Any, partitions: Any, num_partitions: Any, name: str | None = None) -> Any:
    """The slices of `data` by the number of the row that `partitions` tells for each, in their order.

    Args:
        data: A tensor or a ragged tensor.
        partitions: The number of the row of each slice: int32, of the shape of the first axes of `data`.
        num_partitions: The number of rows.
        name: The name scope.

    >>> import staticgraph as sg
    >>> with sg.Session() as sess:
    ...     sess.run(sg.ragged.stack_dynamic_partitions([1, 2, 3], [1, 0, 1], 2)).to_list()
    [[2], [1, 3]]
    """
    with name_scope(name, "SegmentStack"):
        data, ids = convert(data), convert(partitions)
        if isinstance(ids, RaggedTensor):
            return stack_dynamic_partitions(data.values, ids.values, num_partitions)
        while ids.type.rank > 1:
            tail = ops.shape_of(data)[2:]
            data = ops.reshape(data, shape=ops.concat([ops.cast([-1], dtype=int32), tail], axis=0))
            ids = ops.reshape(
                ids, shape=ops.concat([ops.cast([-1], dtype=int32), ops.shape_of(ids)[2:]], axis=0)
            )
        order = argsort(ids)
        lengths = lengths_of_ids(ops.cast(ids, dtype=mask_dtype()), num_partitions)
        return RaggedTensor(gather(data, order), splits_of_lengths(lengths), internal=True)


def argsort(ids: Tensor) -> Tensor:
    """Return the places of numbers in order; equal ones stay in theirs."""
    from_sorted: Any = ops.top_k(-ops.cast(ids, dtype=int32), k=ops.size_of(ids))
    return from_sorted[1]


def _size(input: Any, name: str | None = None, out_type: Any = int32) -> Tensor:
    return ops.size_of(input.flat_values, out_type=as_dtype(out_type), name=name)


def _rank(input: Any, name: str | None = None) -> Tensor:
    return convert_to_tensor(np.int32(input.ragged_rank + input.flat_values.type.rank), name=name)


def _where(condition: Any, x: Any = None, y: Any = None, name: str | None = None) -> Any:
    if x is None or y is None:
        raise misuse(TypeError, "where of a ragged condition needs x and y", RaggedTensor.CURE)
    return ops.select(condition, x, y, name=name)


def _cast(x: Any, dtype: Any, name: str | None = None) -> Any:
    return map_flat_values(ops.cast, x, dtype=as_dtype(dtype), name=name)


def _mapped(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *args, **kwargs: map_flat_values(function, *args, **kwargs)


def _one_hot(indices: Any, *args: Any, **kwargs: Any) -> Any:
    return indices.with_flat_values(one_hot(indices.flat_values, *args, **kwargs))


RaggedTensor.functions |= {
    "batch_gather": batch_gather,
    "boolean_mask": boolean_mask,
    "cast": _cast,
    "clip_by_value": _mapped(clip_by_value),
    "concat": concat,
    "expand_dims": expand_dims,
    "gather": gather,
    "identity": _mapped(identity),
    "one_hot": _one_hot,
    "ones_like": _mapped(ones_like),
    "rank": _rank,
    "size": _size,
    "stack": stack,
    "where": _where,
    "zeros_like": _mapped(zeros_like),
}
