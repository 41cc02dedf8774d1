"""Making, copying, saving and loading models (TF1's `tf.keras.models`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from staticgraph.compiler.support.lazy_names import show_public_names
from staticgraph.tf1.keras.engine.configuration import network_from_config
from staticgraph.tf1.keras.engine.input_layer import InputLayer
from staticgraph.tf1.keras.engine.model import Model
from staticgraph.tf1.keras.engine.sequential import Sequential
from staticgraph.tf1.keras.engine.structure import listed, single
from staticgraph.tf1.keras.saving.files import from_config as model_from_config
from staticgraph.tf1.keras.saving.files import from_json as model_from_json
from staticgraph.tf1.keras.saving.files import load_model, save_model

__all__ = [
    "Model",
    "Sequential",
    "clone_model",
    "load_model",
    "model_from_config",
    "model_from_json",
    "save_model",
]


def clone_model(
    model: Model, input_tensors: Any = None, clone_function: Callable[[Any], Any] | None = None
) -> Model:
    """A model of the same architecture with new weights. `clone_function` makes each layer from the old one.

    >>> import staticgraph as sg
    >>> model = sg.keras.Sequential([sg.keras.layers.Dense(2, input_shape=[3])])
    >>> sg.keras.models.clone_model(model).count_params()
    8
    """
    copy = clone_function or (lambda layer: type(layer).from_config(layer.get_config()))
    if isinstance(model, Sequential):
        first = [] if input_tensors is None else [InputLayer(input_tensor=t) for t in listed(input_tensors)]
        begin = first or [copy(layer) for layer in model._stack if isinstance(layer, InputLayer)]
        return Sequential([*begin, *(copy(layer) for layer in model.layers)], name=model.name)
    if input_tensors is None and clone_function is None:
        return network_from_config(type(model) if type(model) is Model else Model, model.get_config())
    layers = {layer: layer if isinstance(layer, InputLayer) else copy(layer) for layer in model.layers}
    given = listed(input_tensors) or [copy(model._layer_of(t)).output for t in model.inputs]
    values = dict(zip(model.inputs, given, strict=True))
    for node in model._nodes:
        if not all(t in values for t in node.output_tensors):
            made = layers[node.layer](single([values[t] for t in node.input_tensors]), **node.arguments)
            values.update(zip(node.output_tensors, listed(made), strict=True))
    return Model(single(given), single([values[t] for t in model.outputs]), name=model.name)


show_public_names(__name__)
