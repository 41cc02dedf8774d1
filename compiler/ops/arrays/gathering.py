"""Ops that read elements at positions given by other tensors.

An index out of range is an error (`requires=`). In a session that does not check bounds, the index gives
zeros. In any session it never reads outside the tensor.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from staticgraph.compiler.graph.checks.requirements import coordinates_in, index_in
from staticgraph.compiler.graph.dtypes import ANY, bool_, int64, uint8
from staticgraph.compiler.graph.errors import require
from staticgraph.compiler.graph.opdef import ops
from staticgraph.compiler.graph.shapes import TensorType, compatible, merge, normalize_axis, shape_text
from staticgraph.compiler.graph.sizes import AnySize, at_least, same
from staticgraph.compiler.kernel import scalar
from staticgraph.compiler.kernel.expr import Const, Expr
from staticgraph.compiler.ops.arrays.movement import INDEX
from staticgraph.compiler.ops.kinds import View, movement, sizes
from staticgraph.compiler.ops.samples import Sample, indices, real


def checked(index: Expr, n: AnySize) -> tuple[Expr, Expr]:
    """An index in the tensor whatever `index` is, and whether they are the same."""
    index = scalar.cast(index, int64)
    inside = (index >= 0) & (index < n)
    return scalar.minimum(scalar.maximum(index, 0), at_least(n - 1, 0)), inside


def batch_rank(batch_dims: int, rank: int) -> int:
    """`batch_dims` counted from the front."""
    require(
        -rank <= batch_dims <= rank, f"batch_dims {batch_dims} is out of range for indices of rank {rank}"
    )
    return batch_dims % rank if batch_dims < 0 else batch_dims


def gathered(params: TensorType, indices: TensorType, axis: Any, batch_dims: int) -> TensorType:
    """Type rule of gather."""
    if params.shape is None or indices.shape is None:
        return TensorType(params.dtype, None)
    batch = batch_rank(batch_dims, len(indices.shape))
    require(params.shape, "there is nothing to gather from a number")
    axis = normalize_axis(axis, len(params.shape))
    require(batch <= axis, f"batch_dims {batch} must not be greater than axis {axis}")
    lead = merge(params.shape[:batch], indices.shape[:batch], "the first batch_dims axes must agree, and")
    return TensorType(params.dtype, (*(lead or ()), *params.shape[batch:axis], *indices.shape[batch:],
                                     *params.shape[axis + 1 :]))


def _gather(params: np.ndarray, indices: np.ndarray, axis: int = 0, batch_dims: int = 0) -> np.ndarray:
    batch, axis = batch_rank(batch_dims, indices.ndim), normalize_axis(axis, params.ndim)
    n = params.shape[axis]
    lead, rest = params.shape[:batch], indices.shape[batch:]
    shape = (*params.shape[:axis], *rest, *params.shape[axis + 1 :])
    if n == 0 or 0 in shape:
        return np.zeros(shape, params.dtype)
    rows = params.reshape(math.prod(lead), math.prod(params.shape[batch:axis]), n, -1)
    which = indices.reshape(math.prod(lead), 1, math.prod(rest), 1)
    inside = (which >= 0) & (which < n)
    found = np.take_along_axis(rows, np.where(inside, which, 0), axis=2)
    return np.where(inside, found, np.zeros((), params.dtype)).reshape(shape)


def _gather_grad(
    g: Any, y: Any, params: Any, indices: Any, axis: int = 0, batch_dims: int = 0
) -> tuple[Any, None]:
    known = getattr(indices, "constant", None)  # of a Value; a Tensor's is not looked for
    if known is not None and known.ndim and batch_dims == 0:
        found = _gathered_back(g, known, params.shape, normalize_axis(axis, len(params.shape)))
        if found is not None:
            return found, None
    return ops.gather_grad(g, indices, shape=params.shape, axis=axis, batch_dims=batch_dims), None


def _gathered_back(g: Any, indices: np.ndarray, shape: Any, axis: int) -> Any:
    """The gradient by what was gathered at indices that are known and differ, such as a permutation.

    Each of its places has one element or none, so that it gathers, too: nothing is sorted or added.
    None if the indices are others.
    """
    n, count = shape[axis], indices.size
    if not isinstance(n, int) or not count or len(np.unique(indices)) < count:
        return None
    if indices.min() < 0 or indices.max() >= n:
        return None
    places = np.full(n, count, np.int64)  # behind the last element: zeros
    places[indices.reshape(-1)] = np.arange(count)
    if indices.ndim != 1:
        g = ops.reshape(g, shape=(*shape[:axis], count, *shape[axis + 1 :]))
    if count < n:
        g = ops.pad(g, paddings=tuple((0, int(d == axis)) for d in range(len(shape))))
    return ops.gather(g, places, axis=axis)


def _gather_static(types: list[TensorType], values: list[Any], axis: int = 0, batch_dims: int = 0) -> Any:
    """Entries of a vector of which only some are known."""
    if any(v is None for v in values) or (isinstance(values[1], tuple) and None in values[1]):
        return None
    if np.asarray(values[1]).dtype == object:  # open sizes: which entries a run tells
        return None
    if not (isinstance(values[0], tuple) and None in values[0]):
        return _gather(np.asarray(values[0]), np.asarray(values[1]), axis, batch_dims)
    which = np.asarray(values[1])
    if which.ndim > 1 or ((which < 0) | (which >= len(values[0]))).any():
        return None
    return tuple(values[0][i] for i in which) if which.ndim else values[0][int(which)]


@movement(
    tf="GatherV2",
    type=lambda params, indices, axis=0, batch_dims=0: gathered(params, indices, axis, batch_dims),
    numpy=_gather, grad=_gather_grad, static=_gather_static, operands=("axis",), vars={"indices": "I"},
    dtypes={"T": ANY, "I": INDEX}, strings=True, differentiable=(0,),
    requires=index_in(
        "gather", "indices", 1,
        lambda params, indices, axis=0, batch_dims=0: params.shape[normalize_axis(axis, params.rank)],
    ),
    samples=[Sample(real(4, 3), indices(2, 2, below=4)), Sample(real(3, 4), indices(5, below=4), axis=1),
             Sample(real(2, 5), indices(2, 3, below=5, dtype="int64"), axis=1, batch_dims=1),
             Sample(real(2, 3, 4), indices(2, below=3), axis=-2, batch_dims=1),
             Sample(real(3), indices(below=3)), Sample(real(3, 2), indices(4, below=7)),
             Sample(real(3, 2), indices(0, below=3))],
)
def gather(at: tuple[Expr, ...], params: View, indices: View, *, axis: int = 0, batch_dims: int = 0) -> Expr:
    """Slices of `params` along `axis`, picked by `indices`.

    The first `batch_dims` axes of both run in parallel.
    """
    batch, axis = batch_rank(batch_dims, indices.rank), normalize_axis(axis, params.rank)
    if any(same(n, 0) for n in params.shape):
        return Const(0, params.dtype)
    width = indices.rank - batch
    index = indices[at[:batch] + at[axis : axis + width]]
    place, inside = checked(index, params.shape[axis])
    return scalar.select(inside, params[at[:axis] + (place,) + at[axis + width :]], Const(0, params.dtype))


def nd_shape(params: TensorType, indices: TensorType) -> tuple[Any, Any]:
    """The shapes of what `indices` count and of the slices that they name; None if not known."""
    if indices.shape is None:
        return None, None
    require(indices.shape, "indices must have at least one axis: the last one holds the coordinates")
    depth = indices.shape[-1]
    if depth is None or params.shape is None:
        return indices.shape[:-1], None
    hint = "the last axis of indices holds the coordinates of one place"
    require(depth <= len(params.shape), f"{depth} coordinates for a tensor of rank {len(params.shape)}", hint)
    return indices.shape[:-1], params.shape[depth:]


def _gather_nd_type(params: TensorType, indices: TensorType) -> TensorType:
    outer, inner = nd_shape(params, indices)
    return TensorType(params.dtype, None if outer is None or inner is None else (*outer, *inner))


def _gather_nd(params: np.ndarray, indices: np.ndarray) -> np.ndarray:
    depth = indices.shape[-1]
    sizes = np.array(params.shape[:depth], np.int64)
    inside = np.asarray((indices >= 0) & (indices < sizes)).all(-1)
    shape = indices.shape[:-1] + params.shape[depth:]
    if any(same(n, 0) for n in params.shape):
        return np.zeros(shape, params.dtype)
    safe = np.where(np.expand_dims(inside, -1), indices, 0)
    found = params[tuple(np.moveaxis(safe, -1, 0))] if depth else np.broadcast_to(params, shape)
    return np.where(
        inside.reshape(inside.shape + (1,) * (params.ndim - depth)), found, np.zeros((), params.dtype)
    )


def coordinates(at: Sequence[Expr], indices: View, sizes: Sequence[int]) -> tuple[tuple[Expr, ...], Expr]:
    """The coordinates that `indices` hold at `at`, moved into the tensor, and whether they all were in it."""
    places: list[Expr] = []
    good: Expr = Const(True, bool_)
    for d in range(indices.shape[-1]):
        place, inside = checked(indices[(*at, Const(d, int64))], sizes[d])
        places.append(place)
        good = inside if d == 0 else good & inside
    return tuple(places), good


@movement(
    tf="GatherNd", type=_gather_nd_type, numpy=_gather_nd, vars={"indices": "I"},
    dtypes={"T": ANY, "I": INDEX}, strings=True, differentiable=(0,),
    grad=lambda g, y, params, indices: (ops.scatter_nd(indices, g, shape=sizes(params)), None), grad_takes=(),
    requires=coordinates_in("gather_nd", "indices", 1, lambda params, indices: params.shape),
    samples=[Sample(real(3, 4), indices(5, 2, below=3)),
             Sample(real(3, 4), indices(2, 2, 1, below=3, dtype="int64")),
             Sample(real(4), indices(1, below=4)), Sample(real(3, 4), indices(6, 2, below=6)),
             Sample(real(2), indices(3, 0, below=1))],
)
def gather_nd(at: tuple[Expr, ...], params: View, indices: View) -> Expr:
    """Elements or slices of `params` at coordinates that the last axis of `indices` holds."""
    if any(same(n, 0) for n in params.shape):
        return Const(0, params.dtype)
    outer = indices.rank - 1
    places, good = coordinates(at[:outer], indices, params.shape)
    return scalar.select(good, params[places + at[outer:]], Const(0, params.dtype))


def _one_hot_type(
    indices: TensorType, on_value: TensorType, off_value: TensorType, depth: Any, axis: int = -1
) -> TensorType:
    require(
        compatible(on_value.shape, ()) and compatible(off_value.shape, ()),
        f"on_value {shape_text(on_value.shape)} and off_value {shape_text(off_value.shape)} must be numbers",
    )
    if indices.shape is None:
        return TensorType(on_value.dtype, None)
    require(depth is None or depth >= 0, f"depth {depth} must not be negative")
    axis = normalize_axis(axis, len(indices.shape) + 1)
    return TensorType(on_value.dtype, (*indices.shape[:axis], depth, *indices.shape[axis:]))


def _one_hot(indices: np.ndarray, on_value: Any, off_value: Any, depth: int, axis: int = -1) -> np.ndarray:
    axis = normalize_axis(axis, indices.ndim + 1)
    places = np.arange(depth).reshape((depth,) + (1,) * (indices.ndim - axis))
    return np.where(np.expand_dims(indices, axis) == places, on_value, off_value)


@movement(
    tf="OneHot", type=_one_hot_type, numpy=_one_hot, operands=("depth",), partial=("depth",),
    vars={"indices": "I"}, dtypes={"T": ANY, "I": INDEX | {uint8}}, strings=True, differentiable=False,
    samples=[Sample(indices(4, below=3), real(), real(), depth=3),
             Sample(indices(2, 3, below=5), real(), real(), depth=4, axis=0),
             Sample(indices(2, 3, below=5, dtype="int64"), real(), real(), depth=4, axis=1),
             Sample(indices(below=2), real(), real(), depth=2),
             Sample(indices(2, below=2), real(), real(), depth=0)],
    elements_of=(1, 2),
)
def one_hot(
    at: tuple[Expr, ...], indices: View, on_value: View, off_value: View, *, depth: int, axis: int = -1
) -> Expr:
    """A new `axis` of size `depth`: `on_value` at the index, `off_value` elsewhere."""
    axis = normalize_axis(axis, len(at))
    hit = scalar.cast(indices[at[:axis] + at[axis + 1 :]], int64)
    return scalar.select(scalar.eq(hit, at[axis]), on_value[()], off_value[()])
