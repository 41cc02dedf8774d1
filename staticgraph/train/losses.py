"""Losses with weights, collected in the graph (TF1's `tf.losses`)."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from staticgraph import nn
from staticgraph.arrays.casts import of_dtype, widened
from staticgraph.building.framework import (
    GraphKeys,
    add_to_collection,
    control_dependencies,
    get_collection,
    name_scope,
)
from staticgraph.building.inputs import convert_to_tensor, stop_gradient
from staticgraph.building.signatures import arguments
from staticgraph.compiler import ops
from staticgraph.compiler.graph.checks.arguments import text_of
from staticgraph.compiler.graph.dtypes import float32
from staticgraph.compiler.graph.errors import ShapeError, misuse, shown
from staticgraph.compiler.graph.recording.op_count import (
    BackwardCount,
    count_backward,
    count_more,
    counted_as,
)
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.compiler.support.lazy_names import show_public_names
from staticgraph.state import replicas


class Reduction:
    """Ways to reduce the losses of single elements to one number."""

    NONE = "none"
    SUM = "weighted_sum"
    MEAN = "weighted_mean"  # divided by the sum of the weights
    SUM_OVER_BATCH_SIZE = "weighted_sum_over_batch_size"  # divided by the number of elements
    SUM_OVER_NONZERO_WEIGHTS = SUM_BY_NONZERO_WEIGHTS = "weighted_sum_by_nonzero_weights"

    @classmethod
    def all(cls) -> tuple[str, ...]:
        return cls.NONE, cls.SUM, cls.MEAN, cls.SUM_OVER_BATCH_SIZE, cls.SUM_BY_NONZERO_WEIGHTS

    @classmethod
    def validate(cls, key: str) -> None:
        """ValueError unless `key` is one of these."""
        if not isinstance(key, str) or key not in cls.all():
            raise misuse(ValueError, f"reduction={shown(key)} is not one of {', '.join(cls.all())}")


_UNFIT = "weights can not be broadcast to values"
_BY_WEIGHTS = Reduction.SUM_BY_NONZERO_WEIGHTS


def compute_weighted_loss(
    losses: Any,
    weights: Any = 1.0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = _BY_WEIGHTS,
) -> Tensor:
    """`losses * weights` reduced to a number, and added to a collection.

    By default the sum is divided by the number of losses whose weight is not zero;
    0 if there are none. `weights` is a number, or has the rank of `losses` with
    each size equal to that of `losses` or one; ShapeError otherwise.
    """
    Reduction.validate(reduction)
    with name_scope(scope, "weighted_loss", [losses, weights]):
        losses = convert_to_tensor(losses)
        replicas.note_reduction(losses.graph, reduction)
        result_dtype = losses.dtype
        losses = widened(losses) if losses.dtype.is_floating else ops.cast(losses, dtype=float32)
        given = isinstance(weights, Tensor)
        weights = of_dtype(convert_to_tensor(weights), losses.dtype)
        with counted_as(losses.graph, _operations(losses, weights, reduction) + (0 if given else 1)):
            weights = _fitting(weights, losses)
            weighted = ops.multiply(losses, weights)
            loss = weighted if reduction == Reduction.NONE else _reduced(weighted, losses, weights, reduction)
        loss = of_dtype(loss, result_dtype)
    add_loss(loss, loss_collection)
    return loss


def _operations(losses: Tensor, weights: Tensor, reduction: str) -> int:
    """Return the number of operations that TensorFlow makes to weigh and reduce losses, most of them to check
    the shape of the weights.
    """
    known = None not in (*(losses.type.shape or ()), *(weights.type.shape or ()))
    check = 5 if known or weights.shape.ndims == 0 else 63
    if reduction == Reduction.NONE:
        return check + 1
    if reduction == Reduction.SUM:
        return check + 3
    if reduction == Reduction.SUM_OVER_BATCH_SIZE:
        return check + 8
    if reduction == Reduction.MEAN:
        return check + 12
    same = known and losses.type.shape == weights.type.shape
    return check + 15 + (0 if same else 4 + check)


def _fitting(weights: Tensor, losses: Tensor) -> Tensor:
    """Return weights that broadcast to losses. Others are an error, if not here, then in a run."""
    given, wanted = weights.type.shape, losses.type.shape
    if given == ():
        return weights
    if given is None or wanted is None:
        rank = ops.rank_of(weights)
        fits = ops.logical_or(ops.equal(rank, 0), ops.equal(rank, ops.rank_of(losses)))
        shapes = [ops.shape_of(weights), ops.shape_of(losses)]
        with control_dependencies([ops.assert_true(fits, shapes, shown=(f"{_UNFIT}: ", None, " to ", None))]):
            weights = ops.identity(weights)
    else:
        _check_weights(weights, losses)
        if all(m == 1 or (m is not None and m == n) for m, n in zip(given, wanted, strict=True)):
            return weights
    return ops.broadcast_to(weights, shape=ops.shape_of(losses))


def _check_weights(weights: Tensor, losses: Tensor) -> None:
    given, wanted = weights.type.shape, losses.type.shape
    if given is None or wanted is None or given == ():
        return
    if len(given) == len(wanted) and all(
        m in (1, None) or n in (m, None) for m, n in zip(given, wanted, strict=True)
    ):
        return
    text = f"{_UNFIT}: {weights.shape} to {losses.shape}"
    made = [("weights", weights.op.where), ("losses", losses.op.where)]
    raise misuse(ShapeError, text, "use a number, or the same rank and sizes, or sizes of 1", made=made)


def _reduced(weighted: Tensor, losses: Tensor, weights: Tensor, reduction: str) -> Tensor:
    total = ops.reduce_sum(weighted)
    if reduction == Reduction.SUM:
        return total
    if reduction == Reduction.SUM_OVER_BATCH_SIZE:
        count = ops.cast(ops.size_of(losses), dtype=losses.dtype)
    elif reduction == Reduction.MEAN:
        count = ops.reduce_sum(ops.ones_like(losses) * weights)
    else:
        count = _present(losses, weights)
    value = ops.div_no_nan(total, count, name="value")
    count_backward(value, BackwardCount(4, added=True))  # of a sum of the sum
    return value


def _present(losses: Tensor, weights: Tensor, axis: Any = None, keepdims: bool = False) -> Tensor:
    """Return the number of losses whose weight is not zero."""
    with name_scope("num_present"):
        present = ops.cast(ops.not_equal(weights, 0.0), dtype=losses.dtype)
        if weights.type.shape == () and axis is None:
            return present * ops.cast(ops.size_of(losses), dtype=losses.dtype)
        return ops.reduce_sum(ops.ones_like(losses) * present, axis=axis, keepdims=keepdims)


def add_loss(loss: Tensor, loss_collection: str | None = GraphKeys.LOSSES) -> None:
    """Add a loss of your own to those that `get_total_loss` adds up."""
    if loss_collection is not None and text_of(loss_collection, "loss_collection"):
        add_to_collection(loss_collection, loss)


def get_losses(scope: str | None = None, loss_collection: str = GraphKeys.LOSSES) -> list[Tensor]:
    """The losses made so far."""
    return get_collection(loss_collection, scope)


def get_regularization_losses(scope: str | None = None) -> list[Tensor]:
    """Return the losses that the regularizers of variables made.

    Args:
        scope: A regular expression. If it is given, only losses are returned whose names begin with a match.

    Returns:
        A list of tensors.
    """
    return get_collection(GraphKeys.REGULARIZATION_LOSSES, scope)


def get_regularization_loss(scope: str | None = None, name: str = "total_regularization_loss") -> Tensor:
    """The sum of the regularization losses, 0 if there are none."""
    found = get_regularization_losses(scope)
    return ops.add_n(found, name=name) if found else convert_to_tensor(0.0)


def get_total_loss(
    add_regularization_losses: bool = True, name: str = "total_loss", scope: str | None = None
) -> Tensor:
    """The sum of all losses made so far, with those of regularizers. ValueError if there are none.

    >>> import staticgraph as sg
    >>> x = sg.placeholder(sg.float32, [None])
    >>> loss = sg.losses.mean_squared_error(x, 2.0 * x)
    >>> sg.losses.get_total_loss().name
    'total_loss:0'
    """
    found = get_losses(scope)
    if add_regularization_losses:
        found = found + get_regularization_losses(scope)
    return ops.add_n(found, name=name)


def _pair(
    labels: Any,
    predictions: Any,
    names: tuple[str, str] = ("labels", "predictions"),
    wide: bool = True,
) -> tuple[Tensor, Tensor]:
    """Both as floating tensors, of compatible shapes: ShapeError otherwise.

    If `wide`, numbers of 16 bits become float32, and so does the loss: float16 has no square of 256.
    """
    for value, name in ((labels, names[0]), (predictions, names[1])):
        if value is None:
            raise misuse(ValueError, f"{name} must not be None")
    second = _floating(convert_to_tensor(predictions))
    second = widened(second) if wide else second
    first = convert_to_tensor(labels)
    first = first if first.dtype is second.dtype else ops.cast(first, dtype=second.dtype)
    if not first.shape.is_compatible_with(second.shape):
        text = (
            f"{names[0]} of shape {first.shape} and {names[1]} of shape {second.shape} must be of one shape"
        )
        raise misuse(ShapeError, text, made=[(names[0], first.op.where), (names[1], second.op.where)])
    return first, second


def _floating(x: Tensor) -> Tensor:
    return x if x.dtype.is_floating else ops.cast(x, dtype=float32)


def _loss(scope: str, wide: bool = True) -> Callable[[Callable[..., Tensor]], Callable[..., Tensor]]:
    """Make the losses of single elements, of two tensors and options, one that is weighted and collected.

    The function gets the two as floating tensors of one shape. Its options come after `weights`.

    Args:
        scope: The default of the name.
        wide: True if the loss of numbers of 16 bits is float32, as in TensorFlow.
    """

    def decorate(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
        first, second, *options = inspect.signature(function).parameters.values()
        _, weight, *further = inspect.signature(compute_weighted_loss).parameters.values()
        placed = [first, second, weight, *options, *further]
        signature = inspect.Signature(placed, return_annotation="Tensor")
        names = first.name, second.name

        @functools.wraps(function)
        def weighted(*args: Any, **kwargs: Any) -> Tensor:
            given = arguments(function.__name__, signature, args, kwargs)
            labels, predictions, weights = (given.pop(name) for name in (*names, "weights"))
            opened, *collected = (given.pop(parameter.name) for parameter in further)
            with name_scope(opened, scope, [predictions, labels, weights]) as inner:
                losses = function(*_pair(labels, predictions, names, wide), **given)
                return compute_weighted_loss(losses, weights, inner, *collected)

        weighted.__signature__ = signature  # type: ignore[attr-defined]
        return weighted

    return decorate


@_loss("absolute_difference")
def absolute_difference(labels: Any, predictions: Any) -> Tensor:
    """Weighted mean of `abs(predictions - labels)`."""
    return ops.abs(ops.subtract(predictions, labels))


def cosine_distance(
    labels: Any,
    predictions: Any,
    axis: int | None = None,
    weights: Any = 1.0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = _BY_WEIGHTS,
    dim: int | None = None,
) -> Tensor:
    """Weighted mean of one minus the inner products along
    `axis` of vectors that are of unit length already.
    """
    axis = dim if axis is None else axis
    if axis is None:
        raise misuse(ValueError, "cosine_distance() needs an axis")
    with name_scope(scope, "cosine_distance_loss", [predictions, labels, weights]) as scope:
        y, p = _pair(labels, predictions)
        losses = 1.0 - ops.reduce_sum(ops.multiply(p, y), axis=(axis,), keepdims=True)
        return compute_weighted_loss(losses, weights, scope, loss_collection, reduction)


@_loss("hinge_loss")
def hinge_loss(labels: Any, logits: Any) -> Tensor:
    """Weighted mean of `max(0, 1 - s * logits)`, s being -1 for label 0 and 1 for label 1."""
    signs = ops.subtract(2.0 * labels, ops.ones_like(labels))
    count_more(signs.graph, 1)  # TensorFlow makes the ones once, in three operations
    return ops.relu(ops.subtract(ops.ones_like(labels), ops.multiply(signs, logits)))


@_loss("huber_loss")
def huber_loss(labels: Any, predictions: Any, delta: float = 1.0) -> Tensor:
    """Weighted mean of half the squared error where the
    error is below `delta`, and a straight line beyond.
    """
    error = ops.subtract(predictions, labels)
    with counted_as(error.graph, 1):  # `abs`, but that its derivative at 0 is no 0: the second one is right
        error = error * (1.0 - 2.0 * ops.cast(ops.less(error, 0), dtype=error.dtype))
    count_backward(error, BackwardCount(2))
    near = ops.minimum(error, delta)
    beyond = ops.subtract(error, near)
    return ops.add(0.5 * ops.multiply(near, near), delta * beyond)


@_loss("log_loss")
def log_loss(labels: Any, predictions: Any, epsilon: float = 1e-7) -> Tensor:
    """Weighted mean of the cross entropy between labels and
    predicted probabilities; `epsilon` keeps off log(0).
    """
    positive = ops.multiply(labels, ops.log(predictions + epsilon))
    negative = ops.multiply(1.0 - labels, ops.log(1.0 - predictions + epsilon))
    return -positive - negative


def mean_pairwise_squared_error(
    labels: Any,
    predictions: Any,
    weights: Any = 1.0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
) -> Tensor:
    """For each element of the batch, the mean over pairs i,
    j of `((p[i] - p[j]) - (y[i] - y[j])) ** 2`; their sum.

    `weights` is a number, or one per element of the batch. Elements whose weight is 0 do not count.
    """
    with name_scope(scope, "mean_pairwise_squared_error", [predictions, labels, weights]):
        y, p = _pair(labels, predictions)
        difference = widened(ops.subtract(p, y))
        count_more(p.graph, 29)  # the checks of TensorFlow's weights and numbers present
        weights = of_dtype(convert_to_tensor(weights), difference.dtype)
        _check_weights(weights, y)
        within = tuple(range(1, len(difference.shape)))
        count = _present(difference, weights, axis=within, keepdims=True)
        squares = ops.reduce_sum(ops.square(difference), axis=within, keepdims=True)
        total = ops.reduce_sum(difference, axis=within, keepdims=True)
        pairs = ops.div_no_nan(squares, count - 1.0) - ops.div_no_nan(
            ops.square(total), count * (count - 1.0)
        )
        weighted = ops.multiply(2.0 * pairs, weights)
        some = ops.greater(ops.reduce_sum(count), 0.0)
        summed = ops.reduce_sum(weighted)
        loss = of_dtype(ops.select(some, summed, ops.zeros_like(summed), name="value"), p.dtype)
    add_loss(loss, loss_collection)
    return loss


@_loss("mean_squared_error")
def mean_squared_error(labels: Any, predictions: Any) -> Tensor:
    """Weighted mean of `(predictions - labels) ** 2`.

    `weights` is a number or a tensor that broadcasts; where it is zero an element does not count at all.

    >>> import staticgraph as sg
    >>> y, p = (sg.placeholder(sg.float32, [None, 10]) for _ in range(2))
    >>> sg.losses.mean_squared_error(y, p).name
    'mean_squared_error/value:0'
    """
    return ops.squared_difference(predictions, labels)


@_loss("sigmoid_cross_entropy_loss", wide=False)
def sigmoid_cross_entropy(multi_class_labels: Any, logits: Any, label_smoothing: float = 0) -> Tensor:
    """Weighted mean of `sigmoid_cross_entropy_with_logits`;
    `label_smoothing` moves labels towards one half.
    """
    y = multi_class_labels
    if label_smoothing > 0:
        y = y * (1 - label_smoothing) + 0.5 * label_smoothing
    return nn.sigmoid_cross_entropy_with_logits(labels=y, logits=logits, name="xentropy")


@_loss("softmax_cross_entropy_loss", wide=False)
def softmax_cross_entropy(onehot_labels: Any, logits: Any, label_smoothing: float = 0) -> Tensor:
    """Weighted mean of the cross entropy between `onehot_labels`
    and `softmax(logits)`, both of shape [batch, classes].

    `weights` is a number or has shape [batch]; `label_smoothing` moves labels towards `1 / classes`.

    >>> loss = sg.losses.softmax_cross_entropy([[1, 0], [0, 1]], [[0.0, 0.0], [0.0, 0.0]])
    >>> round(float(sg.Session().run(loss)), 4)
    0.6931
    """
    y = onehot_labels
    if label_smoothing > 0:
        classes = ops.cast(ops.shape_of(y)[1], dtype=logits.dtype)
        y = y * (1.0 - label_smoothing) + label_smoothing / classes
    y = stop_gradient(y, name="labels_stop_gradient")
    return nn.softmax_cross_entropy_with_logits_v2(labels=y, logits=logits, name="xentropy")


def sparse_softmax_cross_entropy(
    labels: Any,
    logits: Any,
    weights: Any = 1.0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = _BY_WEIGHTS,
) -> Tensor:
    """Weighted mean of the cross entropy between classes,
    integers of shape [batch] or [batch, 1], and logits.
    """
    with name_scope(scope, "sparse_softmax_cross_entropy_loss", [logits, labels, weights]) as scope:
        z, y = convert_to_tensor(logits), convert_to_tensor(labels)
        ranks = z.shape.ndims, y.shape.ndims
        if None not in ranks and ranks[1] == ranks[0] and y.shape.as_list()[-1] == 1:
            y = ops.squeeze(y, axis=(-1,))
        elif None in ranks:
            from staticgraph.arrays.array_ops import fitted_rank  # most ranks are known

            y = fitted_rank(y, ops.rank_of(z) - 1)
        weights = _without_axis(convert_to_tensor(weights), y)
        losses = nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=z, name="xentropy")
        return compute_weighted_loss(losses, weights, scope, loss_collection, reduction)


def _without_axis(weights: Tensor, labels: Tensor) -> Tensor:
    """Return weights without a last axis that labels lack; a run finds it if ranks are unknown."""
    given, wanted = weights.shape.ndims, labels.shape.ndims
    if given == 0:
        return weights
    if given is None or wanted is None:
        with counted_as(weights.graph, 19):  # TensorFlow branches on the ranks
            most = ops.minimum(ops.rank_of(weights), ops.rank_of(labels))
            return ops.reshape(weights, shape=ops.shape_of(weights)[:most])
    if given == wanted + 1 and weights.shape.as_list()[-1] == 1:
        return ops.squeeze(weights, axis=(-1,))
    return weights


show_public_names(__name__)
