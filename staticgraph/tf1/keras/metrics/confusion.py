"""Metrics of yes and no: how often target and prediction agree and disagree, at one or many thresholds."""

from __future__ import annotations

from typing import Any

import numpy as np

from staticgraph.arrays.casts import cast
from staticgraph.arrays.indexing import gather, one_hot
from staticgraph.arrays.sorting import top_k as largest
from staticgraph.building.inputs import convert_to_tensor
from staticgraph.compiler import ops
from staticgraph.compiler.graph.dtypes import bool_
from staticgraph.compiler.graph.errors import misuse
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.state.state_ops import assign_add
from staticgraph.tf1.keras import backend as K
from staticgraph.tf1.keras.losses import same_rank
from staticgraph.tf1.keras.metrics.base import Metric
from staticgraph.tf1.keras.weighting import fitting
from staticgraph.tf1.metrics.confusion import (
    area,
    evenly,
    in_cells_at,
    interpolated_area,
    nearest,
    share,
)


def _thresholds(given: Any, default: float = 0.5) -> list[float]:
    values = [default] if given is None else list(np.reshape(given, -1))
    if any(not 0 <= t <= 1 for t in values):
        raise misuse(ValueError, f"thresholds must be between 0 and 1: {values}")
    return [float(t) for t in values]


def _even(number: int) -> list[float]:
    """Thresholds from just below 0 to just above 1, evenly spaced between."""
    return [-K.epsilon(), *evenly(number), 1.0 + K.epsilon()]


class _Cells(Metric):
    """Counts of some cells of the confusion matrix at each threshold."""

    cells: tuple[str, ...] = ("true_positives", "false_negatives", "false_positives", "true_negatives")
    top_k: int | None = None
    class_id: int | None = None

    def _count_at(self, thresholds: list[float]) -> None:
        self._limits = thresholds
        self._counts = {cell: self.add_weight(cell, [len(thresholds)]) for cell in self.cells}
        for cell, count in self._counts.items():
            setattr(self, cell, count)

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> Any:
        y_true, y_pred = (cast(convert_to_tensor(y), self.dtype) for y in (y_true, y_pred))
        y_pred, y_true = same_rank(y_pred, y_true)
        if self.top_k is not None:
            y_pred = _only_top(y_pred, self.top_k)
        if self.class_id is not None:
            y_true, y_pred = y_true[..., self.class_id], y_pred[..., self.class_id]
        weights = None if sample_weight is None else fitting(sample_weight, y_pred) * ops.ones_like(y_pred)
        amount = in_cells_at(self._limits, cast(y_true, bool_), y_pred, weights)
        for cell, count in self._counts.items():
            assign_add(count, amount(cell))

    def _number(self, values: Any) -> Any:
        """A number where there is one threshold, else one for each."""
        return values[0] if len(self._limits) == 1 else values

    def _at(self, cell: str) -> Tensor:
        return self._counts[cell].read_value()


def _only_top(y_pred: Tensor, k: int) -> Tensor:
    """Predictions, with all but the `k` largest of each row below every threshold."""
    _, places = largest(y_pred, k, sorted=False)
    kept = K.sum(one_hot(places, y_pred.shape.as_list()[-1], dtype=y_pred.dtype), -2)
    return y_pred * kept + (-1e10) * (1.0 - kept)


class _Count(_Cells):
    """The weighted number of elements in one cell."""

    def __init__(self, thresholds: Any = None, name: str | None = None, dtype: Any = None) -> None:
        super().__init__(name or self.cells[0], dtype)
        self.init_thresholds = thresholds
        self._count_at(_thresholds(thresholds))
        self.accumulator = self._counts[self.cells[0]]

    def result(self) -> Any:
        return self._number(self._at(self.cells[0]))

    def get_config(self) -> dict[str, Any]:
        return {"thresholds": self.init_thresholds} | super().get_config()


class TruePositives(_Count):
    """Weighted number of right predictions above the threshold."""

    cells = ("true_positives",)


class TrueNegatives(_Count):
    """Weighted number of right predictions that are not above the threshold."""

    cells = ("true_negatives",)


class FalsePositives(_Count):
    """Weighted number of wrong predictions above the threshold."""

    cells = ("false_positives",)


class FalseNegatives(_Count):
    """Weighted number of wrong predictions that are not above the threshold."""

    cells = ("false_negatives",)


