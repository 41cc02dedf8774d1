"""Metrics that are means over all elements of all steps: of values, of matches, of errors."""

from __future__ import annotations

from typing import Any

from staticgraph.building.inputs import convert_to_tensor
from staticgraph.compiler import ops
from staticgraph.compiler.graph.dtypes import float32
from staticgraph.compiler.graph.recording.op_count import count_more
from staticgraph.state.scopes import variable_scope
from staticgraph.tf1.metrics.confusion import ratio
from staticgraph.tf1.metrics.streaming import (
    Metric,
    Name,
    as_type,
    matched,
    metric,
    running_total,
    spread,
    streamed,
)


@metric
def mean(values: Any, weights: Any = None, name: Name = None) -> Metric:
    """The mean of all values of all steps, weighted: `(value, update_op)`, float32 numbers.

    `update_op` takes the values of this step in and gives the mean up to now; `value` only tells it. Run
    `local_variables_initializer()` to begin anew. `weights` is a number, or has the rank of `values` with
    sizes equal to theirs or one (ShapeError otherwise); 0 leaves an element out. The mean of nothing is 0.
    In one run with `update_op`, `value` is that after the update.

    >>> import staticgraph as sg
    >>> x = sg.placeholder(sg.float32, [None])
    >>> value, update_op = sg.metrics.mean(x)
    >>> with sg.Session() as sess:
    ...     _ = sess.run(sg.local_variables_initializer())
    ...     _ = sess.run(update_op, {x: [1.0, 2.0]})
    ...     _ = sess.run(update_op, {x: [6.0]})
    ...     print(sess.run(value))
    3.0
    """
    with variable_scope(name, "mean", (values, weights)):
        values = as_type(values, float32)
        if weights is None:
            number = ops.cast(ops.size_of(values), dtype=float32)
        else:
            weights = spread(weights, values)
            values, number = ops.multiply(values, weights), ops.reduce_sum(weights)
        totals = running_total(ops.reduce_sum(values), "total"), running_total(number, "count")
        count_more(values.graph, 1)
        return streamed(ratio, totals)


@metric
def mean_tensor(values: Any, weights: Any = None, name: Name = None) -> Metric:
    """As `mean`, for each element by itself: the result has the shape of `values`, which must be known."""
    with variable_scope(name, "mean", (values, weights)):
        values = as_type(values, float32)
        number = ops.ones_like(values) if weights is None else spread(weights, values)
        values = values if weights is None else ops.multiply(values, number)
        shape = values.shape
        count_more(values.graph, 2)
        totals = [
            running_total(values, "total_tensor", shape=shape),
            running_total(number, "count_tensor", shape=shape),
        ]
        return streamed(ratio, totals)


@metric
def accuracy(labels: Any, predictions: Any, weights: Any = None, name: Name = None) -> Metric:
    """Metric of the fraction of `predictions` that equal `labels`, tensors of one shape: see `mean`.

    >>> import staticgraph as sg
    >>> logits, labels = sg.placeholder(sg.float32, [None, 10]), sg.placeholder(sg.int64, [None])
    >>> value, update_op = sg.metrics.accuracy(labels, sg.argmax(logits, 1))
    >>> value.name, update_op.name
    ('accuracy/value:0', 'accuracy/update_op:0')
    """
    labels, predictions = matched(labels, predictions)
    correct = ops.cast(ops.equal(as_type(predictions, labels.dtype), labels), dtype=float32)
    return mean(correct, weights, name=name or "accuracy")


@metric
def mean_absolute_error(labels: Any, predictions: Any, weights: Any = None, name: Name = None) -> Metric:
    """The mean of `abs(predictions - labels)`: see `mean`."""
    labels, predictions = matched(labels, predictions)
    errors = ops.abs(ops.subtract(predictions, labels))
    return mean(errors, weights, name=name or "mean_absolute_error")


@metric
def mean_squared_error(labels: Any, predictions: Any, weights: Any = None, name: Name = None) -> Metric:
    """The mean of `(predictions - labels) ** 2`: see `mean`."""
    labels, predictions = matched(labels, predictions)
    errors = ops.squared_difference(labels, predictions)
    return mean(errors, weights, name=name or "mean_squared_error")


@metric
def root_mean_squared_error(labels: Any, predictions: Any, weights: Any = None, name: Name = None) -> Metric:
    """The square root of `mean_squared_error`."""
    value, update_op = mean_squared_error(
        labels, predictions, weights, name=name or "root_mean_squared_error"
    )
    return ops.sqrt(value), ops.sqrt(update_op)


@metric
def mean_relative_error(
    labels: Any, predictions: Any, normalizer: Any, weights: Any = None, name: Name = None
) -> Metric:
    """The mean of `abs(labels - predictions) / normalizer`, 0 where the normalizer is 0: see `mean`."""
    labels, predictions = matched(labels, predictions)
    predictions, normalizer = matched(predictions, normalizer, ("predictions", "normalizer"))
    errors = ops.abs(ops.subtract(labels, predictions)) / normalizer
    errors = ops.select(ops.equal(normalizer, 0), ops.zeros_like(errors), errors)
    return mean(errors, weights, name=name or "mean_relative_error")


@metric
def mean_cosine_distance(
    labels: Any, predictions: Any, dim: int, weights: Any = None, name: Name = None
) -> Metric:
    """One minus the mean inner product along axis `dim` of vectors that are of unit length already."""
    labels, predictions = matched(labels, predictions)
    inner = ops.reduce_sum(ops.multiply(predictions, labels), axis=(dim,), keepdims=True)
    value, update_op = mean(inner, weights, name=name or "mean_cosine_distance")
    return ops.subtract(1.0, value), ops.subtract(1.0, update_op)


@metric
def percentage_below(values: Any, threshold: float, weights: Any = None, name: Name = None) -> Metric:
    """The share, from 0 to 1, of the values that are less than `threshold`: see `mean`."""
    below = ops.cast(ops.less(convert_to_tensor(values), threshold), dtype=float32)
    name = name or "percentage_below_threshold"
    return mean(below, weights, name=name)
