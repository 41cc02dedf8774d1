"""Cross entropies and other losses per example, with TensorFlow 1's names: part of `sg.nn`."""

from __future__ import annotations

import math
from typing import Any

from staticgraph.arrays.array_ops import axis_last
from staticgraph.arrays.casts import cast
from staticgraph.building.framework import checked, name_scope
from staticgraph.building.inputs import convert_to_tensor
from staticgraph.building.signatures import named_only, needed, renamed
from staticgraph.compiler import ops
from staticgraph.compiler.graph.errors import DtypeError, misuse
from staticgraph.compiler.graph.recording.op_count import (
    BackwardCount,
    count_backward,
    count_more,
    counted_as,
)
from staticgraph.compiler.graph.shapes import merge
from staticgraph.compiler.graph.tensor import Tensor

l2_loss = ops.l2_loss


def softmax(logits: Any, axis: int | None = None, name: str | None = None, dim: int | None = None) -> Tensor:
    """exp(logits) / sum(exp(logits)) along `axis`, the last one unless given.

    >>> import staticgraph as sg
    >>> sg.nn.softmax(sg.placeholder(sg.float32, [None, 10]))
    <sg.Tensor 'Softmax:0' shape=(?, 10) dtype=float32>
    """
    axis = renamed("axis", axis, "dim", dim)
    return _along(ops.softmax, logits, axis, name)


def log_softmax(
    logits: Any, axis: int | None = None, name: str | None = None, dim: int | None = None
) -> Tensor:
    """logits - log(sum(exp(logits))) along `axis`, the last one unless given.

    >>> sg.Session().run(sg.nn.log_softmax([0.0, 0.0])).round(4)
    array([-0.6931, -0.6931], dtype=float32)
    """
    axis = renamed("axis", axis, "dim", dim)
    return _along(ops.log_softmax, logits, axis, name)


def _along(op: Any, logits: Any, axis: int | None, name: str | None) -> Tensor:
    made: Tensor = op(logits, axis=-1 if axis is None else axis, name=name)
    if axis is not None and axis not in (-1, (made.type.rank or 0) - 1):
        count_more(made.graph, 30)  # TensorFlow exchanges the axis and the last one, and exchanges them again
    return made


def softmax_cross_entropy_with_logits_v2(
    labels: Any, logits: Any, axis: int | None = None, name: str | None = None, dim: int | None = None
) -> Tensor:
    """-sum(labels * log_softmax(logits)) along `axis`, the last one unless given; differentiable by both.

    Each row of `labels` is a probability distribution over the classes, and is cast to the type of `logits`.
    For labels that are the numbers of classes see `sparse_softmax_cross_entropy_with_logits`.

    >>> import staticgraph as sg
    >>> logits, labels = sg.placeholder(sg.float32, [None, 10]), sg.placeholder(sg.float32, [None, 10])
    >>> sg.nn.softmax_cross_entropy_with_logits_v2(labels=labels, logits=logits).shape.as_list()
    [None]
    """
    axis = renamed("axis", axis, "dim", dim)
    axis = -1 if axis is None else axis
    with name_scope(name, "softmax_cross_entropy_with_logits", [logits, labels]) as scope:
        logits = convert_to_tensor(logits, name="logits")
        labels = cast(convert_to_tensor(labels, None, "labels", logits.dtype), logits.dtype)
        logits, labels = (axis_last(x, axis, "softmax_cross_entropy_with_logits") for x in (logits, labels))
        with counted_as(logits.graph, 31):  # TensorFlow makes matrices of both, and a shape of the result
            losses = ops.softmax_cross_entropy(logits, labels, name=scope)[0]
        count_backward(losses, BackwardCount(11, by_input=2, gates=3))
        return losses


def softmax_cross_entropy_with_logits(
    _sentinel: Any = None,
    labels: Any = None,
    logits: Any = None,
    dim: int = -1,
    name: str | None = None,
    axis: int | None = None,
) -> Tensor:
    """`softmax_cross_entropy_with_logits_v2` without a gradient for `labels`. Arguments are given by name.

    >>> losses = sg.nn.softmax_cross_entropy_with_logits(labels=[[1.0, 0.0]], logits=[[0.0, 0.0]])
    >>> sg.Session().run(losses).round(4)
    array([0.6931], dtype=float32)
    """
    named_only("softmax_cross_entropy_with_logits", _sentinel, labels=labels, logits=logits)
    axis = dim if axis is None else axis
    with name_scope(name, "softmax_cross_entropy_with_logits_sg", [logits, labels]) as scope:
        fixed = ops.stop_gradient(labels, name="labels_stop_gradient")
        return softmax_cross_entropy_with_logits_v2(labels=fixed, logits=logits, axis=axis, name=scope)


