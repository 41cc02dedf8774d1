"""Arithmetic with sparse tensors: products with dense matrices, sums, extremes, softmax."""

from __future__ import annotations

from typing import Any

import numpy as np

from staticgraph.arrays.array_ops import one_of, reshape, shape
from staticgraph.arrays.equal_sizes import same_sizes, where_true
from staticgraph.arrays.indexing import unique, where
from staticgraph.building.framework import checked, control_dependencies, name_scope
from staticgraph.building.inputs import convert_to_tensor
from staticgraph.building.operation_counts import constants, counts_as
from staticgraph.building.signatures import renamed
from staticgraph.compiler import ops
from staticgraph.compiler.graph.dtypes import int64
from staticgraph.compiler.graph.errors import misuse, require
from staticgraph.compiler.graph.graph import get_default_graph
from staticgraph.compiler.graph.recording.op_count import BackwardCount, count_backward, counted_as, uncounted
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.compiler.ops.kinds import conjugate
from staticgraph.mathematics.reductions import reduce_prod
from staticgraph.sparse.structure import Extents, is_axis, positions, reorder, retain
from staticgraph.sparse.tensor import SparseTensor, SparseTensorValue, as_sparse


@counts_as(1, "b")
def matmul(
    sp_a: Any, b: Any, adjoint_a: bool = False, adjoint_b: bool = False, name: str | None = None
) -> Tensor:
    """The product of a sparse matrix and a dense one; either can be replaced by its adjoint first.

    >>> import staticgraph as sg
    >>> a = sg.sparse_placeholder(sg.float32, [None, 1000])
    >>> sg.sparse_tensor_dense_matmul(a, sg.ones([1000, 8])).shape.as_list()
    [None, 8]
    """
    a = as_sparse(sp_a)
    with name_scope(name, "SparseTensorDenseMatMul", [a, b]):
        dense = convert_to_tensor(b, dtype=a.dtype)
        with checked("sparse_tensor_dense_matmul"):
            require(a.rank in (None, 2), f"the sparse tensor has shape {a.shape}, and must be a matrix")
            require(dense.type.rank in (None, 2), f"b has shape {dense.shape}, and must be a matrix")
            inner, rows = a.shape.with_rank(2)[0 if adjoint_a else 1].value, dense.shape.with_rank(2)
            given = rows[1 if adjoint_b else 0].value
            require(
                None in (inner, given) or inner == given,
                f"the rows of the sparse matrix {a.shape} have length {inner}, the columns of b {given}",
            )
        row, column = (1, 0) if adjoint_a else (0, 1)
        dense = _fitting(dense, 1 if adjoint_b else 0, a.dense_shape[column], None in (inner, given))
        if adjoint_b:
            dense = conjugate(ops.transpose(dense, perm=(1, 0)))
        else:  # the derivative of a reshape is a tensor, never IndexedSlices: optimizers change all rows
            dense = reshape(dense, shape(dense))
        values = conjugate(a.values) if adjoint_a else a.values
        chosen, factors = ops.gather(dense, a.indices[:, column], axis=0), ops.expand_dims(values, axis=1)
        terms = chosen * factors
        made = ops.unsorted_segment_sum(terms, a.indices[:, row], num_segments=a.dense_shape[row])
        for part in (dense, chosen, factors, terms):
            count_backward(part, BackwardCount(0))
        count_backward(made, BackwardCount(20 if adjoint_b else 16, gates=3))  # by both operands in any case
        made.set_shape([a.shape.with_rank(2)[row].value, rows[0 if adjoint_b else 1].value])
        return made


def _fitting(dense: Tensor, axis: int, length: Tensor, unknown: bool) -> Tensor:
    """`dense`, which must have that length along the axis; a run demands it if it is unknown until then."""
    if not unknown:
        return dense
    with uncounted(dense.graph):
        sizes = [length, ops.shape_of(dense, out_type=length.dtype)[axis]]
        text = "sparse_tensor_dense_matmul: rows of the sparse matrix must be as long as columns of b:"
        return where_true(ops.equal(sizes[0], sizes[1]), dense, text, sizes)


