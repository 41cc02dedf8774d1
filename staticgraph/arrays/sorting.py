"""Order and running totals: sort, top_k, the positions of extreme elements, cumsum."""

from __future__ import annotations

from typing import Any, NamedTuple

from staticgraph.arrays.array_ops import one_of, reshape, shape, transpose
from staticgraph.building.framework import checked, name_scope
from staticgraph.building.inputs import convert_to_tensor
from staticgraph.compiler import ops
from staticgraph.compiler.graph.dtypes import as_dtype, int32, int64
from staticgraph.compiler.graph.errors import misuse, require
from staticgraph.compiler.graph.recording.op_count import count_more
from staticgraph.compiler.graph.static_value import static_value
from staticgraph.compiler.graph.tensor import Tensor


class TopKV2(NamedTuple):
    """The results of `top_k`."""

    values: Tensor
    indices: Tensor


def top_k(input: Any, k: Any = 1, sorted: bool = True, name: str | None = None) -> TopKV2:
    """The k largest elements of each row along the last axis, and their positions (int32).

    Greatest first; of equal ones that with the lower position. NaN counts as the lowest value.

    >>> import staticgraph as sg
    >>> sg.nn.top_k(sg.placeholder(sg.float32, [None, 10]), 3).indices.shape.as_list()
    [None, 3]
    """
    return TopKV2(*ops.top_k(input, k=k, sorted=sorted, name=name))


def in_top_k(predictions: Any, targets: Any, k: Any, name: str | None = None) -> Tensor:
    """For each row of `predictions` whether fewer than k classes score higher than the target class.

    >>> sg.Session().run(sg.nn.in_top_k([[0.1, 0.9], [0.8, 0.2]], [1, 1], 1))
    array([ True, False])
    """
    with name_scope(name, "in_top_k", [predictions, targets]):
        return ops.in_top_k(predictions, targets, k=k)


def nth_element(input: Any, n: Any, reverse: bool = False, name: str | None = None) -> Tensor:
    """The element of each row that has n smaller ones in it; with `reverse`, n greater ones."""
    return ops.nth_element(input, n=n, reverse=reverse, name=name)


def sort(values: Any, axis: Any = -1, direction: str = "ASCENDING", name: str | None = None) -> Tensor:
    """The elements in order along `axis`; `direction` is ASCENDING or DESCENDING. NaN comes last.

    >>> import staticgraph as sg
    >>> sg.sort(sg.placeholder(sg.float32, [3, 4]), axis=0).shape.as_list()
    [3, 4]
    """
    with name_scope(name, "sort", [values]):
        return _ordered(values, axis, direction, 0)


def argsort(
    values: Any, axis: Any = -1, direction: str = "ASCENDING", stable: bool = False, name: str | None = None
) -> Tensor:
    """The positions (int32) of the elements in order along
    `axis`. Equal ones stay in place, whatever `stable` is.
    """
    with name_scope(name, "argsort", [values]):
        return _ordered(values, axis, direction, 1)


def searchsorted(
    sorted_sequence: Any, values: Any, side: str = "left", out_type: Any = int32, name: str | None = None
) -> Tensor:
    """Return the position where each of `values` belongs in `sorted_sequence`, along the last axis of both.

    Args:
        sorted_sequence: Numbers in ascending order along the last axis.
        values: Numbers of the same dtype. All axes but the last are those of `sorted_sequence`.
        side: "left" for the position before equal elements, "right" for the position after them.
        out_type: The dtype of the positions, int32 or int64.
        name: The name scope.

    Returns:
        Positions, a tensor of the shape of `values`.

    Raises:
        ValueError: If `side` is neither "left" nor "right".

    >>> import staticgraph as sg
    >>> sg.searchsorted([1.0, 2.0, 2.0, 5.0], [2.0, 9.0]).shape.as_list()
    [2]
    """
    if side not in ("left", "right"):
        raise misuse(ValueError, f"searchsorted: side is {side!r}, and must be 'left' or 'right'")
    bound = ops.lower_bound if side == "left" else ops.upper_bound
    with name_scope(name, "searchsorted", [sorted_sequence, values]):
        values = convert_to_tensor(values, name="values")
        sequence = convert_to_tensor(sorted_sequence, dtype=values.dtype, name="sorted_sequence")
        # Of no values, -1 would be no row.
        rows, wanted = (reshape(x, [1 if x.type.rank == 1 else -1, shape(x)[-1]]) for x in (sequence, values))
        return reshape(bound(rows, wanted, out_type=as_dtype(out_type)), shape(values))


