"""Helpers of programs that use models (TF1's `tf.keras.utils`)."""

from staticgraph.tf1.keras.serialization import (
    CustomObjectScope,
    custom_object_scope,
    deserialize_keras_object,
    get_custom_objects,
    serialize_keras_object,
)
from staticgraph.tf1.keras.utils.arrays import normalize, to_categorical
from staticgraph.tf1.keras.utils.download import get_file
from staticgraph.tf1.keras.utils.drawing import model_to_dot, plot_model
from staticgraph.tf1.keras.utils.progress import Progbar
from staticgraph.tf1.keras.utils.sequence import Sequence

__all__ = [
    "CustomObjectScope",
    "Progbar",
    "Sequence",
    "custom_object_scope",
    "deserialize_keras_object",
    "get_custom_objects",
    "get_file",
    "model_to_dot",
    "normalize",
    "plot_model",
    "serialize_keras_object",
    "to_categorical",
]