def _kept(x: SparseTensor, axis: Any, call: str) -> tuple[Any, Any]:
    """The axes that are kept, and a vector with True for those that are reduced."""
    given = None if axis is None else np.reshape(axis, -1).tolist()
    with checked(call):
        require(all(isinstance(d, int) for d in given or ()), f"axis is {axis}, and must be integers")
    if x.rank is None:
        found = ops.greater_equal(x.dense_shape, 0) if given is None else is_axis(x, *given)
        return ops.reshape(where(ops.logical_not(found)), shape=(-1,)), found
    with checked(call):
        fits = all(-x.rank <= d < x.rank for d in given or ())
        require(fits, f"axis is {axis}, and the tensor has shape {x.shape}")
    reduced = np.zeros(x.rank, bool)
    reduced[... if given is None else given] = True
    return np.flatnonzero(~reduced), reduced


def _groups(x: SparseTensor, kept: Any) -> tuple[Tensor, Tensor]:
    """The group of each element, by its place [n, rank] along the axes that are kept; their sizes."""
    return ops.gather(x.indices, kept, axis=1), ops.gather(x.dense_shape, kept, axis=0)


def _reduced(op: Any, sp_input: Any, axis: Any, keepdims: bool, call: str) -> Tensor:
    """Elements combined over axes, as a dense tensor, which is 0 if there are none."""
    x = as_sparse(sp_input)
    with name_scope(None, call, [x]):
        kept, reduced = _kept(x, axis, call)
        places, sizes = _groups(x, kept)
        groups, count = positions(places, sizes), reduce_prod(sizes)
        made = op(x.values, groups, num_segments=count)
        if op is not ops.unsorted_segment_sum:
            used = ops.unsorted_segment_sum(ops.ones_like(groups), groups, num_segments=count)
            made = ops.select(ops.greater(used, 0), made, ops.zeros_like(made))
        return ops.reshape(made, shape=ops.select(reduced, np.int64(1), x.dense_shape) if keepdims else sizes)


def _reduced_sparse(op: Any, sp_input: Any, axis: Any, keepdims: bool, call: str) -> SparseTensor:
    """Elements combined over axes, one for each group that has any; a run compiles anew for other places."""
    x = as_sparse(sp_input)
    with name_scope(None, call, [x]):
        kept, reduced = _kept(x, axis, call)
        places, sizes = _groups(x, kept)
        box = Extents(sizes, places)
        found, numbers = unique(box.positions(places))
        values = op(x.values, numbers, num_segments=ops.size_of(found))
        if keepdims:
            sizes = ops.select(reduced, np.int64(1), x.dense_shape)
        return reorder(SparseTensor(box.places(found), values, sizes))


def _arguments(axis: Any, keepdims: Any, reduction_axes: Any, keep_dims: Any) -> tuple[Any, bool]:
    kept = renamed("keepdims", keepdims, "keep_dims", keep_dims)
    return one_of("axis", axis, "reduction_axes", reduction_axes), bool(kept)


def reduce_sum(
    sp_input: Any,
    axis: Any = None,
    keepdims: bool | None = None,
    reduction_axes: Any = None,
    keep_dims: bool | None = None,
) -> Tensor:
    """The sum over `axis` (all), as a dense tensor; with `keepdims` these axes stay, with size one."""
    axis, kept = _arguments(axis, keepdims, reduction_axes, keep_dims)
    with counted_as(get_default_graph(), 5 if axis is None else 1 + constants(axis)):
        return _reduced(ops.unsorted_segment_sum, sp_input, axis, kept, "SparseReduceSum")


def reduce_max(
    sp_input: Any,
    axis: Any = None,
    keepdims: bool | None = None,
    reduction_axes: Any = None,
    keep_dims: bool | None = None,
) -> Tensor:
    """The largest element that is stored, over `axis` (all), as a dense tensor; 0 if there is none."""
    axis, kept = _arguments(axis, keepdims, reduction_axes, keep_dims)
    return _reduced(ops.unsorted_segment_max, sp_input, axis, kept, "SparseReduceMax")


def reduce_sum_sparse(
    sp_input: Any,
    axis: Any = None,
    keepdims: bool | None = None,
    reduction_axes: Any = None,
    keep_dims: bool | None = None,
) -> SparseTensor:
    """`reduce_sum` with a sparse result."""
    axis, kept = _arguments(axis, keepdims, reduction_axes, keep_dims)
    return _reduced_sparse(ops.unsorted_segment_sum, sp_input, axis, kept, "SparseReduceSumSparse")


