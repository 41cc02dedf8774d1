"""`tf.contrib.seq2seq`: a decoder that follows the candidates with the highest probabilities."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import staticgraph as sg
from staticgraph.building import nest
from staticgraph.building.read_only import read_only
from staticgraph.compiler.graph.errors import misuse
from staticgraph.nn.rnn_step import check_cell
from staticgraph.tf1.compat.rnn.attention_wrapper import AttentionWrapperState
from staticgraph.tf1.compat.rnn.beam_paths import gather_tree, gather_tree_from_array, rows_at
from staticgraph.tf1.compat.rnn.decoding import Decoder


class BeamSearchDecoderState(NamedTuple):
    """For each candidate [batch, beams]: the cell's state, its log probability, whether it has ended, its
    length, and what its cell has attended to.
    """

    cell_state: Any
    log_probs: Any
    finished: Any
    lengths: Any
    accumulated_attention_probs: Any


class BeamSearchDecoderOutput(NamedTuple):
    """For each step and candidate: score, symbol, and the candidate of the step before that it goes on."""

    scores: Any
    predicted_ids: Any
    parent_ids: Any


class FinalBeamSearchDecoderOutput(NamedTuple):
    """Symbols of whole candidates, best first, and what the steps gave."""

    predicted_ids: Any
    beam_search_decoder_output: Any


class BeamSearchDecoder(Decoder):
    """The `beam_width` best continuations of `start_tokens` [batch], each to its `end_token`.

    `embedding` is a table or a function of symbols. The state of `cell`, and a memory that it attends to, are
    those of [batch * beam_width] sequences: `tile_batch` makes them. `length_penalty_weight` favours long
    candidates, `coverage_penalty_weight` those that attend to all of the memory.
    """

    def __init__(
        self,
        cell: Any,
        embedding: Any,
        start_tokens: Any,
        end_token: Any,
        initial_state: Any,
        beam_width: int,
        output_layer: Any = None,
        length_penalty_weight: Any = 0.0,
        coverage_penalty_weight: float = 0.0,
        reorder_tensor_arrays: bool = True,
    ) -> None:
        check_cell(cell, "BeamSearchDecoder(cell)")
        if output_layer is not None and not callable(output_layer):
            raise misuse(TypeError, f"BeamSearchDecoder(output_layer): {output_layer!r} is not a layer")
        self._cell, self._output_layer, self._beams = cell, output_layer, beam_width
        self._length_weight, self._coverage_weight = length_penalty_weight, coverage_penalty_weight
        self._reorder = reorder_tensor_arrays
        tokens = sg.convert_to_tensor(start_tokens, dtype=sg.int32, name="start_tokens")
        self._end_token = sg.convert_to_tensor(end_token, dtype=sg.int32, name="end_token")
        if tokens.shape.ndims != 1:
            raise misuse(ValueError, "start_tokens must be a vector")
        if self._end_token.shape.ndims != 0:
            raise misuse(ValueError, "end_token must be one number")
        self._embed = embedding if callable(embedding) else lambda ids: sg.nn.embedding_lookup(embedding, ids)
        self._batch = tokens.shape[0].value or sg.size(tokens)
        self._first_state = nest.map_structure(self._split, initial_state)
        self._first_inputs = self._embed(sg.tile(sg.expand_dims(tokens, 1), [1, beam_width]))

    @property
    def tracks_own_finished(self) -> bool:
        return True

    batch_size: Any = read_only("batch")

    @property
    def output_size(self) -> BeamSearchDecoderOutput:
        return BeamSearchDecoderOutput(*[sg.TensorShape([self._beams])] * 3)

    @property
    def output_dtype(self) -> BeamSearchDecoderOutput:
        return BeamSearchDecoderOutput(nest.flatten(self._first_state)[0].dtype, sg.int32, sg.int32)

    # A batch of candidates is one axis for the cell, and two here

    def _split(self, leaf: Any) -> Any:
        if isinstance(leaf, sg.TensorArray) or leaf.shape.ndims == 0:
            return leaf
        made = sg.reshape(leaf, sg.concat([sg.stack([self._batch, self._beams]), sg.shape(leaf)[1:]], 0))
        made.set_shape([None, self._beams, *leaf.shape[1:].as_list()])
        return made

    def _merge(self, leaf: Any) -> Any:
        if isinstance(leaf, sg.TensorArray) or leaf.shape.ndims < 2:
            return leaf
        made = sg.reshape(leaf, sg.concat([[-1], sg.shape(leaf)[2:]], 0))
        batch = self._batch * self._beams if isinstance(self._batch, int) else None
        made.set_shape([batch, *leaf.shape[2:].as_list()])
        return made

    # Steps

    def initialize(self, name: str | None = None) -> tuple[Any, Any, BeamSearchDecoderState]:
        zeros = sg.zeros(sg.stack([self._batch]), sg.int32)
        first = sg.one_hot(zeros, self._beams, True, False, dtype=sg.bool)
        dtype = nest.flatten(self._first_state)[0].dtype
        nothing, never = sg.constant(0.0, dtype), sg.constant(-math.inf, dtype)
        attended = self._attended(self._first_state)
        state = BeamSearchDecoderState(
            cell_state=self._first_state,
            log_probs=sg.where_v2(first, nothing, never),
            finished=sg.logical_not(first),
            lengths=sg.zeros_like(first, sg.int64),
            accumulated_attention_probs=() if attended is None else attended,
        )
        return state.finished, self._first_inputs, state

    def step(self, time: Any, inputs: Any, state: Any, name: str | None = None) -> tuple[Any, Any, Any, Any]:
        with sg.name_scope(name, "BeamSearchDecoderStep"):
            merged = (nest.map_structure(self._merge, part) for part in (inputs, state.cell_state))
            logits, cell_state = self._cell(*merged)
            logits, cell_state = self._split(logits), nest.map_structure(self._split, cell_state)
            if self._output_layer is not None:
                logits = self._output_layer(logits)
            output, after = self._best(logits, cell_state, state)
            return output, after, self._embed(output.predicted_ids), after.finished

    def _best(
        self, logits: sg.Tensor, cell_state: Any, state: BeamSearchDecoderState
    ) -> tuple[BeamSearchDecoderOutput, BeamSearchDecoderState]:
        """The best of all continuations of all candidates."""
        words = logits.shape[-1].value or sg.shape(logits)[-1]
        going_on = sg.logical_not(state.finished)
        is_end = sg.equal(sg.range(words), self._end_token)
        certain, never = (sg.constant(p, logits.dtype) for p in (0.0, logits.dtype.min))
        ended = sg.where_v2(is_end, certain, never)
        steps = sg.where_v2(sg.expand_dims(state.finished, 2), ended, sg.nn.log_softmax(logits))
        total = sg.expand_dims(state.log_probs, 2) + steps
        longer = sg.logical_and(sg.expand_dims(going_on, 2), sg.logical_not(is_end))
        lengths = sg.expand_dims(state.lengths, 2) + sg.cast(longer, sg.int64)
        attended = self._attended(cell_state)
        if attended is not None:
            attended = attended * sg.expand_dims(sg.cast(going_on, sg.float32), 2)
            attended = state.accumulated_attention_probs + attended
        scores = self._scores(total, lengths, state.finished, attended)

        best, at = sg.nn.top_k(sg.reshape(scores, sg.stack([self._batch, -1])), self._beams)
        symbols, parents = at % words, at // words
        finished = rows_at(state.finished, parents)
        moved = nest.map_structure(lambda leaf: self._moved(leaf, parents), cell_state)
        after = BeamSearchDecoderState(
            cell_state=moved,
            log_probs=rows_at(sg.reshape(total, sg.stack([self._batch, -1])), at),
            finished=sg.logical_or(finished, sg.equal(symbols, self._end_token)),
            lengths=rows_at(state.lengths, parents) + sg.cast(sg.logical_not(finished), sg.int64),
            accumulated_attention_probs=() if attended is None else rows_at(attended, parents),
        )
        return BeamSearchDecoderOutput(best, symbols, parents), after

    def _moved(self, leaf: Any, parents: sg.Tensor) -> Any:
        """A part of the state in the order of the candidates that go on."""
        if isinstance(leaf, sg.TensorArray) or leaf.shape.ndims < 2:
            return leaf
        return rows_at(leaf, parents)

    # Scores

    def _scores(self, total: sg.Tensor, lengths: sg.Tensor, finished: sg.Tensor, attended: Any) -> sg.Tensor:
        weight = self._length_weight
        if isinstance(weight, sg.Tensor) or weight != 0:
            penalty = ((5.0 + sg.to_float(lengths)) ** weight) / (6.0**weight)
            total = total / sg.cast(penalty, total.dtype)
        if attended is None:
            return total
        seen = sg.where(sg.equal(attended, 0.0), sg.ones_like(attended), attended)
        coverage = sg.reduce_sum(sg.log(sg.minimum(seen, 1.0)), 2) * sg.to_float(finished)
        return total + sg.expand_dims(coverage * self._coverage_weight, 2)

    def _attended(self, cell_state: Any) -> Any:
        """The weights of what the cell sees, if they count."""
        if self._coverage_weight == 0.0:
            return None
        states = [cell_state] if isinstance(cell_state, AttentionWrapperState) else list(cell_state)
        weights = [_mean(s.alignments) for s in states if isinstance(s, AttentionWrapperState)]
        if not weights:
            text = "BeamSearchDecoder(coverage_penalty_weight): there is no cell with attention"
            raise misuse(ValueError, text)
        return _mean(tuple(weights))

    # The end

    def finalize(self, outputs: Any, final_state: Any, sequence_lengths: Any) -> tuple[Any, Any]:
        longest = sg.cast(sg.reduce_max(final_state.lengths, 1), sg.int32)
        predicted = gather_tree(outputs.predicted_ids, outputs.parent_ids, longest, self._end_token)
        if self._reorder:

            def ordered(leaf: Any) -> Any:
                if not isinstance(leaf, sg.TensorArray):
                    return leaf
                return gather_tree_from_array(leaf.stack(), outputs.parent_ids, final_state.lengths)

            cell_state = nest.map_structure(ordered, final_state.cell_state)
            final_state = final_state._replace(cell_state=cell_state)
        return FinalBeamSearchDecoderOutput(predicted, outputs), final_state


def _mean(weights: Any) -> Any:
    """The mean of several weights, or the only ones."""
    parts = weights if isinstance(weights, tuple) else (weights,)
    return parts[0] if len(parts) == 1 else sg.reduce_mean(sg.stack(parts, -1), -1)
