"""`MultiRNNCell`: several cells as one, the output of each being the input of the next."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from staticgraph.arrays.array_ops import concat
from staticgraph.arrays.indexing import slice as part_of
from staticgraph.building import nest
from staticgraph.building.framework import name_scope
from staticgraph.compiler.graph.errors import misuse
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.nn.rnn_cell.base import RNNCell
from staticgraph.state.scopes import variable_scope
from staticgraph.state.variables import Variable


class MultiRNNCell(RNNCell):
    """The cells in a list, one on top of the other. The state is a tuple of their states.

    >>> import staticgraph as sg
    >>> cell = sg.nn.rnn_cell.MultiRNNCell([sg.nn.rnn_cell.GRUCell(n) for n in (8, 4)])
    >>> outputs, state = sg.nn.dynamic_rnn(cell, sg.zeros([2, 3, 5]), dtype=sg.float32)
    >>> [v.name for v in cell.weights][::4]
    ['rnn/multi_rnn_cell/cell_0/gru_cell/gates/kernel:0', 'rnn/multi_rnn_cell/cell_1/gru_cell/gates/kernel:0']
    """

    def __init__(self, cells: Sequence[Any], state_is_tuple: bool = True) -> None:
        super().__init__()
        if not nest.is_nested(cells):
            raise misuse(TypeError, f"MultiRNNCell(cells): a list of cells is needed, not {cells!r}")
        if not cells:
            raise misuse(ValueError, "MultiRNNCell(cells): at least one cell is needed")
        self._cells = cells
        self._state_is_tuple = state_is_tuple
        if not state_is_tuple and any(nest.is_nested(cell.state_size) for cell in cells):
            text = "MultiRNNCell(state_is_tuple=False): the states of some cells are tuples"
            raise misuse(ValueError, text, "these cells take state_is_tuple=False too")

    @property
    def state_size(self) -> Any:
        sizes = [cell.state_size for cell in self._cells]
        return tuple(sizes) if self._state_is_tuple else sum(sizes)

    @property
    def output_size(self) -> Any:
        return self._cells[-1].output_size

    @property
    def trainable_weights(self) -> list[Variable]:
        return [v for cell in self._cells for v in getattr(cell, "trainable_weights", ())]

    @property
    def non_trainable_weights(self) -> list[Variable]:
        return [v for cell in self._cells for v in getattr(cell, "non_trainable_weights", ())]

    def _checkpoint_dependencies(self) -> list[tuple[str, Any]]:
        numbered = [(f"cell-{number}", cell) for number, cell in enumerate(self._cells)]
        return [*super()._checkpoint_dependencies(), *numbered]

    def zero_state(self, batch_size: Any, dtype: Any) -> Any:
        if not self._state_is_tuple:
            return super().zero_state(batch_size, dtype)
        with name_scope(f"{type(self).__name__}ZeroState"):
            return tuple(cell.zero_state(batch_size, dtype) for cell in self._cells)

    def call(self, inputs: Tensor, state: Any) -> tuple[Tensor, Any]:
        if self._state_is_tuple and not (nest.is_nested(state) and len(state) == len(self._cells)):
            text = f"{self.label}: the state must be a tuple of {len(self._cells)} states, not {state!r}"
            raise misuse(ValueError, text)
        after, at = [], 0
        for number, cell in enumerate(self._cells):
            with variable_scope(f"cell_{number}"):
                if self._state_is_tuple:
                    own = state[number]
                else:
                    own = part_of(state, [0, at], [-1, cell.state_size])
                    at += cell.state_size
                inputs, made = cell(inputs, own)
                after.append(made)
        return inputs, tuple(after) if self._state_is_tuple else concat(after, 1)
