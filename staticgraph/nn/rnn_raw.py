"""`raw_rnn`: a recurrent network whose inputs, outputs and end are a function of the user's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from staticgraph.building import nest
from staticgraph.building.inputs import constant, convert_to_tensor
from staticgraph.compiler.graph.dtypes import int32
from staticgraph.compiler.graph.errors import misuse
from staticgraph.compiler.graph.recording.op_count import built_again, count_more
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.control_flow.loops import while_loop
from staticgraph.control_flow.tensor_array import TensorArray
from staticgraph.mathematics.math_ops import logical_not, logical_or
from staticgraph.mathematics.reductions import reduce_all
from staticgraph.nn.rnn_cell.base import batch_of_zeros
from staticgraph.nn.rnn_rounds import again, count_rounds, with_rows
from staticgraph.nn.rnn_step import as_carried, batch_size_of, check_cell, one_step, where_rows
from staticgraph.state.scopes import variable_scope


def raw_rnn(
    cell: Any,
    loop_fn: Callable[..., Any],
    parallel_iterations: int | None = None,
    swap_memory: bool = False,
    scope: Any = None,
) -> tuple[Any, Any, Any]:
    """Outputs as a TensorArray, the last state, and the last state of the loop.

    `loop_fn(time, cell_output, cell_state, loop_state)` returns which sequences have ended [batch], the next
    input, the next state, the output of this step, and the next state of the loop, or None. It is called
    first with time 0 and None for the rest, and then gives the first input and state, and an example of what
    is put out for one sequence, its shape known, or None for what the cell gives. Outputs of sequences that
    have ended are zeros, and their states stay. `loop_fn` is called only while the graph is built.

    >>> import staticgraph as sg
    >>> x = sg.constant([[[1.0], [2.0], [3.0]]])
    >>> cell = sg.nn.rnn_cell.BasicRNNCell(4)
    >>> def loop_fn(time, output, state, loop_state):
    ...     state = cell.zero_state(1, sg.float32) if output is None else state
    ...     return time >= [3], x[:, sg.minimum(time, 2)], state, output, None
    >>> outputs, state, _ = sg.nn.raw_rnn(cell, loop_fn)
    >>> state.shape.as_list()
    [1, 4]
    """
    check_cell(cell, "raw_rnn(cell)")
    if not callable(loop_fn):
        raise misuse(TypeError, f"raw_rnn(loop_fn): {loop_fn!r} is not a function")
    with variable_scope(scope or "rnn") as opened:
        start = constant(0, dtype=int32, name="time")
        finished, inputs, state, example, first = loop_fn(start, None, None, None)
        state = nest.map_structure(as_carried, state)
        nest.assert_same_structure(state, cell.state_size)
        inputs = nest.map_structure(as_carried, inputs)
        batch_size = batch_size_of([t for t in nest.flatten(inputs) if isinstance(t, Tensor)], 0)
        zeros = _nothing(cell, example, state, batch_size)

        def body(time: Tensor, ended: Tensor, given: Any, done: Any, before: Any, loop: Any) -> Any:
            output, after = one_step(cell, given, before)
            nest.assert_same_structure(before, after)
            now, given, after, emitted, next_loop = loop_fn(time + 1, output, after, loop)
            emitted = nest.map_structure(lambda zero, new: where_rows(ended, zero, new), zeros, emitted)
            after = nest.map_structure(lambda old, new: _unless(ended, old, new), before, after)
            done = nest.map_structure(lambda array, row: array.write(time, row), done, emitted)
            given = nest.map_structure(as_carried, given)
            loop = loop if next_loop is None else next_loop
            return time + 1, logical_or(ended, now), given, done, after, loop

        def going(time: Tensor, ended: Tensor, *_: Any) -> Tensor:
            return logical_not(reduce_all(ended))

        arrays = nest.map_structure(
            lambda zero: TensorArray(zero.dtype, size=0, dynamic_size=True, element_shape=zero.shape), zeros
        )
        loop_state = (
            constant(0, name="loop_state") if first is None else nest.map_structure(as_carried, first)
        )
        carried = (start, convert_to_tensor(finished), inputs, arrays, state, loop_state)
        count_more(start.graph, -_more_before(nest.flatten(zeros), nest.flatten(loop_state)))
        rounds, seeds = count_rounds(going, body, carried, hint="let the end depend on `time`")
        count_more(start.graph, -_more_after(*map(nest.flatten, (zeros, loop_state))))
    with again(opened), built_again(rounds.graph, seeds):
        made = while_loop(going, body, with_rows(carried, rounds))
    return made[3], made[4], None if first is None else made[5]


def _more_before(zeros: list[Tensor], loop_state: list[Any]) -> int:
    """Return how many operations more than TensorFlow's loop the loop that counts has before its body."""
    growing = sum(isinstance(each, TensorArray) and each.dynamic_size for each in loop_state)
    return 7 + 2 * growing + sum(4 if zero.shape.is_fully_defined() else 5 for zero in zeros)


def _more_after(zeros: list[Tensor], loop_state: list[Any]) -> int:
    """Return how many operations more than TensorFlow's loop the loop that counts has after."""
    arrays = len(zeros) + sum(isinstance(each, TensorArray) for each in loop_state)
    return 4 + 8 * arrays


def _unless(ended: Tensor, old: Any, new: Any) -> Any:
    """`old` for the sequences that have ended, else `new`. A TensorArray or a number is the new one."""
    if isinstance(old, TensorArray) or old.shape.ndims == 0:
        return new
    return where_rows(ended, old, new)


def _nothing(cell: Any, example: Any, state: Any, batch_size: Any) -> Any:
    """The output of a sequence that has ended."""
    if example is None:
        dtype = nest.flatten(state)[0].dtype
        return nest.map_structure(lambda size: batch_of_zeros(batch_size, size, dtype), cell.output_size)
    return nest.map_structure(lambda part: batch_of_zeros(batch_size, part.shape, part.dtype), example)
