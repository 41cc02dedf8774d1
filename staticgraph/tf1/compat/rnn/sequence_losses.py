"""`tf.contrib.seq2seq`'s cross entropy of a batch of sequences, the steps of which are weighted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import staticgraph as sg
from staticgraph.compiler.graph.errors import misuse


def sequence_loss(
    logits: Any,
    targets: Any,
    weights: Any,
    average_across_timesteps: bool = True,
    average_across_batch: bool = True,
    sum_over_timesteps: bool = False,
    sum_over_batch: bool = False,
    softmax_loss_function: Callable[..., Any] | None = None,
    name: str | None = None,
) -> sg.Tensor:
    """The cross entropy of `logits` [batch, time, classes] with the classes `targets` [batch, time].

    `weights` [batch, time] are 0 where a sequence has ended. An average over an axis divides by the sum of
    the weights, a sum over it by the number of weights that are not 0; where neither is asked for the axis
    stays. `softmax_loss_function(labels=, logits=)` replaces the softmax cross entropy. ValueError for other
    ranks, and where an axis is to be averaged and summed.

    >>> from staticgraph.tf1.compat.rnn.sequence_losses import sequence_loss
    >>> logits, targets = sg.zeros([2, 3, 5]), sg.zeros([2, 3], sg.int32)
    >>> sg.Session().run(sequence_loss(logits, targets, sg.ones([2, 3]), average_across_batch=False)).shape
    (2,)
    """
    logits, targets, weights = map(sg.convert_to_tensor, (logits, targets, weights))
    for what, tensor, rank in (("logits", logits, 3), ("targets", targets, 2), ("weights", weights, 2)):
        if tensor.shape.ndims != rank:
            axes = "[batch, time, classes]" if rank == 3 else "[batch, time]"
            raise misuse(ValueError, f"sequence_loss: {what} must have the shape {axes}, not {tensor.shape}")
    for what, both in (
        ("timesteps", average_across_timesteps and sum_over_timesteps),
        ("batch", average_across_batch and sum_over_batch),
    ):
        if both:
            text = f"sequence_loss: average_across_{what} and sum_over_{what} cannot both be true"
            raise misuse(ValueError, text)
    with sg.name_scope(name, "sequence_loss", [logits, targets, weights]):
        cross_entropy = softmax_loss_function or sg.nn.sparse_softmax_cross_entropy_with_logits
        rows = sg.reshape(logits, sg.stack([-1, sg.shape(logits)[2]]))
        losses = cross_entropy(labels=sg.reshape(targets, [-1]), logits=rows) * sg.reshape(weights, [-1])
        if average_across_timesteps and average_across_batch:
            return sg.div_no_nan(sg.reduce_sum(losses), sg.reduce_sum(weights))
        if sum_over_timesteps and sum_over_batch:
            return sg.div_no_nan(sg.reduce_sum(losses), _count(weights, None, losses))
        losses = sg.reshape(losses, sg.shape(logits)[:2])
        if average_across_timesteps or average_across_batch:
            axis = 0 if average_across_batch else 1
            return sg.div_no_nan(sg.reduce_sum(losses, axis=axis), sg.reduce_sum(weights, axis=axis))
        if sum_over_timesteps or sum_over_batch:
            axis = 0 if sum_over_batch else 1
            return sg.div_no_nan(sg.reduce_sum(losses, axis=axis), _count(weights, axis, losses))
        return losses


def _count(weights: Any, axis: int | None, like: Any) -> Any:
    return sg.cast(sg.count_nonzero(weights, axis=axis), like.dtype)


class SequenceLoss:
    """`sequence_loss` as an object that takes targets first."""

    def __init__(
        self,
        average_across_timesteps: bool = False,
        average_across_batch: bool = False,
        sum_over_timesteps: bool = True,
        sum_over_batch: bool = True,
        softmax_loss_function: Callable[..., Any] | None = None,
        name: str | None = None,
    ) -> None:
        self.name = name
        self._options: dict[str, Any] = {
            "average_across_timesteps": average_across_timesteps,
            "average_across_batch": average_across_batch,
            "sum_over_timesteps": sum_over_timesteps,
            "sum_over_batch": sum_over_batch,
            "softmax_loss_function": softmax_loss_function,
        }

    def __call__(self, y_true: Any, y_pred: Any, sample_weight: Any) -> sg.Tensor:
        return sequence_loss(y_pred, y_true, sample_weight, name=self.name, **self._options)
