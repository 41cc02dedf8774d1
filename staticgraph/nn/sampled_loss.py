"""Losses over very many classes that look at the true ones and a sample: part of `sg.nn`."""

from __future__ import annotations

from typing import Any

import numpy as np

from staticgraph.arrays.array_ops import concat, reshape, shape
from staticgraph.arrays.casts import of_dtype
from staticgraph.building.framework import name_scope
from staticgraph.building.inputs import convert_to_tensor, stop_gradient
from staticgraph.compiler import ops
from staticgraph.compiler.graph.dtypes import int64
from staticgraph.compiler.graph.recording.op_count import count_more
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.mathematics.products import matmul
from staticgraph.nn.embedding import embedding_lookup
from staticgraph.nn.loss import sigmoid_cross_entropy_with_logits, softmax_cross_entropy_with_logits_v2
from staticgraph.nn.sampling import log_uniform_candidate_sampler
from staticgraph.state.variables import parts_of

_LOWEST = float(np.finfo(np.float32).min)
# So many operations more TensorFlow makes: it takes rows by slices, adds up a row by a matrix product, and
# lists the accidental hits before it spreads them.
_ROWS_TAKEN = 27
_ROWS_SUMMED = 10
_HITS_FOUND = 10


def nce_loss(
    weights: Any,
    biases: Any,
    labels: Any,
    inputs: Any,
    num_sampled: int,
    num_classes: int,
    num_true: int = 1,
    sampled_values: Any = None,
    remove_accidental_hits: bool = False,
    partition_strategy: str = "mod",
    name: str = "nce_loss",
) -> Tensor:
    """Noise-contrastive estimation: one loss per example, of telling its true classes from sampled ones.

    `weights` has shape [num_classes, dim], or is a list of such tables as for `embedding_lookup`; `biases`
    [num_classes], `labels` [batch, num_true] of integers, `inputs` [batch, dim]. `sampled_values` is what a
    candidate sampler gave, by default `log_uniform_candidate_sampler`. For training only.

    >>> import staticgraph as sg
    >>> table, biases = sg.Variable(sg.zeros([1000, 16])), sg.Variable(sg.zeros([1000]))
    >>> words, contexts = sg.placeholder(sg.float32, [None, 16]), sg.placeholder(sg.int64, [None, 1])
    >>> sg.nn.nce_loss(table, biases, contexts, words, num_sampled=5, num_classes=1000).shape.as_list()
    [None]
    """
    logits, targets = _sampled_logits(
        weights,
        biases,
        labels,
        inputs,
        num_sampled,
        num_classes,
        num_true,
        sampled_values,
        remove_accidental_hits,
        partition_strategy,
        name,
        None,
    )
    losses = sigmoid_cross_entropy_with_logits(labels=targets, logits=logits, name="sampled_losses")
    count_more(losses.graph, _ROWS_SUMMED)
    return ops.reduce_sum(losses, axis=(1,))


def sampled_softmax_loss(
    weights: Any,
    biases: Any,
    labels: Any,
    inputs: Any,
    num_sampled: int,
    num_classes: int,
    num_true: int = 1,
    sampled_values: Any = None,
    remove_accidental_hits: bool = True,
    partition_strategy: str = "mod",
    name: str = "sampled_softmax_loss",
    seed: int | None = None,
) -> Tensor:
    """Softmax cross entropy among the true classes and sampled ones, one loss per example: see `nce_loss`."""
    logits, targets = _sampled_logits(
        weights,
        biases,
        labels,
        inputs,
        num_sampled,
        num_classes,
        num_true,
        sampled_values,
        remove_accidental_hits,
        partition_strategy,
        name,
        seed,
    )
    targets = stop_gradient(targets, name="labels_stop_gradient")
    return softmax_cross_entropy_with_logits_v2(labels=targets, logits=logits)


def _sampled_logits(
    weights: Any,
    biases: Any,
    labels: Any,
    inputs: Any,
    num_sampled: int,
    num_classes: int,
    num_true: int,
    sampled_values: Any,
    remove_accidental_hits: bool,
    partition_strategy: str,
    name: str | None,
    seed: int | None,
) -> tuple[Tensor, Tensor]:
    """Logits less the log of expected counts, and their targets: [batch, num_true + num_sampled] each."""
    tables = list(weights) if isinstance(weights, list | tuple) else parts_of(weights)
    with name_scope(name, "compute_sampled_logits", [*tables, biases, inputs, labels]):
        inputs, labels = convert_to_tensor(inputs), convert_to_tensor(labels)
        labels = of_dtype(labels, int64)
        true_ids = reshape(labels, [-1])
        if sampled_values is None:
            sampled_values = log_uniform_candidate_sampler(
                labels, num_true, num_sampled, True, num_classes, seed
            )
        count_more(true_ids.graph, _ROWS_TAKEN)
        sampled, true_expected, sampled_expected = (stop_gradient(value) for value in sampled_values)
        sampled = ops.cast(sampled, dtype=int64)

        ids, true_count = concat([true_ids, sampled], 0), shape(true_ids)[0]
        rows = of_dtype(embedding_lookup(tables, ids, partition_strategy), inputs.dtype)
        offsets = of_dtype(embedding_lookup(biases, ids, partition_strategy), inputs.dtype)
        dim = (inputs.type.shape or (None, None))[1] or shape(inputs)[1]
        true_rows = reshape(rows[:true_count], [-1, num_true, dim])
        true_logits = ops.reduce_sum(ops.expand_dims(inputs, axis=1) * true_rows, axis=(2,))
        true_logits = true_logits + reshape(offsets[:true_count], [-1, num_true])
        logits = matmul(inputs, rows[true_count:], transpose_b=True) + offsets[true_count:]
        if remove_accidental_hits:
            count_more(true_ids.graph, _HITS_FOUND)
            pairs = ops.equal(ops.expand_dims(labels, axis=2), reshape(sampled, [1, 1, -1]))
            hits = of_dtype(ops.reduce_any(pairs, axis=(1,)), logits.dtype)
            logits = logits + hits * _LOWEST
        true_logits = true_logits - ops.log(of_dtype(true_expected, inputs.dtype))
        logits = logits - ops.log(of_dtype(sampled_expected, inputs.dtype))
        targets = [ops.ones_like(true_logits) / float(num_true), ops.zeros_like(logits)]
        return concat([true_logits, logits], 1), concat(targets, 1)
