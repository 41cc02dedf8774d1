"""Recurrent networks over tensors: `dynamic_rnn`, in one direction or both, as loops of compiled code."""

from __future__ import annotations

from typing import Any

from staticgraph.arrays.array_ops import reverse, reverse_sequence, shape
from staticgraph.arrays.equal_sizes import as_long
from staticgraph.building import nest
from staticgraph.building.inputs import constant, convert_to_tensor
from staticgraph.compiler.graph.dtypes import int32
from staticgraph.compiler.graph.errors import misuse
from staticgraph.compiler.graph.recording.op_count import count_loop_as, count_more, op_count, set_op_count
from staticgraph.compiler.graph.shapes import as_shape
from staticgraph.compiler.graph.tensor import Operation, Tensor
from staticgraph.control_flow.loops import while_loop
from staticgraph.control_flow.tensor_array import TensorArray
from staticgraph.nn.rnn_cell.base import LayerRNNCell
from staticgraph.nn.rnn_step import (
    batch_size_of,
    check_cell,
    dtype_of,
    first_state,
    lengths_of,
    limited_step,
    one_step,
    swapped,
)
from staticgraph.state.scopes import variable_scope


def dynamic_rnn(
    cell: Any,
    inputs: Any,
    sequence_length: Any = None,
    initial_state: Any = None,
    dtype: Any = None,
    parallel_iterations: int | None = None,
    swap_memory: bool = False,
    time_major: bool = False,
    scope: Any = None,
) -> tuple[Any, Any]:
    """The outputs of `cell` at all time steps of `inputs`, and its state after the last one.

    Inputs, a tensor or a structure of them, are [batch, time, ...], and so are outputs; with `time_major`
    both are [time, batch, ...]. The first state is `initial_state`, or zeros of `dtype`. After the end of a
    sequence, for which `sequence_length` [batch] gives the number of steps, outputs are zeros and the state
    stays as it is. `parallel_iterations` and `swap_memory` are accepted and not needed. ValueError for inputs
    whose features are not known, and if there is neither `initial_state` nor `dtype`.

    >>> import staticgraph as sg
    >>> x = sg.placeholder(sg.float32, [None, 28, 28])
    >>> outputs, state = sg.nn.dynamic_rnn(sg.nn.rnn_cell.BasicLSTMCell(64), x, dtype=sg.float32)
    >>> outputs.shape.as_list(), state.h.shape.as_list()
    ([None, 28, 64], [None, 64])
    """
    check_cell(cell, "dynamic_rnn(cell)")
    with variable_scope(scope or "rnn"):
        flat = [convert_to_tensor(x) for x in nest.flatten(inputs)]
        for x in flat:
            _check_input(x)
        flat = flat if time_major else [swapped(x) for x in flat]
        batch_size = batch_size_of(flat, 1)
        lengths = lengths_of(sequence_length, batch_size)
        state = first_state(cell, initial_state, batch_size, dtype)
        if lengths is not None:
            count_more(lengths.graph, 12)  # TensorFlow's sequence_length and CheckSeqLen, and an assertion
        counts = _OperationCounts(cell, flat, state, lengths)
        steps = _Steps(cell, nest.pack_sequence_as(inputs, flat), state, counts)
        if steps.is_split and initial_state is not None:  # nothing joins it with the inputs

            def of_batch(part: Tensor) -> Tensor:
                return as_long("dynamic_rnn(initial_state)", part, 0, flat[0], 1)

            state = nest.map_structure(of_batch, state)
        kind = dtype_of(dtype, state)
        outputs, after = _over_time(steps, state, lengths, kind)
        counts.end()
        if steps.is_split:
            region = flat[0].graph.region

            def whole() -> Operation:
                with flat[0].graph.inside(region):
                    again = _WholeSteps(cell, nest.pack_sequence_as(inputs, flat), state, counts)
                    return _loop_of(_over_time(again, state, lengths, kind)[1])

            count_loop_as(_loop_of(after), whole)
        state = after
        return outputs if time_major else nest.map_structure(swapped, outputs), state


