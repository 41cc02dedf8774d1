"""Adam (Kingma and Ba, 2014)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from staticgraph.arrays.indexed_slices import IndexedSlices
from staticgraph.building.framework import control_dependencies
from staticgraph.building.inputs import group
from staticgraph.compiler import ops
from staticgraph.compiler.graph.tensor import Operation, Tensor
from staticgraph.state.variables import Variable
from staticgraph.train.optimizers.update_rules import Cell, RuleOptimizer, row_count, summed_by_row


class AdamOptimizer(RuleOptimizer):
    """Moving averages `m` of gradients and `v` of their
    squares; `variable -= rate * m / (sqrt(v) + epsilon)`.

    `rate` is `learning_rate * sqrt(1 - beta2 ** t) / (1 - beta1 ** t)` in step t, which takes out that the
    averages begin at zero. A sparse gradient adds to the rows that it touches, and all rows decay and move,
    as in TF1.

    >>> import staticgraph as sg
    >>> w = sg.Variable([1.0, 2.0], name="w")
    >>> optimizer = sg.train.AdamOptimizer(0.1)
    >>> step = optimizer.minimize(sg.reduce_sum(w * w))
    >>> [v.name for v in optimizer.variables()]
    ['beta1_power:0', 'beta2_power:0', 'w/Adam:0', 'w/Adam_1:0']
    """

    def __init__(
        self, learning_rate: Any = 0.001, beta1: Any = 0.9, beta2: Any = 0.999, epsilon: Any = 1e-8,
        use_locking: bool = False, name: str = "Adam",
    ) -> None:  # fmt: skip
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate
        self._beta1 = beta1
        self._beta2 = beta2
        self._epsilon = epsilon

    def _create_slots(self, var_list: Sequence[Variable]) -> None:
        first = min(var_list, key=lambda v: v.name)
        self._create_non_slot_variable(self._call_if_callable(self._beta1), "beta1_power", first)
        self._create_non_slot_variable(self._call_if_callable(self._beta2), "beta2_power", first)
        for var in var_list:
            self._zeros_slot(var, "m", self._name)
            self._zeros_slot(var, "v", self._name)

    def _prepare(self) -> None:
        self._make_tensors(
            learning_rate=self._learning_rate, beta1=self._beta1, beta2=self._beta2, epsilon=self._epsilon
        )

    def _powers(self) -> tuple[Variable, Variable]:
        return self._get_non_slot_variable("beta1_power"), self._get_non_slot_variable("beta2_power")

    def _rate(self, like: Any) -> Tensor:
        """The learning rate of the present step."""
        first, second = (
            ops.cast(p, dtype=like.dtype) if p.dtype is not like.dtype else p for p in self._powers()
        )
        return self._number("learning_rate", like) * ops.sqrt(1.0 - second) / (1.0 - first)

    def _rule(self, gradient: Any, variable: Cell, slot: Callable[[str], Cell]) -> None:
        beta1, beta2, epsilon = (self._number(name, gradient) for name in ("beta1", "beta2", "epsilon"))
        m, v = slot("m"), slot("v")
        mean = m.set(m.value + (gradient - m.value) * (1.0 - beta1))
        squares = v.set(v.value + (gradient * gradient - v.value) * (1.0 - beta2))
        variable.subtract(mean * self._rate(gradient) / (ops.sqrt(squares) + epsilon))

    def _apply_sparse_duplicate_indices(self, grad: IndexedSlices, var: Variable) -> Operation:
        beta1, beta2, epsilon = (self._number(name, grad) for name in ("beta1", "beta2", "epsilon"))
        m, v = self.get_slot(var, "m"), self.get_slot(var, "v")
        summed = summed_by_row(grad, row_count(var))
        rows, total = summed.indices, summed.values
        decayed = [ops.assign(m.handle, m * beta1), ops.assign(v.handle, v * beta2)]
        first, second = (ops.gather(each, rows, axis=0) for each in decayed)
        mean = ops.scatter_update(m.handle, rows, first + total * (1.0 - beta1))
        squares = ops.scatter_update(v.handle, rows, second + total * total * (1.0 - beta2))
        moved = ops.assign_sub(var.handle, self._rate(grad) * mean / (ops.sqrt(squares) + epsilon))
        return group(*decayed, mean, squares, moved)

    def _finish(self, update_ops: Sequence[Operation], name_scope: str) -> Operation:
        first, second = self._powers()
        with control_dependencies(update_ops):
            next_powers = [
                ops.assign(first.handle, first * self._number("beta1", first)),
                ops.assign(second.handle, second * self._number("beta2", second)),
            ]
        return group(*update_ops, *next_powers, name=name_scope)
