"""`Metric`: a number over many batches, kept in variables; and the means and sums that most metrics are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from staticgraph.arrays.array_ops import size
from staticgraph.arrays.casts import cast
from staticgraph.building.framework import control_dependencies, get_default_graph, name_scope
from staticgraph.building.inputs import convert_to_tensor, group, identity
from staticgraph.compiler import ops
from staticgraph.compiler.graph.errors import misuse
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.compiler.ops.structural import changed_variables
from staticgraph.state.replicas import VariableAggregation
from staticgraph.state.state_ops import assign_add
from staticgraph.tf1.keras import backend as K
from staticgraph.tf1.keras import state
from staticgraph.tf1.keras.engine.layer import Layer
from staticgraph.tf1.keras.function_classes import function_class
from staticgraph.tf1.keras.losses import same_rank
from staticgraph.tf1.keras.weighting import fitting


class Metric(Layer):
    """A value over many batches. A subclass makes variables with `add_weight`, changes them in
    `update_state(...)`, and gives the value in `result()`.

    Calling a metric gives its value after an update.

    >>> import staticgraph as sg
    >>> metric = sg.keras.metrics.Mean()
    >>> value = metric([1.0, 3.0])
    >>> float(sg.keras.backend.get_value(value))
    2.0
    """

    def __init__(self, name: str | None = None, dtype: Any = None, **kwargs: Any) -> None:
        super().__init__(name=name, dtype=K.floatx() if dtype is None else dtype, **kwargs)
        self.stateful = self.built = True

    def __init_subclass__(cls) -> None:
        """An update gives one operation that runs all that it changes, whatever a subclass returns."""
        if "update_state" in vars(cls):
            cls.update_state = _as_operation(cls.update_state)  # type: ignore[method-assign]

    def update_state(self, *args: Any, **kwargs: Any) -> Any:
        """Take a batch in: an operation."""
        raise misuse(NotImplementedError, f"{type(self).__name__} defines no update_state()")

    def result(self) -> Any:
        """The value up to now."""
        raise misuse(NotImplementedError, f"{type(self).__name__} defines no result()")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        with name_scope(self.name):
            update = self.update_state(*args, **kwargs)
            with control_dependencies([update]):
                made = identity(self.result())
        state.results(made.graph)[made] = self
        return made

    def add_weight(  # type: ignore[override]
        self,
        name: str,
        shape: Any = (),
        aggregation: Any = None,
        synchronization: Any = None,
        initializer: Any = None,
        dtype: Any = None,
    ) -> Any:
        """A variable of the metric, zeros by default."""
        return super().add_weight(
            name,
            shape,
            dtype,
            initializer or "zeros",
            trainable=False,
            aggregation=aggregation or VariableAggregation.SUM,
        )

    def reset_states(self) -> None:
        """Begin anew."""
        K.batch_set_value([(v, np.zeros(v.shape.as_list(), v.dtype.numpy)) for v in self.variables])

    def get_config(self) -> dict[str, Any]:
        return {"name": self.name, "dtype": self.dtype}


def _as_operation(update_state: Callable[..., Any]) -> Callable[..., Any]:
    def update(self: Metric, *args: Any, **kwargs: Any) -> Any:
        graph = get_default_graph()
        begin = graph.version
        with name_scope("update_state"):
            update_state(self, *args, **kwargs)
            written = [
                op
                for op in graph.get_operations()[begin:]
                if any(t is v.handle for t in changed_variables(op) for v in self.variables)
            ]
            return group(*written)

    update.__doc__ = update_state.__doc__
    return update


def summed(
    values: Any, weights: Any, dtype: Any, reduce: Callable[..., Tensor]
) -> tuple[Tensor, Tensor, Tensor | None]:
    """Return the sum of weighted values, the values, and the weights as they were applied.

    `reduce` makes one value of those that share a weight: their sum, or their mean.
    """
    values = cast(convert_to_tensor(values), dtype)
    if weights is None:
        return ops.reduce_sum(values), values, None
    made = fitting(weights, values)
    ranks = values.shape.ndims or 0, made.shape.ndims or 0
    if 0 < ranks[1] < ranks[0]:
        values = reduce(values, axis=tuple(range(ranks[1], ranks[0])))
    made = made * ops.ones_like(values)
    return ops.reduce_sum(values * made), values, made


class Sum(Metric):
    """The weighted sum of all values."""

    def __init__(self, name: str = "sum", dtype: Any = None) -> None:
        super().__init__(name, dtype)
        self.total = self.add_weight("total")

    def update_state(self, values: Any, sample_weight: Any = None) -> Any:
        return assign_add(self.total, summed(values, sample_weight, self.dtype, ops.reduce_sum)[0])

    def result(self) -> Any:
        return self.total.read_value()


class Mean(Metric):
    """The weighted mean of all values of all batches; 0 if there are none."""

    def __init__(self, name: str = "mean", dtype: Any = None) -> None:
        super().__init__(name, dtype)
        self.total = self.add_weight("total")
        self.count = self.add_weight("count")

    def update_state(self, values: Any, sample_weight: Any = None) -> Any:
        total, values, weights = summed(values, sample_weight, self.dtype, ops.reduce_mean)
        number = cast(size(values), self.dtype) if weights is None else ops.reduce_sum(weights)
        return group(assign_add(self.total, total), assign_add(self.count, number))

    def result(self) -> Any:
        return ops.div_no_nan(self.total, self.count)


class MeanTensor(Metric):
    """As `Mean`, for each element by itself."""

    def __init__(self, name: str = "mean_tensor", dtype: Any = None) -> None:
        super().__init__(name, dtype)
        self.total: Any = None
        self.count: Any = None

    def update_state(self, values: Any, sample_weight: Any = None) -> Any:
        values = cast(convert_to_tensor(values), self.dtype)
        if self.total is None:
            shape = values.shape.as_list()
            self.total, self.count = self.add_weight("total", shape), self.add_weight("count", shape)
        number = ops.ones_like(values)
        if sample_weight is not None:
            number = number * fitting(sample_weight, values)
            values = values * number
        return group(assign_add(self.total, values), assign_add(self.count, number))

    def result(self) -> Any:
        return ops.div_no_nan(self.total, self.count)


class MeanFunction(Mean):
    """The mean of a function of targets and predictions; `options` are further arguments of it."""

    def __init__(
        self, fn: Callable[..., Any], name: str | None = None, dtype: Any = None, **options: Any
    ) -> None:
        super().__init__(fn.__name__ if name is None else name, dtype)
        self.fn, self.options = fn, options

    def update_state(  # type: ignore[override]
        self, y_true: Any, y_pred: Any, sample_weight: Any = None
    ) -> Any:
        y_true, y_pred = convert_to_tensor(y_true), convert_to_tensor(y_pred)
        y_true = cast(y_true, self.dtype)
        y_pred, y_true = same_rank(
            cast(y_pred, self.dtype) if y_pred.op.type not in _PROBABILITIES else y_pred, y_true
        )
        return super().update_state(self.fn(y_true, y_pred, **self.options), sample_weight)

    def get_config(self) -> dict[str, Any]:
        return super().get_config() | self.options


_PROBABILITIES = {"Softmax", "Sigmoid"}  # losses look at what these were computed from


def mean_class(
    class_name: str, function: Callable[..., Any], parameters: Sequence[str] = (), **defaults: Any
) -> Any:
    """Return the class of the mean of a function.

    Args:
        class_name: The name of the class.
        function: The function of targets and predictions.
        parameters: What the constructor takes, in order, if options come before the name.
        defaults: The further arguments of the function, and a name that is not the function's.
    """
    given = {"name": function.__name__, "dtype": None} | defaults
    doc = f"The mean over all batches. {(function.__doc__ or '').splitlines()[0]}"
    ordered = {key: given[key] for key in parameters or given}
    made = function_class(MeanFunction, class_name, doc, function, ordered)
    made.__module__ = __package__
    return made