class _OperationCounts:
    """Numbers of operations that TensorFlow makes for a loop over time, on which default seeds depend.

    Here the loop has no counter of its own, and what a step does with the inputs alone may come before it.
    """

    def __init__(self, cell: Any, inputs: list[Tensor], state: Any, lengths: Tensor | None) -> None:
        self.graph = inputs[0].graph
        known = [(*(x.type.shape or ()), None, None)[:2] for x in inputs]
        self._outputs = len(nest.flatten(cell.output_size))
        self._states = len(nest.flatten(state))
        self._limited = lengths is not None
        self._carried = 2 + self._outputs + self._states  # with a counter and the time
        unknown = all(batch is None for _, batch in known)
        self._before = op_count(self.graph) + sum(
            (
                10 if unknown else 5,  # the number of time steps, and the size of the batch
                self._outputs * (7 if unknown else 6),  # zeros for sequences that have ended
                1 + self._outputs + 10 * len(inputs),  # the time, and the arrays with the rows of the inputs
                7 if self._limited else 3,  # the number of iterations
                1 + 2 * self._carried,  # the counter; Enter and Merge
                5 + 1,  # the condition with what it captures, LoopCond
                2 * self._carried + 2,  # Switch and Identity; the next count
                3 * len(inputs),  # the rows, with what reading them captures
                2 if self._limited else 0,  # which sequences have ended
            )
        )
        self._sizes = 1 if None in known[0] else 2

    def begin(self) -> None:
        """Count all that comes before the cell's own operations."""
        set_op_count(self.graph, self._before)

    def end_step(self) -> None:
        """Note that the cell's own operations are made."""
        self._after = op_count(self.graph)

    def end(self) -> None:
        """Count all that comes after the cell's own operations."""
        limits = 2 * self._outputs + self._states if self._limited else 0
        rest = limits + 2 + 2 * self._outputs + 2 * self._carried + (5 + self._sizes) * self._outputs
        set_op_count(self.graph, self._after + rest)


class _Steps:
    """A cell and the inputs [time, batch, ...] of all its steps.

    Where the cell can be split, what it makes of the inputs alone is computed before the loop, at once.
    """

    def __init__(self, cell: Any, inputs: Any, state: Any, counts: _OperationCounts) -> None:
        self.cell, self._counts = cell, counts
        flat = nest.flatten(inputs)
        times = {x.type.shape[0] for x in flat} - {None}
        if len(times) > 1:
            raise misuse(ValueError, f"the inputs have different numbers of time steps: {sorted(times)}")
        self.time = times.pop() if times else None
        self.count = shape(flat[0])[0] if self.time is None else self.time
        self.batch = flat[0].type.shape[1]
        split = self._split(inputs, state)
        self.is_split = split is not None
        self._step = cell if split is None else split[1]
        self._inputs = inputs if split is None else split[0]
        first, *others = nest.flatten(self._inputs)
        rows = [first, *(as_long("dynamic_rnn(inputs)", other, 0, first, 0) for other in others)]
        self._arrays = [TensorArray(x.dtype, size=self.count).unstack_all(x) for x in rows]

    def _split(self, inputs: Any, state: Any) -> Any:
        if not isinstance(self.cell, LayerRNNCell) or not isinstance(inputs, Tensor):
            return None
        self._counts.begin()
        made = self.cell.split_over(inputs, state)
        self._counts.end_step()
        return made

    def at(self, time: Tensor, state: Any) -> tuple[Any, Any]:
        """Output and state of the step at `time`."""
        rows = nest.pack_sequence_as(self._inputs, [a.read(time) for a in self._arrays])
        if self._step is not self.cell:
            output, after = self._step(rows, state)
        else:
            self._counts.begin()
            output, after = one_step(self.cell, rows, state)
            self._counts.end_step()
        if self._step is not self.cell:  # a whole step joins inputs and state, which makes one batch of them
            nest.map_structure(lambda new, old: new.set_shape(old.shape), after, state)
        return output, after


class _WholeSteps(_Steps):
    """The steps as TensorFlow's loop has them: nothing comes before the loop."""

    def _split(self, inputs: Any, state: Any) -> Any:
        return None

    def at(self, time: Tensor, state: Any) -> tuple[Any, Any]:
        rows = nest.pack_sequence_as(self._inputs, [a.read(time) for a in self._arrays])
        made: tuple[Any, Any] = self.cell.call(rows, state)
        return made


