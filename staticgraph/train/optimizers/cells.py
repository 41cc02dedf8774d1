"""Cells of variables, for sparse gradients: the rows that a gradient touches, or variables whose rows decay.

An update of a whole variable is one op. With a sparse gradient the op's formula gets these cells, and then
each of them makes the operation that writes its new value.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from staticgraph.arrays.indexed_slices import IndexedSlices
from staticgraph.compiler import ops
from staticgraph.compiler.graph.tensor import Operation, Tensor
from staticgraph.compiler.ops.training.row_sums import summed_by_row
from staticgraph.compiler.ops.training.steps import Cell
from staticgraph.state.variables import Variable


class Whole(Cell):
    """A variable.

    The operation that writes it is made by `write` after the whole rule: an operation made later would see
    what was written.
    """

    def __init__(self, variable: Variable) -> None:
        self.variable = variable
        self._delta: Any = None
        super().__init__(self._read())

    def _read(self) -> Tensor:
        return self.variable.to_tensor()

    def subtract(self, delta: Any) -> None:
        self._delta = delta

    def write(self) -> Operation:
        """Make the operation that stores the new value."""
        if self._delta is not None:
            made: Operation = ops.assign_sub(self.variable.handle, self._delta).op
            return made
        return ops.assign(self.variable.handle, self.new).op


class Rows(Cell):
    """Some rows of a variable. A row may be listed several times in `indices`: each time its new value is the
    same.
    """

    def __init__(self, variable: Variable, indices: Tensor) -> None:
        self.variable, self.indices = variable, indices
        super().__init__(ops.gather(variable.to_tensor(), indices, axis=0))

    def write(self) -> Operation:
        """Make the operation that stores the new rows."""
        return ops.scatter_update(self.variable.handle, self.indices, self.new).op


class ReducedRows(Whole):
    """Rows of a variable that are only subtracted from; what is listed several times adds up."""

    def __init__(self, variable: Variable, indices: Tensor) -> None:
        super().__init__(variable)
        self.indices = indices

    def write(self) -> Operation:
        return ops.scatter_sub(self.variable.handle, self.indices, self._delta).op


class DecayingRows(Whole):
    """A moving average of which all rows decay, and `indices` take their sample in.

    `average` returns the whole variable, or with `only_touched` the rows of `indices`.
    """

    def __init__(self, variable: Variable, indices: Tensor, only_touched: bool = False) -> None:
        super().__init__(variable)
        self.indices, self.only_touched = indices, only_touched
        self._averaged: Tensor | None = None

    def average(self, sample: Tensor, decay: Any) -> Tensor:
        decayed = ops.assign(self.variable.handle, ops.decayed(self.value, decay, name="mul"))
        rows = ops.gather(decayed, self.indices, axis=0) + sample * (1.0 - decay)
        self._averaged = ops.scatter_update(self.variable.handle, self.indices, rows)
        return rows if self.only_touched else self._averaged

    def write(self) -> Operation:
        return super().write() if self._averaged is None else self._averaged.op


# From a sparse gradient and its variable: the gradient for the formula, and what makes the cell of the
# variable and those of its slots.
Places = tuple[Tensor, Callable[[Variable], Any], Callable[[Variable], Any]]


def touched_rows(gradient: IndexedSlices, variable: Variable) -> Places:
    """The rows that the gradient touches; the others stay as they are."""
    summed = _summed(gradient, variable)
    rows = partial(Rows, indices=summed.indices)
    return summed.values, rows, rows


def touched_rows_in_place(gradient: IndexedSlices, variable: Variable) -> Places:
    """The rows that the gradient touches, for a rule that only subtracts."""
    rows = partial(ReducedRows, indices=gradient.indices)
    return gradient.values, rows, rows


def decaying_rows(gradient: IndexedSlices, variable: Variable) -> Places:
    """All rows: moving averages decay everywhere, and so every row of the variable moves."""
    summed = _summed(gradient, variable)
    return summed.values, Whole, partial(DecayingRows, indices=summed.indices)


def touched_rows_of_decaying(gradient: IndexedSlices, variable: Variable) -> Places:
    """The rows of the variable that the gradient touches; moving averages decay everywhere."""
    summed = _summed(gradient, variable)
    slots = partial(DecayingRows, indices=summed.indices, only_touched=True)
    return summed.values, partial(Rows, indices=summed.indices), slots


def all_rows(gradient: IndexedSlices, variable: Variable) -> Places:
    """All rows, with a gradient of zeros for those that are not touched."""
    return gradient.to_tensor(), Whole, Whole


def _summed(gradient: IndexedSlices, variable: Variable) -> IndexedSlices:
    """A sparse gradient with the same indices, in which each slice is the sum of all slices of its row."""
    known = variable.type.shape
    rows = known[0] if known is not None and known[0] is not None else ops.shape_of(variable)[0]
    return gradient.with_values(summed_by_row(gradient.values, gradient.indices, rows))
