"""`tf.contrib.seq2seq`: `dynamic_decode`, which runs a decoder until all its sequences have ended."""

from __future__ import annotations

from contextlib import nullcontext, suppress
from functools import partial
from typing import Any, NamedTuple

import staticgraph as sg
from staticgraph.building import nest
from staticgraph.building.read_only import read_only
from staticgraph.compiler.graph.errors import misuse
from staticgraph.compiler.graph.recording.op_count import built_again, count_more, counted_as
from staticgraph.nn.rnn_rounds import again, count_rounds, with_rows
from staticgraph.nn.rnn_step import check_cell, swapped, where_rows
from staticgraph.tf1.compat.rnn.decoding_helpers import Helper

_COUNTING = 7  # a constant, and a variable of the loop that counts, with its addition
_COUNTING_ARRAY = 2  # each array is made anew for that loop, and for the loop itself
_COUNTED = 1  # the ends of the loop that counts are more than those of TensorFlow's loop
_COUNTED_ARRAY = 8  # the last row is looked for, to write there
_LIMITED = 7  # a constant, and a variable of the loop that counts up to the limit
_LIMITED_END = 3  # of that loop
_ZEROS = 10  # operations by which TensorFlow makes zeros for an output


class Decoder:
    """Base class of the decoders that `dynamic_decode` runs.

    A subclass has the properties `batch_size`, `output_size` and `output_dtype`, and the methods `initialize`
    and `step`. It may have `finalize`.
    """

    @property
    def tracks_own_finished(self) -> bool:
        """True if a sequence that has ended may go on, because the decoder changes the order of sequences."""
        return False

    @property
    def batch_size(self) -> Any:
        raise misuse(NotImplementedError, f"{type(self).__name__} has no batch_size")

    @property
    def output_size(self) -> Any:
        raise misuse(NotImplementedError, f"{type(self).__name__} has no output_size")

    @property
    def output_dtype(self) -> Any:
        raise misuse(NotImplementedError, f"{type(self).__name__} has no output_dtype")

    def initialize(self, name: str | None = None) -> tuple[Any, Any, Any]:
        """Return which sequences have ended [batch], the first inputs, the first state."""
        raise misuse(NotImplementedError, f"{type(self).__name__} has no initialize")

    def step(self, time: Any, inputs: Any, state: Any, name: str | None = None) -> tuple[Any, Any, Any, Any]:
        """Outputs, next state, next inputs, which sequences have ended."""
        raise misuse(NotImplementedError, f"{type(self).__name__} has no step")

    def finalize(self, outputs: Any, final_state: Any, sequence_lengths: Any) -> tuple[Any, Any]:
        """Outputs [time, batch, ...] and the last state, as they are to be returned."""
        raise misuse(NotImplementedError, f"{type(self).__name__} has no finalize")


def dynamic_decode(
    decoder: Decoder,
    output_time_major: bool = False,
    impute_finished: bool = False,
    maximum_iterations: Any = None,
    parallel_iterations: int = 32,
    swap_memory: bool = False,
    scope: Any = None,
    **kwargs: Any,
) -> tuple[Any, Any, Any]:
    """Outputs [batch, time, ...], or [time, batch, ...] if `output_time_major`; the last state; and the
    number of steps of each sequence.

    It ends when all sequences have, or after `maximum_iterations` steps, which must be given where the end
    depends on random numbers. With `impute_finished`, outputs after the end of a sequence are zeros, and its
    state stays. TypeError for what is no decoder.
    """
    if not isinstance(decoder, Decoder):
        raise misuse(TypeError, f"dynamic_decode(decoder): {decoder!r} is not a Decoder")
    with sg.variable_scope(scope, "decoder") as opened:
        limit = _limit(maximum_iterations)
        finished, inputs, state = decoder.initialize()
        if limit is not None:
            finished = sg.logical_or(finished, sg.greater_equal(0, limit))
        graph = finished.graph
        count_more(graph, _ZEROS * len(nest.flatten(decoder.output_dtype)))
        lengths = sg.zeros_like(finished, sg.int32)
        arrays = nest.map_structure(
            lambda dtype: sg.TensorArray(dtype, size=0, dynamic_size=True), decoder.output_dtype
        )
        carried = (sg.constant(0, name="time"), arrays, state, inputs, finished, lengths)
        leaves = nest.flatten(carried)
        growing = sum(isinstance(leaf, sg.TensorArray) and leaf.dynamic_size for leaf in leaves)
        body = _body(decoder, impute_finished)

        def going(time: sg.Tensor, *rest: Any) -> sg.Tensor:
            going_on = sg.logical_not(sg.reduce_all(rest[-2]))
            return going_on if limit is None else sg.logical_and(time < limit, going_on)

        rows: Any = limit
        seeds: list[int] = []
        if rows is None:  # the loop that counts has a variable more, and arrays of its own
            count_more(graph, -_COUNTING - _COUNTING_ARRAY * growing)
            rows, seeds = count_rounds(going, body, carried, hint="give maximum_iterations")
    with again(opened) if limit is None else sg.variable_scope(opened, auxiliary_name_scope=False):
        count_more(graph, -_COUNTED - _COUNTED_ARRAY * growing if limit is None else _LIMITED - growing)
        with built_again(graph, seeds) if limit is None else nullcontext():  # the one that counts was counted
            time, arrays, state, _, _, lengths = sg.while_loop(going, body, with_rows(carried, rows))
        if limit is not None:
            with counted_as(graph, _LIMITED_END):
                arrays, state = nest.map_structure(lambda leaf: _shortened(leaf, time), (arrays, state))
        outputs = nest.map_structure(lambda array: array.stack(), arrays)
        with suppress(NotImplementedError):
            outputs, state = decoder.finalize(outputs, state, lengths)
        return outputs if output_time_major else nest.map_structure(swapped, outputs), state, lengths


