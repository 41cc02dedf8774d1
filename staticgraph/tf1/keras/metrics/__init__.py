"""Metrics of models (TF1's `tf.keras.metrics`): classes that keep their state in variables, and functions."""

from __future__ import annotations

from typing import Any

from staticgraph.tf1.keras import losses
from staticgraph.tf1.keras.losses import (
    KLD,
    MAE,
    MAPE,
    MSE,
    MSLE,
    binary_crossentropy,
    categorical_crossentropy,
    hinge,
    kld,
    kullback_leibler_divergence,
    mae,
    mape,
    mean_absolute_error,
    mean_absolute_percentage_error,
    mean_squared_error,
    mean_squared_logarithmic_error,
    mse,
    msle,
    poisson,
    sparse_categorical_crossentropy,
    squared_hinge,
)
from staticgraph.tf1.keras.metrics.base import Mean, MeanTensor, Metric, Sum, mean_class
from staticgraph.tf1.keras.metrics.confusion import (
    AUC,
    FalseNegatives,
    FalsePositives,
    Precision,
    Recall,
    SensitivityAtSpecificity,
    SpecificityAtSensitivity,
    TrueNegatives,
    TruePositives,
)
from staticgraph.tf1.keras.metrics.errors import MeanIoU, MeanRelativeError, RootMeanSquaredError
from staticgraph.tf1.keras.metrics.functions import (
    accuracy,
    binary_accuracy,
    categorical_accuracy,
    cosine_proximity,
    sparse_categorical_accuracy,
    sparse_top_k_categorical_accuracy,
    top_k_categorical_accuracy,
)
from staticgraph.tf1.keras.serialization import deserialize_keras_object, serialize_keras_object

__all__ = [
    "ACC",
    "AUC",
    "Accuracy",
    "BinaryAccuracy",
    "BinaryCrossentropy",
    "CategoricalAccuracy",
    "CategoricalCrossentropy",
    "CategoricalHinge",
    "CosineSimilarity",
    "FalseNegatives",
    "FalsePositives",
    "Hinge",
    "KLD",
    "KLDivergence",
    "LogCoshError",
    "MAE",
    "MAPE",
    "MSE",
    "MSLE",
    "Mean",
    "MeanAbsoluteError",
    "MeanAbsolutePercentageError",
    "MeanIoU",
    "MeanRelativeError",
    "MeanSquaredError",
    "MeanSquaredLogarithmicError",
    "MeanTensor",
    "Metric",
    "Poisson",
    "Precision",
    "Recall",
    "RootMeanSquaredError",
    "SensitivityAtSpecificity",
    "SparseCategoricalAccuracy",
    "SparseCategoricalCrossentropy",
    "SparseTopKCategoricalAccuracy",
    "SpecificityAtSensitivity",
    "SquaredHinge",
    "Sum",
    "TopKCategoricalAccuracy",
    "TrueNegatives",
    "TruePositives",
    "acc",
    "accuracy",
    "binary_accuracy",
    "binary_crossentropy",
    "categorical_accuracy",
    "categorical_crossentropy",
    "cosine",
    "cosine_proximity",
    "deserialize",
    "get",
    "hinge",
    "kld",
    "kullback_leibler_divergence",
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
    "sparse_categorical_accuracy",
    "sparse_categorical_crossentropy",
    "sparse_top_k_categorical_accuracy",
    "squared_hinge",
    "top_k_categorical_accuracy",
]

cosine = cosine_proximity
acc = ACC = accuracy

_SMOOTHED = [("from_logits", False), ("label_smoothing", 0)]

Accuracy = mean_class("Accuracy", accuracy, "accuracy")
BinaryAccuracy = mean_class("BinaryAccuracy", binary_accuracy, "binary_accuracy", [("threshold", 0.5)])
BinaryCrossentropy = mean_class("BinaryCrossentropy", binary_crossentropy, "binary_crossentropy", _SMOOTHED)
CategoricalAccuracy = mean_class("CategoricalAccuracy", categorical_accuracy, "categorical_accuracy")
CategoricalCrossentropy = mean_class(
    "CategoricalCrossentropy", categorical_crossentropy, "categorical_crossentropy", _SMOOTHED
)
CategoricalHinge = mean_class("CategoricalHinge", losses.categorical_hinge, "categorical_hinge")
CosineSimilarity = mean_class("CosineSimilarity", cosine_proximity, "cosine_similarity", [("axis", -1)])
Hinge = mean_class("Hinge", hinge, "hinge")
KLDivergence = mean_class("KLDivergence", kullback_leibler_divergence, "kullback_leibler_divergence")
LogCoshError = mean_class("LogCoshError", losses.logcosh, "logcosh")
MeanAbsoluteError = mean_class("MeanAbsoluteError", mean_absolute_error, "mean_absolute_error")
MeanAbsolutePercentageError = mean_class(
    "MeanAbsolutePercentageError", mean_absolute_percentage_error, "mean_absolute_percentage_error"
)
MeanSquaredError = mean_class("MeanSquaredError", mean_squared_error, "mean_squared_error")
MeanSquaredLogarithmicError = mean_class(
    "MeanSquaredLogarithmicError", mean_squared_logarithmic_error, "mean_squared_logarithmic_error"
)
Poisson = mean_class("Poisson", poisson, "poisson")
SparseCategoricalAccuracy = mean_class(
    "SparseCategoricalAccuracy", sparse_categorical_accuracy, "sparse_categorical_accuracy"
)
SparseCategoricalCrossentropy = mean_class(
    "SparseCategoricalCrossentropy", sparse_categorical_crossentropy, "sparse_categorical_crossentropy",
    [("from_logits", False), ("axis", -1)],
)  # fmt: skip
SparseTopKCategoricalAccuracy = mean_class(
    "SparseTopKCategoricalAccuracy", sparse_top_k_categorical_accuracy, "sparse_top_k_categorical_accuracy",
    [("k", 5)],
)  # fmt: skip
SquaredHinge = mean_class("SquaredHinge", squared_hinge, "squared_hinge")
TopKCategoricalAccuracy = mean_class(
    "TopKCategoricalAccuracy", top_k_categorical_accuracy, "top_k_categorical_accuracy", [("k", 5)]
)

_HELPERS = {
    "Any",
    "MeanFunction",
    "deserialize_keras_object",
    "losses",
    "mean_class",
    "serialize_keras_object",
}
_TABLE = {
    name: thing
    for name, thing in globals().items()
    if callable(thing) and not name.startswith("_") and name not in _HELPERS
}


def serialize(metric: Any) -> Any:
    """The name or config of a metric."""
    return serialize_keras_object(metric)


def deserialize(config: Any, custom_objects: Any = None) -> Any:
    """The metric of a name or config."""
    return deserialize_keras_object(config, vars(losses) | _TABLE, custom_objects, "metric function")


def get(identifier: Any) -> Any:
    """The metric that a name or config stands for; a function or a metric is one already."""
    if callable(identifier):
        return identifier
    return deserialize(identifier)
