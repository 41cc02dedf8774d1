"""Cross entropies of logits. Each op gives the loss and, in passing, its derivative by the logits."""

from __future__ import annotations

from typing import Any

import numpy as np

from staticgraph.compiler.graph.checks.requirements import index_in
from staticgraph.compiler.graph.dtypes import FLOATING, int32, int64
from staticgraph.compiler.graph.errors import require
from staticgraph.compiler.graph.opdef import ops
from staticgraph.compiler.graph.shapes import TensorType, broadcast, merge, shape_text
from staticgraph.compiler.kernel import scalar
from staticgraph.compiler.ops.arrays.creation import numbers_below
from staticgraph.compiler.ops.kinds import composite
from staticgraph.compiler.ops.neural.normalization import below_max
from staticgraph.compiler.ops.samples import Sample, indices, real


def _dense_type(features: TensorType, labels: TensorType) -> tuple[TensorType, TensorType]:
    shape = broadcast(features.shape, labels.shape)
    require(shape is None or len(shape) > 0, "features is a scalar, the last axis must hold the classes")
    rows = None if shape is None else shape[:-1]
    return TensorType(features.dtype, rows), TensorType(features.dtype, shape)


def _log_softmax(x: np.ndarray) -> np.ndarray:
    wide = x.astype(np.float64)
    shifted = wide - wide.max(axis=-1, keepdims=True, initial=-np.inf)
    with np.errstate(divide="ignore"):  # of no classes
        return shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))


def _numpy_dense(features: np.ndarray, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    logs = _log_softmax(features)
    loss, back = -(labels * logs).sum(axis=-1), np.exp(logs) - labels
    return np.asarray(loss).astype(features.dtype), back.astype(features.dtype)


def _dense_grad(g: Any, y: Any, features: Any, labels: Any) -> tuple[Any, Any]:
    by_loss, by_back = g
    to_features = to_labels = None
    if by_loss is not None:
        each = _column(by_loss)
        to_features, to_labels = each * y[1], -(each * ops.log_softmax(features))
    if by_back is not None:
        to_features = _plus(to_features, _through_softmax(by_back, features))
        to_labels = _plus(to_labels, -by_back)
    return _like(to_features, features), _like(to_labels, labels)


def _through_softmax(g: Any, logits: Any) -> Any:
    """The cotangent of `logits` where their softmax has the cotangent `g`."""
    p = ops.softmax(logits)
    return p * (g - ops.reduce_sum(g * p, axis=-1, keepdims=True))


def _column(x: Any) -> Any:
    if x.type.is_static:
        return ops.reshape(x, shape=(*x.type.shape, 1))
    return ops.expand_dims(x, axis=-1)


def _plus(a: Any, b: Any) -> Any:
    return b if a is None else a + b


def _like(g: Any, x: Any) -> Any:
    """`g` summed over the axes along which `x` was repeated."""
    if g is None or g.type.shape == x.type.shape or not (g.type.is_static and x.type.is_static):
        return g  # what is open is summed by whoever asks for the derivative
    extra = g.type.rank - x.type.rank
    axes = tuple(d for d in range(g.type.rank) if d < extra or x.type.shape[d - extra] < g.type.shape[d])
    return ops.reshape(ops.reduce_sum(g, axis=axes), shape=x.type.shape)


@composite(
    tf="SoftmaxCrossEntropyWithLogits", wide=True, type=_dense_type, numpy=_numpy_dense, dtypes=FLOATING,
    grad=_dense_grad, grad_takes=(), broadcasts=True,
    samples=[Sample(real(3, 4), real(3, 4, low=0.25, high=0.25)),
             Sample(real(2, 3, 5), real(2, 3, 5, low=0.2, high=0.2)),
             Sample(real(4, 2), real(1, 2, low=0.5, high=0.5)),
             Sample(real(1, 5, low=-80, high=80), real(1, 5, low=0.2, high=0.2))],
)
def softmax_cross_entropy(features: Any, labels: Any) -> Any:
    """-sum(labels * log_softmax(features)) over the last axis, and softmax(features) - labels.

    The second result is the derivative of the first only where the labels of each row sum to 1. As in
    TensorFlow it serves as the gradient whatever they sum to.
    """
    shifted = below_max(features, -1)
    e = ops.exp(shifted)
    total = ops.reduce_sum(e, axis=-1, keepdims=True)
    return ops.reduce_sum(labels * (ops.log(total) - shifted), axis=-1), e / total - labels


def _sparse_type(features: TensorType, labels: TensorType) -> tuple[TensorType, TensorType]:
    require(labels.dtype in (int32, int64), f"labels is {labels.dtype}, and must be int32 or int64")
    if features.shape is None:
        return TensorType(features.dtype, labels.shape), features
    require(len(features.shape) > 0, "features is a scalar, the last axis must hold the classes")
    require(features.shape[-1] != 0, f"features is {shape_text(features.shape)}: there are no classes")
    rows = merge(features.shape[:-1], labels.shape, "features without its last axis, and labels:")
    assert rows is not None
    return TensorType(features.dtype, rows), TensorType(features.dtype, rows + features.shape[-1:])


def _numpy_sparse(features: np.ndarray, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    classes = features.shape[-1]
    known = (labels >= 0) & (labels < classes)
    chosen = np.arange(classes) == labels[..., None]
    logs = _log_softmax(features)
    loss = np.where(known, -np.where(chosen, logs, 0).sum(axis=-1), np.nan)
    back = np.where(known[..., None], np.exp(logs) - chosen, np.nan)
    return loss.astype(features.dtype), back.astype(features.dtype)


def _sparse_grad(g: Any, y: Any, features: Any, labels: Any) -> tuple[Any, None]:
    by_loss, by_back = g
    to_features = None if by_loss is None else _column(by_loss) * y[1]
    if by_back is not None:
        to_features = _plus(to_features, _through_softmax(by_back, features))
    return to_features, None


@composite(
    tf="SparseSoftmaxCrossEntropyWithLogits", wide=True, type=_sparse_type, numpy=_numpy_sparse,
    vars={"labels": "L"}, dtypes={"T": FLOATING, "L": frozenset({int32, int64})}, differentiable=(0,),
    grad=_sparse_grad, grad_takes=(),
    requires=index_in(
        "sparse_softmax_cross_entropy", "labels", 1, lambda features, labels: features.shape[-1]
    ),
    samples=[Sample(real(3, 4), indices(3, below=4)),
             Sample(real(2, 3, 5), indices(2, 3, below=5, dtype="int64")), Sample(real(6), indices(below=6))],
)
def sparse_softmax_cross_entropy(features: Any, labels: Any) -> Any:
    """-log_softmax(features)[label], and softmax(features) - one_hot(label).

    A label that is no class is an InvalidArgumentError.
    """
    classes = features.shape[-1]
    label = _column(labels)
    chosen = ops.equal(label, numbers_below(label, classes))
    known = ops.logical_and(ops.greater_equal(label, 0), ops.less(label, classes))
    shifted = below_max(features, -1)
    e = ops.exp(shifted)
    total = ops.reduce_sum(e, axis=-1, keepdims=True)
    own = ops.reduce_sum(scalar.select(chosen, shifted, 0.0), axis=-1, keepdims=True)
    loss = scalar.select(known, ops.log(total) - own, float("nan"))
    back = scalar.select(known, e / total - ops.cast(chosen, dtype=features.dtype), float("nan"))
    return ops.reshape(loss, shape=labels.shape), back