class _Share(_Cells):
    """Hits / (hits + elements of another cell)."""

    def __init__(
        self,
        thresholds: Any = None,
        top_k: int | None = None,
        class_id: int | None = None,
        name: str | None = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(name or type(self).__name__.lower(), dtype)
        self.init_thresholds, self.top_k, self.class_id = thresholds, top_k, class_id
        self._count_at(
            _thresholds(thresholds, 0.5 if top_k is None else 0.0) if top_k is None else [-1e10 / 2]
        )

    def result(self) -> Any:
        hits, others = (self._at(cell) for cell in self.cells)
        return self._number(share(hits, others))

    def get_config(self) -> dict[str, Any]:
        own = {"thresholds": self.init_thresholds, "top_k": self.top_k, "class_id": self.class_id}
        return own | super().get_config()


class Precision(_Share):
    """Share of what is right in what is predicted. With `top_k`, the largest of each row are predicted."""

    cells = ("true_positives", "false_positives")


class Recall(_Share):
    """Share of what is predicted in what is true."""

    cells = ("true_positives", "false_negatives")


class _Tradeoff(_Cells):
    """One rate at the threshold at which another one is nearest to a given value."""

    def __init__(self, value: float, num_thresholds: int, name: str | None, dtype: Any) -> None:
        super().__init__(name, dtype)
        if not 0 <= value <= 1:
            raise misuse(ValueError, f"{type(self).__name__}: {value} is not between 0 and 1")
        if num_thresholds <= 0:
            raise misuse(ValueError, f"num_thresholds={num_thresholds} must be positive")
        self.value, self.num_thresholds = value, num_thresholds
        self._count_at([0.5] if num_thresholds == 1 else _even(num_thresholds))

    def _rates(self) -> tuple[Tensor, Tensor]:
        """Sensitivity and specificity at each threshold."""
        hits, misses = self._at("true_positives"), self._at("false_negatives")
        right, alarms = self._at("true_negatives"), self._at("false_positives")
        return share(hits, misses), share(right, alarms)

    def _best(self, rates: Tensor, others: Tensor) -> Tensor:
        return gather(rates, nearest(others, self.value))


class SensitivityAtSpecificity(_Tradeoff):
    """The share of true elements that are found, where a given share of false ones is rejected."""

    def __init__(
        self, specificity: float, num_thresholds: int = 200, name: str | None = None, dtype: Any = None
    ) -> None:
        super().__init__(specificity, num_thresholds, name, dtype)
        self.specificity = specificity

    def result(self) -> Any:
        sensitivity, specificity = self._rates()
        return self._best(sensitivity, specificity)

    def get_config(self) -> dict[str, Any]:
        own = {"num_thresholds": self.num_thresholds, "specificity": self.specificity}
        return own | super().get_config()


class SpecificityAtSensitivity(_Tradeoff):
    """The share of false elements that are rejected, where a given share of true ones is found."""

    def __init__(
        self, sensitivity: float, num_thresholds: int = 200, name: str | None = None, dtype: Any = None
    ) -> None:
        super().__init__(sensitivity, num_thresholds, name, dtype)
        self.sensitivity = sensitivity

    def result(self) -> Any:
        sensitivity, specificity = self._rates()
        return self._best(specificity, sensitivity)

    def get_config(self) -> dict[str, Any]:
        own = {"num_thresholds": self.num_thresholds, "sensitivity": self.sensitivity}
        return own | super().get_config()


class AUC(_Cells):
    """The area under a curve over all thresholds: "ROC", hits over false alarms, or "PR", precision over
    recall.

    `summation_method`: "interpolation", or "minoring" or "majoring" for bounds from below and above.
    """

    def __init__(
        self,
        num_thresholds: int = 200,
        curve: str = "ROC",
        summation_method: str = "interpolation",
        name: str | None = None,
        dtype: Any = None,
        thresholds: Any = None,
    ) -> None:
        super().__init__(name, dtype)
        if curve not in ("ROC", "PR"):
            raise misuse(ValueError, f"curve={curve!r} is not ROC or PR")
        if summation_method not in ("interpolation", "minoring", "majoring"):
            raise misuse(
                ValueError, f"summation_method={summation_method!r} is not interpolation, minoring, majoring"
            )
        if thresholds is None and num_thresholds <= 1:
            raise misuse(ValueError, f"num_thresholds={num_thresholds} must be larger than 1")
        self.curve, self.summation_method = curve, summation_method
        own = None if thresholds is None else sorted(_thresholds(thresholds))
        limits = _even(num_thresholds) if own is None else [-K.epsilon(), *own, 1.0 + K.epsilon()]
        self.num_thresholds, self.thresholds = len(limits), limits
        self._count_at(limits)

    def result(self) -> Any:
        hits, misses = self._at("true_positives"), self._at("false_negatives")
        alarms, right = self._at("false_positives"), self._at("true_negatives")
        recall = share(hits, misses)
        if self.curve == "ROC":
            x, y = share(alarms, right), recall
        elif self.summation_method == "interpolation":
            return interpolated_area(hits, misses, alarms)
        else:
            x, y = recall, share(hits, alarms)
        method = "trapezoidal" if self.summation_method == "interpolation" else self.summation_method
        return area(x, y, method)

    def get_config(self) -> dict[str, Any]:
        own = {
            "num_thresholds": self.num_thresholds,
            "curve": self.curve,
            "summation_method": self.summation_method,
            "thresholds": self.thresholds[1:-1],
        }
        return super().get_config() | own
