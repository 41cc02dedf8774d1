"""Functions of targets and predictions whose mean is a metric."""

from __future__ import annotations

from typing import Any

from staticgraph.arrays.casts import cast
from staticgraph.building.inputs import convert_to_tensor
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.tf1.keras import backend as K


def accuracy(y_true: Any, y_pred: Any) -> Tensor:
    """Return 1 for each prediction that equals its target, else 0."""
    y_true, y_pred = convert_to_tensor(y_true), convert_to_tensor(y_pred)
    return cast(K.equal(cast(y_true, y_pred.dtype), y_pred), K.floatx())


def binary_accuracy(y_true: Any, y_pred: Any, threshold: float = 0.5) -> Tensor:
    """The share of the last axis in which a prediction is above the threshold where the target is one."""
    y_pred = convert_to_tensor(y_pred)
    chosen = cast(K.greater(y_pred, cast(threshold, y_pred.dtype)), y_pred.dtype)
    return K.mean(K.equal(cast(y_true, y_pred.dtype), chosen), -1)


def categorical_accuracy(y_true: Any, y_pred: Any) -> Tensor:
    """Return 1 for each row whose largest prediction is at the index of its largest target, else 0."""
    return cast(K.equal(K.argmax(y_true), K.argmax(y_pred)), K.floatx())


def _numbers(y_true: Any, y_pred: Any) -> Tensor:
    """The numbers of classes as a tensor with one axis less than the predictions."""
    y_true = convert_to_tensor(y_true)
    return K.squeeze(y_true, -1) if K.ndim(y_true) == K.ndim(y_pred) else y_true


def sparse_categorical_accuracy(y_true: Any, y_pred: Any) -> Tensor:
    """Return 1 for each row whose largest prediction is that of the target class, else 0.

    The targets are numbers of classes.
    """
    y_true = _numbers(y_true, y_pred)
    return cast(K.equal(y_true, cast(K.argmax(y_pred), y_true.dtype)), K.floatx())


def top_k_categorical_accuracy(y_true: Any, y_pred: Any, k: int = 5) -> Tensor:
    """Return 1 for each row whose target class is among the `k` largest predictions, else 0.

    The target class is that of the largest target.
    """
    return cast(K.in_top_k(y_pred, K.argmax(y_true), k), K.floatx())


def sparse_top_k_categorical_accuracy(y_true: Any, y_pred: Any, k: int = 5) -> Tensor:
    """Return 1 for each row whose target class is among the `k` largest predictions, else 0.

    The targets are numbers of classes.
    """
    return cast(K.in_top_k(y_pred, cast(_numbers(y_true, y_pred), "int32"), k), K.floatx())


def cosine_proximity(y_true: Any, y_pred: Any, axis: int = -1) -> Tensor:
    """The cosine of the angle between targets and predictions."""
    return K.sum(K.l2_normalize(y_true, axis) * K.l2_normalize(y_pred, axis), axis)


cosine = cosine_proximity
acc = ACC = accuracy
