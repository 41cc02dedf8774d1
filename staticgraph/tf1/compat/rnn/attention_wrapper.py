"""`tf.contrib.seq2seq`: a cell that looks at a memory at each step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import staticgraph as sg
from staticgraph.building import nest
from staticgraph.building.operation_counts import constants
from staticgraph.compiler.graph.errors import misuse
from staticgraph.compiler.graph.recording.op_count import count_captures, count_more
from staticgraph.nn.rnn_cell import RNNCell
from staticgraph.nn.rnn_cell.base import batch_of_zeros
from staticgraph.nn.rnn_step import check_cell
from staticgraph.tf1.compat.rnn.attention_mechanisms import AttentionMechanism

# Operations that TensorFlow makes more: an assertion that sizes are equal, a size of a batch, and an
# assertion that a shape is that of another tensor.
_ASSERTION, _SIZE, _SAME_SHAPE = 12, 5, 16


class AttentionWrapperState(NamedTuple):
    """The state of an `AttentionWrapper`; with several mechanisms, the last three are tuples."""

    cell_state: Any
    attention: Any
    time: Any
    alignments: Any
    alignment_history: Any
    attention_state: Any

    def clone(self, **kwargs: Any) -> AttentionWrapperState:
        """The state with other parts, of the same shapes."""

        def checked(old: Any, new: Any) -> Any:
            if isinstance(old, sg.Tensor) and isinstance(new, sg.Tensor):
                if not (old.shape.is_fully_defined() and new.shape.is_fully_defined()):
                    count_more(new.graph, _SAME_SHAPE)
                new.set_shape(old.shape)
            return new

        made: AttentionWrapperState = nest.map_structure(checked, self, self._replace(**kwargs))
        return made


def _attend(
    mechanism: AttentionMechanism, output: sg.Tensor, state: Any, layer: Any
) -> tuple[sg.Tensor, sg.Tensor, Any]:
    """Query the memory of `mechanism` with the output of a cell.

    Returns:
        The attention: the weighted mean of the memory, or `layer` of the output and this mean.
        The weights of the mean.
        The next state of the mechanism.
    """
    alignments, state = mechanism(output, state=state)
    context = sg.squeeze(sg.matmul(sg.expand_dims(alignments, 1), mechanism.values), [1])
    seen = context if layer is None else layer(sg.concat([output, context], 1))
    return seen, alignments, state


class AttentionWrapper(RNNCell):
    """`cell` gets its input and what it saw at the step before, and its output decides what it sees.

    One mechanism or several. `attention_layer_size`, a number for each, makes dense layers on outputs and
    means; `attention_layer` gives them. `alignment_history` keeps the weights of all steps.
    `cell_input_fn(inputs, attention)` puts an input together. What is seen is the output, or without
    `output_attention` what the cell gives.
    """

    def __init__(
        self,
        cell: Any,
        attention_mechanism: Any,
        attention_layer_size: Any = None,
        alignment_history: bool = False,
        cell_input_fn: Callable[..., Any] | None = None,
        output_attention: bool = True,
        initial_cell_state: Any = None,
        name: str | None = None,
        attention_layer: Any = None,
        attention_fn: Callable[..., Any] | None = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(name=name, dtype=dtype)
        check_cell(cell, "AttentionWrapper(cell)")
        self._is_multi = isinstance(attention_mechanism, list | tuple)
        self._mechanisms = _listed(attention_mechanism)
        for mechanism in self._mechanisms:
            if not isinstance(mechanism, AttentionMechanism):
                text = f"AttentionWrapper(attention_mechanism): {mechanism!r} is not an AttentionMechanism"
                raise misuse(TypeError, text)
        if cell_input_fn is not None and not callable(cell_input_fn):
            raise misuse(TypeError, "AttentionWrapper(cell_input_fn): a function is needed")
        self._cell = cell
        self._layers, self._attention_size = self._attention_layers(attention_layer_size, attention_layer)
        self._input_fn = cell_input_fn or (lambda inputs, attention: sg.concat([inputs, attention], -1))
        self._attention_fn = attention_fn or _attend
        self._output_attention, self._history = output_attention, alignment_history
        self._initial_cell_state = initial_cell_state

    def _attention_layers(self, sizes: Any, given: Any) -> tuple[Sequence[Any], int]:
        """The layer of each mechanism, or None, and the size of what is seen."""
        if sizes is not None and given is not None:
            text = "AttentionWrapper: give attention_layer_size or attention_layer, not both"
            raise misuse(ValueError, text)
        if sizes is None and given is None:
            widths = [m.values.shape[-1].value for m in self._mechanisms]
            return [None] * len(widths), sum(widths)
        name = "attention_layer" if sizes is None else "attention_layer_size"
        each = _listed(given if sizes is None else sizes)
        if len(each) != len(self._mechanisms):
            text = f"AttentionWrapper({name}): {len(each)} for {len(self._mechanisms)} mechanisms"
            raise misuse(ValueError, text)
        if sizes is not None:
            made = [
                sg.layers.Dense(n, name="attention_layer", use_bias=False, dtype=m.dtype)
                for n, m in zip(each, self._mechanisms, strict=True)
            ]
            return made, sum(each)
        inputs = [self._cell.output_size + m.values.shape[-1].value for m in self._mechanisms]
        shapes = [layer.compute_output_shape([None, n]) for layer, n in zip(each, inputs, strict=True)]
        return each, sum(sg.TensorShape(shape)[-1].value for shape in shapes)

    def _packed(self, parts: Sequence[Any]) -> Any:
        return tuple(parts) if self._is_multi else parts[0]

    @property
    def output_size(self) -> Any:
        return self._attention_size if self._output_attention else self._cell.output_size

    @property
    def state_size(self) -> AttentionWrapperState:
        sizes = [m.alignments_size for m in self._mechanisms]
        return AttentionWrapperState(
            cell_state=self._cell.state_size,
            attention=self._attention_size,
            time=sg.TensorShape([]),
            alignments=self._packed(sizes),
            alignment_history=self._packed([size if self._history else () for size in sizes]),
            attention_state=self._packed([m.state_size for m in self._mechanisms]),
        )

    def zero_state(self, batch_size: Any, dtype: Any) -> AttentionWrapperState:
        with sg.name_scope(f"{type(self).__name__}ZeroState"):
            state = self._initial_cell_state
            if state is None:
                state = self._cell.get_initial_state(batch_size=batch_size, dtype=dtype)
            self._check_batch(batch_size)
            count_more(sg.get_default_graph(), self._checks(batch_size))
            alignments = [m.initial_alignments(batch_size, dtype) for m in self._mechanisms]
            history: list[Any] = [()] * len(alignments)
            if self._history:
                shapes = [each.shape for each in alignments]
                history = [sg.TensorArray(dtype, 0, dynamic_size=True, element_shape=s) for s in shapes]
            return AttentionWrapperState(
                cell_state=nest.map_structure(sg.identity, state),
                attention=batch_of_zeros(batch_size, self._attention_size, dtype),
                time=sg.zeros([], sg.int32),
                alignments=self._packed(alignments),
                alignment_history=self._packed(history),
                attention_state=self._packed([m.initial_state(batch_size, dtype) for m in self._mechanisms]),
            )

    def _check_batch(self, batch_size: Any) -> None:
        """ValueError if the memory is known to be of another batch size."""
        for mechanism in self._mechanisms:
            sizes = batch_size, mechanism.batch_size
            if all(isinstance(size, int) for size in sizes) and sizes[0] != sizes[1]:
                text = f"{self.label}: a state for {sizes[0]} sequences, and a memory of {sizes[1]}"
                hint = "for a beam search, tile_batch(memory, multiplier=beam_width)"
                raise misuse(ValueError, text, hint)

    def _checks(self, batch_size: Any) -> int:
        """Return the operations by which TensorFlow asserts that the memories have this batch size."""
        sizes = [(batch_size, mechanism.batch_size) for mechanism in self._mechanisms]
        return sum(
            _ASSERTION + constants(*pair) for pair in sizes if not all(isinstance(n, int) for n in pair)
        )

    def call(self, inputs: Any, state: AttentionWrapperState) -> tuple[Any, AttentionWrapperState]:
        if not isinstance(state, AttentionWrapperState):
            text = f"{self.label}: the state must be an AttentionWrapperState, not {state!r}"
            raise misuse(TypeError, text, "zero_state() gives the first one")
        output, cell_state = self._cell(self._input_fn(inputs, state.attention), state.cell_state)
        batch = output.shape[0].value
        size = output if batch is None else batch
        count_more(output.graph, self._checks(size) + 1 + (0 if batch is not None else _SIZE))
        sizes = [mechanism.batch_size for mechanism in self._mechanisms]
        count_captures(output.graph, [each for each in sizes if isinstance(each, sg.Tensor)])
        before = [state.attention_state], [state.alignment_history]
        if self._is_multi:
            before = state.attention_state, state.alignment_history
        seen, alignments, states, history = [], [], [], []
        for mechanism, layer, memory, past in zip(self._mechanisms, self._layers, *before, strict=True):
            attention, weights, memory = self._attention_fn(mechanism, output, memory, layer)
            seen.append(attention)
            alignments.append(weights)
            states.append(memory)
            history.append(past.write(state.time, weights) if self._history else ())
        attention = sg.concat(seen, 1)
        after = AttentionWrapperState(
            cell_state=cell_state,
            attention=attention,
            time=state.time + 1,
            alignments=self._packed(alignments),
            alignment_history=self._packed(history),
            attention_state=self._packed(states),
        )
        return attention if self._output_attention else output, after


def _listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else [value]
