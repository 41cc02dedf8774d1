"""`tf.contrib.legacy_seq2seq`'s losses of sequences that are lists of tensors, one for each step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import staticgraph as sg
from staticgraph.compiler.graph.errors import misuse


def sequence_loss_by_example(
    logits: Sequence[Any],
    targets: Sequence[Any],
    weights: Sequence[Any],
    average_across_timesteps: bool = True,
    softmax_loss_function: Callable[..., Any] | None = None,
    name: str | None = None,
) -> sg.Tensor:
    """The weighted cross entropy of each sequence: per step, logits [batch, classes], targets and weights
    [batch].

    ValueError if the lists have different lengths.
    """
    if not len(logits) == len(targets) == len(weights):
        counts = f"{len(logits)} logits, {len(targets)} targets and {len(weights)} weights"
        raise misuse(ValueError, f"sequence_loss_by_example: {counts}, not as many of each")
    with sg.name_scope(name, "sequence_loss_by_example", [*logits, *targets, *weights]):
        steps = []
        for logit, target, weight in zip(logits, targets, weights, strict=True):
            if softmax_loss_function is None:
                loss = sg.nn.sparse_softmax_cross_entropy_with_logits(
                    labels=sg.reshape(target, [-1]), logits=logit
                )
            else:
                loss = softmax_loss_function(labels=target, logits=logit)
            steps.append(loss * weight)
        total = sg.add_n(steps)
        if not average_across_timesteps:
            return total
        return total / (sg.add_n([*map(sg.convert_to_tensor, weights)]) + 1e-12)


def sequence_loss(
    logits: Sequence[Any],
    targets: Sequence[Any],
    weights: Sequence[Any],
    average_across_timesteps: bool = True,
    average_across_batch: bool = True,
    softmax_loss_function: Callable[..., Any] | None = None,
    name: str | None = None,
) -> sg.Tensor:
    """The sum of `sequence_loss_by_example`, or its average over the batch."""
    with sg.name_scope(name, "sequence_loss", [*logits, *targets, *weights]):
        losses = sequence_loss_by_example(
            logits, targets, weights, average_across_timesteps, softmax_loss_function
        )
        cost = sg.reduce_sum(losses)
        return cost / sg.cast(sg.shape(targets[0])[0], cost.dtype) if average_across_batch else cost
