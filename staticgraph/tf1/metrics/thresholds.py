"""Metrics of probabilities: the confusion matrix at many thresholds, and curves drawn through it.

A prediction counts as true at a threshold where it is greater. Predictions are probabilities, from 0 to 1.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from staticgraph.compiler import ops
from staticgraph.compiler.graph.dtypes import bool_, float32
from staticgraph.compiler.graph.errors import misuse
from staticgraph.compiler.graph.recording.op_count import count_more
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.mathematics.math_ops import div
from staticgraph.state.scopes import variable_scope
from staticgraph.tf1.metrics.confusion import (
    CELLS,
    HEIGHTS,
    area,
    evenly,
    in_cells_at,
    interpolated_area,
    nearest,
)
from staticgraph.tf1.metrics.streaming import (
    Metric,
    Name,
    Total,
    as_type,
    matched,
    metric,
    named,
    running_total,
    spread,
    streamed,
)

Thresholds = Sequence[float]
_BEYOND = 1e-7  # the outermost thresholds lie so far outside of [0, 1]


def around(inner: Thresholds) -> Thresholds:
    """Return thresholds with one more on either side, below and above all predictions."""
    return [-_BEYOND, *inner, 1.0 + _BEYOND]


def counts_at(
    labels: Any, predictions: Any, weights: Any, thresholds: Thresholds, cells: Sequence[str] = tuple(CELLS)
) -> list[Total]:
    """For each of `cells` the weight in it at each threshold, in variables of shape [thresholds]."""
    labels, predictions = matched(as_type(labels, bool_), as_type(predictions, float32))
    weights = None if weights is None else spread(weights, predictions)
    more = 57 if len(cells) == 2 else 52 if len(cells) == 4 else 0  # all cells of TensorFlow's matrix
    more -= 6 if labels.type.is_static and predictions.type.is_static else 0
    count_more(labels.graph, more + (weights is not None))
    amount = in_cells_at(thresholds, labels, predictions, weights)
    return [running_total(amount(cell), cell, shape=[len(thresholds)]) for cell in cells]


def require_share(function: str, argument: str, value: float) -> None:
    """Raise ValueError unless an argument of a metric is from 0 to 1."""
    if not 0 <= value <= 1:
        raise misuse(ValueError, f"{function}: {argument} must be from 0 to 1, it is {value}")


def _at_thresholds(name: str, doc: str, compute: Callable[..., Metric]) -> Callable[..., Metric]:
    """The metric that `compute` makes of labels, predictions, thresholds and weights, within its scope."""

    def at(
        labels: Any, predictions: Any, thresholds: Thresholds, weights: Any = None, name: Name = None
    ) -> Metric:
        with variable_scope(name, default, (predictions, labels, weights)):
            return compute(labels, predictions, weights, thresholds)

    default = name
    return metric(named(at, name if name.endswith("_at_thresholds") else f"{name}_at_thresholds", doc))


def _cell(cell: str) -> Callable[..., Metric]:
    """The metric of one cell of the confusion matrix, at many thresholds."""
    totals = partial(counts_at, cells=[cell])

    def count(*given: Any) -> Metric:
        [total] = totals(*given)
        return ops.identity(total.value, name="Identity"), total.updated

    return _at_thresholds(cell, f"`{cell}` for each threshold, float32 of shape [thresholds].", count)


def _share(share: str, others: str) -> Callable[..., Metric]:
    """The metric of true positives / (true positives + others) at each threshold."""

    def compute(hits: Tensor, missed: Tensor, name: str) -> Tensor:
        return div(hits, 1e-7 + hits + missed, name=f"{share}_{name}")

    totals = partial(counts_at, cells=["true_positives", others])

    def of(*given: Any) -> Metric:
        return streamed(compute, totals(*given))

    doc = f"`{share}` for each threshold, float32 of shape [thresholds]."
    return _at_thresholds(f"{share}_at_thresholds", doc, of)


true_positives_at_thresholds = _cell("true_positives")
false_negatives_at_thresholds = _cell("false_negatives")
true_negatives_at_thresholds = _cell("true_negatives")
false_positives_at_thresholds = _cell("false_positives")
precision_at_thresholds = _share("precision", "false_positives")
recall_at_thresholds = _share("recall", "false_negatives")


@metric
def sensitivity_at_specificity(
    labels: Any,
    predictions: Any,
    specificity: float,
    weights: Any = None,
    num_thresholds: int = 200,
    name: Name = None,
) -> Metric:
    """The recall of the true at that of `num_thresholds` thresholds
    where the recall of the false is nearest to `specificity`.
    """
    require_share("sensitivity_at_specificity", "specificity", specificity)

    def compute(tp: Tensor, fn: Tensor, tn: Tensor, fp: Tensor, name: str) -> Tensor:
        at = nearest(tn / (tn + fp + _BEYOND), specificity)
        return div(tp[at], tp[at] + fn[at] + _BEYOND, name=name)

    with variable_scope(name, "sensitivity_at_specificity", (predictions, labels, weights)):
        return streamed(compute, counts_at(labels, predictions, weights, around(evenly(num_thresholds))))


@metric
def specificity_at_sensitivity(
    labels: Any,
    predictions: Any,
    sensitivity: float,
    weights: Any = None,
    num_thresholds: int = 200,
    name: Name = None,
) -> Metric:
    """The recall of the false at the last of `num_thresholds` thresholds
    where the recall of the true is nearest to `sensitivity`.
    """
    require_share("specificity_at_sensitivity", "sensitivity", sensitivity)

    def compute(tp: Tensor, fn: Tensor, tn: Tensor, fp: Tensor, name: str) -> Tensor:
        at = nearest(tp / (tp + fn + _BEYOND), sensitivity, last=True)
        return div(tn[at], tn[at] + fp[at] + _BEYOND, name=name)

    with variable_scope(name, "specificity_at_sensitivity", (predictions, labels, weights)):
        thresholds = [-_BEYOND, *evenly(num_thresholds), 1.0 - _BEYOND]
        return streamed(compute, counts_at(labels, predictions, weights, thresholds))


@partial(metric, before="curve")
def auc(
    labels: Any,
    predictions: Any,
    weights: Any = None,
    num_thresholds: int = 200,
    curve: str = "ROC",
    name: Name = None,
    summation_method: str = "trapezoidal",
    thresholds: Thresholds | None = None,
) -> Metric:
    """The area under a curve, "ROC" or "PR" (precision over recall): `(value, update_op)`, see `mean`.

    The curve has a point for each of `num_thresholds` thresholds, evenly spaced unless given in `thresholds`.
    Between them the area is summed by "trapezoidal", "minoring" or "majoring" rule; "careful_interpolation"
    is right for PR. ValueError for another curve or rule.

    >>> import staticgraph as sg
    >>> value, update_op = sg.metrics.auc([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    >>> with sg.Session() as sess:
    ...     _ = sess.run(sg.local_variables_initializer())
    ...     print(sess.run(update_op).round(4))
    0.75
    """
    if curve not in ("ROC", "PR"):
        raise misuse(ValueError, f"curve={curve!r} is neither 'ROC' nor 'PR'")
    if summation_method not in ("careful_interpolation", *HEIGHTS):
        rules = ", ".join(("careful_interpolation", *HEIGHTS))
        raise misuse(ValueError, f"summation_method={summation_method!r} is not one of {rules}")

    def compute(tp: Tensor, fn: Tensor, tn: Tensor, fp: Tensor, name: str) -> Tensor:
        if curve == "PR" and summation_method == "careful_interpolation":
            return interpolated_area(tp, fn, fp)
        recall = (tp + 1e-6) / (tp + fn + 1e-6)
        if curve == "ROC":
            x, y = fp / (fp + tn + 1e-6), recall
        else:
            x, y = recall, (tp + 1e-6) / (tp + fp + 1e-6)
        method = summation_method if summation_method in HEIGHTS else "trapezoidal"
        return area(x, y, method, name=name)

    inner = evenly(num_thresholds) if thresholds is None else sorted(thresholds)
    with variable_scope(name, "auc", (labels, predictions, weights)):
        return streamed(compute, counts_at(labels, predictions, weights, around(inner)))
