"""`tf.contrib.losses`, which `tf.contrib.slim.losses` is too: the losses of `tf.losses`, but what was
predicted comes first and the labels second, and all are added to the collection of losses.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

import staticgraph as sg
from staticgraph.building.signatures import adapted
from staticgraph.compiler.graph.errors import misuse
from staticgraph.compiler.graph.recording.op_count import count_more, counted_as

__all__ = [
    "absolute_difference",
    "add_loss",
    "compute_weighted_loss",
    "cosine_distance",
    "get_losses",
    "get_regularization_losses",
    "get_total_loss",
    "hinge_loss",
    "log_loss",
    "mean_pairwise_squared_error",
    "mean_squared_error",
    "sigmoid_cross_entropy",
    "softmax_cross_entropy",
    "sparse_softmax_cross_entropy",
]

Tensor = Any

add_loss = sg.losses.add_loss
get_losses = sg.losses.get_losses
get_regularization_losses = sg.losses.get_regularization_losses
get_total_loss = sg.losses.get_total_loss


def _by_first_axes(function: Callable[..., Any], less: int = 0, further: int = 0) -> Callable[..., Any]:
    """Let a loss take weights of its first axes alone, such as one for each example.

    Args:
        function: The loss.
        less: How many axes fewer than its first parameter the losses have.
        further: How many operations more than other losses it counts as.
    """
    signature = inspect.signature(function)

    @functools.wraps(function)
    def weighted(*args: Any, **kwargs: Any) -> Any:
        bound = signature.bind(*args, **kwargs)
        given, count = bound.arguments, _COUNT_OF_ONE
        weights: Any = given.get("weights")
        if isinstance(weights, sg.Tensor | sg.Variable) or np.ndim(weights):
            weights = sg.convert_to_tensor(weights)
            rank = (sg.convert_to_tensor(next(iter(given.values()))).shape.ndims or 0) - less
            with counted_as(weights.graph, 0):
                weights = given["weights"] = _without_last_of_one(weights)
                count = _COUNT_OF_ALL if weights.shape.ndims else _COUNT_OF_ONE
                if 0 < (weights.shape.ndims or 0) < rank:
                    ones = [1] * (rank - weights.shape.ndims)
                    given["weights"] = sg.reshape(weights, sg.concat([sg.shape(weights), ones], 0))
                    count = _COUNT_OF_FIRST
        made = function(*bound.args, **bound.kwargs)
        count_more(made.graph, count + further)
        return made

    return weighted


# Operations that TensorFlow makes more than for the losses of `tf.losses`: with one weight for all, with
# weights of the first axes, and with a weight for each loss.
_COUNT_OF_ONE, _COUNT_OF_FIRST, _COUNT_OF_ALL = -1, -6, 3


def _without_last_of_one(weights: Tensor) -> Tensor:
    """Weights without a last axis of one element, unless it is the only one."""
    last = (weights.shape.ndims or 0) > 1 and weights.shape[-1].value == 1
    return sg.squeeze(weights, [-1]) if last else weights


_ORDER = "predictions labels weights scope"
_ENTROPY = "logits {}_labels weights label_smoothing scope"

compute_weighted_loss = _by_first_axes(adapted(sg.losses.compute_weighted_loss, "losses weights scope"))
absolute_difference = _by_first_axes(adapted(sg.losses.absolute_difference, _ORDER, labels=None))
cosine_distance = _by_first_axes(
    adapted(sg.losses.cosine_distance, "predictions labels axis weights scope dim", labels=None)
)
log_loss = _by_first_axes(
    adapted(sg.losses.log_loss, "predictions labels weights epsilon scope", labels=None)
)
mean_squared_error = _by_first_axes(adapted(sg.losses.mean_squared_error, _ORDER, labels=None))
sigmoid_cross_entropy = _by_first_axes(
    adapted(sg.losses.sigmoid_cross_entropy, _ENTROPY.format("multi_class"))
)
softmax_cross_entropy = _by_first_axes(adapted(sg.losses.softmax_cross_entropy, _ENTROPY.format("onehot")), 1)
sparse_softmax_cross_entropy = _by_first_axes(
    adapted(sg.losses.sparse_softmax_cross_entropy, "logits labels weights scope"), 1, 8
)


def hinge_loss(logits: Any, labels: Any = None, scope: str | None = None) -> Tensor:
    """`max(0, 1 - (2 * labels - 1) * logits)` of every element: neither its mean nor in any collection."""
    with sg.name_scope(scope, "hinge_loss", [logits, labels]):
        logits = sg.convert_to_tensor(logits)
        labels = sg.convert_to_tensor(labels)
        logits.shape.assert_is_compatible_with(labels.shape)
        signs = 2 * sg.cast(labels, sg.float32) - 1
        count_more(logits.graph, 1)
        return sg.nn.relu(1 - signs * logits)


def mean_pairwise_squared_error(
    predictions: Any, labels: Any = None, weights: Any = 1.0, scope: str | None = None
) -> Tensor:
    """The squared differences of the errors of all pairs of elements of an example, summed over examples.

    It is twice the variance of the errors of an example. `sg.losses.mean_pairwise_squared_error` divides by
    the number of pairs without those of an element with itself.

    Args:
        predictions: Numbers of shape [batch, ...].
        labels: Numbers of the same shape.
        weights: A scalar, or a weight for each example, [batch]; one of zero leaves it out.
        scope: The name of the scope.

    Returns:
        A scalar, which also joins the collection of losses.

    Raises:
        ValueError: The shapes of both differ, or a rank is not known.
    """
    with sg.name_scope(scope, "mean_pairwise_squared_error", [predictions, labels, weights]):
        predictions, labels = sg.convert_to_tensor(predictions), sg.convert_to_tensor(labels)
        predictions.shape.assert_is_compatible_with(labels.shape)
        errors = sg.cast(predictions, sg.float32) - sg.cast(labels, sg.float32)
        weights = sg.cast(sg.convert_to_tensor(weights), sg.float32)
        if errors.shape.ndims is None or weights.shape.ndims is None:
            raise misuse(ValueError, "mean_pairwise_squared_error: ranks must be known", "use set_shape")
        axes = list(range(1, errors.shape.ndims))
        of_example = sg.reshape(weights, [-1] + [1] * len(axes))
        is_present = sg.cast(sg.not_equal(of_example, 0.0), sg.float32) * sg.ones_like(errors)
        count = sg.reduce_sum(is_present, axes)
        squares = sg.div_no_nan(sg.reduce_sum(sg.square(errors), axes), count)
        pairs = 2.0 * (squares - sg.div_no_nan(sg.square(sg.reduce_sum(errors, axes)), sg.square(count)))
        loss = sg.reduce_sum(pairs * sg.reshape(weights, [-1]))
        add_loss(loss)
        count_more(loss.graph, 10 if weights.shape.ndims else 16)
        return loss
