"""Numbers of operations of Keras's recurrent layers, on which default seeds depend.

TensorFlow's loop over time has a counter of its own, and calls the cell once before the loop, for the
structure of its results. Its cells multiply gate by gate, where ours make one product.
"""

from __future__ import annotations

from typing import Any

from staticgraph.compiler.graph.recording.op_count import op_count
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.tf1.keras.layers.cells import GRUCell, LSTMCell, SimpleRNNCell, StackedRNNCells

_LOOP = 59  # swaps of batch and time, arrays of rows, the loop with its counters, the last row
_UNROLLED = 11
_OF_STATE = 16  # zeros of the batch's size, and what carries them round the loop
_STATE_GIVEN, _ZEROS = -5, -8  # the batch's size, and the zeros of each state
_STATE_UNROLLED = 13
_MASKED, _STATE_MASKED = 27, 3  # rows of the mask, and a choice for the output and for each state
_BACKWARDS = 2
_TIME_MAJOR = -4
_MASK_DROPPED = 26  # a choice by the phase for each mask
_DROPPED = (5, 3)  # the phase and ones of the inputs, and ones of the state

# Operations of a cell without its activations: with a bias, and without.
_GATE_BY_GATE = {LSTMCell: (47, 39), GRUCell: (63, 45), SimpleRNNCell: (7, 5)}
_AT_ONCE = {LSTMCell: (13, 11), GRUCell: (45, 39)}
_RESET_AFTER = (77, 59)
_GATES = {LSTMCell: (3, 2), GRUCell: (2, 1), SimpleRNNCell: (0, 1)}  # activations: of gates, and others
_MASKS = {LSTMCell: 4, GRUCell: 3, SimpleRNNCell: 1}


def layer_operations(layer: Any, x: Tensor, states: list[Tensor], given: bool, masked: bool) -> int | None:
    """Return the number of operations of TensorFlow's call of a recurrent layer.

    Args:
        layer: The layer.
        x: Its inputs.
        states: Its first states.
        given: If the first states are no zeros of the layer's own.
        masked: If there is a mask.

    Returns:
        The number, or None if it is not known, as of cells of users.
    """
    cells = layer.cell.cells if isinstance(layer.cell, StackedRNNCells) else [layer.cell]
    if layer.stateful or any(type(cell) not in _GATES for cell in cells):
        return None
    once = sum(cell_operations(cell, states[0]) for cell in cells)
    number = len(states)
    if layer.unroll:
        steps = x.shape.as_list()[0 if layer.time_major else 1] or 0
        made = steps * once + _UNROLLED + number * _STATE_UNROLLED
    else:
        captured = sum(2 + cell.use_bias for cell in cells)
        made = 2 * once + _LOOP + number * _OF_STATE + captured - 2 * (len(cells) - 1)
    made += (_STATE_GIVEN + number * _ZEROS) if given else 0
    made += (_MASKED + number * _STATE_MASKED) if masked else 0
    made += _BACKWARDS * bool(layer.go_backwards) + _TIME_MAJOR * bool(layer.time_major)
    for cell in cells:
        dropped = bool(cell.dropout) + bool(cell.recurrent_dropout)
        made += sum(_DROPPED[:dropped]) + dropped * _MASK_DROPPED * _MASKS[type(cell)]
    return made


def cell_operations(cell: Any, state: Tensor) -> int:
    """Return the number of operations of one step of a cell in TensorFlow."""
    kind = type(cell)
    table = _AT_ONCE if getattr(cell, "implementation", 1) == 2 and kind in _AT_ONCE else _GATE_BY_GATE
    pair = _RESET_AFTER if getattr(cell, "reset_after", False) else table[kind]
    gates, others = _GATES[kind]
    made = pair[0 if cell.use_bias else 1] + others * _of_activation(cell.activation, state)
    return made + (gates * _of_activation(cell.recurrent_activation, state) if gates else 0)


def _of_activation(activation: Any, x: Tensor) -> int:
    """Return the number of operations that a function of a tensor makes. They are taken back."""
    with x.graph.attempt() as forget:
        before = op_count(x.graph)
        activation(x)
        made = op_count(x.graph) - before
        forget()
    return made