def sparse_softmax_cross_entropy_with_logits(
    _sentinel: Any = None, labels: Any = None, logits: Any = None, name: str | None = None
) -> Tensor:
    """-log_softmax(logits)[label] over the last axis; `labels`
    are numbers of classes. Arguments are given by name.

    >>> import staticgraph as sg
    >>> logits, labels = sg.placeholder(sg.float32, [None, 10]), sg.placeholder(sg.int64, [None])
    >>> sg.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits).shape.as_list()
    [None]
    """
    named_only("sparse_softmax_cross_entropy_with_logits", _sentinel, labels=labels, logits=logits)
    with name_scope(name, "SparseSoftmaxCrossEntropyWithLogits", [labels, logits]):
        logits, labels = convert_to_tensor(logits), convert_to_tensor(labels)
        if logits.dtype.is_integer and labels.dtype.is_floating:
            text = f"labels are {labels.type}, and logits {logits.type}"
            raise misuse(DtypeError, text, "they seem to be swapped: labels are numbers of classes")
        if logits.shape.ndims == 2:
            count_more(logits.graph, 1)
            return ops.sparse_softmax_cross_entropy(logits, labels, name=name)[0]
        known = logits.shape.is_fully_defined() and labels.shape.is_fully_defined()
        count_more(logits.graph, 17 if known else 33)  # TensorFlow makes a matrix, and looks at shapes
        losses = ops.sparse_softmax_cross_entropy(logits, labels, name=name)[0]
        count_backward(losses, BackwardCount(4, added=True))
        return losses


def _same_shape(function: str, **tensors: Tensor) -> None:
    (first, a), (second, b) = tensors.items()
    with checked(function):
        merge(a.type.shape, b.type.shape, f"{first} and {second}:")


def sigmoid_cross_entropy_with_logits(
    _sentinel: Any = None, labels: Any = None, logits: Any = None, name: str | None = None
) -> Tensor:
    """-labels * log(sigmoid(logits)) - (1 - labels) * log(1 - sigmoid(logits)), computed without overflow.

    For classes that do not exclude each other. Arguments are given by name.

    >>> import staticgraph as sg
    >>> logits, labels = sg.placeholder(sg.float32, [None, 3]), sg.placeholder(sg.float32, [None, 3])
    >>> sg.nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=logits)
    <sg.Tensor 'logistic_loss:0' shape=(?, 3) dtype=float32>
    """
    named_only("sigmoid_cross_entropy_with_logits", _sentinel, labels=labels, logits=logits)
    with name_scope(name, "logistic_loss", [logits, labels]) as scope:
        logits = convert_to_tensor(logits, name="logits")
        labels = convert_to_tensor(labels, dtype=logits.dtype, name="labels")
        _same_shape("sigmoid_cross_entropy_with_logits", logits=logits, labels=labels)
        zeros = ops.zeros_like(logits)
        positive = ops.greater_equal(logits, zeros)
        above = ops.select(positive, logits, zeros)
        below = ops.select(positive, -logits, logits)
        return ops.add(above - logits * labels, ops.log1p(ops.exp(below)), name=scope)


def weighted_cross_entropy_with_logits(
    labels: Any = None,
    logits: Any = None,
    pos_weight: Any = None,
    name: str | None = None,
    targets: Any = None,
) -> Tensor:
    """`sigmoid_cross_entropy_with_logits` in which labels of 1 count `pos_weight` times."""
    labels = renamed("labels", labels, "targets", targets)
    needed("weighted_cross_entropy_with_logits", labels=labels, logits=logits, pos_weight=pos_weight)
    with name_scope(name, "logistic_loss", [logits, labels]) as scope:
        logits = convert_to_tensor(logits, name="logits")
        labels = convert_to_tensor(labels, dtype=logits.dtype, name="labels")
        _same_shape("weighted_cross_entropy_with_logits", logits=logits, labels=labels)
        weight = 1.0 + (pos_weight - 1.0) * labels
        plus = ops.softplus(-logits)
        count_more(logits.graph, 5)  # TensorFlow has other operations for it
        count_backward(plus, BackwardCount(7 if logits.shape.is_fully_defined() else 14, added=True))
        return ops.add((1.0 - labels) * logits, weight * plus, name=scope)


def log_poisson_loss(
    targets: Any, log_input: Any, compute_full_loss: bool = False, name: str | None = None
) -> Tensor:
    """exp(log_input) - log_input * targets: the log-likelihood of counts, but for its sign and a constant.

    `compute_full_loss` adds Stirling's approximation of log(targets!) where targets > 1.
    """
    with name_scope(name, "log_poisson_loss", [log_input, targets]):
        log_input = convert_to_tensor(log_input, name="log_input")
        targets = convert_to_tensor(targets, dtype=log_input.dtype, name="targets")
        _same_shape("log_poisson_loss", log_input=log_input, targets=targets)
        loss = ops.exp(log_input) - log_input * targets
        if compute_full_loss:
            stirling = targets * ops.log(targets) - targets + 0.5 * ops.log(2.0 * math.pi * targets)
            small = ops.logical_and(ops.greater_equal(targets, 0.0), ops.less_equal(targets, 1.0))
            loss = loss + ops.select(small, ops.zeros_like(targets), stirling)
        return loss
