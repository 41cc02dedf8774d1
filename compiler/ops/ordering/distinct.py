"""Different numbers, and numbers that others lack: the native part of `unique` and `setdiff1d`.

    distinct_numbers(3 1 3)   ->   3 1 0,  the places 0 1 0,  the counts 2 1 0,  and 2 numbers

Results have room for the most elements that are possible, and zeros behind those that there are. How many
there are is a result, too: `selection.py` takes as much of the others.
"""

from __future__ import annotations

import numpy as np

from staticgraph.compiler.graph.dtypes import ANY, DType, int32, int64
from staticgraph.compiler.graph.shapes import TensorType
from staticgraph.compiler.graph.sizes import AnySize, same
from staticgraph.compiler.kernel.expr import Const, Index, number
from staticgraph.compiler.kernel.scalar import cast, select
from staticgraph.compiler.kernel.stmt import If, Let, Loop, LoopKind, Store, Update
from staticgraph.compiler.ops.arrays.movement import check_index
from staticgraph.compiler.ops.kinds import Described, Out, View, routine
from staticgraph.compiler.ops.ordering.number_tables import NumberTable, room
from staticgraph.compiler.ops.ordering.positions import vector, zeros_behind
from staticgraph.compiler.ops.samples import Sample, indices, real
from staticgraph.compiler.ops.statements.strips import Body, Fresh, whole


