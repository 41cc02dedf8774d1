"""`tf.contrib.rnn`: layers that take a whole sequence [time, batch, features], and stacks of networks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import staticgraph as sg
from staticgraph.building.read_only import read_only
from staticgraph.compiler.graph.errors import misuse
from staticgraph.compiler.graph.recording.op_count import counted_as
from staticgraph.nn.rnn_cell import LSTMStateTuple
from staticgraph.nn.rnn_step import swapped
from staticgraph.tf1.compat.rnn.recurrent_cells import LSTMBlockCell

__all__ = [
    "FusedRNNCell",
    "FusedRNNCellAdaptor",
    "LSTMBlockFusedCell",
    "TimeReversedFusedRNN",
    "stack_bidirectional_dynamic_rnn",
    "stack_bidirectional_rnn",
    "transpose_batch_time",
]

transpose_batch_time = swapped


class FusedRNNCell:
    """Outputs and last state for inputs, a tensor [time, batch, features] or a list of steps."""

    def __call__(
        self,
        inputs: Any,
        initial_state: Any = None,
        dtype: Any = None,
        sequence_length: Any = None,
        scope: Any = None,
    ) -> Any:
        return self._run(inputs, initial_state, dtype, sequence_length, scope)

    def _run(self, inputs: Any, initial_state: Any, dtype: Any, sequence_length: Any, scope: Any) -> Any:
        raise misuse(NotImplementedError, f"{type(self).__name__} does not say what it does")


class FusedRNNCellAdaptor(FusedRNNCell):
    """A cell over a whole sequence, as `dynamic_rnn` or as `static_rnn`."""

    def __init__(self, cell: Any, use_dynamic_rnn: bool = False) -> None:
        self._cell, self._dynamic = cell, use_dynamic_rnn

    def _run(self, inputs: Any, initial_state: Any, dtype: Any, sequence_length: Any, scope: Any) -> Any:
        listed = isinstance(inputs, list)
        if self._dynamic:
            steps, how = sg.stack(inputs) if listed else inputs, {"time_major": True, "scope": scope}
            outputs, state = sg.nn.dynamic_rnn(
                self._cell, steps, sequence_length, initial_state, dtype, **how
            )
            return sg.unstack(outputs) if listed else outputs, state
        steps = inputs if listed else sg.unstack(inputs)
        outputs, state = sg.nn.static_rnn(self._cell, steps, initial_state, dtype, sequence_length, scope)
        return outputs if listed else sg.stack(outputs), state


class LSTMBlockFusedCell(FusedRNNCell):
    """An LSTM over a whole sequence."""

    def __init__(
        self,
        num_units: int,
        forget_bias: Any = 1.0,
        cell_clip: float | None = None,
        use_peephole: bool = False,
        reuse: Any = None,
        dtype: Any = None,
        name: str = "lstm_fused_cell",
    ) -> None:
        self._cell = LSTMBlockCell(num_units, forget_bias, cell_clip, use_peephole, dtype, reuse, name)

    num_units: int = read_only("cell.output_size", "The number of outputs.")
    weights: list[sg.Variable] = read_only("cell.weights", "All variables.")

    variables = trainable_weights = trainable_variables = weights

    def _run(self, inputs: Any, initial_state: Any, dtype: Any, sequence_length: Any, scope: Any) -> Any:
        if initial_state is not None:
            initial_state = LSTMStateTuple(*initial_state)
        self._cell._open_scope(scope)  # a new name for each layer, which the loop's scope would forget
        steps = sg.stack(inputs) if isinstance(inputs, list) else sg.convert_to_tensor(inputs)
        if self._cell.dtype is None:
            self._cell.dtype = steps.dtype
        with self._cell._opened(steps.shape[1:]):
            pass  # the variables are made before all else, as in TensorFlow
        count = self._operations(steps, initial_state is not None, sequence_length is not None)
        run = FusedRNNCellAdaptor(self._cell, use_dynamic_rnn=True)
        with counted_as(steps.graph, count):
            return run(inputs, initial_state, dtype, sequence_length, sg.get_variable_scope())

    def _operations(self, steps: sg.Tensor, has_state: bool, has_lengths: bool) -> int:
        """Return the number of operations that TensorFlow makes besides the variables."""
        time, batch = steps.shape[:2].as_list()
        sizes = (9 if time is None else 0) + (5 if batch is None else 0)
        lengths = (27 if batch is None else 29) if has_lengths else 0
        zeros = 0 if has_state else 3 + (batch is None)
        return 12 + sizes + lengths + zeros - (1 if self._cell._use_peepholes else 0)


class TimeReversedFusedRNN(FusedRNNCell):
    """Another fused cell, from the ends of sequences to their beginnings."""

    def __init__(self, cell: Any) -> None:
        self._cell = cell

    def _run(self, inputs: Any, initial_state: Any, dtype: Any, sequence_length: Any, scope: Any) -> Any:
        how = {"dtype": dtype, "sequence_length": sequence_length, "scope": scope}
        steps = _reversed(inputs, sequence_length)
        outputs, state = self._cell(steps, initial_state=initial_state, **how)
        return _reversed(outputs, sequence_length), state


def _reversed(steps: Any, lengths: Any) -> Any:
    if isinstance(steps, list):
        return steps[::-1]
    return sg.reverse(steps, [0]) if lengths is None else sg.reverse_sequence(steps, lengths, 0, 1)


def _layers(cells_fw: Any, cells_bw: Any, states_fw: Any, states_bw: Any) -> list[tuple[Any, Any, Any, Any]]:
    """Cells and first states, layer by layer. ValueError if the lists do not fit together."""
    for name, cells in (("cells_fw", cells_fw), ("cells_bw", cells_bw)):
        if not isinstance(cells, list) or not cells:
            raise misuse(ValueError, f"{name} must be a list of cells, one per layer")
    named = {"cells_bw": cells_bw, "initial_states_fw": states_fw, "initial_states_bw": states_bw}
    for name, each in named.items():
        if each is not None and (not isinstance(each, list) or len(each) != len(cells_fw)):
            raise misuse(ValueError, f"{name} must be a list of {len(cells_fw)}, one per layer")
    nothing = [None] * len(cells_fw)
    return list(zip(cells_fw, cells_bw, states_fw or nothing, states_bw or nothing, strict=True))


def stack_bidirectional_rnn(
    cells_fw: Sequence[Any],
    cells_bw: Sequence[Any],
    inputs: Any,
    initial_states_fw: Any = None,
    initial_states_bw: Any = None,
    dtype: Any = None,
    sequence_length: Any = None,
    scope: Any = None,
) -> tuple[Any, tuple[Any, ...], tuple[Any, ...]]:
    """`static_bidirectional_rnn` in several layers: the last outputs, and the last states of all layers."""
    states: list[tuple[Any, Any]] = []
    layers = _layers(cells_fw, cells_bw, initial_states_fw, initial_states_bw)
    with sg.variable_scope(scope or "stack_bidirectional_rnn"):
        for number, (fw, bw, state_fw, state_bw) in enumerate(layers):
            with sg.variable_scope(f"cell_{number}") as opened:
                inputs, *made = sg.nn.static_bidirectional_rnn(
                    fw, bw, inputs, state_fw, state_bw, dtype, sequence_length, opened
                )
            states.append((made[0], made[1]))
    return inputs, tuple(f for f, _ in states), tuple(b for _, b in states)


def stack_bidirectional_dynamic_rnn(
    cells_fw: Sequence[Any],
    cells_bw: Sequence[Any],
    inputs: Any,
    initial_states_fw: Any = None,
    initial_states_bw: Any = None,
    dtype: Any = None,
    sequence_length: Any = None,
    parallel_iterations: int | None = None,
    time_major: bool = False,
    scope: Any = None,
    swap_memory: bool = False,
) -> tuple[Any, tuple[Any, ...], tuple[Any, ...]]:
    """`bidirectional_dynamic_rnn` in several layers: the last outputs, and the last states of all layers."""
    states: list[tuple[Any, Any]] = []
    layers = _layers(cells_fw, cells_bw, initial_states_fw, initial_states_bw)
    with sg.variable_scope(scope or "stack_bidirectional_rnn"):
        for number, (fw, bw, state_fw, state_bw) in enumerate(layers):
            with sg.variable_scope(f"cell_{number}"):
                outputs, made = sg.nn.bidirectional_dynamic_rnn(
                    fw, bw, inputs, sequence_length, state_fw, state_bw, dtype, time_major=time_major
                )
                inputs = sg.concat(outputs, 2)
            states.append(made)
    return inputs, tuple(f for f, _ in states), tuple(b for _, b in states)
