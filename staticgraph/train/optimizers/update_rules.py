"""Optimizers as one formula: the same rule updates whole variables or some rows of them.

A `Cell` is what a rule reads and writes: a variable, or the
rows of a variable that a sparse gradient touches.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from staticgraph.arrays.indexed_slices import IndexedSlices
from staticgraph.building.inputs import group
from staticgraph.compiler import ops
from staticgraph.compiler.graph.dtypes import int32
from staticgraph.compiler.graph.tensor import Operation, Tensor
from staticgraph.state.variables import Variable
from staticgraph.train.optimizers.optimizer import Optimizer


class Cell(Protocol):
    """A value, and what it is going to be.

    The operation that writes it is made by `write` after the whole rule: an operation made later would see
    what was written.
    """

    @property
    def value(self) -> Tensor: ...

    def set(self, value: Tensor) -> Tensor:
        """Take `value` for the new value; returns it."""

    def subtract(self, delta: Tensor) -> None:
        """Take the value less `delta` for the new value."""

    def write(self) -> Operation:
        """Make the operation that stores the new value."""


class Whole:
    """A variable as a `Cell`."""

    def __init__(self, variable: Variable) -> None:
        self.variable = variable
        self.value = variable.to_tensor()
        self._new: tuple[Any, Tensor] | None = None

    def set(self, value: Tensor) -> Tensor:
        self._new = ops.assign, value
        return value

    def subtract(self, delta: Tensor) -> None:
        self._new = ops.assign_sub, delta

    def write(self) -> Operation:
        assert self._new is not None
        op, value = self._new
        return op(self.variable.handle, value).op


class Rows:
    """Some rows of a variable as a `Cell`. A row may be listed several times in `indices`: each time its new
    value is the same.
    """

    def __init__(self, variable: Variable, indices: Tensor) -> None:
        self.variable = variable
        self.indices = indices
        self.value = ops.gather(variable.to_tensor(), indices, axis=0)
        self._new: Tensor | None = None

    def set(self, value: Tensor) -> Tensor:
        self._new = value
        return value

    def subtract(self, delta: Tensor) -> None:
        self.set(self.value - delta)

    def write(self) -> Operation:
        assert self._new is not None
        return ops.scatter_update(self.variable.handle, self.indices, self._new).op


def summed_by_row(gradient: IndexedSlices, rows: int | Tensor) -> IndexedSlices:
    """A sparse gradient with the same indices, in which each slice is the sum of all slices of its row.

    So no shape depends on how many rows are distinct: a row that is listed several times gets the same new
    value several times. `rows`: how many there are.
    """
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


def row_count(variable: Variable) -> int | Tensor:
    """The number of rows, known now or in the graph."""
    known = variable.type.shape
    return known[0] if known is not None and known[0] is not None else ops.shape_of(variable)[0]


class RuleOptimizer(Optimizer):
    """An optimizer whose update is one formula, `_rule`, for dense and sparse gradients alike."""

    def _rule(self, gradient: Tensor, variable: Cell, slot: Callable[[str], Cell]) -> None:
        """Write to `variable` and to its slots, `slot(name)`, what follows from the gradient."""
        raise NotImplementedError

    def _apply_dense(self, grad: Tensor, var: Variable) -> Operation:
        return self._run_rule(grad, var, Whole)

    def _apply_sparse_duplicate_indices(self, grad: IndexedSlices, var: Variable) -> Operation:
        summed = summed_by_row(grad, row_count(var))
        return self._run_rule(summed.values, var, lambda v: Rows(v, summed.indices))

    def _run_rule(self, grad: Tensor, var: Variable, cell: Callable[[Variable], Cell]) -> Operation:
        cells: dict[str, Cell] = {}

        def slot(name: str) -> Cell:
            if name not in cells:
                cells[name] = cell(self.get_slot(var, name))
            return cells[name]

        target = cell(var)
        self._rule(grad, target, slot)
        writes = [c.write() for c in (*cells.values(), target)]
        return writes[0] if len(writes) == 1 else group(*writes)

    def _number(self, name: str, like: Any) -> Tensor:
        """A hyperparameter, as `_prepare` made it, in the dtype of `like`."""
        number = self._tensors[name]
        return number if number.dtype is like.dtype else ops.cast(number, dtype=like.dtype)
