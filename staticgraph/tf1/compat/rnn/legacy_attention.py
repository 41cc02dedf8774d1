"""`tf.contrib.legacy_seq2seq`: decoders that look at the encoder's outputs at each time step."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import staticgraph as sg
from staticgraph.building import nest
from staticgraph.compiler.graph.errors import misuse
from staticgraph.state.layer import known_size
from staticgraph.tf1.compat.rnn.legacy_decoders import Decoded, Loop, check_projection, fed_previous, greedy
from staticgraph.tf1.compat.rnn.recurrent_linear import linear
from staticgraph.tf1.compat.rnn.recurrent_wrappers import EmbeddingWrapper, OutputProjectionWrapper


class _Heads:
    """Weighted means of `states` [batch, length, size], one for each head, weighted by what fits a query."""

    def __init__(self, states: sg.Tensor, count: int, dtype: Any) -> None:
        self.states, self.dtype = states, dtype
        self.size = known_size(states.shape, 2, "attention_decoder")
        self.vectors, self.features = [], []
        for number in range(count):
            kernel = sg.get_variable(f"AttnW_{number}", [1, 1, self.size, self.size], dtype)
            self.vectors.append(sg.get_variable(f"AttnV_{number}", [self.size], dtype))
            self.features.append(sg.tensordot(states, kernel[0, 0], [[2], [0]]))

    def nothing(self, batch_size: Any) -> list[sg.Tensor]:
        """Means of zeros."""
        made = [sg.zeros(sg.stack([batch_size, self.size]), self.dtype) for _ in self.vectors]
        for mean in made:
            mean.set_shape([None, self.size])
        return made

    def attend(self, query: Any) -> list[sg.Tensor]:
        """The means for a query, a matrix or a structure of them."""
        together = sg.concat(nest.flatten(query), 1)
        means = []
        for number, (vector, features) in enumerate(zip(self.vectors, self.features, strict=True)):
            with sg.variable_scope(f"Attention_{number}"):
                wanted = sg.cast(sg.expand_dims(linear([together], self.size), 1), self.dtype)
                scores = sg.reduce_sum(vector * sg.tanh(features + wanted), 2)
                weights = sg.expand_dims(sg.nn.softmax(scores), 2)
                means.append(sg.reduce_sum(weights * self.states, 1))
        return means


def attention_decoder(
    decoder_inputs: Sequence[Any],
    initial_state: Any,
    attention_states: Any,
    cell: Any,
    output_size: int | None = None,
    num_heads: int = 1,
    loop_function: Loop | None = None,
    dtype: Any = None,
    scope: Any = None,
    initial_state_attention: bool = False,
) -> Decoded:
    """`rnn_decoder` with attention to `attention_states` [batch, length, size]: each input, and each output,
    is combined with weighted means of them.

    The means before the first step are zeros, or with `initial_state_attention` those for the initial state.
    ValueError if there are no inputs, no heads, or `size` is not known.
    """
    if not decoder_inputs:
        raise misuse(ValueError, "attention_decoder needs at least one input")
    if num_heads < 1:
        raise misuse(ValueError, "attention_decoder needs at least one head")
    with sg.variable_scope(scope or "attention_decoder", dtype=dtype) as opened:
        heads = _Heads(sg.convert_to_tensor(attention_states), num_heads, opened.dtype)
        state = initial_state
        outputs: list[Any] = []
        means = heads.nothing(sg.shape(decoder_inputs[0])[0])
        if initial_state_attention:
            means = heads.attend(initial_state)
        for step, given in enumerate(decoder_inputs):
            if step > 0:
                sg.get_variable_scope().reuse_variables()
            if loop_function is not None and outputs:
                with sg.variable_scope("loop_function", reuse=True):
                    given = loop_function(outputs[-1], step)
            parts = [sg.cast(part, opened.dtype) for part in (given, *means)]
            output, state = cell(linear(parts, known_size(given.shape, 1, "attention_decoder")), state)
            reuse = True if step == 0 and initial_state_attention else None
            with sg.variable_scope(sg.get_variable_scope(), reuse=reuse):
                means = heads.attend(state)
            with sg.variable_scope("AttnOutputProjection"):
                parts = [sg.cast(output, opened.dtype), *means]
                outputs.append(linear(parts, output_size or cell.output_size))
    return outputs, state


def embedding_attention_decoder(
    decoder_inputs: Sequence[Any],
    initial_state: Any,
    attention_states: Any,
    cell: Any,
    num_symbols: int,
    embedding_size: int,
    num_heads: int = 1,
    output_size: int | None = None,
    output_projection: Any = None,
    feed_previous: bool = False,
    update_embedding_for_previous: bool = True,
    dtype: Any = None,
    scope: Any = None,
    initial_state_attention: bool = False,
) -> Decoded:
    """`attention_decoder` for numbers of symbols, whose rows in a table are the inputs."""
    check_projection(output_projection, num_symbols)
    with sg.variable_scope(scope or "embedding_attention_decoder", dtype=dtype):
        embedding = sg.get_variable("embedding", [num_symbols, embedding_size])
        update = update_embedding_for_previous
        return attention_decoder(
            [sg.nn.embedding_lookup(embedding, symbols) for symbols in decoder_inputs],
            initial_state,
            attention_states,
            cell,
            output_size,
            num_heads,
            greedy(embedding, output_projection, update) if feed_previous else None,
            initial_state_attention=initial_state_attention,
        )


def embedding_attention_seq2seq(
    encoder_inputs: Sequence[Any],
    decoder_inputs: Sequence[Any],
    cell: Any,
    num_encoder_symbols: int,
    num_decoder_symbols: int,
    embedding_size: int,
    num_heads: int = 1,
    output_projection: Any = None,
    feed_previous: Any = False,
    dtype: Any = None,
    scope: Any = None,
    initial_state_attention: bool = False,
) -> Decoded:
    """An encoder, and an `embedding_attention_decoder` that looks at its outputs. `feed_previous` may be a
    tensor.
    """
    with sg.variable_scope(scope or "embedding_attention_seq2seq", dtype=dtype) as opened:
        encoder = EmbeddingWrapper(copy.deepcopy(cell), num_encoder_symbols, embedding_size)
        outputs, state = sg.nn.static_rnn(encoder, encoder_inputs, dtype=opened.dtype)
        attention_states = sg.stack(outputs, 1)
        size = None
        if output_projection is None:
            cell, size = OutputProjectionWrapper(cell, num_decoder_symbols), num_decoder_symbols
        return fed_previous(
            feed_previous,
            lambda feed, update: embedding_attention_decoder(
                decoder_inputs,
                state,
                attention_states,
                cell,
                num_decoder_symbols,
                embedding_size,
                num_heads,
                size,
                output_projection,
                feed,
                update,
                initial_state_attention=initial_state_attention,
            ),
        )
