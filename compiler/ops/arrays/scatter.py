"""Ops that write elements at positions given by other tensors.

An index out of range is an error (`requires=`), and writes nothing in a session that does not check bounds.
If several updates name one position, they are added up, or the last one stays.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from staticgraph.compiler.graph.checks.requirements import coordinates_in
from staticgraph.compiler.graph.dtypes import ANY, NUMERIC, blank, bool_, int64
from staticgraph.compiler.graph.errors import require
from staticgraph.compiler.graph.opdef import ops
from staticgraph.compiler.graph.shapes import Shape, TensorType, merge, normalize_axis, shape_text
from staticgraph.compiler.graph.sizes import AnySize, Size, same
from staticgraph.compiler.kernel.expr import Const, Expr, Index, Local
from staticgraph.compiler.kernel.scalar import cast
from staticgraph.compiler.kernel.stmt import If, Let, Loop, Stmt, Store
from staticgraph.compiler.ops.arrays.gathering import batch_rank, checked, coordinates, gathered, nd_shape
from staticgraph.compiler.ops.arrays.movement import INDEX
from staticgraph.compiler.ops.arrays.updates import in_order
from staticgraph.compiler.ops.kinds import Described, Out, View, rounded_once, routine
from staticgraph.compiler.ops.samples import Sample, indices, real
from staticgraph.compiler.ops.statements.loops import counters, each, nested

Combine = Callable[[Expr, Expr], Expr]
_ACCUMULATED = NUMERIC
_TYPES = {"T": ANY, "I": INDEX}
_LEAST_BLOCK, _BLOCK = 32, 128  # columns: worth to look at all slices for; enough to read memory in a stream
_UNIT = 16  # columns: no two blocks write to one cache line


def slices(
    outer: Sequence[Index],
    places: Sequence[Expr],
    inside: Expr,
    columns: Sequence[int],
    write: Callable[[tuple[Expr, ...], tuple[Expr, ...]], Store],
) -> tuple[Stmt, ...]:
    """`write(places, at)` for every position `at` within slices of shape `columns`, slice after slice.

    Slices whose places are not `inside` are left out. Places may be equal, so slices keep their order.
    Columns never meet: wide slices are cut into blocks, and each block goes through all slices by itself.
    """
    rows = tuple(Local(f"row{d}", int64) for d in range(len(places)))
    lets = tuple(Let(row, place) for row, place in zip(rows, places, strict=True))
    if not columns:
        return nested(outer, (*lets, If(inside, (write(rows, ()),))))
    width = _block_width(columns[-1])
    if same(width, columns[-1]):
        at = counters(columns, "s")
        return nested(outer, (*lets, If(inside, nested(at, (write(rows, at),)))))
    block = Index("block", columns[-1] // width)
    at = counters((*columns[:-1], width), "s")
    column = (*at[:-1], block * width + at[-1])
    return nested((block, *outer), (*lets, If(inside, nested(at, (write(rows, column),)))))


def updated(
    out: Out,
    begin: tuple[Stmt, ...],
    body: tuple[Stmt, ...],
    outer: Sequence[Index],
    places: Sequence[Expr],
    inside: Expr,
    columns: Sequence[int],
    write: Callable[[tuple[Expr, ...], tuple[Expr, ...]], Store],
) -> tuple[Stmt, ...] | Described:
    """`begin`, which stores all of the result, then `body`, which are `slices` of the others."""
    at = counters(columns, "s")
    form = in_order(out, begin, outer, inside, at, write(tuple(places), at))
    return begin + body if form is None else Described(begin + body, form)


def _block_width(columns: AnySize) -> AnySize:
    """The number of columns of a block, of those that slices are cut into; all of them where that is no help,
    or where their number is open.

    >>> _block_width(1024), _block_width(320), _block_width(64), _block_width(60), _block_width(32)
    (128, 80, 32, 60, 32)
    """
    if isinstance(columns, Size):
        return columns
    most = min(_BLOCK, columns // 2) // _UNIT * _UNIT
    return next((n for n in range(most, _LEAST_BLOCK - 1, -_UNIT) if columns % n == 0), columns)


@rounded_once
def _gather_grad(
    updates: np.ndarray, which: np.ndarray, shape: Any, axis: int, batch_dims: int = 0
) -> np.ndarray:
    batch, axis = batch_rank(batch_dims, which.ndim), normalize_axis(axis, len(shape))
    n, lead, outer = shape[axis], math.prod(shape[:batch]), math.prod(shape[batch:axis])
    out = np.zeros((lead, n, outer, math.prod(shape[axis + 1 :])), updates.dtype)
    count = math.prod(which.shape[batch:])
    rows = updates.reshape(lead, outer, count, out.shape[3]).transpose(0, 2, 1, 3)
    for b, places in enumerate(which.reshape(lead, count)):
        good = (places >= 0) & (places < n)
        np.add.at(out[b], places[good], rows[b][good])
    return out.transpose(0, 2, 1, 3).reshape(shape)


def _gather_grad_type(
    updates: TensorType, indices: TensorType, shape: Any, axis: int, batch_dims: int = 0
) -> TensorType:
    merge(
        gathered(TensorType(updates.dtype, shape), indices, axis, batch_dims).shape,
        updates.shape,
        "updates must be",
    )
    return TensorType(updates.dtype, tuple(shape))


@routine(
    tf="GatherGrad", type=_gather_grad_type, numpy=_gather_grad, vars={"indices": "I"},
    dtypes={"T": NUMERIC, "I": INDEX}, differentiable=(0,),
    grad=lambda g, y, updates, indices, shape, axis, batch_dims=0: (
        ops.gather(g, indices, axis=axis, batch_dims=batch_dims),
        None,
    ),
    samples=[Sample(real(5, 3), indices(5, below=4), shape=(4, 3), axis=0),
             Sample(real(2, 3), indices(2, 3, below=4), shape=(2, 4), axis=1, batch_dims=1),
             Sample(real(3, 2, 2, 2), indices(2, 2, below=3), shape=(3, 3, 2), axis=1),
             Sample(real(0, 2), indices(0, below=3), shape=(3, 2), axis=0)],
    totals_in_float32=True,
)
def gather_grad(
    outs: tuple[Out, ...], updates: View, indices: View, *, shape: Any, axis: int, batch_dims: int = 0
) -> tuple[Stmt, ...] | Described:
    """The adjoint of `gather` by `axis` and `batch_dims`: updates are added where it would have read them.

    The sums begin with zeros of `shape`.
    """
    (out,) = outs
    batch, axis = batch_rank(batch_dims, indices.rank), normalize_axis(axis, len(shape))
    end = axis + indices.rank - batch
    at = counters(updates.shape[:end], "u")
    place, inside = checked(indices[at[:batch] + at[axis:]], shape[axis])

    def add(row: tuple[Expr, ...], column: tuple[Expr, ...]) -> Store:
        target = (*at[:axis], *row, *column)
        return Store(out.buffer, target, out[target] + updates[(*at, *column)])

    begin = each(out, lambda _: Const(0, out.dtype))
    where = at, (place,), inside, updates.shape[end:], add
    return updated(out, begin, slices(*where), *where)


def _scatter_nd_type(indices: TensorType, updates: TensorType, shape: Any) -> TensorType:
    if shape is not None:
        require(all(n is None or n >= 0 for n in shape), f"shape {list(shape)} has a negative size")
        _check_updates(TensorType(updates.dtype, shape), indices, updates)
    return TensorType(updates.dtype, shape if shape is None else tuple(shape))


def _check_updates(tensor: TensorType, indices: TensorType, updates: TensorType) -> None:
    outer, inner = nd_shape(tensor, indices)
    if outer is not None and inner is not None:
        wanted: Shape = (*outer, *inner)
        merge(wanted, updates.shape, "for these indices updates must be")


def _scattered(tensor: np.ndarray, indices: np.ndarray, updates: np.ndarray, at: Any) -> np.ndarray:
    out = np.array(tensor)
    depth = indices.shape[-1]
    flat = (
        indices.reshape(-1, depth)
        if indices.size or depth
        else np.zeros((math.prod(indices.shape[:-1]), depth), int)
    )
    rows = updates.reshape(len(flat), *tensor.shape[depth:])
    for place, row in zip(flat, rows, strict=True):
        if all(0 <= i < n for i, n in zip(place, tensor.shape, strict=False)):
            key = tuple(place)
            out[key] = at(out[key], row)
    return out


def scatter_statements(
    out: Out, start: Callable[[tuple[Expr, ...]], Expr], indices: View, updates: View, combine: Combine
) -> tuple[Stmt, ...] | Described:
    """`start` everywhere, then one update after the other."""
    depth = indices.shape[-1]
    at = counters(indices.shape[:-1], "u")
    places, good = coordinates(at, indices, out.shape)

    def write(rows: tuple[Expr, ...], columns: tuple[Expr, ...]) -> Store:
        target = (*rows, *columns)
        return Store(out.buffer, target, combine(out[target], updates[(*at, *columns)]))

    where = at, places, good, out.shape[depth:], write
    body = () if any(same(n, 0) for n in out.shape) else slices(*where)
    return updated(out, each(out, start), body, *where)


def _sum(old: Expr, new: Expr) -> Expr:
    return old + new


def _or(old: Expr, new: Expr) -> Expr:
    return old | new


@routine(
    tf="ScatterNd", type=_scatter_nd_type, operands=("shape",), partial=("shape",), vars={"indices": "I"},
    dtypes={"T": _ACCUMULATED | {bool_}, "I": INDEX}, differentiable=(1,), strings=True,
    numpy=rounded_once(
        lambda indices, updates, shape: _scattered(
            blank(shape, updates.dtype), indices, updates, np.add
        )
    ),
    grad=lambda g, y, indices, updates, shape: (None, ops.gather_nd(g, indices)), grad_takes=(),
    requires=coordinates_in("scatter_nd", "indices", 0, lambda indices, updates, shape: shape),
    samples=[Sample(indices(4, 1, below=3), real(4, 2), shape=(3, 2)),
             Sample(indices(5, 2, below=3), real(5), shape=(3, 4)),
             Sample(indices(2, 2, 1, below=6, dtype="int64"), real(2, 2), shape=(4,)),
             Sample(indices(0, 1, below=3), real(0, 2), shape=(3, 2))],
    totals_in_float32=True,
)
def scatter_nd(
    outs: tuple[Out, ...], indices: View, updates: View, *, shape: Any
) -> tuple[Stmt, ...] | Described:
    """Zeros of `shape`, and the updates added at coordinates that the last axis of `indices` holds.

    Truth values are joined by "or".
    """
    (out,) = outs
    return scatter_statements(
        out, lambda at: Const(0, out.dtype), indices, updates, _or if out.dtype is bool_ else _sum
    )


def _tensor_scatter_type(tensor: TensorType, indices: TensorType, updates: TensorType) -> TensorType:
    _check_updates(tensor, indices, updates)
    return tensor


def _within(of: str) -> Any:
    return coordinates_in(of, "indices", 1, lambda tensor, indices, updates: tensor.shape)


_SAMPLES = [
    Sample(real(4, 2), indices(3, 1, below=4), real(3, 2)),
    Sample(real(3, 4), indices(5, 2, below=3), real(5)),
    Sample(real(4), indices(2, 2, 1, below=6, dtype="int64"), real(2, 2)),
    Sample(real(3), indices(0, 1, below=3), real(0)),
]


@routine(
    tf="TensorScatterAdd", type=_tensor_scatter_type, vars={"indices": "I"},
    dtypes={"T": _ACCUMULATED, "I": INDEX},
    numpy=lambda tensor, indices, updates: _scattered(tensor, indices, updates, np.add), samples=_SAMPLES,
    differentiable=(0, 2), requires=_within("tensor_scatter_add"),
    grad=lambda g, y, tensor, indices, updates: (g, None, ops.gather_nd(g, indices)), grad_takes=(),
)
def tensor_scatter_add(
    outs: tuple[Out, ...], tensor: View, indices: View, updates: View
) -> tuple[Stmt, ...] | Described:
    """`tensor` with the updates added at the coordinates in `indices`."""
    return scatter_statements(outs[0], tensor.__getitem__, indices, updates, _sum)


@routine(
    tf="TensorScatterSub", type=_tensor_scatter_type, vars={"indices": "I"},
    dtypes={"T": _ACCUMULATED, "I": INDEX},
    numpy=lambda tensor, indices, updates: _scattered(tensor, indices, updates, np.subtract),
    samples=_SAMPLES, differentiable=(0, 2), requires=_within("tensor_scatter_sub"),
    grad=lambda g, y, tensor, indices, updates: (g, None, -ops.gather_nd(g, indices)), grad_takes=(),
)
def tensor_scatter_sub(
    outs: tuple[Out, ...], tensor: View, indices: View, updates: View
) -> tuple[Stmt, ...] | Described:
    """`tensor` with the updates subtracted at the coordinates in `indices`."""
    return scatter_statements(outs[0], tensor.__getitem__, indices, updates, lambda old, new: old - new)


_ONCE = [
    Sample(real(4, 2), indices(1, 1, below=4), real(1, 2)),
    Sample(real(3, 4), indices(1, 2, below=3), real(1)),
    Sample(real(3), indices(0, 1, below=3), real(0)),
]


@routine(
    tf="TensorScatterUpdate", type=_tensor_scatter_type, vars={"indices": "I"}, dtypes=_TYPES, samples=_ONCE,
    strings=True,
    numpy=lambda tensor, indices, updates: _scattered(tensor, indices, updates, lambda old, new: new),
    differentiable=(0, 2), requires=_within("tensor_scatter_update"),
    grad=lambda g, y, tensor, indices, updates: (
        ops.tensor_scatter_update(g, indices, ops.zeros_like(updates)), None, ops.gather_nd(g, indices),
    ),
)
def tensor_scatter_update(
    outs: tuple[Out, ...], tensor: View, indices: View, updates: View
) -> tuple[Stmt, ...] | Described:
    """`tensor` with the updates in place of what was at the coordinates in `indices`."""
    return scatter_statements(outs[0], tensor.__getitem__, indices, updates, lambda old, new: new)


def _invert_type(x: TensorType) -> TensorType:
    require(x.rank in (None, 1), f"a permutation is a vector, not {shape_text(x.shape)}")
    return x


def _invert(x: np.ndarray) -> np.ndarray:
    out, inside = np.zeros_like(x), (x >= 0) & (x < len(x))
    out[x[inside]] = np.arange(len(x), dtype=x.dtype)[inside]
    return out


@routine(
    tf="InvertPermutation", type=_invert_type, numpy=_invert,
    requires=lambda x: [ops.is_permutation(x, of="invert_permutation", operand="x")], vars={"x": "I"},
    dtypes={"I": INDEX}, differentiable=False,
    samples=[Sample(indices(1, below=1)), Sample(indices(1, below=1, dtype="int64")),
             Sample(indices(0, below=1))],
)
def invert_permutation(outs: tuple[Out, ...], x: View) -> tuple[Stmt, ...] | Described:
    """The permutation y with y[x[i]] = i. What is no permutation leaves zeros."""
    (out,) = outs
    i = Index("i", x.shape[0])
    place, inside = checked(x[i], x.shape[0])
    store = Store(out.buffer, (place,), cast(i, x.dtype))
    begin = each(out, lambda at: Const(0, x.dtype), "z")
    body = (*begin, Loop(i, (If(inside, (store,)),)))
    form = in_order(out, begin, (i,), inside, (), store)
    return body if form is None else Described(body, form)
