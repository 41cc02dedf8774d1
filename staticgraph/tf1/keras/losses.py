"""Losses: functions of targets and predictions, and classes that weight and reduce them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from staticgraph.arrays.array_ops import squeeze
from staticgraph.arrays.casts import cast
from staticgraph.building.framework import name_scope
from staticgraph.building.inputs import convert_to_tensor
from staticgraph.compiler import ops
from staticgraph.compiler.graph.recording.op_count import count_more
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.compiler.support.lazy_names import show_public_names
from staticgraph.tf1.keras import backend as K
from staticgraph.tf1.keras.function_classes import function_class
from staticgraph.tf1.keras.serialization import find, serialize_keras_object
from staticgraph.tf1.keras.weighting import AUTO, SUM_OVER_BATCH_SIZE, reduced, require_reduction, weighted

__all__ = [
    "BinaryCrossentropy",
    "CategoricalCrossentropy",
    "CategoricalHinge",
    "CosineSimilarity",
    "Hinge",
    "Huber",
    "KLD",
    "KLDivergence",
    "LogCosh",
    "Loss",
    "MAE",
    "MAPE",
    "MSE",
    "MSLE",
    "MeanAbsoluteError",
    "MeanAbsolutePercentageError",
    "MeanSquaredError",
    "MeanSquaredLogarithmicError",
    "Poisson",
    "SparseCategoricalCrossentropy",
    "SquaredHinge",
    "binary_crossentropy",
    "categorical_crossentropy",
    "categorical_hinge",
    "cosine",
    "cosine_proximity",
    "cosine_similarity",
    "deserialize",
    "get",
    "hinge",
    "huber_loss",
    "kld",
    "kullback_leibler_divergence",
    "logcosh",
    "mae",
    "mape",
    "mean_absolute_error",
    "mean_absolute_percentage_error",
    "mean_squared_error",
    "mean_squared_logarithmic_error",
    "mse",
    "msle",
    "poisson",
    "serialize",
    "sparse_categorical_crossentropy",
    "squared_hinge",
]


def _pair(y_true: Any, y_pred: Any) -> tuple[Tensor, Tensor]:
    """Both as tensors of the dtype of the predictions."""
    y_pred = convert_to_tensor(y_pred)
    y_pred = y_pred if y_pred.dtype.is_floating else cast(y_pred, K.floatx())
    return cast(y_true, y_pred.dtype), y_pred


def mean_squared_error(y_true: Any, y_pred: Any) -> Tensor:
    """The mean of `(y_pred - y_true) ** 2` along the last axis."""
    y_true, y_pred = _pair(y_true, y_pred)
    return K.mean(ops.squared_difference(y_pred, y_true), -1)


def mean_absolute_error(y_true: Any, y_pred: Any) -> Tensor:
    """The mean of `abs(y_pred - y_true)` along the last axis."""
    y_true, y_pred = _pair(y_true, y_pred)
    return K.mean(K.abs(y_pred - y_true), -1)


def mean_absolute_percentage_error(y_true: Any, y_pred: Any) -> Tensor:
    """The mean error along the last axis, as a percentage of the target."""
    y_true, y_pred = _pair(y_true, y_pred)
    return 100.0 * K.mean(K.abs((y_true - y_pred) / K.maximum(K.abs(y_true), K.epsilon())), -1)


def mean_squared_logarithmic_error(y_true: Any, y_pred: Any) -> Tensor:
    """The mean squared difference of `log(1 + y)` along the last axis."""
    first, second = (K.log(K.maximum(y, K.epsilon()) + 1.0) for y in _pair(y_true, y_pred))
    return K.mean(ops.squared_difference(second, first), -1)


def _signs(y_true: Tensor) -> Tensor:
    """Targets of 0 and 1 as -1 and 1; others as they are."""
    is_binary = K.all(ops.logical_or(K.equal(y_true, 0.0), K.equal(y_true, 1.0)))
    return ops.select(is_binary, 2.0 * y_true - 1.0, y_true)


def hinge(y_true: Any, y_pred: Any) -> Tensor:
    """The mean of `max(1 - y_true * y_pred, 0)` along the last axis, for targets of -1 and 1, or 0 and 1."""
    y_true, y_pred = _pair(y_true, y_pred)
    return K.mean(K.maximum(1.0 - _signs(y_true) * y_pred, 0.0), -1)


def squared_hinge(y_true: Any, y_pred: Any) -> Tensor:
    """As `hinge`, with the square of each element."""
    y_true, y_pred = _pair(y_true, y_pred)
    return K.mean(K.square(K.maximum(1.0 - _signs(y_true) * y_pred, 0.0)), -1)


def categorical_hinge(y_true: Any, y_pred: Any) -> Tensor:
    """Return `max(0, wrong - right + 1)` for the predictions of the best wrong and the right class."""
    y_true, y_pred = _pair(y_true, y_pred)
    right = K.sum(y_true * y_pred, -1)
    wrong = K.max((1.0 - y_true) * y_pred, -1)
    return K.maximum(0.0, wrong - right + 1.0)


def huber_loss(y_true: Any, y_pred: Any, delta: float = 1.0) -> Tensor:
    """Half the squared error where the error is below `delta`, and a straight line beyond."""
    y_true, y_pred = _pair(y_true, y_pred)
    error = y_pred - y_true
    near = K.minimum(K.maximum(error, -delta), delta)
    return near * (error - 0.5 * near)


def logcosh(y_true: Any, y_pred: Any) -> Tensor:
    """The mean of `log(cosh(error))` along the last axis."""
    y_true, y_pred = _pair(y_true, y_pred)
    error = y_pred - y_true
    return K.mean(error + K.softplus(-2.0 * error) - 0.6931471805599453, -1)


def categorical_crossentropy(
    y_true: Any, y_pred: Any, from_logits: bool = False, label_smoothing: float = 0
) -> Tensor:
    """The cross entropy between two rows of probabilities of classes."""
    y_true, y_pred = _pair(y_true, y_pred)
    count_more(y_pred.graph, 1)  # the smoothing is a constant of TensorFlow's
    if label_smoothing:
        classes = y_pred.shape.as_list()[1]
        y_true = y_true * (1.0 - label_smoothing) + label_smoothing / classes
    return K.categorical_crossentropy(y_true, y_pred, from_logits)


def sparse_categorical_crossentropy(
    y_true: Any, y_pred: Any, from_logits: bool = False, axis: int = -1
) -> Tensor:
    """The cross entropy between the number of a class and a row of probabilities."""
    return K.sparse_categorical_crossentropy(y_true, y_pred, from_logits, axis)


def binary_crossentropy(
    y_true: Any, y_pred: Any, from_logits: bool = False, label_smoothing: float = 0
) -> Tensor:
    """The mean cross entropy along the last axis between probabilities of yes."""
    y_true, y_pred = _pair(y_true, y_pred)
    if label_smoothing:
        y_true = y_true * (1.0 - label_smoothing) + 0.5 * label_smoothing
    return K.mean(K.binary_crossentropy(y_true, y_pred, from_logits), -1)


def kullback_leibler_divergence(y_true: Any, y_pred: Any) -> Tensor:
    """The divergence of probabilities: the sum of `y_true * log(y_true / y_pred)`."""
    y_true, y_pred = (K.clip(y, K.epsilon(), 1) for y in _pair(y_true, y_pred))
    return K.sum(y_true * K.log(y_true / y_pred), -1)


def poisson(y_true: Any, y_pred: Any) -> Tensor:
    """The mean of `y_pred - y_true * log(y_pred)` along the last axis."""
    y_true, y_pred = _pair(y_true, y_pred)
    return K.mean(y_pred - y_true * K.log(y_pred + K.epsilon()), -1)


def cosine_similarity(y_true: Any, y_pred: Any, axis: int = -1) -> Tensor:
    """The cosine of the angle between targets and predictions: 1 where they agree.

    As in TF 1.15, it falls where they differ; to train, minimise its negative.
    """
    y_true, y_pred = _pair(y_true, y_pred)
    return K.sum(K.l2_normalize(y_true, axis) * K.l2_normalize(y_pred, axis), axis)


cosine = cosine_proximity = cosine_similarity
kld = KLD = kullback_leibler_divergence
mae = MAE = mean_absolute_error
mape = MAPE = mean_absolute_percentage_error
mse = MSE = mean_squared_error
msle = MSLE = mean_squared_logarithmic_error


class Loss:
    """A loss that is called with targets, predictions and weights, and gives one number.

    `reduction`: "sum_over_batch_size" divides the sum by the number of elements, "sum" does not, "none"
    leaves the loss of each element as it is. A subclass defines `call(y_true, y_pred)`.
    """

    def __init__(self, reduction: str = AUTO, name: str | None = None) -> None:
        require_reduction(reduction)
        self.reduction, self.name = reduction, name

    def __call__(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> Tensor:
        with name_scope(self.name or type(self).__name__.lower()):
            losses = weighted(self.call(y_true, y_pred), sample_weight)
            return reduced(losses, SUM_OVER_BATCH_SIZE if self.reduction == AUTO else self.reduction)

    def call(self, y_true: Any, y_pred: Any) -> Any:
        """The loss of each element of the batch."""
        raise NotImplementedError

    def get_config(self) -> dict[str, Any]:
        return {"reduction": self.reduction, "name": self.name}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Loss:
        """The loss of a `get_config`."""
        return cls(**config)


class LossFunction(Loss):
    """A loss from a function of targets and predictions; `options` are further arguments of it."""

    def __init__(
        self, fn: Callable[..., Any], reduction: str = AUTO, name: str | None = None, **options: Any
    ) -> None:
        super().__init__(reduction, name)
        self.fn, self.options = fn, options

    def call(self, y_true: Any, y_pred: Any) -> Any:
        y_pred, y_true = convert_to_tensor(y_pred), convert_to_tensor(y_true)
        y_pred, y_true = same_rank(y_pred, y_true)
        return self.fn(y_true, y_pred, **self.options)

    def get_config(self) -> dict[str, Any]:
        return super().get_config() | self.options


def same_rank(y_pred: Tensor, y_true: Tensor) -> tuple[Tensor, Tensor]:
    """Predictions and targets with a last axis of size one dropped where the other has none."""
    ranks = y_pred.shape.ndims, y_true.shape.ndims
    if None in ranks:
        return y_pred, y_true
    difference = (ranks[0] or 0) - (ranks[1] or 0)
    if difference == 1 and y_pred.shape.as_list()[-1] == 1:
        y_pred = squeeze(y_pred, [-1])
    elif difference == -1 and y_true.shape.as_list()[-1] == 1:
        y_true = squeeze(y_true, [-1])
    return y_pred, y_true


_EXAMPLE = """

