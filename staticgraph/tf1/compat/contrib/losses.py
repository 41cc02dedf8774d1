"""`tf.contrib.losses`, which `tf.contrib.slim.losses` is too: the losses of `tf.losses`, but what was
predicted comes first and the labels second, and all are added to the collection of losses.

`mean_pairwise_squared_error` is not here: contrib's counts pairs in another way.
"""

from __future__ import annotations

from typing import Any

import staticgraph as sg

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


def compute_weighted_loss(losses: Any, weights: Any = 1.0, scope: str | None = None) -> Tensor:
    """The sum of `losses` times `weights` over the number of weights that are not zero."""
    return sg.losses.compute_weighted_loss(losses, weights, scope)


def absolute_difference(
    predictions: Any, labels: Any = None, weights: Any = 1.0, scope: str | None = None
) -> Tensor:
    """Weighted mean of `abs(predictions - labels)`."""
    return sg.losses.absolute_difference(labels, predictions, weights, scope)


def cosine_distance(
    predictions: Any, labels: Any = None, axis: int | None = None, weights: Any = 1.0,
    scope: str | None = None, dim: int | None = None,
) -> Tensor:  # fmt: skip
    """Weighted mean of one minus the inner products along `axis` of vectors of unit length."""
    return sg.losses.cosine_distance(labels, predictions, axis, weights, scope, dim=dim)


def hinge_loss(logits: Any, labels: Any = None, scope: str | None = None) -> Tensor:
    """`max(0, 1 - (2 * labels - 1) * logits)` of every element: neither its mean nor in any collection."""
    with sg.name_scope(scope, "hinge_loss", [logits, labels]):
        logits = sg.convert_to_tensor(logits)
        signs = 2 * sg.cast(labels, sg.float32) - 1
        return sg.nn.relu(1 - signs * logits)


def log_loss(
    predictions: Any, labels: Any = None, weights: Any = 1.0, epsilon: float = 1e-7, scope: str | None = None
) -> Tensor:
    """Weighted mean of `-labels * log(predictions) - (1 - labels) * log(1 - predictions)`."""
    return sg.losses.log_loss(labels, predictions, weights, epsilon, scope)


def mean_squared_error(
    predictions: Any, labels: Any = None, weights: Any = 1.0, scope: str | None = None
) -> Tensor:
    """Weighted mean of `(predictions - labels) ** 2`."""
    return sg.losses.mean_squared_error(labels, predictions, weights, scope)


def sigmoid_cross_entropy(
    logits: Any, multi_class_labels: Any, weights: Any = 1.0, label_smoothing: float = 0,
    scope: str | None = None,
) -> Tensor:  # fmt: skip
    """Weighted mean of the cross entropy between independent classes and `sigmoid(logits)`."""
    return sg.losses.sigmoid_cross_entropy(multi_class_labels, logits, weights, label_smoothing, scope)


def softmax_cross_entropy(
    logits: Any, onehot_labels: Any, weights: Any = 1.0, label_smoothing: float = 0, scope: str | None = None
) -> Tensor:
    """Weighted mean of the cross entropy between `onehot_labels` and `softmax(logits)`.

    >>> from staticgraph.tf1.compat.contrib import losses as contrib_losses
    >>> logits = sg.constant([[2.0, 0.0]])
    >>> loss = contrib_losses.softmax_cross_entropy(logits, [[1.0, 0.0]])
    >>> with sg.Session() as sess:
    ...     round(float(sess.run(loss)), 4)
    0.1269
    """
    return sg.losses.softmax_cross_entropy(onehot_labels, logits, weights, label_smoothing, scope)


def sparse_softmax_cross_entropy(
    logits: Any, labels: Any, weights: Any = 1.0, scope: str | None = None
) -> Tensor:
    """Weighted mean of the cross entropy between classes, given as integers, and `softmax(logits)`."""
    return sg.losses.sparse_softmax_cross_entropy(labels, logits, weights, scope)