def _ordered(values: Any, axis: Any, direction: str, output: int) -> Tensor:
    """All elements by `top_k`: of their opposites for ascending order, and with `axis` moved to the end."""
    axis = convert_to_tensor(axis, name="axis")
    count_more(axis.graph, 5)  # the length of an axis, and the axis compared with the last
    values = convert_to_tensor(values, name="values")
    with checked("sort"):
        require(
            direction in ("ASCENDING", "DESCENDING"),
            f"direction {direction!r} must be ASCENDING or DESCENDING",
        )
        rank, where = values.type.rank, static_value(axis)
        require(isinstance(where, int), "the axis must be known while the graph is built")
        require(rank is not None or where == -1, "the rank of the values must be known, unless axis is -1")
        require(
            rank is None or -rank <= where < rank, f"axis {where} is out of range for values of rank {rank}"
        )
    ascending = direction == "ASCENDING"
    # Of integers the bitwise complement has the opposite order, also at the ends of the range.
    opposite = ops.negative if values.dtype.is_floating else ops.invert
    keys = opposite(values) if ascending else values
    known = None if rank is None else values.type.shape[where]
    count = shape(values)[where] if known is None else known
    perm = None
    if rank is not None and where % rank != rank - 1:
        perm = [rank - 1 if d == where % rank else where % rank if d == rank - 1 else d for d in range(rank)]
        keys = transpose(keys, perm)
    made = ops.top_k(keys, k=count)[output]
    made = made if perm is None else transpose(made, perm)
    return opposite(made) if ascending and output == 0 else made


def argmax(
    input: Any, axis: Any = None, name: str | None = None, dimension: Any = None, output_type: Any = int64
) -> Tensor:
    """The position of the largest element along `axis` (0); of equal ones the first.

    >>> import staticgraph as sg
    >>> sg.argmax(sg.placeholder(sg.float32, [None, 10]), 1)
    <sg.Tensor 'ArgMax:0' shape=(?,) dtype=int64>
    """
    axis = one_of("axis", axis, "dimension", dimension)
    return ops.argmax(input, axis=0 if axis is None else axis, output_type=as_dtype(output_type), name=name)


def argmin(
    input: Any, axis: Any = None, name: str | None = None, dimension: Any = None, output_type: Any = int64
) -> Tensor:
    """The position of the smallest element along `axis` (0); of equal ones the first.

    >>> sg.Session().run(sg.argmin([[3, 1], [2, 5]], axis=1))
    array([1, 0])
    """
    axis = one_of("axis", axis, "dimension", dimension)
    return ops.argmin(input, axis=0 if axis is None else axis, output_type=as_dtype(output_type), name=name)


def arg_max(input: Any, dimension: Any, output_type: Any = int64, name: str | None = None) -> Tensor:
    """`argmax` under its first name."""
    return argmax(input, dimension, name, output_type=output_type)


def arg_min(input: Any, dimension: Any, output_type: Any = int64, name: str | None = None) -> Tensor:
    """`argmin` under its first name."""
    return argmin(input, dimension, name, output_type=output_type)


def cumsum(
    x: Any, axis: Any = 0, exclusive: bool = False, reverse: bool = False, name: str | None = None
) -> Tensor:
    """Sums of the elements up to each one, along `axis`.

    `exclusive`: without the element itself, so that the first
    sum is 0. `reverse`: from the last element backwards.

    >>> import staticgraph as sg
    >>> sg.cumsum(sg.placeholder(sg.float32, [None, 4]), axis=1)
    <sg.Tensor 'Cumsum:0' shape=(?, 4) dtype=float32>
    """
    return ops.cumsum(x, axis=axis, exclusive=exclusive, reverse=reverse, name=name)


def cumprod(
    x: Any, axis: Any = 0, exclusive: bool = False, reverse: bool = False, name: str | None = None
) -> Tensor:
    """Products of the elements up to each one, along `axis`; `exclusive` and `reverse` as for `cumsum`.

    >>> sg.Session().run(sg.cumprod([2, 3, 4]))
    array([ 2,  6, 24], dtype=int32)
    """
    return ops.cumprod(x, axis=axis, exclusive=exclusive, reverse=reverse, name=name)


def cumulative_logsumexp(
    x: Any, axis: Any = 0, exclusive: bool = False, reverse: bool = False, name: str | None = None
) -> Tensor:
    """log(sum(exp)) of the elements up to each one, along `axis`; of none it is the lowest finite number.

    >>> sg.Session().run(sg.math.cumulative_logsumexp([0.0, 0.0])).round(4)
    array([0.    , 0.6931], dtype=float32)
    """
    return ops.cumulative_logsumexp(x, axis=axis, exclusive=exclusive, reverse=reverse, name=name)