>>> import staticgraph as sg
>>> loss = sg.keras.losses.CategoricalCrossentropy(from_logits=True)
>>> with sg.Session() as sess:
...     print(sess.run(loss([[0.0, 1.0]], [[0.0, 0.0]])).round(4))
0.6931
"""


def _loss_class(class_name: str, function: Callable[..., Any], example: str = "", **options: Any) -> Any:
    """The class of a loss function. `options`: its further arguments, with their defaults."""
    parameters = {**options, "reduction": AUTO, "name": function.__name__}
    doc = f"{(function.__doc__ or '').splitlines()[0]} See `Loss`.{example}"
    return function_class(LossFunction, class_name, doc, function, parameters)


BinaryCrossentropy = _loss_class(
    "BinaryCrossentropy", binary_crossentropy, from_logits=False, label_smoothing=0
)
CategoricalCrossentropy = _loss_class(
    "CategoricalCrossentropy", categorical_crossentropy, _EXAMPLE, from_logits=False, label_smoothing=0
)
CategoricalHinge = _loss_class("CategoricalHinge", categorical_hinge)
CosineSimilarity = _loss_class("CosineSimilarity", cosine_similarity, axis=-1)
Hinge = _loss_class("Hinge", hinge)
Huber = _loss_class("Huber", huber_loss, delta=1.0)
KLDivergence = _loss_class("KLDivergence", kullback_leibler_divergence)
LogCosh = _loss_class("LogCosh", logcosh)
MeanAbsoluteError = _loss_class("MeanAbsoluteError", mean_absolute_error)
MeanAbsolutePercentageError = _loss_class("MeanAbsolutePercentageError", mean_absolute_percentage_error)
MeanSquaredError = _loss_class("MeanSquaredError", mean_squared_error)
MeanSquaredLogarithmicError = _loss_class("MeanSquaredLogarithmicError", mean_squared_logarithmic_error)
Poisson = _loss_class("Poisson", poisson)
SquaredHinge = _loss_class("SquaredHinge", squared_hinge)


class SparseCategoricalCrossentropy(LossFunction):
    """The cross entropy between the number of a class and a row of probabilities. See `Loss`."""

    def __init__(self, from_logits: bool = False, reduction: str = AUTO, name: str | None = None) -> None:
        name = name or "sparse_categorical_crossentropy"
        super().__init__(sparse_categorical_crossentropy, reduction, name, from_logits=from_logits)


_NOT_LOSSES = {"deserialize", "get", "serialize"}


def serialize(loss: Any) -> Any:
    """The name or config of a loss."""
    return serialize_keras_object(loss)


def deserialize(name: Any, custom_objects: Any = None) -> Any:
    """The loss of a name or config."""
    table = {key: globals()[key] for key in __all__ if key not in _NOT_LOSSES}
    if isinstance(name, dict):
        made = find(name["class_name"], table, custom_objects, "loss function")
        return made.from_config(name["config"])
    return find(name, table, custom_objects, "loss function")


def get(identifier: Any) -> Any:
    """The loss that a name or config stands for; a function is one already. None for None."""
    if identifier is None or callable(identifier):
        return identifier
    return deserialize(identifier)


show_public_names(__name__)
