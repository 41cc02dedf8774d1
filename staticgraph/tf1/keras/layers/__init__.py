"""Layers of models (TF1's `tf.keras.layers`)."""

from __future__ import annotations

from typing import Any

from staticgraph.compiler.support.lazy_names import export_names
from staticgraph.state.input_spec import *
from staticgraph.tf1.keras.engine.input_layer import *
from staticgraph.tf1.keras.engine.layer import *
from staticgraph.tf1.keras.layers.activation import *
from staticgraph.tf1.keras.layers.attention import *
from staticgraph.tf1.keras.layers.cells import *
from staticgraph.tf1.keras.layers.convolution import *
from staticgraph.tf1.keras.layers.convolutional_recurrent import *
from staticgraph.tf1.keras.layers.core import *
from staticgraph.tf1.keras.layers.local import *
from staticgraph.tf1.keras.layers.merge import *
from staticgraph.tf1.keras.layers.noise import *
from staticgraph.tf1.keras.layers.normalization import *
from staticgraph.tf1.keras.layers.pooling import *
from staticgraph.tf1.keras.layers.recurrent import *
from staticgraph.tf1.keras.layers.space import *
from staticgraph.tf1.keras.layers.wrappers import *
from staticgraph.tf1.keras.serialization import LAYERS, deserialize_keras_object, serialize_keras_object

LAYERS.update({name: made for name, made in list(globals().items()) if isinstance(made, type)})


def serialize(layer: Any) -> Any:
    """The config of a layer."""
    return serialize_keras_object(layer)


def deserialize(config: Any, custom_objects: Any = None) -> Any:
    """The layer of a config, with new weights."""
    return deserialize_keras_object(config, LAYERS, custom_objects, "layer")


export_names(__name__, "Input InputLayer InputSpec Layer")
