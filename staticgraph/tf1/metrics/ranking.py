"""Metrics of the k best classes: precision, recall and average precision at k.

`labels` are the classes that are right for an example, int64 of shape [..., labels], or of shape [...] for
one class each. They are a set: a class that occurs twice counts once. A label that is no class is never met.
They may be a SparseTensor of that shape, so that examples differ in how many labels they have.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from staticgraph.arrays.casts import cast
from staticgraph.arrays.sorting import top_k
from staticgraph.building.framework import name_scope
from staticgraph.building.inputs import convert_to_tensor
from staticgraph.compiler import ops
from staticgraph.compiler.graph.dtypes import float64, int64
from staticgraph.compiler.graph.errors import misuse
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.mathematics.math_ops import div
from staticgraph.sparse.tensor import SparseTensor, SparseTensorValue, as_sparse
from staticgraph.tf1.metrics.streaming import (
    Metric,
    Name,
    Total,
    as_type,
    metric,
    named,
    running_total,
    spread,
)

ClassId = int | None
_NO_LABEL = -(2**63)  # where sparse labels hold nothing


@metric
def precision_at_k(
    labels: Any, predictions: Any, k: int, class_id: ClassId = None, weights: Any = None, name: Name = None
) -> Metric:
    """The share of right ones among the `k` classes with the highest scores: float64 `(value, update_op)`.

    `predictions` are scores of shape [..., classes]. With `class_id`, only that class counts. `weights` is a
    number or has shape [...]. NaN where nothing counts.

    >>> import staticgraph as sg
    >>> scores = sg.constant([[0.1, 0.3, 0.6], [0.5, 0.4, 0.1]])
    >>> value, update_op = sg.metrics.precision_at_k(sg.constant([2, 1], sg.int64), scores, k=2)
    >>> with sg.Session() as sess:
    ...     _ = sess.run(sg.local_variables_initializer())
    ...     print(sess.run(update_op))
    0.5
    """
    with name_scope(name, _at_k("precision", k, class_id), [predictions, labels, weights]) as scope:
        best = top_k(predictions, k).indices
        return _share("precision", "false_positive", labels, best, k, class_id, weights, scope)


@metric
def recall_at_k(
    labels: Any, predictions: Any, k: int, class_id: ClassId = None, weights: Any = None, name: Name = None
) -> Metric:
    """The share of the right classes that is among the `k` with the highest scores: see `precision_at_k`."""
    with name_scope(name, _at_k("recall", k, class_id), [predictions, labels, weights]) as scope:
        best = top_k(predictions, k).indices
        return _share("recall", "false_negative", labels, best, k, class_id, weights, scope)


@metric
def average_precision_at_k(
    labels: Any, predictions: Any, k: int, weights: Any = None, name: Name = None
) -> Metric:
    """The mean over examples of the average precision: of the precisions at
    each of the first `k` places that hold a right class, over the number of
    right classes or `k`, whichever is less. See `precision_at_k`.
    """
    if k < 1:
        raise misuse(ValueError, f"average_precision_at_k: k={k} is less than 1")
    with name_scope(name, _at_k("average_precision", k), [predictions, labels, weights]) as scope:
        predictions = convert_to_tensor(predictions)
        best = as_type(top_k(predictions, k).indices, int64)
        labels = _with_label_axis(labels, best)
        classes = ops.cast(ops.shape_of(predictions)[-1], dtype=int64)
        labels = ops.select(ops.less(labels, classes), labels, ops.negative(ops.ones_like(labels)))
        precisions = _average_precision(labels, best, k)
        weights = None if weights is None else spread(weights, precisions, float64)
        if weights is None:
            number = ops.cast(ops.size_of(precisions), dtype=float64)
        else:
            precisions, number = ops.multiply(precisions, weights), ops.reduce_sum(weights)
        count = _scoped_total(number, "max_1")  # TensorFlow's name: there `max` is taken
        total = _scoped_total(ops.reduce_sum(precisions), "total")
        value = ops.div_no_nan(total.value, count.value, name="mean")
        update_op = ops.div_no_nan(total.updated, count.updated, name=scope)
        return value, update_op


sparse_precision_at_k = precision_at_k  # their first names
sparse_average_precision_at_k = average_precision_at_k


def _at_k(name: str, k: int | None, class_id: int | None = None) -> str:
    name = f"{name}_at_k" if k is None else f"{name}_at_{k}"
    return name if class_id is None else f"{name}_class{class_id}"


def _share(
    default: str,
    others: str,
    labels: Any,
    predictions_idx: Any,
    k: Any,
    class_id: Any,
    weights: Any,
    name: Name,
) -> Metric:
    """true positives / (true positives + others), others being of one side of the match."""
    with name_scope(name, _at_k(default, k, class_id), [predictions_idx, labels, weights]) as scope:
        best = as_type(predictions_idx, int64)
        labels = _with_label_axis(labels, best)
        found = _first_of_its_kind(best) & _is_in(best, labels)
        if others == "false_positive":
            rest, of = _first_of_its_kind(best) & ~_is_in(best, labels), best
        else:
            rest, of = _first_of_its_kind(labels) & ~_is_in(labels, best), labels
            rest = rest & ops.not_equal(labels, _NO_LABEL)
        hits = _counted(found, best, "true_positive", k, class_id, weights)
        missed = _counted(rest, of, others, k, class_id, weights)
        value = div(hits.value, ops.add(hits.value, missed.value), name=scope)
        update_op = div(hits.updated, ops.add(hits.updated, missed.updated), name="update")
        return value, update_op


def _of_chosen(default: str, others: str) -> Callable[..., Metric]:
    """The metric of classes that were chosen already."""

    def at_top_k(
        labels: Any,
        predictions_idx: Any,
        k: int | None = None,
        class_id: ClassId = None,
        weights: Any = None,
        name: Name = None,
    ) -> Metric:
        return _share(default, others, labels, predictions_idx, k, class_id, weights, name)

    doc = f"""`{default}_at_k` of classes that were chosen already: integers of shape [..., k].

    `k` is for the name only.
    """
    return metric(named(at_top_k, f"{default}_at_top_k", doc))


precision_at_top_k = _of_chosen("precision", "false_positive")
recall_at_top_k = _of_chosen("recall", "false_negative")


def _counted(
    chosen: Tensor, classes: Tensor, cell: str, k: int | None, class_id: int | None, weights: Any
) -> Total:
    """The number of chosen elements, of class `class_id` where that is given, weighted by example."""
    if class_id is not None:
        chosen = chosen & ops.equal(classes, class_id)
    number = ops.reduce_sum(ops.cast(chosen, dtype=float64), axis=(-1,))
    number = number if weights is None else ops.multiply(number, spread(weights, number, float64))
    return _scoped_total(ops.reduce_sum(number), _at_k(cell, k, class_id))


def _scoped_total(amount: Tensor, name: str) -> Total:
    """A total whose variable and update are named after one scope."""
    with name_scope(name) as scope:
        return running_total(amount, scope, float64, update="update")


def _with_label_axis(labels: Any, best: Tensor) -> Tensor:
    """The labels as int64 of the rank of the predictions: [..., 1] where each example has one label."""
    if isinstance(labels, SparseTensor | SparseTensorValue):
        from staticgraph.sparse.structure import to_dense  # few programs need it

        labels = to_dense(cast(as_sparse(labels), int64), _NO_LABEL, validate_indices=False)
    labels = as_type(labels, int64)
    ranks = labels.shape.ndims, best.shape.ndims
    if None in ranks:
        raise misuse(
            ValueError, "the ranks of labels and predictions must be known: give their placeholders a shape"
        )
    if ranks[0] == ranks[1]:
        return labels
    if ranks[0] + 1 == ranks[1]:
        return ops.expand_dims(labels, axis=-1)
    raise misuse(ValueError, f"labels of shape {labels.shape} do not fit predictions of shape {best.shape}")


def _is_in(elements: Tensor, others: Tensor) -> Tensor:
    """Return a bool for each element: true if it occurs among the others of its row."""
    pairs = ops.equal(ops.expand_dims(elements, axis=-1), ops.expand_dims(others, axis=-2))
    return ops.reduce_any(pairs, axis=(-1,))


def _first_of_its_kind(elements: Tensor) -> Tensor:
    """Return a bool for each element: true if it is the first of its value in its row."""
    pairs = ops.equal(ops.expand_dims(elements, axis=-1), ops.expand_dims(elements, axis=-2))
    before = ops.cumsum(ops.cast(pairs, dtype=int64), axis=-1)
    return ops.equal(ops.matrix_diag_part(before), 1)


def _average_precision(labels: Tensor, best: Tensor, k: int) -> Tensor:
    right = ops.cast(_is_in(best, labels), dtype=float64)
    precisions = ops.cumsum(right, axis=-1) / ops.cumsum(ops.ones_like(right), axis=-1)
    relevant = ops.reduce_sum(ops.cast(ops.greater_equal(labels, 0), dtype=int64), axis=(-1,))
    relevant = ops.cast(ops.minimum(relevant, k), dtype=float64)
    return ops.reduce_sum(precisions * right, axis=(-1,)) / relevant
