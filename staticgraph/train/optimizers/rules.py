"""The table of update rules: each is one formula, for all optimizers that are known by it.

A formula gets the gradient `g`, the cell `w` of the variable, the cells of the slots, and hyperparameters
`h`. An optimizer of `train`, of Keras or of contrib names a rule, and has its own names and defaults.

A cell is the place of an update: a whole variable, or the rows of it that a sparse gradient touches. So a
rule is one formula for dense and sparse gradients. A function of `Sparse` chooses the cells for a
sparse gradient.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from types import SimpleNamespace
from typing import Any

from staticgraph.arrays.indexed_slices import IndexedSlices
from staticgraph.building.inputs import group
from staticgraph.compiler import ops
from staticgraph.compiler.graph.dtypes import int32
from staticgraph.compiler.graph.tensor import Operation, Tensor
from staticgraph.compiler.support.dataclass import dataclass
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


Hyper = SimpleNamespace


@dataclass(frozen=True)
class Rule:
    """A formula that writes new values to the cells of a variable and of its slots.

    `sparse` chooses the cells for a sparse gradient. `shared` makes numbers of the hyperparameters that the
    updates of all variables have in common.
    """

    formula: Callable[..., None]
    sparse: Sparse = touched_rows
    shared: Callable[[Hyper], Mapping[str, Any]] | None = None

    def numbers(self, hyperparameters: Mapping[str, Any]) -> Hyper:
        """Return what the formula takes for `h`: hyperparameters, and the numbers that are made of them.

        Args:
            hyperparameters: Numbers by name. Tensors among them have the dtype of the gradient.
        """
        h = Hyper(**hyperparameters)
        if self.shared is not None:
            vars(h).update(self.shared(h))
        return h

    def apply(
        self, gradient: Tensor | IndexedSlices, variable: Variable, slots: Mapping[str, Variable], h: Hyper
    ) -> Operation:
        """Make the operation of one update.

        Args:
            gradient: The gradient of the loss by `variable`.
            variable: The variable that is updated.
            slots: The variables that belong to it, by the names of the formula's arguments.
            h: What `numbers` returned: once for all variables.
        """
        place: Callable[[Variable], Cell] = Cell
        slot_place: Callable[[Variable], Cell] = Cell
        if isinstance(gradient, IndexedSlices):
            gradient, place, slot_place = self.sparse(gradient, variable)
        target = place(variable)
        cells = {name: slot_place(slot) for name, slot in slots.items()}
        self.formula(gradient, target, **cells, h=h)
        writes = [cell.write() for cell in (*cells.values(), target)]
        return writes[0] if len(writes) == 1 else group(*writes)


def rule(
    sparse: Sparse = touched_rows, shared: Callable[[Hyper], Mapping[str, Any]] | None = None
) -> Callable[[Callable[..., None]], Rule]:
    """Make a rule of a formula."""
    return lambda formula: Rule(formula, sparse, shared)


@rule(touched_rows_in_place)
def gradient_descent(g: Tensor, w: Cell, h: Hyper) -> None:
    """Along the gradient."""
    w.subtract(g * h.learning_rate)


@rule()
def momentum(g: Tensor, w: Cell, total: Cell, h: Hyper, of_steps: bool = False) -> None:
    """Along a decaying total of gradients; or, `of_steps`, of the steps that plain descent would make."""
    rate = h.learning_rate
    if of_steps:
        g, rate = g * -rate, -1.0
    new = total.set(total.value * h.momentum + g)
    w.subtract(g * rate + new * h.momentum * rate if h.nesterov else new * rate)


momentum_of_steps = Rule(partial(momentum.formula, of_steps=True))


def _of_decay_rates(h: Hyper) -> dict[str, Any]:
    """The parts of averages that are new, and the rate that takes out that they begin at zero."""
    part1, part2 = 1.0 - h.beta1, 1.0 - h.beta2
    rate = h.learning_rate * ops.sqrt(1.0 - h.beta2_power) / (1.0 - h.beta1_power)
    return {"part1": part1, "part2": part2, "rate": rate}


@rule(decaying_rows, _of_decay_rates)
def adam(
    g: Tensor, w: Cell, m: Cell, v: Cell, h: Hyper, largest: Cell | None = None, nesterov: bool = False
) -> None:
    """Averages of gradients and of their squares (Kingma and Ba, 2014).

    `largest`: of the averages of squares (AMSGrad). `nesterov`: the step takes the gradient's part of the
    average twice (Dozat, 2016).
    """
    mean, squares = m.average(g, h.beta1, h.part1), v.average(g * g, h.beta2, h.part2)
    if largest is not None:
        squares = largest.set(ops.maximum(largest.value, squares))
    if nesterov:
        mean = mean * h.beta1 + g * h.part1
    w.subtract(mean * h.rate / (ops.sqrt(squares) + h.epsilon))


lazy_adam = Rule(adam.formula, touched_rows, adam.shared)
nesterov_adam = Rule(partial(adam.formula, nesterov=True), touched_rows_of_decaying, adam.shared)


def _of_decay_rate(h: Hyper) -> dict[str, Any]:
    return {"part1": 1.0 - h.beta1, "rate": h.learning_rate / (1.0 - h.beta1_power)}


@rule(shared=_of_decay_rate)
def adamax(g: Tensor, w: Cell, m: Cell, v: Cell, h: Hyper) -> None:
    """Adam with the largest of recent gradients in place of the root of their mean square."""
    mean = m.average(g, h.beta1, h.part1)
    largest = v.set(ops.maximum(v.value * h.beta2, ops.abs(g)))
    w.subtract(mean * h.rate / (largest + h.epsilon))


def _of_momenta(h: Hyper) -> dict[str, Any]:
    return {
        "part1": 1.0 - h.beta1,
        "part2": 1.0 - h.beta2,
        "rest2": 1.0 - h.beta2_power,
        "new": 1.0 - h.now,
        "old": 1.0 - h.product,
        "ahead": 1.0 - h.product * h.following,
    }


@rule(touched_rows_of_decaying, _of_momenta)
def nadam(g: Tensor, w: Cell, m: Cell, v: Cell, h: Hyper) -> None:
    """Adam with Nesterov's momentum on a schedule (Dozat, 2016).

    `h.now` and `h.following` are the momenta of this step and of the next, `h.product` that of all up to now.
    """
    mean, squares = m.average(g, h.beta1, h.part1), v.average(g * g, h.beta2, h.part2)
    ahead = h.new * g / h.old + h.following * mean / h.ahead
    w.subtract(h.learning_rate * ahead / (ops.sqrt(squares / h.rest2) + h.epsilon))


@rule(shared=lambda h: {"part": 1.0 - h.decay})
def rmsprop(
    g: Tensor, w: Cell, rms: Cell, h: Hyper, total: Cell | None = None, mean: Cell | None = None
) -> None:
    """Gradients over the root of the average of their squares (Tieleman and Hinton, 2012).

    `mean` is the average of gradients, whose square is taken off. `total` is that of steps, with momentum;
    then epsilon is inside of the root.
    """
    squares = rms.average(g * g, h.decay, h.part)
    if mean is not None:
        center = mean.average(g, h.decay, h.part)
        squares = squares - center * center
    if total is None:
        w.subtract(g * h.learning_rate / (ops.sqrt(squares) + h.epsilon))
    else:
        step = g * h.learning_rate * ops.rsqrt(squares + h.epsilon)
        w.subtract(total.set(total.value * h.momentum + step))


decaying_rmsprop = Rule(rmsprop.formula, touched_rows_of_decaying, rmsprop.shared)


@rule()
def adagrad(g: Tensor, w: Cell, total: Cell, h: Hyper) -> None:
    """Gradients over the root of the total of their squares (Duchi, Hazan and Singer, 2011)."""
    squares = total.set(total.value + g * g)
    step = g * h.learning_rate
    w.subtract(step * ops.rsqrt(squares) if h.epsilon is None else step / (ops.sqrt(squares) + h.epsilon))


@rule(shared=lambda h: {"part": 1.0 - h.rho})
def adadelta(g: Tensor, w: Cell, squares: Cell, steps: Cell, h: Hyper) -> None:
    """Steps as large as recent steps were, relative to recent gradients (Zeiler, 2012)."""
    mean = squares.set(squares.value * h.rho + g * g * h.part)
    step = ops.sqrt(steps.value + h.epsilon) * ops.rsqrt(mean + h.epsilon) * g
    steps.set(steps.value * h.rho + step * step * h.part)
    w.subtract(step * h.learning_rate)


@rule()
def ftrl(g: Tensor, w: Cell, squares: Cell, linear: Cell, h: Hyper) -> None:
    """The leader follows from all gradients, with penalties (McMahan et al., 2013)."""

    def root(total: Tensor) -> Tensor:
        plain = isinstance(h.learning_rate_power, float) and h.learning_rate_power == -0.5
        return ops.sqrt(total) if plain else ops.pow(total, -h.learning_rate_power)

    before = squares.value
    after = root(squares.set(before + g * g))
    shrunk = g + 2.0 * h.shrinkage * w.value if h.shrinkage else g
    pull = linear.set(linear.value + shrunk - (after - root(before)) / h.learning_rate * w.value)
    held = ops.minimum(ops.maximum(pull, -h.l1), h.l1)
    w.set((held - pull) / (after / h.learning_rate + 2.0 * h.l2))


def _shrunk(value: Tensor, by: Any) -> Tensor:
    """Each element moved towards zero by `by`, and no further than zero."""
    return ops.sign(value) * ops.maximum(ops.abs(value) - by, 0.0)


def _proximal(value: Tensor, rate: Tensor, h: Hyper) -> Tensor:
    """Apply the proximal operator of `rate` times the penalties: l1 leaves few weights, l2 small ones."""
    return (_shrunk(value, rate * h.l1) if h.l1 > 0.0 else value) / (1.0 + h.l2 * rate)


@rule()
def proximal_descent(g: Tensor, w: Cell, h: Hyper) -> None:
    """Along the gradient, then the exact effect of penalties (Duchi and Singer, 2009)."""
    w.set(_proximal(w.value - g * h.learning_rate, h.learning_rate, h))


@rule()
def proximal_adagrad(g: Tensor, w: Cell, total: Cell, h: Hyper) -> None:
    """Adagrad, then the exact effect of penalties."""
    rate = h.learning_rate * ops.rsqrt(total.set(total.value + g * g))
    w.set(_proximal(w.value - g * rate, rate, h))


@rule()
def dual_averaging(g: Tensor, w: Cell, sums: Cell, squares: Cell, h: Hyper) -> None:
    """Adagrad on the totals of all gradients, not on the weights before (Duchi, Hazan and Singer, 2011)."""
    pull = sums.set(sums.value + g)
    size = ops.sqrt(squares.set(squares.value + g * g))
    if h.l1 > 0.0:
        pull = _shrunk(pull, h.steps * h.l1)
    w.set(-h.learning_rate * pull / (h.l2 * h.steps * h.learning_rate + size))


@rule(all_rows, lambda h: {"part": 1.0 - h.beta})
def sign(g: Tensor, w: Cell, m: Cell, h: Hyper) -> None:
    """Longer steps if the gradient has the sign of its average (Bello et al., 2017).

    `h.factor` maps how well the signs agree, from -1 to 1, to the factor of a step.
    """
    mean = m.set(m.value * h.beta + g * h.part)
    w.subtract(h.learning_rate * h.factor(h.sign_decay * ops.sign(g) * ops.sign(mean)) * g)
