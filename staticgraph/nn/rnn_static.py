"""Recurrent networks over lists with a tensor for each time step, the steps written one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from staticgraph.arrays.array_ops import concat, reverse_sequence, stack, unstack
from staticgraph.building import nest
from staticgraph.building.framework import control_dependencies
from staticgraph.building.inputs import convert_to_tensor, identity
from staticgraph.compiler.graph.errors import misuse
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.nn.rnn_step import batch_size_of, check_cell, first_state, lengths_of, limited_step, one_step
from staticgraph.state.scopes import variable_scope


def static_rnn(
    cell: Any,
    inputs: Sequence[Any],
    initial_state: Any = None,
    dtype: Any = None,
    sequence_length: Any = None,
    scope: Any = None,
) -> tuple[list[Any], Any]:
    """The outputs of `cell` for each of `inputs`, a list with a tensor [batch, ...] for each time step, and
    its state after the last one. As `dynamic_rnn` otherwise; a graph with many steps takes longer to compile.

    >>> import staticgraph as sg
    >>> x = sg.unstack(sg.zeros([2, 3, 5]), axis=1)
    >>> outputs, state = sg.nn.static_rnn(sg.nn.rnn_cell.BasicRNNCell(4), x, dtype=sg.float32)
    >>> len(outputs), state.shape.as_list()
    (3, [2, 4])
    """
    check_cell(cell, "static_rnn(cell)")
    _check_steps(inputs)
    with variable_scope(scope or "rnn") as opened:
        inputs = [nest.map_structure(convert_to_tensor, step) for step in inputs]
        batch_size = batch_size_of(nest.flatten(inputs), 0)
        state = first_state(cell, initial_state, batch_size, dtype)
        lengths = lengths_of(sequence_length, batch_size)
        outputs = []
        for time, step in enumerate(inputs):
            if time > 0:
                opened.reuse_variables()
            output, state = limited_step(
                time,
                lengths,
                lambda step=step, state=state: one_step(cell, step, state),  # type: ignore[misc]
                state,
            )
            outputs.append(output)
        return outputs, state


def _check_steps(inputs: Any) -> None:
    if not nest.is_nested(inputs):
        hint = "unstack(inputs, axis=1) makes one, dynamic_rnn takes the tensor itself"
        text = "the inputs must be a list with a tensor for each time step"
        raise misuse(TypeError, f"{text}, not {inputs!r}", hint)
    if not inputs:
        raise misuse(ValueError, "the inputs are an empty list")


def static_state_saving_rnn(
    cell: Any,
    inputs: Sequence[Any],
    state_saver: Any,
    state_name: Any,
    sequence_length: Any = None,
    scope: Any = None,
) -> tuple[list[Any], Any]:
    """`static_rnn` from the state that `state_saver.state(name)` gives. The new one goes to
    `state_saver.save_state(name, state)`, which runs before the last output.

    `state_name` is a name, or names nested like the state.
    """
    sizes = cell.state_size
    names = nest.flatten(state_name)
    if nest.is_nested(sizes) != nest.is_nested(state_name) or len(nest.flatten(sizes)) != len(names):
        text = f"static_state_saving_rnn: state_name {state_name!r} does not fit a state of sizes {sizes!r}"
        raise misuse(ValueError, text)
    first = nest.pack_sequence_as(sizes, [state_saver.state(name) for name in names])
    outputs, state = static_rnn(cell, inputs, first, sequence_length=sequence_length, scope=scope)
    parts = nest.flatten(state)
    saved = [state_saver.save_state(name, part) for name, part in zip(names, parts, strict=True)]
    with control_dependencies(saved):
        outputs[-1] = nest.map_structure(identity, outputs[-1])
        return outputs, nest.map_structure(identity, state)


def static_bidirectional_rnn(
    cell_fw: Any,
    cell_bw: Any,
    inputs: Sequence[Any],
    initial_state_fw: Any = None,
    initial_state_bw: Any = None,
    dtype: Any = None,
    sequence_length: Any = None,
    scope: Any = None,
) -> tuple[list[Any], Any, Any]:
    """`static_rnn` in both directions: the outputs of both side by side, and the two last states.

    >>> import staticgraph as sg
    >>> x = sg.unstack(sg.zeros([2, 3, 5]), axis=1)
    >>> cells = [sg.nn.rnn_cell.GRUCell(4) for _ in range(2)]
    >>> outputs, state_fw, state_bw = sg.nn.static_bidirectional_rnn(*cells, x, dtype=sg.float32)
    >>> outputs[0].shape.as_list()
    [2, 8]
    """
    check_cell(cell_fw, "static_bidirectional_rnn(cell_fw)")
    check_cell(cell_bw, "static_bidirectional_rnn(cell_bw)")
    _check_steps(inputs)
    with variable_scope(scope or "bidirectional_rnn"):
        with variable_scope("fw") as forward:
            out_fw, state_fw = static_rnn(cell_fw, inputs, initial_state_fw, dtype, sequence_length, forward)
        with variable_scope("bw") as backward:
            turned = _reversed(inputs, sequence_length)
            out_bw, state_bw = static_rnn(cell_bw, turned, initial_state_bw, dtype, sequence_length, backward)
        pairs = zip(out_fw, _reversed(out_bw, sequence_length), strict=True)
        outputs = [nest.map_structure(lambda f, b: concat([f, b], 1), *pair) for pair in pairs]
    return outputs, state_fw, state_bw


def _reversed(steps: Sequence[Any], lengths: Any) -> list[Any]:
    """The steps from the end of each sequence to its beginning; what comes after the end stays there."""
    if lengths is None:
        return list(reversed(steps))
    columns = zip(*(nest.flatten(step) for step in steps), strict=True)
    turned = [_turned(column, lengths) for column in columns]
    return [nest.pack_sequence_as(steps[0], row) for row in zip(*turned, strict=True)]


def _turned(column: Sequence[Tensor], lengths: Any) -> list[Tensor]:
    return unstack(reverse_sequence(stack(column), lengths, seq_axis=0, batch_axis=1))
