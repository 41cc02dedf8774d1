"""`tf.contrib.losses`, which `tf.contrib.slim.losses` is too: the losses of `tf.losses`, but what was
predicted comes first and the labels second, and all are added to the collection of losses.

`mean_pairwise_squared_error` is not here: contrib's counts pairs in another way.
"""

from __future__ import annotations

from typing import Any

import staticgraph as sg
from staticgraph.building.signatures import adapted

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

_ORDER = "predictions labels weights scope"
_ENTROPY = "logits {}_labels weights label_smoothing scope"

compute_weighted_loss = adapted(sg.losses.compute_weighted_loss, "losses weights scope")
absolute_difference = adapted(sg.losses.absolute_difference, _ORDER, labels=None)
cosine_distance = adapted(sg.losses.cosine_distance, "predictions labels axis weights scope dim", labels=None)
log_loss = adapted(sg.losses.log_loss, "predictions labels weights epsilon scope", labels=None)
mean_squared_error = adapted(sg.losses.mean_squared_error, _ORDER, labels=None)
sigmoid_cross_entropy = adapted(sg.losses.sigmoid_cross_entropy, _ENTROPY.format("multi_class"))
softmax_cross_entropy = adapted(sg.losses.softmax_cross_entropy, _ENTROPY.format("onehot"))
sparse_softmax_cross_entropy = adapted(sg.losses.sparse_softmax_cross_entropy, "logits labels weights scope")


def hinge_loss(logits: Any, labels: Any = None, scope: str | None = None) -> Tensor:
    """`max(0, 1 - (2 * labels - 1) * logits)` of every element: neither its mean nor in any collection."""
    with sg.name_scope(scope, "hinge_loss", [logits, labels]):
        logits = sg.convert_to_tensor(logits)
        signs = 2 * sg.cast(labels, sg.float32) - 1
        return sg.nn.relu(1 - signs * logits)
