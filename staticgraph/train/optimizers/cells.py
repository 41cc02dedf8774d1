"""Places of an update: a whole variable, or the rows of it that a sparse gradient touches.

A rule reads and writes a variable and its slots through cells, and so it is one formula for dense and sparse
gradients. A function of `Sparse` chooses the cells for a sparse gradient.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from staticgraph.arrays.indexed_slices import IndexedSlices
from staticgraph.compiler import ops
from staticgraph.compiler.graph.dtypes import int32
from staticgraph.compiler.graph.tensor import Operation, Tensor
from staticgraph.state.variables import Variable


class Cell:
    """A variable: its value, and the value that it is going to have.

    The operation that writes it is made by `write` after the whole rule: an operation made later would see
    what was written.
    """

    def __init__(self, variable: Variable) -> None:
        self.variable = variable
        self.value = self._read()
        self._new: tuple[Any, Tensor] | None = None

    def _read(self) -> Tensor:
        return self.variable.to_tensor()

    def set(self, value: Tensor) -> Tensor:
        """Take `value` for the new value; returns it."""
        self._new = ops.assign, value
        return value

    def subtract(self, delta: Tensor) -> None:
        """Take the value less `delta` for the new value."""
        self._new = ops.assign_sub, delta

    def average(self, sample: Tensor, decay: Any, part: Any) -> Tensor:
        """Take `sample` into a moving average; returns the new average. `part` is 1 - `decay`."""
        return self.set(self.value + (sample - self.value) * part)

    def write(self) -> Operation:
        """Make the operation that stores the new value."""
        assert self._new is not None
        op, value = self._new
        return op(self.variable.handle, value).op


class Rows(Cell):
    """Some rows of a variable. A row may be listed several times in `indices`: each time its new value is the
    same.
    """

    def __init__(self, variable: Variable, indices: Tensor) -> None:
        self.indices = indices
        super().__init__(variable)

    def _read(self) -> Tensor:
        return ops.gather(self.variable.to_tensor(), self.indices, axis=0)

    def subtract(self, delta: Tensor) -> None:
        self.set(self.value - delta)

    def write(self) -> Operation:
        assert self._new is not None
        return ops.scatter_update(self.variable.handle, self.indices, self._new[1]).op


class ReducedRows(Cell):
    """Rows of a variable that are only subtracted from; what is listed several times adds up."""

    def __init__(self, variable: Variable, indices: Tensor) -> None:
        super().__init__(variable)
        self.indices = indices

    def subtract(self, delta: Tensor) -> None:
        self._new = ops.scatter_sub, delta

    def write(self) -> Operation:
        assert self._new is not None
        op, delta = self._new
        return op(self.variable.handle, self.indices, delta).op


class DecayingRows(Cell):
    """A moving average of which all rows decay, and `indices` take their sample in.

    `average` returns the whole variable, or with `only_touched` the rows of `indices`.
    """

    def __init__(self, variable: Variable, indices: Tensor, only_touched: bool = False) -> None:
        super().__init__(variable)
        self.indices, self.only_touched = indices, only_touched
        self._averaged: Tensor | None = None

    def average(self, sample: Tensor, decay: Any, part: Any) -> Tensor:
        decayed = ops.assign(self.variable.handle, self.value * decay)
        rows = ops.gather(decayed, self.indices, axis=0) + sample * part
        self._averaged = ops.scatter_update(self.variable.handle, self.indices, rows)
        return rows if self.only_touched else self._averaged

    def write(self) -> Operation:
        return super().write() if self._averaged is None else self._averaged.op


# From a sparse gradient and its variable: the gradient for the formula, and what makes the cell of the
# variable and those of its slots.
Places = tuple[Tensor, Callable[[Variable], Cell], Callable[[Variable], Cell]]
Sparse = Callable[[IndexedSlices, Variable], Places]


def touched_rows(gradient: IndexedSlices, variable: Variable) -> Places:
    """The rows that the gradient touches; the others stay as they are."""
    summed = summed_by_row(gradient, variable)
    rows = partial(Rows, indices=summed.indices)
    return summed.values, rows, rows


def touched_rows_in_place(gradient: IndexedSlices, variable: Variable) -> Places:
    """The rows that the gradient touches, for a rule that only subtracts."""
    rows = partial(ReducedRows, indices=gradient.indices)
    return gradient.values, rows, rows


def decaying_rows(gradient: IndexedSlices, variable: Variable) -> Places:
    """All rows: moving averages decay everywhere, and so every row of the variable moves."""
    summed = summed_by_row(gradient, variable)
    return summed.values, Cell, partial(DecayingRows, indices=summed.indices)


def touched_rows_of_decaying(gradient: IndexedSlices, variable: Variable) -> Places:
    """The rows of the variable that the gradient touches; moving averages decay everywhere."""
    summed = summed_by_row(gradient, variable)
    slots = partial(DecayingRows, indices=summed.indices, only_touched=True)
    return summed.values, partial(Rows, indices=summed.indices), slots


def all_rows(gradient: IndexedSlices, variable: Variable) -> Places:
    """All rows, with a gradient of zeros for those that are not touched."""
    return gradient.to_tensor(), Cell, Cell


def summed_by_row(gradient: IndexedSlices, variable: Variable) -> IndexedSlices:
    """A sparse gradient with the same indices, in which each slice is the sum of all slices of its row.

    So no shape depends on how many rows are distinct: a row that is listed several times gets the same new
    value several times.
    """
    known = variable.type.shape
    rows = known[0] if known is not None and known[0] is not None else ops.shape_of(variable)[0]
    size = ops.shape_of(gradient.indices)[0]
    numbers = ops.range(start=1, limit=size + 1, delta=1, dtype=int32)
    columns = ops.expand_dims(gradient.indices, axis=-1)
    last = ops.gather(
        ops.tensor_scatter_update(ops.fill(0, dims=[rows]), columns, numbers), gradient.indices, axis=0
    )
    summed = ops.scatter_nd(
        ops.expand_dims(last - 1, axis=-1), gradient.values, shape=ops.shape_of(gradient.values)
    )
    return IndexedSlices(ops.gather(summed, last - 1, axis=0), gradient.indices, gradient.dense_shape)
