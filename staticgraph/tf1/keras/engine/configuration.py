"""Models as data: layers, and which output of which call goes where. Keras's own format."""

from __future__ import annotations

from typing import Any

from staticgraph.compiler.graph.errors import misuse
from staticgraph.tf1.keras.engine.node import history
from staticgraph.tf1.keras.engine.structure import leaves, single
from staticgraph.tf1.keras.serialization import (
    deserialize_keras_object,
    layers_by_name,
    serialize_keras_object,
)


def network_config(model: Any) -> dict[str, Any]:
    """The config of a model that is a graph of layers."""
    kept = _kept(model)
    layers = []
    for layer in model.layers:
        calls = [
            [
                [parent.layer.name, kept[id(parent.node)], parent.tensor_index, _plain(node.arguments)]
                for parent in node.parents()
            ]
            for node in layer.inbound_nodes
            if id(node) in kept and node.input_tensors
        ]
        layers.append(serialize_keras_object(layer) | {"name": layer.name, "inbound_nodes": calls})
    return {
        "name": model.name,
        "layers": layers,
        "input_layers": [_place(t, kept) for t in model.inputs],
        "output_layers": [_place(t, kept) for t in model.outputs],
    }


def _kept(model: Any) -> dict[int, int]:
    """For each call inside the model, which one of its layer's calls inside the model it is."""
    inside = {id(node) for node in model._nodes}
    return {
        id(node): number
        for layer in model.layers
        for number, node in enumerate(n for n in layer.inbound_nodes if id(n) in inside)
    }


def _place(tensor: Any, kept: dict[int, int]) -> list[Any]:
    found = history(tensor)
    assert found is not None
    return [found.layer.name, kept.get(id(found.node), 0), found.tensor_index]


def _plain(arguments: dict[str, Any]) -> dict[str, Any]:
    for name, value in arguments.items():
        if any(history(v) is not None for v in leaves(value)):
            raise misuse(
                NotImplementedError, f"the argument {name} of a layer is a tensor: pass it among the inputs"
            )
    return arguments


def network_from_config(cls: Any, config: dict[str, Any], custom_objects: Any = None) -> Any:
    """The model of a config: each call is made as soon as the tensors that it needs exist."""
    layers: dict[str, Any] = {}
    calls: dict[str, list[Any]] = {}
    for data in config["layers"]:
        described = {"class_name": data["class_name"], "config": data["config"]}
        layers[data["name"]] = deserialize_keras_object(described, layers_by_name(), custom_objects, "layer")
        calls[data["name"]] = list(data["inbound_nodes"])
    while any(calls.values()):
        left = sum(map(len, calls.values()))
        for name, waiting in calls.items():
            while waiting and all(_exists(layers, place) for place in _places(waiting[0])):
                places = _places(waiting.pop(0))
                arguments = dict(places[0][3]) if len(places[0]) > 3 else {}
                layers[name](single([_tensor(layers, place) for place in places]), **arguments)
        if sum(map(len, calls.values())) == left:
            raise misuse(
                ValueError, f"the config of model {config.get('name')} is no graph from inputs to outputs"
            )
    ends = [
        [_tensor(layers, place) for place in _places(config[key])]
        for key in ("input_layers", "output_layers")
    ]
    return cls(inputs=single(ends[0]), outputs=single(ends[1]), name=config.get("name"))


def _places(call: Any) -> list[Any]:
    """The places that a call takes its inputs from; a single one may stand without a list around it."""
    return [call] if call and isinstance(call[0], str) else list(call)


def _node_index(layer: Any, number: int) -> int:
    """The place of a call in a layer's list: a model is connected once by itself, before any call."""
    return number + bool(getattr(layer, "is_graph", False))


def _exists(layers: dict[str, Any], place: Any) -> bool:
    layer = layers[place[0]]
    return _node_index(layer, place[1]) < len(layer.inbound_nodes)


def _tensor(layers: dict[str, Any], place: Any) -> Any:
    layer = layers[place[0]]
    return layer.inbound_nodes[_node_index(layer, place[1])].output_tensors[place[2]]