def _check_input(x: Tensor) -> None:
    known = x.type.shape
    if known is None or len(known) < 3 or None in known[2:]:
        text = f"the inputs {x.name} of shape {x.shape} must have a batch, a time and a feature axis,"
        text += " with the number of features known"
        raise misuse(ValueError, text, made=[(x.name, x.op.where)])


def _loop_of(state: Any) -> Operation:
    """Return the loop that a state comes out of."""
    loop: Operation = nest.flatten(state)[0].op.tensors[0].op
    return loop


def _over_time(steps: _Steps, state: Any, lengths: Tensor | None, dtype: Any) -> tuple[Any, Any]:
    """Outputs [time, batch, ...] and last state."""
    sizes = [as_shape(size) or () for size in nest.flatten(steps.cell.output_size)]
    arrays = tuple(TensorArray(dtype, size=steps.count, element_shape=[steps.batch, *size]) for size in sizes)

    def body(time: Tensor, done: Any, before: Any) -> Any:
        output, after = limited_step(time, lengths, lambda: steps.at(time, before), before)
        flat = nest.flatten(output)
        return time + 1, tuple(a.write(time, row) for a, row in zip(done, flat, strict=True)), after

    start = constant(0, dtype=int32, name="time")
    _, done, state = while_loop(lambda time, *_: time < steps.count, body, (start, arrays, state))
    outputs = [array.stack() for array in done]
    for output, size in zip(outputs, sizes, strict=True):
        output.set_shape([steps.time, steps.batch, *size])
    return nest.pack_sequence_as(steps.cell.output_size, outputs), state


def bidirectional_dynamic_rnn(
    cell_fw: Any,
    cell_bw: Any,
    inputs: Any,
    sequence_length: Any = None,
    initial_state_fw: Any = None,
    initial_state_bw: Any = None,
    dtype: Any = None,
    parallel_iterations: int | None = None,
    swap_memory: bool = False,
    time_major: bool = False,
    scope: Any = None,
) -> tuple[Any, Any]:
    """`dynamic_rnn` with `cell_fw` over `inputs`, and with `cell_bw` from their ends to their beginnings:
    the pair of outputs, and the pair of last states. Both outputs are in the order of the inputs.

    >>> import staticgraph as sg
    >>> x = sg.placeholder(sg.float32, [None, 5, 3])
    >>> cells = [sg.nn.rnn_cell.GRUCell(4) for _ in range(2)]
    >>> (forward, backward), states = sg.nn.bidirectional_dynamic_rnn(*cells, x, dtype=sg.float32)
    >>> sg.concat([forward, backward], 2).shape.as_list()
    [None, 5, 8]
    """
    check_cell(cell_fw, "bidirectional_dynamic_rnn(cell_fw)")
    check_cell(cell_bw, "bidirectional_dynamic_rnn(cell_bw)")

    def reversed_in_time(x: Tensor) -> Tensor:
        if sequence_length is None:
            return reverse(x, [0 if time_major else 1])
        axes = (0, 1) if time_major else (1, 0)
        return reverse_sequence(x, sequence_length, seq_axis=axes[0], batch_axis=axes[1])

    with variable_scope(scope or "bidirectional_rnn"):
        with variable_scope("fw") as forward:
            outputs_fw, state_fw = dynamic_rnn(
                cell_fw,
                inputs,
                sequence_length,
                initial_state_fw,
                dtype,
                time_major=time_major,
                scope=forward,
            )
        with variable_scope("bw") as backward:
            turned = nest.map_structure(lambda x: reversed_in_time(convert_to_tensor(x)), inputs)
            outputs_bw, state_bw = dynamic_rnn(
                cell_bw,
                turned,
                sequence_length,
                initial_state_bw,
                dtype,
                time_major=time_major,
                scope=backward,
            )
    return (outputs_fw, nest.map_structure(reversed_in_time, outputs_bw)), (state_fw, state_bw)
