"""Ragged tensors from nested lists, from ranges, and for what is fed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from staticgraph.building.framework import name_scope
from staticgraph.building.inputs import constant as dense_constant
from staticgraph.building.inputs import convert_to_tensor
from staticgraph.building.inputs import placeholder as dense_placeholder
from staticgraph.compiler import ops
from staticgraph.compiler.graph.dtypes import as_dtype, as_strings, int64
from staticgraph.compiler.graph.errors import misuse
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.domains.ragged.partitions import splits_of_lengths
from staticgraph.domains.ragged.tensor import RaggedTensor
from staticgraph.domains.ragged.values import RaggedTensorValue


def constant(
    pylist: Any,
    dtype: Any = None,
    ragged_rank: int | None = None,
    inner_shape: Sequence[int] | None = None,
    name: str | None = None,
    row_splits_dtype: Any = int64,
) -> Any:
    """A ragged tensor of nested lists.

    Args:
        pylist: Lists of lists of numbers or strings, which are nested equally deep.
        dtype: The dtype; by default that of `sg.constant`.
        ragged_rank: The number of levels of rows; by default all levels but the last, less `inner_shape`.
        inner_shape: The shape of each of the innermost values; by default that of numbers.
        name: The name scope.
        row_splits_dtype: The dtype of the splits, int32 or int64.

    Returns:
        The RaggedTensor; a tensor for `ragged_rank=0`, a number, or an empty list.

    Raises:
        ValueError: If numbers are nested in lists of different depths, or do not fit the arguments.

    >>> import staticgraph as sg
    >>> with sg.Session() as sess:
    ...     print(sess.run(sg.ragged.constant([[1], [], [2, 3]])))
    <tf.RaggedTensorValue [[1], [], [2, 3]]>
    """
    with name_scope(name, "RaggedConstant"):
        flat, levels = _levels(pylist, ragged_rank, inner_shape)
        made: Any = dense_constant(flat, dtype=dtype, name="values")
        kind = as_dtype(row_splits_dtype).numpy
        for splits in reversed(levels):
            made = RaggedTensor.from_row_splits(made, np.array(splits, kind), validate=False)
        return made


def constant_value(
    pylist: Any,
    dtype: Any = None,
    ragged_rank: int | None = None,
    inner_shape: Sequence[int] | None = None,
    row_splits_dtype: Any = "int64",
) -> Any:
    """The value of a ragged tensor of nested lists, to be fed: arguments as those of `constant`.

    `dtype` and `row_splits_dtype` are NumPy's.

    >>> import staticgraph as sg
    >>> sg.ragged.constant_value([[1], [], [2, 3]]).row_splits.tolist()
    [0, 1, 1, 3]
    """
    kind = (
        row_splits_dtype.as_numpy_dtype if hasattr(row_splits_dtype, "as_numpy_dtype") else row_splits_dtype
    )
    flat, levels = _levels(pylist, ragged_rank, inner_shape)
    made: Any = np.asarray(flat, dtype)
    if made.dtype.kind == "U" and dtype is None:
        made = as_strings(flat)
    for splits in reversed(levels):
        made = RaggedTensorValue(made, np.array(splits, kind))
    return made


def placeholder(
    dtype: Any, ragged_rank: int, value_shape: Sequence[int | None] | None = None, name: str | None = None
) -> Any:
    """A ragged tensor whose value each run is told.

    Args:
        dtype: The dtype of its elements.
        ragged_rank: The number of levels of rows; 0 for a tensor.
        value_shape: The shape of each of the innermost values; by default that of numbers.
        name: The name scope.

    >>> import staticgraph as sg
    >>> x = sg.ragged.placeholder(sg.float32, 1)
    >>> with sg.Session() as sess:
    ...     sess.run(sg.reduce_sum(x, axis=1), {x: sg.ragged.constant_value([[1.0], [2.0, 3.0]])}).tolist()
    [1.0, 5.0]
    """
    with name_scope(name, "RaggedPlaceholder"):
        made: Any = dense_placeholder(dtype, [None, *(value_shape or ())], name="flat_values")
        for level in reversed([*np.arange(ragged_rank)]):
            splits = dense_placeholder(int64, [None], name=f"row_splits_{level}")
            made = RaggedTensor.from_row_splits(made, splits, validate=False)
        return made


def range(
    starts: Any,
    limits: Any = None,
    deltas: Any = 1,
    dtype: Any = None,
    name: str | None = None,
    row_splits_dtype: Any = int64,
) -> RaggedTensor:
    """Rows of equally spaced numbers.

    Args:
        starts: The first number of each row; the `limits`, from 0, if those are not given.
        limits: The ends of the rows, which they do not reach.
        deltas: The steps.
        dtype: The dtype; by default that of the arguments.
        name: The name scope.
        row_splits_dtype: The dtype of the splits.

    Numbers among the arguments hold for all rows.

    >>> import staticgraph as sg
    >>> with sg.Session() as sess:
    ...     sess.run(sg.ragged.range([0, 5], [3, 7])).to_list()
    [[0, 1, 2], [5, 6]]
    """
    if limits is None:
        starts, limits = 0, starts
    with name_scope(name, "RaggedRange", [starts, limits, deltas]):
        given = [x.dtype for x in (starts, limits, deltas) if isinstance(x, Tensor)]
        wanted = as_dtype(dtype) if dtype is not None else (given[0] if given else None)
        parts = [convert_to_tensor(x, dtype_hint=wanted) for x in (starts, limits, deltas)]
        parts = [ops.cast(x, dtype=wanted) for x in parts] if wanted is not None else parts
        first, last, step = parts
        for part in parts:
            if part.type.rank not in (0, 1):
                raise misuse(
                    ValueError, f"ragged.range takes numbers and vectors, not a shape of {part.shape}"
                )
        kind = as_dtype(row_splits_dtype)
        span = (last - first) * 1
        if first.dtype.is_integer:
            toward = ops.sign(step)
            lengths = ops.floor_div(span + step - toward, step)
        else:
            lengths = ops.ceil(span / step)
        lengths = ops.maximum(ops.cast(lengths, dtype=kind), ops.cast(0, dtype=kind))
        lengths = ops.reshape(lengths, shape=(-1,))
        splits = splits_of_lengths(lengths)
        count = splits[-1]
        empty = RaggedTensor(
            ops.fill(ops.cast(0, dtype=kind), dims=ops.reshape(count, shape=(1,))), splits, internal=True
        )
        rows = empty.value_rowids()
        places = ops.range(0, count, 1, dtype=kind) - ops.gather(splits, rows, axis=0)
        first, step = (ops.gather(x, rows, axis=0) if x.type.rank else x for x in (first, step))
        return empty.with_values(first + ops.cast(places, dtype=first.dtype) * step)


def _levels(pylist: Any, ragged_rank: int | None, inner_shape: Any) -> tuple[Any, list[list[int]]]:
    """Return the innermost values of nested lists, and the splits of each level, outermost first."""
    pylist = pylist.tolist() if isinstance(pylist, np.ndarray) else pylist
    depths = set(_depths(pylist, 0))
    numbers = {depth for depth, is_number in depths if is_number}
    deepest = max(depth for depth, _ in depths)
    if len(numbers) > 1:
        raise misuse(
            ValueError, "all numbers must be nested equally deep", "ragged rows have one kind of item"
        )
    if numbers and deepest > min(numbers):
        raise misuse(ValueError, "an empty list is nested deeper than the numbers are")
    if not isinstance(pylist, list | tuple):
        if ragged_rank:
            raise misuse(ValueError, f"a number has no ragged_rank of {ragged_rank}")
        return pylist, []
    if ragged_rank is None:
        inner = 0 if inner_shape is None else len(inner_shape)
        ragged_rank = max(1, deepest - 1 - inner)
        if deepest == 1 and not numbers:
            return np.zeros(0, np.float32), []
        if deepest == 1:
            return list(pylist), []
    if ragged_rank >= deepest:
        text = f"lists nested {deepest} deep have no ragged_rank of {ragged_rank}"
        raise misuse(ValueError, text)
    levels, items = [], list(pylist)
    for _ in np.arange(ragged_rank):
        levels.append(np.cumsum([0, *map(len, items)]).tolist())
        items = [each for row in items for each in row]
    if inner_shape is not None and items and tuple(np.shape(items)[1:]) != tuple(inner_shape):
        raise misuse(
            ValueError, f"innermost values have shape {np.shape(items)[1:]}, not {tuple(inner_shape)}"
        )
    if not items:
        sizes = tuple(inner_shape or ())
        return np.zeros((0, *sizes), np.float32), levels
    return items, levels


def _depths(item: Any, depth: int) -> list[tuple[int, bool]]:
    """Return the depth of each number and each empty list, and which of them it is."""
    if isinstance(item, np.ndarray):
        item = item.tolist()
    if not isinstance(item, list | tuple):
        return [(depth, True)]
    if not item:
        return [(depth + 1, False)]
    return [found for each in item for found in _depths(each, depth + 1)]
