"""`rnn`: a step function over the time steps of a sequence."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from staticgraph.arrays.array_ops import reshape, reverse, stack, transpose, unstack
from staticgraph.arrays.casts import cast
from staticgraph.arrays.creation import zeros_like
from staticgraph.building.inputs import convert_to_tensor
from staticgraph.compiler import ops
from staticgraph.compiler.graph.dtypes import bool_
from staticgraph.compiler.graph.errors import misuse
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.control_flow.functional import scan

Step = Callable[[Any, list[Any]], tuple[Any, list[Any]]]


def rnn(
    step_function: Step,
    inputs: Any,
    initial_states: Sequence[Any],
    go_backwards: bool = False,
    mask: Any = None,
    constants: Sequence[Any] | None = None,
    unroll: bool = False,
    input_length: Any = None,
    time_major: bool = False,
    zero_output_for_mask: bool = False,
) -> tuple[Tensor, Tensor, list[Tensor]]:
    """The last output, all outputs, and the last states of `step_function(input, states)` over time.

    `inputs` has shape [batch, time, ...], or [time, batch, ...] if `time_major`. Where `mask` is false the
    states stay as they are, and the output is repeated, or zero. `unroll` writes all steps into the graph,
    which needs a known number of them; otherwise they are a loop. `constants` follow the states.

    >>> import numpy as np
    >>> import staticgraph as sg
    >>> K = sg.keras.backend
    >>> x = sg.constant(np.ones([1, 3, 2]), sg.float32)
    >>> last, _, _ = K.rnn(lambda x, states: (states[0] + x, [states[0] + x]), x, [sg.zeros([1, 2])])
    >>> K.eval(last)
    array([[3., 3.]], dtype=float32)
    """
    inputs = convert_to_tensor(inputs)
    rows = inputs if time_major else _exchanged(inputs)
    kept = None if mask is None else cast(mask if time_major else _exchanged(mask), bool_)
    if go_backwards:
        rows = reverse(rows, [0])
        kept = None if kept is None else reverse(kept, [0])
    states = [convert_to_tensor(s) for s in initial_states]
    further = list(constants or ())

    def advance(before: list[Any], row: Any, counts: Any, output: Any) -> list[Any]:
        made, after = step_function(row, [*before, *further])
        if counts is None:
            return [made, *after]
        instead = zeros_like(made) if zero_output_for_mask else output
        chosen = [_chosen(counts, made, instead)]
        return chosen + [_chosen(counts, new, old) for new, old in zip(after, before, strict=True)]

    outputs, last = (_unrolled if unroll else _looped)(advance, step_function, rows, kept, states, further)
    final = outputs[-1]
    if outputs.shape.ndims is not None:
        final.set_shape(outputs.shape[1:])
    return final, outputs if time_major else _exchanged(outputs), last


def _exchanged(x: Any) -> Tensor:
    """Batch and time exchanged."""
    x = convert_to_tensor(x)
    return transpose(x, [1, 0, *range(2, x.shape.ndims or 2)])


def _chosen(counts: Tensor, new: Any, old: Any) -> Tensor:
    """`new` for the samples of which the time step counts, `old` for the others."""
    extra = (new.shape.ndims or 1) - (counts.shape.ndims or 1)
    if extra > 0:
        sizes = [-1 if n is None else n for n in counts.shape.as_list()]
        counts = reshape(counts, [*sizes, *[1] * extra])
    made = ops.select(counts, new, old)
    made.set_shape(new.shape)
    return made


def _unrolled(
    advance: Any, step: Step, rows: Tensor, kept: Any, states: list[Any], further: list[Any]
) -> tuple[Tensor, list[Any]]:
    number = rows.shape.as_list()[0]
    if number is None:
        raise misuse(
            ValueError, "rnn(unroll=True) needs a known number of time steps: give the input a static length"
        )
    counts = [None] * number if kept is None else unstack(kept, number)
    outputs: list[Any] = []
    before = None if kept is None else zeros_like(step(rows[0], [*states, *further])[0])
    for row, count in zip(unstack(rows, number), counts, strict=True):
        before, *states = advance(states, row, count, before)
        outputs.append(before)
    return stack(outputs, 0), states


def _looped(
    advance: Any, step: Step, rows: Tensor, kept: Any, states: list[Any], further: list[Any]
) -> tuple[Tensor, list[Any]]:
    first = zeros_like(step(rows[0], [*states, *further])[0])

    def body(carried: list[Any], row: Any) -> list[Any]:
        x, count = (row, None) if kept is None else row
        return advance(carried[1:], x, count, carried[0])

    outputs, *all_states = scan(body, rows if kept is None else (rows, kept), [first, *states])
    outputs.set_shape([rows.shape.as_list()[0], *first.shape.as_list()])
    last = [s[-1] for s in all_states]
    for made, state in zip(last, states, strict=True):
        made.set_shape(state.shape)
    return outputs, last
