"""Labels of sequences under Keras's names: connectionist temporal classification of padded batches."""

from __future__ import annotations

from typing import Any

from staticgraph import nn
from staticgraph.arrays.array_ops import expand_dims, squeeze, transpose
from staticgraph.arrays.array_ops import shape as shape_of
from staticgraph.arrays.casts import cast
from staticgraph.arrays.indexing import gather_nd, sequence_mask, where
from staticgraph.building.inputs import convert_to_tensor
from staticgraph.compiler.graph.dtypes import int32, int64
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.mathematics.math_ops import log
from staticgraph.sparse.structure import sparse_to_dense
from staticgraph.sparse.tensor import SparseTensor
from staticgraph.tf1.keras.settings import epsilon


def ctc_label_dense_to_sparse(labels: Any, label_lengths: Any) -> SparseTensor:
    """Return the labels of a padded batch, without what pads them.

    Args:
        labels: [batch, longest] of numbers.
        label_lengths: [batch] of integers: how many labels of each row count.
    """
    labels = convert_to_tensor(labels)
    indices = where(sequence_mask(label_lengths, shape_of(labels)[1]))
    return SparseTensor(indices, gather_nd(labels, indices), shape_of(labels, out_type=int64))


def ctc_batch_cost(y_true: Any, y_pred: Any, input_length: Any, label_length: Any) -> Tensor:
    """Return `tf.nn.ctc_loss` [batch, 1] of probabilities and of labels in padded batches.

    Args:
        y_true: Labels [batch, longest].
        y_pred: Probabilities [batch, steps, classes], such as a softmax gives; the last class is the blank.
        input_length: [batch, 1] of integers: how many steps of each row count.
        label_length: [batch, 1] of integers: how many labels of each row count.

    >>> import staticgraph as sg
    >>> K = sg.keras.backend
    >>> cost = K.ctc_batch_cost([[0, 1]], sg.fill([1, 2, 3], 1 / 3), [[2]], [[2]])
    >>> round(float(sg.Session().run(cost)[0, 0]), 4)  # one way of nine
    2.1972
    """
    lengths = cast(squeeze(convert_to_tensor(label_length), axis=-1), int32)
    steps = cast(squeeze(convert_to_tensor(input_length), axis=-1), int32)
    sparse = ctc_label_dense_to_sparse(y_true, lengths)
    labels = SparseTensor(sparse.indices, cast(sparse.values, int32), sparse.dense_shape)
    return expand_dims(nn.ctc_loss(labels, _logits(y_pred), steps), 1)


def ctc_decode(
    y_pred: Any, input_length: Any, greedy: bool = True, beam_width: int = 100, top_paths: int = 1
) -> tuple[list[Tensor], Tensor]:
    """Return the labels that probabilities stand for, and their scores.

    Args:
        y_pred: Probabilities [batch, steps, classes]; the last class is the blank.
        input_length: [batch] of integers: how many steps of each row count.
        greedy: True takes the likeliest class of each step, False searches for the likeliest labels.
        beam_width: How many beginnings the search keeps.
        top_paths: How many results the search gives.

    Returns:
        A list with labels [batch, longest] of int64 for each result, -1 behind the last one; and minus the
        sum of the logits [batch, 1], or the log probabilities [batch, top_paths] of the search.
    """
    logits, steps = _logits(y_pred), cast(convert_to_tensor(input_length), int32)
    if greedy:
        decoded, scores = nn.ctc_greedy_decoder(logits, steps)
    else:
        decoded, scores = nn.ctc_beam_search_decoder(
            logits, steps, beam_width=beam_width, top_paths=top_paths
        )
    dense = [sparse_to_dense(d.indices, d.dense_shape, d.values, default_value=-1) for d in decoded]
    return dense, scores


def _logits(probabilities: Any) -> Tensor:
    """Return logits [steps, batch, classes] of probabilities [batch, steps, classes]."""
    return log(transpose(convert_to_tensor(probabilities), [1, 0, 2]) + epsilon())
