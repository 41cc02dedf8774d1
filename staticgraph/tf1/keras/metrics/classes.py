"""Classes of metrics that are the mean of a function, and metrics by their names and configs."""

from __future__ import annotations

from typing import Any

from staticgraph.compiler.support.lazy_names import load
from staticgraph.tf1.keras import losses
from staticgraph.tf1.keras.metrics import functions as fn
from staticgraph.tf1.keras.metrics.base import mean_class
from staticgraph.tf1.keras.serialization import deserialize_keras_object, serialize_keras_object

_SMOOTHED: dict[str, Any] = {"from_logits": False, "label_smoothing": 0}
_TOP = ("k", "name", "dtype")

Accuracy = mean_class("Accuracy", fn.accuracy)
BinaryAccuracy = mean_class("BinaryAccuracy", fn.binary_accuracy, threshold=0.5)
BinaryCrossentropy = mean_class("BinaryCrossentropy", losses.binary_crossentropy, **_SMOOTHED)
CategoricalAccuracy = mean_class("CategoricalAccuracy", fn.categorical_accuracy)
CategoricalCrossentropy = mean_class("CategoricalCrossentropy", losses.categorical_crossentropy, **_SMOOTHED)
CategoricalHinge = mean_class("CategoricalHinge", losses.categorical_hinge)
CosineSimilarity = mean_class("CosineSimilarity", fn.cosine_proximity, name="cosine_similarity", axis=-1)
Hinge = mean_class("Hinge", losses.hinge)
KLDivergence = mean_class("KLDivergence", losses.kullback_leibler_divergence)
LogCoshError = mean_class("LogCoshError", losses.logcosh)
MeanAbsoluteError = mean_class("MeanAbsoluteError", losses.mean_absolute_error)
MeanAbsolutePercentageError = mean_class("MeanAbsolutePercentageError", losses.mean_absolute_percentage_error)
MeanSquaredError = mean_class("MeanSquaredError", losses.mean_squared_error)
MeanSquaredLogarithmicError = mean_class("MeanSquaredLogarithmicError", losses.mean_squared_logarithmic_error)
Poisson = mean_class("Poisson", losses.poisson)
SparseCategoricalAccuracy = mean_class("SparseCategoricalAccuracy", fn.sparse_categorical_accuracy)
SparseCategoricalCrossentropy = mean_class(
    "SparseCategoricalCrossentropy", losses.sparse_categorical_crossentropy, from_logits=False, axis=-1
)
SparseTopKCategoricalAccuracy = mean_class(
    "SparseTopKCategoricalAccuracy", fn.sparse_top_k_categorical_accuracy, _TOP, k=5
)
SquaredHinge = mean_class("SquaredHinge", losses.squared_hinge)
TopKCategoricalAccuracy = mean_class("TopKCategoricalAccuracy", fn.top_k_categorical_accuracy, _TOP, k=5)


def serialize(metric: Any) -> Any:
    """The name or config of a metric."""
    return serialize_keras_object(metric)


def deserialize(config: Any, custom_objects: Any = None) -> Any:
    """The metric of a name or config."""
    modules = losses, load(__package__)
    table = {name: getattr(module, name) for module in modules for name in module.__all__}
    return deserialize_keras_object(config, table, custom_objects, "metric function")


def get(identifier: Any) -> Any:
    """The metric that a name or config stands for; a function or a metric is one already."""
    if callable(identifier):
        return identifier
    return deserialize(identifier)