def _limit(maximum_iterations: Any) -> sg.Tensor | None:
    if maximum_iterations is None:
        return None
    limit = sg.convert_to_tensor(maximum_iterations, dtype=sg.int32, name="maximum_iterations")
    if limit.shape.ndims != 0:
        raise misuse(ValueError, f"maximum_iterations must be one number, not of shape {limit.shape}")
    return limit


def _body(decoder: Decoder, impute_finished: bool) -> Any:
    """One step of the loop."""

    def body(time: Any, arrays: Any, state: Any, inputs: Any, finished: Any, lengths: Any) -> Any:
        outputs, after, given, ended = decoder.step(time, inputs, state)
        nest.assert_same_structure(state, after)
        nest.assert_same_structure(inputs, given)
        if impute_finished:
            outputs = nest.map_structure(lambda new: where_rows(finished, sg.zeros_like(new), new), outputs)
            after = nest.map_structure(partial(_unless, finished), state, after)
        lengths = sg.where(finished, lengths, sg.fill(sg.shape(lengths), time + 1))
        ended = ended if decoder.tracks_own_finished else sg.logical_or(ended, finished)
        arrays = nest.map_structure(lambda array, row: array.write(time, row), arrays, outputs)
        return time + 1, arrays, after, given, ended, lengths

    return body


def _unless(finished: Any, old: Any, new: Any) -> Any:
    """Return the old state of sequences that are finished, else the new one; an array or a number is new."""
    is_whole = isinstance(new, sg.TensorArray) or new.shape.ndims == 0
    return new if is_whole else where_rows(finished, old, new)


def _shortened(leaf: Any, rows: Any) -> Any:
    """An array without the rows that were not written."""
    return leaf.unstack(leaf.stack()[:rows]) if isinstance(leaf, sg.TensorArray) else leaf


class BasicDecoderOutput(NamedTuple):
    """The result of a `BasicDecoder` in a step: outputs, and numbers of symbols."""

    rnn_output: Any
    sample_id: Any


class BasicDecoder(Decoder):
    """A cell, and a layer on its outputs if there is one, whose inputs a `Helper` gives."""

    def __init__(self, cell: Any, helper: Helper, initial_state: Any, output_layer: Any = None) -> None:
        check_cell(cell, "BasicDecoder(cell)")
        if not isinstance(helper, Helper):
            raise misuse(TypeError, f"BasicDecoder(helper): {helper!r} is not a Helper")
        if output_layer is not None and not hasattr(output_layer, "compute_output_shape"):
            raise misuse(TypeError, f"BasicDecoder(output_layer): {output_layer!r} is not a layer")
        self._cell, self._helper = cell, helper
        self._initial_state, self._output_layer = initial_state, output_layer

    batch_size: Any = read_only("helper.batch_size")

    @property
    def output_size(self) -> BasicDecoderOutput:
        size = self._cell.output_size
        if self._output_layer is not None:
            size = nest.map_structure(self._after_layer, size)
        return BasicDecoderOutput(size, self._helper.sample_ids_shape)

    def _after_layer(self, size: Any) -> sg.TensorShape:
        shape = sg.TensorShape([None]).concatenate(size)
        return sg.TensorShape(self._output_layer.compute_output_shape(shape))[1:]

    @property
    def output_dtype(self) -> BasicDecoderOutput:
        dtype = nest.flatten(self._initial_state)[0].dtype
        outputs = nest.map_structure(lambda _: dtype, self.output_size.rnn_output)
        return BasicDecoderOutput(outputs, self._helper.sample_ids_dtype)

    def initialize(self, name: str | None = None) -> tuple[Any, Any, Any]:
        return *self._helper.initialize(), self._initial_state

    def step(self, time: Any, inputs: Any, state: Any, name: str | None = None) -> tuple[Any, Any, Any, Any]:
        with sg.name_scope(name, "BasicDecoderStep"):
            outputs, state = self._cell(inputs, state)
            if self._output_layer is not None:
                outputs = self._output_layer(outputs)
            sample_ids = self._helper.sample(time=time, outputs=outputs, state=state)
            finished, inputs, state = self._helper.next_inputs(
                time=time, outputs=outputs, state=state, sample_ids=sample_ids
            )
        return BasicDecoderOutput(outputs, sample_ids), state, inputs, finished