def reduce_max_sparse(
    sp_input: Any,
    axis: Any = None,
    keepdims: bool | None = None,
    reduction_axes: Any = None,
    keep_dims: bool | None = None,
) -> SparseTensor:
    """`reduce_max` with a sparse result."""
    axis, kept = _arguments(axis, keepdims, reduction_axes, keep_dims)
    return _reduced_sparse(ops.unsorted_segment_max, sp_input, axis, kept, "SparseReduceMaxSparse")


@counts_as(1)
def softmax(sp_input: Any, name: str | None = None) -> SparseTensor:
    """The softmax over the elements that are stored of each row along the last axis."""
    x = as_sparse(sp_input)
    with name_scope(name, "SparseSoftmax", [x]):
        rows = positions(x.indices[:, :-1], x.dense_shape[:-1])
        count = reduce_prod(x.dense_shape[:-1])
        largest = ops.unsorted_segment_max(x.values, rows, num_segments=count)
        powers = ops.exp(x.values - ops.stop_gradient(ops.gather(largest, rows, axis=0)))
        totals = ops.unsorted_segment_sum(powers, rows, num_segments=count)
        return x.with_values(powers / ops.gather(totals, rows, axis=0))


def _combined(sp_a: Any, sp_b: Any, op: Any, name: str, threshold: Any = None) -> SparseTensor:
    """`op` of two tensors at the places of either, where what is not stored is 0.

    Results of a magnitude below `threshold` are left out at places that both have.
    """
    a, b = as_sparse(sp_a), as_sparse(sp_b)
    with name_scope(None, name, [a, b]):
        sizes = same_sizes("Operands' shapes do not match", a.dense_shape, [b.dense_shape])
        box = Extents(sizes, a.indices, b.indices)
        own = box.positions(a.indices)
        found, numbers = unique(ops.concat([own, box.positions(b.indices)], axis=0))
        split, count = ops.size_of(own), ops.size_of(found)
        first = ops.unsorted_segment_sum(a.values, numbers[:split], num_segments=count)
        second = ops.unsorted_segment_sum(b.values, numbers[split:], num_segments=count)
        made = SparseTensor(box.places(found), op(first, second), sizes)
        if threshold is not None:
            owners = ops.unsorted_segment_sum(ops.ones_like(numbers), numbers, num_segments=count)
            large = ops.greater_equal(ops.abs(made.values), threshold)
            made = retain(made, ops.logical_or(large, ops.less(owners, 2)))
        return reorder(made)


def add(a: Any, b: Any, threshold: Any = None, thresh: Any = None) -> Any:
    """The sum of two sparse tensors, which is sparse, or of a sparse and a dense one, which is dense.

    At places that both sparse tensors have, sums of a magnitude below `threshold` are left out. A run
    compiles anew for other places.
    """
    least = one_of("threshold", threshold, "thresh", thresh)
    sparse = [isinstance(x, SparseTensor | SparseTensorValue) for x in (a, b)]
    if not any(sparse):
        raise misuse(TypeError, "sparse_add: at least one of a and b must be a SparseTensor")
    if not all(sparse):
        one, other = (a, b) if sparse[0] else (b, a)
        one = as_sparse(one)
        with name_scope(None, "SparseTensorDenseAdd", [one, other]):
            dense = convert_to_tensor(other, dtype=one.dtype)
            with uncounted(dense.graph):
                sizes = ops.shape_of(dense, out_type=int64)
                same = same_sizes("sparse_add: both must have the same shape", one.dense_shape, [sizes])
                with control_dependencies([same]):
                    indices = ops.identity(one.indices)
            return ops.tensor_scatter_add(dense, indices, one.values)
    with counted_as(get_default_graph(), 1 if isinstance(least, Tensor) else 2):
        return _combined(a, b, ops.add, "SparseAdd", least)


@counts_as(1)
def maximum(sp_a: Any, sp_b: Any, name: str | None = None) -> SparseTensor:
    """The larger of the elements of two sparse tensors; what is not stored counts as 0."""
    return _combined(sp_a, sp_b, ops.maximum, name or "SparseSparseMaximum")


@counts_as(1)
def minimum(sp_a: Any, sp_b: Any, name: str | None = None) -> SparseTensor:
    """The smaller of the elements of two sparse tensors; what is not stored counts as 0."""
    return _combined(sp_a, sp_b, ops.minimum, name or "SparseSparseMinimum")
