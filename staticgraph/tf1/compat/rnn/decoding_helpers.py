"""`tf.contrib.seq2seq`: where the inputs of a decoder come from, and what of its outputs is put out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import staticgraph as sg
from staticgraph.building import nest
from staticgraph.building.operation_counts import constants
from staticgraph.compiler.graph.errors import misuse
from staticgraph.compiler.graph.recording.op_count import count_more, counted_as
from staticgraph.nn.rnn_step import swapped, where_rows

_SWAPPED = 8  # operations of TensorFlow that change the order of batch and time
_READ_NEXT = 1  # operation fewer that reads a row in the loop
_CHOICE = 11  # operations by which TensorFlow reads no row if all sequences have ended
_READ_ROWS = 20  # those of an array of rows, and of a row of zeros


class Helper:
    """Base class of the helpers that give a `BasicDecoder` its inputs.

    The decoder first calls `initialize()`, for the empty sequences and the first inputs. Then it calls two
    methods at each step: `sample`, for the numbers of symbols, and `next_inputs`, for the sequences that have
    ended, the next inputs and the next state.
    """

    batch_size: Any = None
    sample_ids_shape: Any = sg.TensorShape([])
    sample_ids_dtype: Any = sg.int32

    def initialize(self, name: str | None = None) -> tuple[Any, Any]:
        """Return which sequences have ended [batch], and the first inputs."""
        raise misuse(NotImplementedError, f"{type(self).__name__} has no initialize")

    def sample(self, time: Any, outputs: Any, state: Any, name: str | None = None) -> Any:
        """The numbers of the symbols that outputs stand for."""
        raise misuse(NotImplementedError, f"{type(self).__name__} has no sample")

    def next_inputs(
        self, time: Any, outputs: Any, state: Any, sample_ids: Any, name: str | None = None
    ) -> tuple[Any, Any, Any]:
        """Return which sequences have ended [batch], the next inputs, the next state."""
        raise misuse(NotImplementedError, f"{type(self).__name__} has no next_inputs")


class CustomHelper(Helper):
    """A helper made of functions."""

    def __init__(
        self,
        initialize_fn: Callable[..., Any],
        sample_fn: Callable[..., Any],
        next_inputs_fn: Callable[..., Any],
        sample_ids_shape: Any = None,
        sample_ids_dtype: Any = None,
    ) -> None:
        self._initialize_fn, self._sample_fn, self._next_inputs_fn = initialize_fn, sample_fn, next_inputs_fn
        self.sample_ids_shape = sg.TensorShape(sample_ids_shape or [])
        self.sample_ids_dtype = sample_ids_dtype or sg.int32

    def initialize(self, name: str | None = None) -> tuple[Any, Any]:
        finished, inputs = self._initialize_fn()
        self.batch_size = sg.size(finished)
        return finished, inputs

    def sample(self, time: Any, outputs: Any, state: Any, name: str | None = None) -> Any:
        return self._sample_fn(time=time, outputs=outputs, state=state)

    def next_inputs(
        self, time: Any, outputs: Any, state: Any, sample_ids: Any, name: str | None = None
    ) -> tuple[Any, Any, Any]:
        made: tuple[Any, Any, Any] = self._next_inputs_fn(
            time=time, outputs=outputs, state=state, sample_ids=sample_ids
        )
        return made


class TrainingHelper(Helper):
    """Reads inputs [batch, time, ...], or [time, batch, ...] if `time_major`; `sequence_length` [batch] says
    how many steps each sequence has.
    """

    def __init__(
        self, inputs: Any, sequence_length: Any, time_major: bool = False, name: str | None = None
    ) -> None:
        with sg.name_scope(name, "TrainingHelper"):
            self.inputs = nest.map_structure(sg.convert_to_tensor, inputs)
            parts = nest.flatten(self.inputs)
            with counted_as(parts[0].graph, len(parts) * (_READ_ROWS + (0 if time_major else _SWAPPED))):
                rows = self.inputs if time_major else nest.map_structure(swapped, self.inputs)
                self._rows = nest.map_structure(_Rows, rows)
            self.sequence_length = sg.convert_to_tensor(sequence_length, name="sequence_length")
            if self.sequence_length.shape.ndims != 1:
                text = f"sequence_length must be a vector, not of shape {self.sequence_length.shape}"
                raise misuse(ValueError, text)
            with counted_as(self.sequence_length.graph, 1 + constants(sequence_length)):
                self.batch_size = sg.size(self.sequence_length)

    def initialize(self, name: str | None = None) -> tuple[Any, Any]:
        made = 4 + 10 * len(nest.flatten(self.inputs))  # in TensorFlow, with a branch for each input
        scope = sg.name_scope(name, "TrainingHelperInitialize")
        with scope, counted_as(self.sequence_length.graph, made):
            finished = sg.equal(0, self.sequence_length)
            return finished, self._read(sg.constant(0), finished)

    def _read(self, time: Any, finished: sg.Tensor) -> Any:
        return nest.map_structure(lambda rows: rows.read(time, finished), self._rows)

    def sample(self, time: Any, outputs: Any, state: Any = None, name: str | None = None, **_: Any) -> Any:
        return sg.argmax(outputs, axis=-1, output_type=sg.int32)

    def next_inputs(
        self, time: Any, outputs: Any, state: Any, sample_ids: Any = None, name: str | None = None, **_: Any
    ) -> tuple[Any, Any, Any]:
        with sg.name_scope(name, "TrainingHelperNextInputs"):
            finished = time + 1 >= self.sequence_length
            made = self._read(time + 1, finished)
            count_more(finished.graph, -_READ_NEXT * len(nest.flatten(made)))
            return finished, made, state


class _Rows:
    """The rows of a tensor [time, ...], and zeros after the last step of all sequences."""

    def __init__(self, tensor: sg.Tensor) -> None:
        self._array = sg.TensorArray(tensor.dtype, size=sg.shape(tensor)[0]).unstack(tensor)
        self._zeros = sg.zeros(sg.shape(tensor)[1:], tensor.dtype)

    def read(self, time: sg.Tensor, finished: sg.Tensor) -> sg.Tensor:
        """Return the row of a step; zeros if all sequences are `finished` [batch], when there may be none."""
        return sg.cond(sg.reduce_all(finished), lambda: self._zeros, lambda: self._array.read(time))


def _embedding(embedding: Any) -> Callable[[Any], sg.Tensor]:
    """The function that gives rows of a table, which may be that function itself."""
    if callable(embedding):
        return embedding
    return lambda ids: sg.nn.embedding_lookup(embedding, ids)


def _probability(value: Any) -> sg.Tensor:
    made = sg.convert_to_tensor(value, name="sampling_probability")
    if made.shape.ndims not in (0, 1):
        text = f"sampling_probability must be a number or a vector, not of shape {made.shape}"
        raise misuse(ValueError, text)
    return made


class ScheduledEmbeddingTrainingHelper(TrainingHelper):
    """A `TrainingHelper` that replaces some inputs by the rows of symbols drawn from the outputs."""

    def __init__(
        self,
        inputs: Any,
        sequence_length: Any,
        embedding: Any,
        sampling_probability: Any,
        time_major: bool = False,
        seed: int | None = None,
        scheduling_seed: int | None = None,
        name: str | None = None,
    ) -> None:
        self._embedding_fn = _embedding(embedding)
        self._probability = _probability(sampling_probability)
        self._seed, self._scheduling_seed = seed, scheduling_seed
        super().__init__(inputs, sequence_length, time_major, name)

    def sample(self, time: Any, outputs: Any, state: Any = None, name: str | None = None, **_: Any) -> Any:
        chosen = _chance(self._probability, self.batch_size, self._scheduling_seed)
        drawn = sg.distributions.Categorical(logits=outputs).sample(seed=self._seed)
        return sg.where(chosen, drawn, sg.fill([self.batch_size], -1))

    def next_inputs(
        self, time: Any, outputs: Any, state: Any, sample_ids: Any = None, name: str | None = None, **_: Any
    ) -> tuple[Any, Any, Any]:
        finished, given, state = super().next_inputs(time, outputs, state)
        drawn = self._embedding_fn(sg.maximum(sample_ids, 0))
        return finished, where_rows(sample_ids > -1, drawn, given), state


class ScheduledOutputTrainingHelper(TrainingHelper):
    """A `TrainingHelper` that replaces some inputs by the outputs before, or by `next_inputs_fn` of them.

    `auxiliary_inputs` are appended to all inputs.
    """

    def __init__(
        self,
        inputs: Any,
        sequence_length: Any,
        sampling_probability: Any,
        time_major: bool = False,
        seed: int | None = None,
        next_inputs_fn: Callable[..., Any] | None = None,
        auxiliary_inputs: Any = None,
        name: str | None = None,
    ) -> None:
        self._probability, self._seed = _probability(sampling_probability), seed
        self._next_inputs_fn = next_inputs_fn or (lambda outputs: outputs)
        self._auxiliary = None
        if auxiliary_inputs is not None:
            auxiliary = sg.convert_to_tensor(auxiliary_inputs)
            inputs = sg.concat([sg.convert_to_tensor(inputs), auxiliary], -1)
            self._auxiliary = _Rows(auxiliary if time_major else swapped(auxiliary))
        super().__init__(inputs, sequence_length, time_major, name)

    def sample(self, time: Any, outputs: Any, state: Any = None, name: str | None = None, **_: Any) -> Any:
        return sg.cast(_chance(self._probability, self.batch_size, self._seed), sg.int32)

    def next_inputs(
        self, time: Any, outputs: Any, state: Any, sample_ids: Any = None, name: str | None = None, **_: Any
    ) -> tuple[Any, Any, Any]:
        finished, given, state = super().next_inputs(time, outputs, state)
        made = self._next_inputs_fn(outputs)
        if self._auxiliary is not None:
            made = sg.concat([made, self._auxiliary.read(time + 1, finished)], -1)
        return finished, where_rows(sg.cast(sample_ids, sg.bool), made, given), state


def _chance(probability: sg.Tensor, batch_size: Any, seed: int | None) -> sg.Tensor:
    """True with a probability, for each sequence."""
    shape = sg.stack([batch_size])
    return sg.random_uniform(shape, seed=seed, dtype=probability.dtype) < probability


class GreedyEmbeddingHelper(Helper):
    """Feeds back the row of the symbol with the greatest output, from `start_tokens` to `end_token`."""

    def __init__(self, embedding: Any, start_tokens: Any, end_token: Any) -> None:
        self._embedding_fn = _embedding(embedding)
        self._start_tokens = sg.convert_to_tensor(start_tokens, dtype=sg.int32, name="start_tokens")
        self._end_token = sg.convert_to_tensor(end_token, dtype=sg.int32, name="end_token")
        if self._start_tokens.shape.ndims != 1:
            raise misuse(ValueError, "start_tokens must be a vector")
        if self._end_token.shape.ndims != 0:
            raise misuse(ValueError, "end_token must be one number")
        with counted_as(self._start_tokens.graph, 1):  # TensorFlow asks for a size that is known, too
            self.batch_size = sg.size(self._start_tokens)
        self._start_inputs = self._embedding_fn(self._start_tokens)

    def initialize(self, name: str | None = None) -> tuple[Any, Any]:
        return sg.fill(sg.stack([self.batch_size]), False), self._start_inputs

    def sample(self, time: Any, outputs: Any, state: Any, name: str | None = None) -> Any:
        return sg.argmax(_single(outputs), axis=-1, output_type=sg.int32)

    def next_inputs(
        self, time: Any, outputs: Any, state: Any, sample_ids: Any, name: str | None = None
    ) -> tuple[Any, Any, Any]:
        finished = sg.equal(sample_ids, self._end_token)
        count_more(finished.graph, _CHOICE)
        return finished, self._embedding_fn(sample_ids), state


def _single(outputs: Any) -> sg.Tensor:
    if not isinstance(outputs, sg.Tensor):
        raise misuse(TypeError, f"the outputs must be one tensor, not {outputs!r}")
    return outputs


class SampleEmbeddingHelper(GreedyEmbeddingHelper):
    """As `GreedyEmbeddingHelper`, with symbols drawn from the outputs, which are logits.

    `softmax_temperature` divides them. `dynamic_decode` then needs `maximum_iterations`.
    """

    def __init__(
        self,
        embedding: Any,
        start_tokens: Any,
        end_token: Any,
        softmax_temperature: Any = None,
        seed: int | None = None,
    ) -> None:
        super().__init__(embedding, start_tokens, end_token)
        self._softmax_temperature, self._seed = softmax_temperature, seed

    def sample(self, time: Any, outputs: Any, state: Any, name: str | None = None) -> Any:
        logits = _single(outputs)
        if self._softmax_temperature is not None:
            logits = logits / self._softmax_temperature
        return sg.distributions.Categorical(logits=logits).sample(seed=self._seed)


class InferenceHelper(Helper):
    """Feeds back what `sample_fn(outputs)` gives, or `next_inputs_fn` of it, until `end_fn` of it is True."""

    def __init__(
        self,
        sample_fn: Callable[..., Any],
        sample_shape: Any,
        sample_dtype: Any,
        start_inputs: Any,
        end_fn: Callable[..., Any],
        next_inputs_fn: Callable[..., Any] | None = None,
    ) -> None:
        self._sample_fn, self._end_fn = sample_fn, end_fn
        self._next_inputs_fn = next_inputs_fn or (lambda sample_ids: sample_ids)
        self.sample_ids_shape, self.sample_ids_dtype = sg.TensorShape(sample_shape), sample_dtype
        self._start_inputs = sg.convert_to_tensor(start_inputs, name="start_inputs")
        self.batch_size = sg.shape(self._start_inputs)[0]

    def initialize(self, name: str | None = None) -> tuple[Any, Any]:
        return sg.fill(sg.stack([self.batch_size]), False), self._start_inputs

    def sample(self, time: Any, outputs: Any, state: Any, name: str | None = None) -> Any:
        return self._sample_fn(outputs)

    def next_inputs(
        self, time: Any, outputs: Any, state: Any, sample_ids: Any, name: str | None = None
    ) -> tuple[Any, Any, Any]:
        return self._end_fn(sample_ids), self._next_inputs_fn(sample_ids), state
