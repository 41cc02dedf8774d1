"""`tf.contrib.crf`: linear chains of tags, each of which has a score of its own and one with the next."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

import numpy as np

import staticgraph as sg
from staticgraph.building.operation_counts import constants, counts_as
from staticgraph.compiler.graph.graph import get_default_graph
from staticgraph.compiler.graph.recording.op_count import count_more, counted_as
from staticgraph.nn.rnn_step import swapped, where_rows


def _counted(
    inputs: Any, of_one: int, known: int, open_time: int, *others: Any
) -> AbstractContextManager[None]:
    """Return a context whose operations count as TensorFlow's for scores [batch, time, tags].

    Args:
        inputs: The scores.
        of_one: The number of operations for one point in time.
        known: The number for a known number of points in time, of which there are several.
        open_time: The number if there is no telling how many there are.
        others: The other arguments: TensorFlow makes a constant of each that is no tensor.
    """
    time = sg.TensorShape(inputs.shape).with_rank_at_least(2)[1].value
    count = open_time if time is None else of_one if time == 1 else known
    return counted_as(get_default_graph(), count + constants(*others))


def _open_batch(inputs: sg.Tensor, known: int, open_batch: int) -> int:
    """Return `open_batch` if the number of sequences is not known, else `known`."""
    return open_batch if inputs.shape[0].value is None else known


@counts_as(54, "tag_indices", "sequence_lengths", "inputs")
def crf_unary_score(tag_indices: Any, sequence_lengths: Any, inputs: Any) -> sg.Tensor:
    """The sum of `inputs` [batch, time, tags] at the tags [batch, time] of each sequence."""
    inputs, tags = sg.convert_to_tensor(inputs), sg.to_int32(tag_indices)
    scores = sg.batch_gather(inputs, sg.expand_dims(tags, 2))
    mask = sg.sequence_mask(sequence_lengths, sg.shape(tags)[1], inputs.dtype)
    return sg.reduce_sum(sg.squeeze(scores, [2]) * mask, 1)


@counts_as(41, "tag_indices", "sequence_lengths", "transition_params")
def crf_binary_score(tag_indices: Any, sequence_lengths: Any, transition_params: Any) -> sg.Tensor:
    """The sum of the scores of each tag with the next, which are `transition_params` [tags, tags]."""
    transitions, tags = sg.convert_to_tensor(transition_params), sg.to_int32(tag_indices)
    scores = sg.gather_nd(transitions, sg.stack([tags[:, :-1], tags[:, 1:]], 2))
    pairs = sg.maximum(sg.to_int32(sequence_lengths) - 1, 0)
    mask = sg.sequence_mask(pairs, sg.shape(tags)[1] - 1, transitions.dtype)
    return sg.reduce_sum(scores * mask, 1)


def crf_sequence_score(
    inputs: Any, tag_indices: Any, sequence_lengths: Any, transition_params: Any
) -> sg.Tensor:
    """The score of tags [batch, time]: the unary and the binary one, without what comes after the ends."""
    inputs = sg.convert_to_tensor(inputs)
    with _counted(inputs, 21, 99, 133, tag_indices, sequence_lengths, transition_params):
        unary = crf_unary_score(tag_indices, sequence_lengths, inputs)
        score: sg.Tensor = unary + crf_binary_score(tag_indices, sequence_lengths, transition_params)
    return score


def _rounds(inputs: Any, sequence_lengths: Any, arrays: Any, step: Any) -> tuple[sg.Tensor, Any]:
    """Scores [batch, tags] after the last tag of each sequence, and `arrays`, which each step replaces.

    `step(scores, row, arrays, time, going_on)` gives the scores after the tag at `time`.
    """
    rows = swapped(sg.convert_to_tensor(inputs))
    count, lengths = sg.shape(rows)[0], sg.to_int32(sequence_lengths)
    inputs_of = sg.TensorArray(rows.dtype, size=count).unstack(rows)

    def body(time: sg.Tensor, scores: sg.Tensor, arrays: Any) -> Any:
        going_on = time < lengths
        made, arrays = step(scores, inputs_of.read(time), arrays, time, going_on)
        return time + 1, where_rows(going_on, made, scores), arrays

    _, scores, arrays = sg.while_loop(lambda time, *_: time < count, body, (sg.constant(1), rows[0], arrays))
    return scores, arrays


def crf_log_norm(inputs: Any, sequence_lengths: Any, transition_params: Any) -> sg.Tensor:
    """The logarithm of the sum of `exp(score)` over all tags [batch]; 0 for empty sequences."""
    inputs = sg.convert_to_tensor(inputs)
    known, open_time = _open_batch(inputs, 163, 173), _open_batch(inputs, 195, 206)
    cast = isinstance(sequence_lengths, sg.Tensor) and sequence_lengths.dtype is not sg.int32
    count_more(get_default_graph(), cast)
    with _counted(inputs, 25, known, open_time, sequence_lengths, transition_params):
        transitions = sg.expand_dims(sg.convert_to_tensor(transition_params), 0)

        def step(scores: sg.Tensor, row: sg.Tensor, arrays: Any, *_: Any) -> Any:
            return row + sg.reduce_logsumexp(sg.expand_dims(scores, 2) + transitions, 1), arrays

        scores, _ = _rounds(inputs, sequence_lengths, (), step)
        norm = sg.reduce_logsumexp(scores, 1)
        made: sg.Tensor = sg.where(sg.less_equal(sequence_lengths, 0), sg.zeros_like(norm), norm)
    return made


def crf_multitag_sequence_score(
    inputs: Any, tag_bitmap: Any, sequence_lengths: Any, transition_params: Any
) -> sg.Tensor:
    """The logarithm of the sum of `exp(score)` over all tags that a bitmap allows.

    Args:
        inputs: Scores [batch, time, tags].
        tag_bitmap: The tags that may be right at each time, bool [batch, time, tags].
        sequence_lengths: The length of each sequence, [batch].
        transition_params: The scores of each tag with the next, [tags, tags].

    Returns:
        A score for each sequence, [batch].

    >>> import staticgraph as sg
    >>> from staticgraph.tf1.compat.rnn.crf import crf_multitag_sequence_score
    >>> allowed = sg.ones([1, 2, 3], sg.bool)
    >>> every = crf_multitag_sequence_score(sg.zeros([1, 2, 3]), allowed, [2], sg.zeros([3, 3]))
    >>> round(float(sg.exp(every)[0].eval(session=sg.Session())), 3)
    9.0
    """
    inputs = sg.convert_to_tensor(inputs)
    allowed = sg.where(tag_bitmap, inputs, sg.fill(sg.shape(inputs), sg.constant(-np.inf, inputs.dtype)))
    if inputs.shape[1].value == 1:
        return sg.reduce_logsumexp(allowed, [1, 2])
    return crf_log_norm(allowed, sequence_lengths, transition_params)


def crf_log_likelihood(
    inputs: Any, tag_indices: Any, sequence_lengths: Any, transition_params: Any = None
) -> tuple[sg.Tensor, Any]:
    """The log likelihood of tags [batch, time], [batch], and the transitions, which are the new variable
    `transitions` [tags, tags] if they are not given. `inputs` are scores [batch, time, tags].

    >>> import staticgraph as sg
    >>> from staticgraph.tf1.compat.rnn.crf import crf_log_likelihood
    >>> scores, tags = sg.zeros([1, 2, 3]), sg.constant([[0, 2]])
    >>> likelihood, _ = crf_log_likelihood(scores, tags, [2], sg.zeros([3, 3]))
    >>> round(float(sg.exp(-likelihood)[0].eval(session=sg.Session())), 3)
    9.0
    """
    inputs = sg.convert_to_tensor(inputs)
    if transition_params is None:
        tags = inputs.shape[2].value
        transition_params = sg.get_variable("transitions", [tags, tags])
    score = crf_sequence_score(inputs, tag_indices, sequence_lengths, transition_params)
    return score - crf_log_norm(inputs, sequence_lengths, transition_params), transition_params


def crf_decode(potentials: Any, transition_params: Any, sequence_length: Any) -> tuple[sg.Tensor, sg.Tensor]:
    """The tags with the greatest score [batch, time], 0 after the ends, and that score [batch]."""
    potentials = sg.convert_to_tensor(potentials)
    known, open_time = _open_batch(potentials, 271, 291), _open_batch(potentials, 291, 313)
    with _counted(potentials, 11, known, open_time, transition_params, sequence_length):
        return _decoded(potentials, transition_params, sequence_length)


def _decoded(
    potentials: sg.Tensor, transition_params: Any, sequence_length: Any
) -> tuple[sg.Tensor, sg.Tensor]:
    transitions = sg.expand_dims(sg.convert_to_tensor(transition_params), 0)
    lengths = sg.to_int32(sequence_length)
    count, tags = sg.shape(potentials)[1], sg.shape(potentials)[2]

    def step(scores: sg.Tensor, row: sg.Tensor, back: Any, time: sg.Tensor, going_on: sg.Tensor) -> Any:
        ways = sg.expand_dims(scores, 2) + transitions
        best = sg.argmax(ways, 1, output_type=sg.int32)
        stay = sg.zeros_like(best) + sg.expand_dims(sg.range(tags), 0)
        return row + sg.reduce_max(ways, 1), back.write(time, where_rows(going_on, best, stay))

    empty = sg.TensorArray(sg.int32, size=count)
    scores, back = _rounds(potentials, lengths, empty, step)

    def previous(time: sg.Tensor, tag: sg.Tensor, found: sg.TensorArray) -> Any:
        before = sg.squeeze(sg.batch_gather(back.read(time), sg.expand_dims(tag, 1)), [1])
        return time - 1, before, found.write(time - 1, before)

    last = sg.argmax(scores, 1, output_type=sg.int32)
    found = sg.TensorArray(sg.int32, size=count).write(count - 1, last)
    _, _, found = sg.while_loop(lambda time, *_: time > 0, previous, (count - 1, last, found))
    best = swapped(found.stack())
    best.set_shape(potentials.shape[:2])
    inside = sg.sequence_mask(sg.maximum(lengths, 1), count, sg.int32)
    return best * inside, sg.reduce_max(scores, 1)


def viterbi_decode(score: Any, transition_params: Any) -> tuple[list[int], Any]:
    """The tags with the greatest score for an array of scores [time, tags], and that score, in NumPy."""
    total, back = np.asarray(score[0]), []
    for row in score[1:]:
        ways = np.expand_dims(total, 1) + transition_params
        back.append(ways.argmax(0))
        total = row + ways.max(0)
    tags = [int(np.argmax(total))]
    for best in reversed(back):
        tags.append(int(best[tags[-1]]))
    return tags[::-1], np.max(total)