def in_order(x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The different elements in order of first appearance, the place of each among them, and their counts.

    NaN is different from NaN.
    """
    _, first, inverse, counts = np.unique(
        x, return_index=True, return_inverse=True, return_counts=True, equal_nan=x.dtype.hasobject
    )
    order = np.argsort(first)
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    return x[first[order]], place[inverse], counts[order]


def _padded(x: np.ndarray, length: int) -> np.ndarray:
    return np.concatenate([x, np.zeros(length - len(x), x.dtype)])


def _no_entries(length: int) -> np.ndarray:
    return np.zeros(room(length), np.int32)


def _memory(length: AnySize | None) -> TensorType:
    """The type of the memory of a table. It is a result, as scratch memory cannot have an open size."""
    return TensorType(int32, (None if length is None else room(length),))


def _erased(fresh: Fresh, memory: Out) -> Loop:
    entry = fresh.index("entry", memory.shape[0])
    return Loop(entry, (Store(memory.buffer, (entry,), Const(0, int32)),), LoopKind.PARALLEL)


def _table(fresh: Fresh, memory: Out, listed: Out) -> NumberTable:
    """A table of the numbers in `listed`."""
    return NumberTable(memory.buffer, memory.shape[0], lambda i: listed[i], listed.dtype, fresh)


def _distinct_types(x: TensorType, out_idx: DType, counted: bool) -> tuple[TensorType, ...]:
    check_index("out_idx", out_idx)
    places = TensorType(out_idx, x.shape)
    counts = places if counted else TensorType(out_idx, (0,))
    return x, places, counts, TensorType(int64, (1,)), _memory(vector(x, "x"))


def _distinct_numbers(x: np.ndarray, out_idx: DType, counted: bool) -> tuple[np.ndarray, ...]:
    values, places, counts = in_order(x)
    n, index = len(x), out_idx.numpy
    told = _padded(counts.astype(index), n) if counted else np.zeros(0, index)
    return _padded(values, n), places.astype(index), told, np.array([len(values)]), _no_entries(n)


@routine(
    type=_distinct_types, numpy=_distinct_numbers, dtypes=ANY, differentiable=False, long=lambda *_: True,
    samples=[
        Sample(indices(40, below=9), out_idx=int32, counted=True),
        Sample(real(3000), out_idx=int64, counted=False),
        Sample(real(1), out_idx=int32, counted=True),
        Sample(real(0), out_idx=int32, counted=True),
    ],
)  # fmt: skip
def distinct_numbers(outs: tuple[Out, ...], x: View, *, out_idx: DType, counted: bool) -> Described:
    """The different elements of a vector in order of first appearance, and what is known of them.

    The results are these elements, the place of each element among them, the counts of each if they are to be
    `counted`, how many of them there are, and the memory of a table, which is zero.
    """
    values, places, counts, total, memory = outs
    fresh, length = Fresh(), x.shape[0]
    table = _table(fresh, memory, values)

    def element(i: Index, near: bool) -> Body:
        value, place = fresh.local("value", x.dtype), fresh.local("place", int64)
        slot, entry, search = table.found(value, near)
        new: Body = (Store(values.buffer, (place,), value), *table.added(value, slot, entry, near))
        return (
            Let(value, x[i]),
            *search,
            Let(place, select(entry > 0, cast(entry - 1, int64), table.count)),
            If(entry < 1, new),
            Store(places.buffer, (i,), cast(place, out_idx)),
        )

    def none(place: Index) -> Body:
        return (Store(counts.buffer, (place,), Const(0, out_idx)),)

    def count(i: Index) -> Body:
        place = cast(places[i], int64)
        return (Store(counts.buffer, (place,), counts[place] + 1),)

    told: Body = ()
    padded = [values]
    if counted and not same(length, 0):
        told = fresh.between(0, table.count, length, none, "none"), fresh.each(length, count)
        padded.append(counts)
    body = (
        *table.begun(length, lambda i: x[i]),
        *table.each(length, element),
        *told,
        Store(total.buffer, (whole(0),), table.count),
    )
    once = Loop(fresh.index("once", 1), body)
    return Described((once, *zeros_behind(fresh, total, *padded), _erased(fresh, memory)))


def _absent_types(x: TensorType, y: TensorType, out_idx: DType) -> tuple[TensorType, ...]:
    check_index("out_idx", out_idx)
    vector(x, "x")
    n = vector(y, "y")
    listed = TensorType(y.dtype, (None if n is None else n + 1,))
    return x, TensorType(out_idx, x.shape), TensorType(int64, (1,)), listed, _memory(n)


def _absent_numbers(x: np.ndarray, y: np.ndarray, out_idx: DType) -> tuple[np.ndarray, ...]:
    n, places = len(x), np.flatnonzero(~np.isin(x, y))
    found = np.array([len(places)])
    told = _padded(places.astype(out_idx.numpy), n)
    return _padded(x[places], n), told, found, _padded(y, len(y) + 1), _no_entries(len(y))


@routine(
    type=_absent_types, numpy=_absent_numbers, dtypes=ANY, differentiable=False, long=lambda *_: True,
    samples=[
        Sample(indices(40, below=9), indices(5, below=9), out_idx=int32),
        Sample(indices(30, below=900), indices(2000, below=900), out_idx=int64),
        Sample(real(3), real(0), out_idx=int64),
        Sample(real(0), real(4), out_idx=int32),
    ],
)  # fmt: skip
def absent_numbers(outs: tuple[Out, ...], x: View, y: View, *, out_idx: DType) -> Described:
    """The elements of a vector that are not in `y`, and their places.

    The results are these elements, their places, how many of them there are, the elements of `y` with a zero
    behind them, and the memory of a table, which is zero.
    """
    values, places, total, listed, memory = outs
    fresh, length = Fresh(), y.shape[0]
    table = _table(fresh, memory, listed)
    found = fresh.local("found", int64)

    def known(i: Index, near: bool) -> Body:
        """Copy an element, and enter it if no equal one came before. The table counts the copies."""
        value = fresh.local("known", x.dtype)
        slot, entry, search = table.found(value, near)
        added = table.added(value, slot, entry, near)
        return Let(value, y[i]), *search, Store(listed.buffer, (i,), value), *added

    def element(i: Index, near: bool) -> Body:
        value = fresh.local("value", x.dtype)
        _, entry, search = table.found(value, near)
        absent: Body = (
            Store(values.buffer, (found,), value),
            Store(places.buffer, (found,), cast(i, out_idx)),
            Update(found, found + 1),
        )
        return Let(value, x[i]), *search, If(entry < 1, absent)

    body = (
        *table.begun(length, lambda i: y[i]),
        *table.each(length, known),
        Store(listed.buffer, (number(length, int64),), Const(0, x.dtype)),
        Let(found, whole(0)),
        *table.each(x.shape[0], element),
        Store(total.buffer, (whole(0),), found),
    )
    once = Loop(fresh.index("once", 1), body)
    return Described((once, *zeros_behind(fresh, total, values, places), _erased(fresh, memory)))
