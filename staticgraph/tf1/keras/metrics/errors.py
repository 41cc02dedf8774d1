"""Metrics of errors that are no plain mean of a function, and of classes."""

from __future__ import annotations

from typing import Any

from staticgraph.arrays.array_ops import reshape
from staticgraph.arrays.casts import cast
from staticgraph.building.inputs import convert_to_tensor
from staticgraph.compiler import ops
from staticgraph.compiler.graph.dtypes import as_dtype, float64, int64
from staticgraph.mathematics.segments import confusion_matrix
from staticgraph.state.state_ops import assign_add
from staticgraph.tf1.keras import backend as K
from staticgraph.tf1.keras.losses import same_rank
from staticgraph.tf1.keras.metrics.base import Mean, Metric
from staticgraph.tf1.metrics.confusion import mean_overlap


class RootMeanSquaredError(Mean):
    """The square root of the mean squared error."""

    def __init__(self, name: str = "root_mean_squared_error", dtype: Any = None) -> None:
        super().__init__(name, dtype)

    def update_state(  # type: ignore[override]
        self, y_true: Any, y_pred: Any, sample_weight: Any = None
    ) -> Any:
        y_pred, y_true = (cast(convert_to_tensor(y), self.dtype) for y in (y_pred, y_true))
        y_pred, y_true = same_rank(y_pred, y_true)
        return super().update_state(ops.squared_difference(y_pred, y_true), sample_weight)

    def result(self) -> Any:
        return K.sqrt(super().result())


class MeanRelativeError(Mean):
    """The mean of errors divided by `normalizer`."""

    def __init__(self, normalizer: Any, name: str | None = None, dtype: Any = None) -> None:
        super().__init__(name or "mean_relative_error", dtype)
        self.normalizer = cast(normalizer, self.dtype)

    def update_state(  # type: ignore[override]
        self, y_true: Any, y_pred: Any, sample_weight: Any = None
    ) -> Any:
        y_pred, y_true = (cast(convert_to_tensor(y), self.dtype) for y in (y_pred, y_true))
        return super().update_state(ops.div_no_nan(K.abs(y_true - y_pred), self.normalizer), sample_weight)


class MeanIoU(Metric):
    """The mean over classes of hits / (hits + misses + false alarms); of those that occur."""

    def __init__(self, num_classes: int, name: str | None = None, dtype: Any = None) -> None:
        super().__init__(name or "mean_io_u", dtype)
        self.num_classes = num_classes
        shape = [num_classes, num_classes]
        self.total_cm = self.add_weight("total_confusion_matrix", shape, dtype=float64)

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> Any:
        flat = [reshape(cast(convert_to_tensor(y), int64), [-1]) for y in (y_true, y_pred)]
        weights = None if sample_weight is None else reshape(cast(sample_weight, float64), [-1])
        return assign_add(
            self.total_cm,
            confusion_matrix(flat[0], flat[1], self.num_classes, dtype=float64, weights=weights),
        )

    def result(self) -> Any:
        return mean_overlap(self.total_cm.read_value(), as_dtype(self.dtype))

    def get_config(self) -> dict[str, Any]:
        return {"num_classes": self.num_classes} | super().get_config()
