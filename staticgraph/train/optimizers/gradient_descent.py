"""Gradient descent."""

from __future__ import annotations

from typing import Any

from staticgraph.arrays.indexed_slices import IndexedSlices
from staticgraph.compiler import ops
from staticgraph.compiler.graph.tensor import Operation
from staticgraph.state.variables import Variable
from staticgraph.train.optimizers.update_rules import Cell, RuleOptimizer


class GradientDescentOptimizer(RuleOptimizer):
    """`variable -= learning_rate * gradient`.

    >>> w = sg.Variable([1.0, 2.0])
    >>> step = sg.train.GradientDescentOptimizer(0.5).minimize(sg.reduce_sum(w * w) / 2.0)
    >>> with sg.Session() as sess:
    ...     sess.run(sg.global_variables_initializer())
    ...     sess.run(step)
    ...     sess.run(w)
    array([0.5, 1. ], dtype=float32)
    """

    def __init__(self, learning_rate: Any, use_locking: bool = False, name: str = "GradientDescent") -> None:
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate

    def _prepare(self) -> None:
        self._make_tensors(learning_rate=self._learning_rate)

    def _rule(self, gradient: Any, variable: Cell, slot: Any) -> None:
        variable.subtract(gradient * self._number("learning_rate", gradient))

    def _apply_sparse_duplicate_indices(self, grad: IndexedSlices, var: Variable) -> Operation:
        delta = grad.values * self._number("learning_rate", grad)
        return ops.scatter_sub(
            var.handle, grad.indices, delta
        ).op  # adds up rows that are listed twice by itself
