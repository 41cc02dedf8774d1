"""`tf.contrib.legacy_seq2seq`: an encoder and a decoder over lists with a tensor for each time step."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import staticgraph as sg
from staticgraph.building import nest
from staticgraph.compiler.graph.errors import misuse
from staticgraph.tf1.compat.rnn.legacy_seq2seq import sequence_loss, sequence_loss_by_example
from staticgraph.tf1.compat.rnn.recurrent_wrappers import EmbeddingWrapper, OutputProjectionWrapper

__all__ = [
    "basic_rnn_seq2seq",
    "embedding_rnn_decoder",
    "embedding_rnn_seq2seq",
    "embedding_tied_rnn_seq2seq",
    "model_with_buckets",
    "one2many_rnn_seq2seq",
    "rnn_decoder",
    "tied_rnn_seq2seq",
]

Loop = Callable[[sg.Tensor, int], sg.Tensor]
Decoded = tuple[list[Any], Any]


def rnn_decoder(
    decoder_inputs: Iterable[Any],
    initial_state: Any,
    cell: Any,
    loop_function: Loop | None = None,
    scope: Any = None,
) -> Decoded:
    """The outputs of `cell` for each input, and the last state.

    With `loop_function(output, step)`, all inputs but the first are what it makes of the output before.
    """
    with sg.variable_scope(scope or "rnn_decoder"):
        state = initial_state
        outputs: list[Any] = []
        for step, given in enumerate(decoder_inputs):
            if loop_function is not None and outputs:
                with sg.variable_scope("loop_function", reuse=True):
                    given = loop_function(outputs[-1], step)
            if step > 0:
                sg.get_variable_scope().reuse_variables()
            output, state = cell(given, state)
            outputs.append(output)
    return outputs, state


def basic_rnn_seq2seq(
    encoder_inputs: Sequence[Any],
    decoder_inputs: Sequence[Any],
    cell: Any,
    dtype: Any = sg.float32,
    scope: Any = None,
) -> Decoded:
    """A decoder that begins with the last state of an encoder; both are cells like `cell`."""
    with sg.variable_scope(scope or "basic_rnn_seq2seq"):
        _, state = sg.nn.static_rnn(copy.deepcopy(cell), encoder_inputs, dtype=dtype)
        return rnn_decoder(decoder_inputs, state, cell)


def tied_rnn_seq2seq(
    encoder_inputs: Sequence[Any],
    decoder_inputs: Sequence[Any],
    cell: Any,
    loop_function: Loop | None = None,
    dtype: Any = sg.float32,
    scope: Any = None,
) -> Decoded:
    """A decoder that begins with the last state of an encoder; both have the same variables."""
    with sg.variable_scope("combined_tied_rnn_seq2seq"):
        scope = scope or "tied_rnn_seq2seq"
        _, state = sg.nn.static_rnn(cell, encoder_inputs, dtype=dtype, scope=scope)
        sg.get_variable_scope().reuse_variables()
        return rnn_decoder(decoder_inputs, state, cell, loop_function, scope)


def greedy(embedding: Any, projection: Any, update: bool) -> Loop:
    """A loop function: the row in `embedding` of the symbol with the greatest output."""

    def row(output: sg.Tensor, step: int) -> sg.Tensor:
        if projection is not None:
            output = sg.nn.xw_plus_b(output, projection[0], projection[1])
        made = sg.nn.embedding_lookup(embedding, sg.argmax(output, 1))
        return made if update else sg.stop_gradient(made)

    return row


def check_projection(projection: Any, num_symbols: int) -> None:
    """ValueError for a pair of weights and biases that do not give `num_symbols` numbers."""
    if projection is not None:
        weights, biases = (sg.convert_to_tensor(part) for part in projection)
        weights.shape.assert_is_compatible_with([None, num_symbols])
        biases.shape.assert_is_compatible_with([num_symbols])


def fed_previous(feed_previous: Any, decode: Callable[[bool, bool], Decoded]) -> Decoded:
    """Return the result of `decode(feed_previous, update_embedding)`.

    If `feed_previous` is a tensor, both forms of `decode` are built, without updates of the embedding. The
    value of the tensor chooses one of them in a run.
    """
    if isinstance(feed_previous, bool):
        return decode(feed_previous, True)
    shape: list[Any] = []

    def branch(feed: bool) -> list[Any]:
        with sg.variable_scope(sg.get_variable_scope(), reuse=None if feed else True):
            shape[:] = [decode(feed, False)]
        return nest.flatten(shape[0])

    flat = sg.cond(feed_previous, lambda: branch(True), lambda: branch(False))
    outputs, state = nest.pack_sequence_as(shape[0], flat)
    return outputs, state


def embedding_rnn_decoder(
    decoder_inputs: Sequence[Any],
    initial_state: Any,
    cell: Any,
    num_symbols: int,
    embedding_size: int,
    output_projection: Any = None,
    feed_previous: bool = False,
    update_embedding_for_previous: bool = True,
    scope: Any = None,
) -> Decoded:
    """`rnn_decoder` for numbers of symbols, whose rows in a table are the inputs of `cell`.

    With `feed_previous`, all inputs but the first are the symbols with the greatest output.
    """
    with sg.variable_scope(scope or "embedding_rnn_decoder"):
        check_projection(output_projection, num_symbols)
        embedding = sg.get_variable("embedding", [num_symbols, embedding_size])
        update = update_embedding_for_previous
        loop = greedy(embedding, output_projection, update) if feed_previous else None
        rows = [sg.nn.embedding_lookup(embedding, symbols) for symbols in decoder_inputs]
        return rnn_decoder(rows, initial_state, cell, loop)


def embedding_rnn_seq2seq(
    encoder_inputs: Sequence[Any],
    decoder_inputs: Sequence[Any],
    cell: Any,
    num_encoder_symbols: int,
    num_decoder_symbols: int,
    embedding_size: int,
    output_projection: Any = None,
    feed_previous: Any = False,
    dtype: Any = None,
    scope: Any = None,
) -> Decoded:
    """An encoder and an `embedding_rnn_decoder`, for numbers of symbols. `feed_previous` may be a tensor."""
    with sg.variable_scope(scope or "embedding_rnn_seq2seq", dtype=dtype) as opened:
        encoder = EmbeddingWrapper(copy.deepcopy(cell), num_encoder_symbols, embedding_size)
        _, state = sg.nn.static_rnn(encoder, encoder_inputs, dtype=opened.dtype)
        if output_projection is None:
            cell = OutputProjectionWrapper(cell, num_decoder_symbols)
        return fed_previous(
            feed_previous,
            lambda feed, update: embedding_rnn_decoder(
                decoder_inputs,
                state,
                cell,
                num_decoder_symbols,
                embedding_size,
                output_projection,
                feed,
                update,
            ),
        )


def embedding_tied_rnn_seq2seq(
    encoder_inputs: Sequence[Any],
    decoder_inputs: Sequence[Any],
    cell: Any,
    num_symbols: int,
    embedding_size: int,
    num_decoder_symbols: int | None = None,
    output_projection: Any = None,
    feed_previous: Any = False,
    dtype: Any = None,
    scope: Any = None,
) -> Decoded:
    """`tied_rnn_seq2seq` for numbers of symbols, with one table for both sides."""
    with sg.variable_scope(scope or "embedding_tied_rnn_seq2seq", dtype=dtype) as opened:
        check_projection(output_projection, num_symbols)
        embedding = sg.get_variable("embedding", [num_symbols, embedding_size])
        encoder_rows, decoder_rows = (
            [sg.nn.embedding_lookup(embedding, symbols) for symbols in side]
            for side in (encoder_inputs, decoder_inputs)
        )
        if output_projection is None:
            cell = OutputProjectionWrapper(cell, num_decoder_symbols or num_symbols)
        return fed_previous(
            feed_previous,
            lambda feed, update: tied_rnn_seq2seq(
                encoder_rows,
                decoder_rows,
                cell,
                greedy(embedding, output_projection, update) if feed else None,
                opened.dtype,
            ),
        )


def one2many_rnn_seq2seq(
    encoder_inputs: Sequence[Any],
    decoder_inputs_dict: dict[str, Sequence[Any]],
    enc_cell: Any,
    dec_cells_dict: dict[str, Any],
    num_encoder_symbols: int,
    num_decoder_symbols_dict: dict[str, int],
    embedding_size: int,
    feed_previous: Any = False,
    dtype: Any = None,
    scope: Any = None,
) -> tuple[dict[str, list[Any]], dict[str, Any]]:
    """One encoder and several decoders, by name: their outputs and their last states. ValueError for other
    names of cells than of inputs.
    """
    if set(dec_cells_dict) != set(decoder_inputs_dict):
        text = f"there are inputs for {sorted(decoder_inputs_dict)} and cells for {sorted(dec_cells_dict)}"
        raise misuse(ValueError, text)
    made = {}
    with sg.variable_scope(scope or "one2many_rnn_seq2seq", dtype=dtype) as opened:
        encoder = EmbeddingWrapper(enc_cell, num_encoder_symbols, embedding_size)
        _, state = sg.nn.static_rnn(encoder, encoder_inputs, dtype=opened.dtype)
        for name, inputs in decoder_inputs_dict.items():
            with sg.variable_scope(f"one2many_decoder_{name}"):
                symbols = num_decoder_symbols_dict[name]
                cell = OutputProjectionWrapper(dec_cells_dict[name], symbols)
                made[name] = fed_previous(
                    feed_previous,
                    lambda feed, _, given=inputs, cell=cell, count=symbols: embedding_rnn_decoder(  # type: ignore[misc]
                        given, state, cell, count, embedding_size, feed_previous=feed
                    ),
                )
    return {name: each[0] for name, each in made.items()}, {name: each[1] for name, each in made.items()}


def model_with_buckets(
    encoder_inputs: Sequence[Any],
    decoder_inputs: Sequence[Any],
    targets: Sequence[Any],
    weights: Sequence[Any],
    buckets: Sequence[tuple[int, int]],
    seq2seq: Callable[..., Decoded],
    softmax_loss_function: Callable[..., Any] | None = None,
    per_example_loss: bool = False,
    name: str | None = None,
) -> tuple[list[list[Any]], list[Any]]:
    """`seq2seq(encoder_inputs, decoder_inputs)` for several pairs of lengths, shorter ones first, with shared
    variables: the outputs and the losses of each. ValueError for lists shorter than the last pair.
    """
    longest = buckets[-1]
    for what, given, needed in (
        ("encoder_inputs", encoder_inputs, longest[0]),
        ("targets", targets, longest[1]),
        ("weights", weights, longest[1]),
    ):
        if len(given) < needed:
            text = f"model_with_buckets: the last bucket has {needed} steps, and {what} only {len(given)}"
            raise misuse(ValueError, text)
    outputs, losses = [], []
    loss = sequence_loss_by_example if per_example_loss else sequence_loss
    with sg.name_scope(name, "model_with_buckets"):
        for number, (before, after) in enumerate(buckets):
            with sg.variable_scope(sg.get_variable_scope(), reuse=True if number > 0 else None):
                made, _ = seq2seq(encoder_inputs[:before], decoder_inputs[:after])
            outputs.append(made)
            losses.append(
                loss(made, targets[:after], weights[:after], softmax_loss_function=softmax_loss_function)
            )
    return outputs, losses
