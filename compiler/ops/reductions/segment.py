"""Reductions over groups of slices: the segments that a tensor of ids puts them into.

They take ids in any order and a number of segments; a slice with a negative id is dropped, and an id that is
not below the number is an error, as in TensorFlow. `sorted_segments.py` has those whose ids decide how many
segments there are.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from staticgraph.compiler.graph.checks.requirements import index_in
from staticgraph.compiler.graph.dtypes import (
    FLOATING,
    NUMERIC,
    REAL,
    bfloat16,
    int32,
    int64,
)
from staticgraph.compiler.graph.errors import require
from staticgraph.compiler.graph.opdef import ops
from staticgraph.compiler.graph.shapes import TensorType, merge
from staticgraph.compiler.graph.sizes import same
from staticgraph.compiler.kernel import scalar
from staticgraph.compiler.kernel.expr import Const, Expr
from staticgraph.compiler.kernel.stmt import Stmt, Store
from staticgraph.compiler.ops.arrays.gathering import checked
from staticgraph.compiler.ops.arrays.movement import INDEX
from staticgraph.compiler.ops.arrays.scatter import slices, updated
from staticgraph.compiler.ops.kinds import Described, Out, View, composite, holomorphic, rounded_once, routine
from staticgraph.compiler.ops.samples import Sample, distinct, indices, real
from staticgraph.compiler.ops.statements.loops import counters, each


def _unsorted_type(data: TensorType, segment_ids: TensorType, num_segments: Any) -> TensorType:
    require(num_segments is None or num_segments >= 0, f"num_segments {num_segments} must not be negative")
    if data.shape is None or segment_ids.shape is None:
        return TensorType(data.dtype, None)
    rank = len(segment_ids.shape)
    require(rank <= len(data.shape), f"segment_ids have rank {rank}, the data only {len(data.shape)}")
    merge(data.shape[:rank], segment_ids.shape, "segment_ids must have the first axes of the data:")
    return TensorType(data.dtype, (num_segments, *data.shape[rank:]))


def _unsorted_numpy(ufunc: np.ufunc, start: Callable[[np.dtype], Any]) -> Callable[..., np.ndarray]:
    def reference(data: np.ndarray, segment_ids: np.ndarray, num_segments: int) -> np.ndarray:
        rest = data.shape[segment_ids.ndim :]
        ids, rows = segment_ids.reshape(-1), data.reshape(segment_ids.size, *rest)
        # One row more than there are segments takes what is dropped.
        out = np.full((num_segments + 1, *rest), start(data.dtype), data.dtype)
        ufunc.at(out, np.where((ids >= 0) & (ids < num_segments), ids, num_segments), rows)
        return out[:num_segments]

    return reference


def _unsorted_statements(
    out: Out, data: View, segment_ids: View, start: Any, combine: Callable[[Expr, Expr], Expr]
) -> tuple[Stmt, ...] | Described:
    """`start` in every segment, then one slice after the other."""
    begin = each(out, lambda _: Const(start, out.dtype))
    if any(same(n, 0) for n in out.shape):
        return begin
    at = counters(segment_ids.shape, "u")
    place, inside = checked(segment_ids[at], out.shape[0])

    def write(row: tuple[Expr, ...], columns: tuple[Expr, ...]) -> Store:
        target = (*row, *columns)
        return Store(out.buffer, target, combine(out[target], data[(*at, *columns)]))

    where = at, (place,), inside, data.shape[segment_ids.rank :], write
    return updated(out, begin, slices(*where), *where)


def _lowest(dtype: np.dtype) -> Any:
    return np.iinfo(dtype).min if dtype.kind in "iu" else np.finfo(dtype).min


def _highest(dtype: np.dtype) -> Any:
    return np.iinfo(dtype).max if dtype.kind in "iu" else np.finfo(dtype).max


sums = rounded_once(_unsorted_numpy(np.add, lambda dtype: 0))
products = rounded_once(_unsorted_numpy(np.multiply, lambda dtype: 1))
largest = _unsorted_numpy(np.maximum, _lowest)
smallest = _unsorted_numpy(np.minimum, _highest)

_SAMPLES = [
    Sample(distinct(5, 2), indices(5, below=4), num_segments=5),
    Sample(distinct(2, 3), indices(2, 3, below=3, dtype="int64"), num_segments=3),
    Sample(distinct(4, 2, 2), indices(4, below=6), num_segments=3),
    Sample(distinct(0, 2), indices(0, below=1), num_segments=2),
]
# The extremes of an empty segment are too large to take differences of.
_FILLED = [
    Sample(distinct(12, 2), indices(12, below=2), num_segments=2),
    Sample(distinct(2, 3), indices(2, 3, below=1, dtype="int64"), num_segments=1),
    Sample(distinct(0, 2), indices(0, below=1), num_segments=0),
]
# The lowest bfloat16 is not the lowest number of the float32 that carries it through NumPy.
ORDERED = REAL - {bfloat16}


def _unsorted(name: str) -> dict[str, Any]:
    """Return what the records of the `unsorted` ops have in common."""
    return {
        "type": _unsorted_type,
        "operands": ("num_segments",),
        "partial": ("num_segments",),
        "vars": {"segment_ids": "I"},
        "differentiable": (0,),
        "requires": index_in(
            name, "segment_ids", 1, lambda data, segment_ids, num_segments: num_segments, low=None
        ),
    }


@routine(
    tf="UnsortedSegmentSum",
    numpy=sums,
    # It is no formula for the graph: a `gather` there would refuse the negative ids, which are dropped here.
    grad=lambda g, y, data, segment_ids, num_segments: (ops.gather(g, segment_ids), None),
    dtypes={"T": NUMERIC, "I": INDEX},
    samples=_SAMPLES,
    **_unsorted("unsorted_segment_sum"), totals_in_float32=True,
)
def unsorted_segment_sum(
    outs: tuple[Out, ...], data: View, segment_ids: View, *, num_segments: int
) -> tuple[Stmt, ...] | Described:
    """The sum of the slices of each of `num_segments` segments; 0 if there are none.

    >>> sg.Session().run(sg.unsorted_segment_sum([2, 3, 4], [1, 0, 1], 2))
    array([3, 6], dtype=int32)
    """
    return _unsorted_statements(outs[0], data, segment_ids, 0, lambda total, x: total + x)


def _product_grad(g: Any, y: Any, data: Any, segment_ids: Any, num_segments: int) -> tuple[Any, None]:
    """The product of the elements before it in its segment times that of those after it: no division."""
    n = math.prod(segment_ids.shape)
    if n == 0:
        return ops.zeros_like(data), None
    rest = data.shape[segment_ids.rank :]
    ids = ops.reshape(segment_ids, shape=(n,))
    order = ops.top_k(ids, k=n)[1]
    ids, rows = ops.gather(ids, order), ops.gather(ops.reshape(data, shape=(n, *rest)), order)
    same = ops.reshape(ops.equal(ids[1:], ids[:-1]), shape=(n - 1, *(1,) * len(rest)))
    same = ops.broadcast_to(same, shape=(n - 1, *rest))
    links = ops.cast(same, dtype=data.dtype)
    others = ops.ones_like(rows)
    for reverse, neighbours in ((False, rows[:-1]), (True, rows[1:])):
        end = [(0, 1) if reverse else (1, 0), *((0, 0) for _ in rest)]
        kept = ops.select(same, neighbours, ops.zeros_like(neighbours))  # NaN * 0 would reach other segments
        start, factors = (ops.pad(part, paddings=end) for part in (links, kept))
        others = others * ops.linear_recurrence(1.0 - start, factors, reverse=reverse)
    back = ops.gather(others, ops.invert_permutation(order))
    return ops.gather(g, segment_ids) * ops.reshape(back, shape=data.shape), None


@routine(
    tf="UnsortedSegmentProd", numpy=products, grad=holomorphic(_product_grad),
    dtypes={"T": NUMERIC, "I": INDEX}, samples=_SAMPLES, **_unsorted("unsorted_segment_prod"),
    totals_in_float32=True,
)
def unsorted_segment_prod(
    outs: tuple[Out, ...], data: View, segment_ids: View, *, num_segments: int
) -> tuple[Stmt, ...] | Described:
    """The product of the slices of each of `num_segments` segments; 1 if there are none.

    >>> sg.Session().run(sg.unsorted_segment_prod([2, 3, 4], [1, 0, 1], 2))
    array([3, 8], dtype=int32)
    """
    return _unsorted_statements(outs[0], data, segment_ids, 1, lambda total, x: total * x)


def _extreme_grad(g: Any, y: Any, data: Any, segment_ids: Any, num_segments: int) -> tuple[Any, None]:
    """Equal ones share the gradient. What was dropped equals nothing in its segment."""
    inside = (segment_ids >= 0) & (segment_ids < num_segments)
    inside = ops.reshape(inside, shape=(*segment_ids.shape, *(1,) * (data.rank - segment_ids.rank)))
    chosen = ops.equal(data, ops.gather(y, segment_ids)) & inside
    count = unsorted_segment_sum(ops.cast(chosen, dtype=data.dtype), segment_ids, num_segments=num_segments)
    return ops.select(chosen, ops.gather(ops.div_no_nan(g, count), segment_ids), ops.zeros_like(data)), None


@routine(
    tf="UnsortedSegmentMax", numpy=largest, grad=_extreme_grad, dtypes={"T": ORDERED, "I": INDEX},
    samples=_FILLED, **_unsorted("unsorted_segment_max"),
)
def unsorted_segment_max(
    outs: tuple[Out, ...], data: View, segment_ids: View, *, num_segments: int
) -> tuple[Stmt, ...] | Described:
    """The largest element of each of `num_segments` segments; the lowest number if there are none.

    >>> sg.Session().run(sg.unsorted_segment_max([2, 3, 4], [1, 0, 1], 2))
    array([3, 4], dtype=int32)
    """
    return _unsorted_statements(outs[0], data, segment_ids, data.dtype.min, scalar.maximum)


@routine(
    tf="UnsortedSegmentMin", numpy=smallest, grad=_extreme_grad, dtypes={"T": ORDERED, "I": INDEX},
    samples=_FILLED, **_unsorted("unsorted_segment_min"),
)
def unsorted_segment_min(
    outs: tuple[Out, ...], data: View, segment_ids: View, *, num_segments: int
) -> tuple[Stmt, ...] | Described:
    """The smallest element of each of `num_segments` segments; the highest number if there are none.

    >>> sg.Session().run(sg.unsorted_segment_min([2, 3, 4], [1, 0, 1], 2))
    array([3, 2], dtype=int32)
    """
    return _unsorted_statements(outs[0], data, segment_ids, data.dtype.max, scalar.minimum)


def _bincount_type(arr: TensorType, weights: TensorType, size: Any) -> TensorType:
    require(size is None or size >= 0, f"size {size} must not be negative")
    if weights.shape != (0,):
        merge(arr.shape, weights.shape, "weights must be as many as the numbers, or none:")
    return TensorType(weights.dtype, (size,))


def _bincount(arr: np.ndarray, weights: np.ndarray, size: int) -> np.ndarray:
    weights = np.ones(arr.shape, weights.dtype) if weights.shape == (0,) else weights
    return sums(weights.reshape(-1), arr.reshape(-1), size)


@composite(
    tf="Bincount", type=_bincount_type, numpy=_bincount, operands=("size",), partial=("size",),
    vars={"arr": "int32"},
    requires=lambda arr, weights, size: [ops.in_range(arr, low=0, high=None, of="bincount", operand="arr")],
    dtypes=FLOATING | {int32, int64}, differentiable=(1,),
    samples=[Sample(indices(7, below=5), real(7), size=4), Sample(indices(2, 3, below=3), real(2, 3), size=5),
             Sample(indices(4, below=3), real(0), size=3)],
)
def bincount(arr: Any, weights: Any, *, size: int) -> Any:
    """Count how often each number below `size` occurs in `arr`, or sum its `weights` if there are any."""
    flat = ops.reshape(arr, shape=(math.prod(arr.shape),))
    if weights.shape == (0,):
        weights = ops.fill(weights.recorder.constant(1, weights.dtype), dims=arr.shape)
    return unsorted_segment_sum(ops.reshape(weights, shape=flat.shape), flat, num_segments=size)
