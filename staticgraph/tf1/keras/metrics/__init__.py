"""Metrics of models (TF1's `tf.keras.metrics`): classes that keep their state in variables, and functions."""

from __future__ import annotations

from typing import Any

from staticgraph.compiler.support.lazy_names import export_names
from staticgraph.tf1.keras import losses
from staticgraph.tf1.keras.losses import KLD as KLD
from staticgraph.tf1.keras.losses import MAE as MAE
from staticgraph.tf1.keras.losses import MAPE as MAPE
from staticgraph.tf1.keras.losses import MSE as MSE
from staticgraph.tf1.keras.losses import MSLE as MSLE
from staticgraph.tf1.keras.losses import binary_crossentropy as binary_crossentropy
from staticgraph.tf1.keras.losses import categorical_crossentropy as categorical_crossentropy
from staticgraph.tf1.keras.losses import hinge as hinge
from staticgraph.tf1.keras.losses import kld as kld
from staticgraph.tf1.keras.losses import kullback_leibler_divergence as kullback_leibler_divergence
from staticgraph.tf1.keras.losses import mae as mae
from staticgraph.tf1.keras.losses import mape as mape
from staticgraph.tf1.keras.losses import mean_absolute_error as mean_absolute_error
from staticgraph.tf1.keras.losses import mean_absolute_percentage_error as mean_absolute_percentage_error
from staticgraph.tf1.keras.losses import mean_squared_error as mean_squared_error
from staticgraph.tf1.keras.losses import mean_squared_logarithmic_error as mean_squared_logarithmic_error
from staticgraph.tf1.keras.losses import mse as mse
from staticgraph.tf1.keras.losses import msle as msle
from staticgraph.tf1.keras.losses import poisson as poisson
from staticgraph.tf1.keras.losses import sparse_categorical_crossentropy as sparse_categorical_crossentropy
from staticgraph.tf1.keras.losses import squared_hinge as squared_hinge
from staticgraph.tf1.keras.metrics.base import *
from staticgraph.tf1.keras.metrics.base import mean_class
from staticgraph.tf1.keras.metrics.confusion import *
from staticgraph.tf1.keras.metrics.errors import *
from staticgraph.tf1.keras.metrics.functions import *
from staticgraph.tf1.keras.serialization import deserialize_keras_object, serialize_keras_object

_SMOOTHED: dict[str, Any] = {"from_logits": False, "label_smoothing": 0}
_TOP = ("k", "name", "dtype")

Accuracy = mean_class("Accuracy", accuracy)
BinaryAccuracy = mean_class("BinaryAccuracy", binary_accuracy, threshold=0.5)
BinaryCrossentropy = mean_class("BinaryCrossentropy", binary_crossentropy, **_SMOOTHED)
CategoricalAccuracy = mean_class("CategoricalAccuracy", categorical_accuracy)
CategoricalCrossentropy = mean_class("CategoricalCrossentropy", categorical_crossentropy, **_SMOOTHED)
CategoricalHinge = mean_class("CategoricalHinge", losses.categorical_hinge)
CosineSimilarity = mean_class("CosineSimilarity", cosine_proximity, name="cosine_similarity", axis=-1)
Hinge = mean_class("Hinge", hinge)
KLDivergence = mean_class("KLDivergence", kullback_leibler_divergence)
LogCoshError = mean_class("LogCoshError", losses.logcosh)
MeanAbsoluteError = mean_class("MeanAbsoluteError", mean_absolute_error)
MeanAbsolutePercentageError = mean_class("MeanAbsolutePercentageError", mean_absolute_percentage_error)
MeanSquaredError = mean_class("MeanSquaredError", mean_squared_error)
MeanSquaredLogarithmicError = mean_class("MeanSquaredLogarithmicError", mean_squared_logarithmic_error)
Poisson = mean_class("Poisson", poisson)
SparseCategoricalAccuracy = mean_class("SparseCategoricalAccuracy", sparse_categorical_accuracy)
SparseCategoricalCrossentropy = mean_class(
    "SparseCategoricalCrossentropy", sparse_categorical_crossentropy, from_logits=False, axis=-1
)
SparseTopKCategoricalAccuracy = mean_class(
    "SparseTopKCategoricalAccuracy", sparse_top_k_categorical_accuracy, _TOP, k=5
)
SquaredHinge = mean_class("SquaredHinge", squared_hinge)
TopKCategoricalAccuracy = mean_class("TopKCategoricalAccuracy", top_k_categorical_accuracy, _TOP, k=5)


def serialize(metric: Any) -> Any:
    """The name or config of a metric."""
    return serialize_keras_object(metric)


def deserialize(config: Any, custom_objects: Any = None) -> Any:
    """The metric of a name or config."""
    table = vars(losses) | {name: globals()[name] for name in globals()["__all__"]}
    return deserialize_keras_object(config, table, custom_objects, "metric function")


def get(identifier: Any) -> Any:
    """The metric that a name or config stands for; a function or a metric is one already."""
    if callable(identifier):
        return identifier
    return deserialize(identifier)


export_names(__name__, "", losses)
