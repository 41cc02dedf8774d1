"""Components of every metric: totals that grow step by step, and a function of them."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from staticgraph.arrays.array_ops import fitted_rank
from staticgraph.arrays.casts import of_dtype
from staticgraph.arrays.creation import zeros
from staticgraph.building.framework import GraphKeys, add_to_collections
from staticgraph.building.inputs import convert_to_tensor
from staticgraph.building.signatures import arguments, parameters_of
from staticgraph.compiler import ops
from staticgraph.compiler.graph.dtypes import DType, float32
from staticgraph.compiler.graph.errors import ShapeError, misuse
from staticgraph.compiler.graph.recording.op_count import counted_as
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.state import replicas
from staticgraph.state.replicas import VariableAggregation, VariableSynchronization
from staticgraph.state.variables import Variable

Metric = tuple[Tensor, Tensor]
Name = str | None  # None: that of the function


class Total(NamedTuple):
    """A local variable that adds up: as a run finds it, and as the update of a step leaves it."""

    value: Tensor
    updated: Tensor


def metric_variable(shape: Any, dtype: DType, name: str) -> Variable:
    """Zeros of each replica that `local_variables_initializer` resets; neither trained nor saved."""
    return Variable(
        lambda: zeros(shape, dtype),
        trainable=False,
        collections=[GraphKeys.LOCAL_VARIABLES, GraphKeys.METRIC_VARIABLES],
        name=name,
        synchronization=VariableSynchronization.ON_READ,
        aggregation=VariableAggregation.SUM,
    )


def of_all_replicas(variable: Variable) -> Tensor:
    """The sum of what replicas have in a metric variable."""
    replica = replicas.present()
    return variable.to_tensor() if replica is None else replica.read(variable.to_tensor())


def running_total(
    amount: Tensor, name: str, dtype: DType = float32, shape: Any = (), update: str | None = None
) -> Total:
    """The sum of `amount` over the steps, in a variable `name`; `update` names the operation that adds."""
    variable = metric_variable(shape, dtype, name)
    return Total(of_all_replicas(variable), variable.assign_add(amount, name=update))


def streamed(compute: Callable[..., Tensor], totals: Sequence[Total]) -> Metric:
    """`compute(*totals, name=...)` twice: of the totals as a run finds them, and as the updates leave them.

    It is built after the updates, so that in a run with them both are the same.
    """
    value = compute(*(total.value for total in totals), name="value")
    update_op = compute(*(total.updated for total in totals), name="update_op")
    return value, update_op


def metric(function: Callable[..., Metric], before: str = "name") -> Callable[..., Metric]:
    """The function of a metric, which also takes collections that value and update are added to.

    `metrics_collections` and `updates_collections` come before the parameter `before`.
    """
    own = list(inspect.signature(function).parameters.values())
    at = [parameter.name for parameter in own].index(before)
    further = parameters_of({"metrics_collections": None, "updates_collections": None})
    signature = inspect.Signature([*own[:at], *further, *own[at:]], return_annotation="Metric")

    @functools.wraps(function)
    def with_collections(*args: Any, **kwargs: Any) -> Metric:
        given = arguments(function.__name__, signature, args, kwargs)
        collections = given.pop("metrics_collections"), given.pop("updates_collections")
        made = function(**given)
        for names, tensor in zip(collections, made, strict=True):
            add_to_collections(names, tensor)
        return made

    with_collections.__signature__ = signature  # type: ignore[attr-defined]
    return with_collections


def named(function: Callable[..., Metric], name: str, doc: str) -> Callable[..., Metric]:
    """The function of a metric, with the name and the docstring under which it is public."""
    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    return function


# How labels, predictions and weights are made to fit each other


def matched(
    labels: Any, predictions: Any, names: tuple[str, str] = ("labels", "predictions")
) -> tuple[Tensor, Tensor]:
    """Both as tensors of one shape: a last axis of size one that only one of them has is taken off.

    Where a rank is unknown, the labels take the shape of the predictions when the graph runs.
    """
    labels, predictions = convert_to_tensor(labels), convert_to_tensor(predictions)
    if None in (labels.shape.ndims, predictions.shape.ndims):
        return ops.reshape(labels, shape=ops.shape_of(predictions)), predictions
    surplus = predictions.shape.ndims - labels.shape.ndims
    if surplus == 1:
        predictions = _without_last_axis(predictions)
    elif surplus == -1:
        labels = _without_last_axis(labels)
    if not labels.shape.is_compatible_with(predictions.shape):
        text = (
            f"{names[0]} of shape {labels.shape} and {names[1]} of shape {predictions.shape}"
            " must be of one shape"
        )
        made = [(names[0], labels.op.where), (names[1], predictions.op.where)]
        raise misuse(ShapeError, text, made=made)
    return labels, predictions


def _without_last_axis(x: Tensor) -> Tensor:
    return ops.squeeze(x, axis=(-1,)) if x.shape.as_list()[-1] in (1, None) else x


def as_type(x: Any, dtype: DType) -> Tensor:
    """`x` as a tensor of that dtype."""
    return of_dtype(convert_to_tensor(x), dtype)


def spread(weights: Any, values: Tensor, dtype: DType = float32) -> Tensor:
    """The weight of each element of `values`, in their shape.

    `weights` is a number, or has the rank of `values` with sizes equal to theirs or one; a last axis of size
    one may be missing or too many. ShapeError otherwise.
    """
    weights = as_type(weights, dtype)
    if weights.type.shape is None:
        weights = fitted_rank(weights, ops.rank_of(values))
    given, wanted = weights.type.shape, values.type.shape
    if given and wanted is not None:
        if len(given) - len(wanted) == 1:
            weights = _without_last_axis(weights)
        elif len(wanted) - len(given) == 1:
            weights = ops.expand_dims(weights, axis=-1)
        _check_broadcast(weights, values)
    with counted_as(weights.graph, _spreading(weights, values)):
        return ops.broadcast_to(weights, shape=ops.shape_of(values), name="broadcast_weights")


def _spreading(weights: Tensor, values: Tensor) -> int:
    """Return the number of operations by which TensorFlow spreads weights: a check of their shape, which a
    run does if it is not known, and a product with ones.
    """
    known = weights.type.is_static and values.type.is_static
    if known and weights.type.shape == values.type.shape:
        return 1
    return 10 if known or weights.type.shape == () else 68


def _check_broadcast(weights: Tensor, values: Tensor) -> None:
    given, wanted = weights.type.shape or (), values.type.shape or ()
    if len(given) == len(wanted) and all(
        m in (1, None) or n in (m, None) for m, n in zip(given, wanted, strict=True)
    ):
        return
    text = f"weights can not be broadcast to values: {weights.shape} to {values.shape}"
    made = [("weights", weights.op.where), ("values", values.op.where)]
    raise misuse(ShapeError, text, "use a number, or the same rank and sizes, or sizes of 1", made=made)
