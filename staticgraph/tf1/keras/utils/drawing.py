"""Models as pictures."""

from __future__ import annotations

import os
from typing import Any

import graphviz

__all__ = ["model_to_dot", "plot_model"]


def model_to_dot(
    model: Any,
    show_shapes: bool = False,
    show_layer_names: bool = True,
    rankdir: str = "TB",
    expand_nested: bool = False,
    dpi: int = 96,
    subgraph: bool = False,
) -> graphviz.Digraph:
    """The layers of a model and how they are connected, as a Graphviz graph.

    >>> import staticgraph as sg
    >>> model = sg.keras.Sequential([sg.keras.layers.Dense(2, input_shape=[3])])
    >>> "dense: Dense" in sg.keras.utils.model_to_dot(model).source
    True
    """
    dot = graphviz.Digraph(model.name, graph_attr={"rankdir": rankdir, "dpi": str(dpi)})
    dot.attr("node", shape="record")
    inside = {id(node) for node in getattr(model, "_nodes", ())}
    layers = getattr(model, "_graph_layers", model.layers)
    for layer in layers:
        dot.node(str(id(layer)), _label(layer, show_shapes, show_layer_names))
    for layer in layers:
        for node in layer.inbound_nodes:
            if id(node) in inside:
                for parent in node.parents():
                    dot.edge(str(id(parent.layer)), str(id(layer)))
    return dot


def _label(layer: Any, shapes: bool, names: bool) -> str:
    kind = type(layer).__name__
    label = f"{layer.name}: {kind}" if names else kind
    if not shapes:
        return label
    try:
        given, made = str(layer.input_shape), str(layer.output_shape)
    except AttributeError:
        given = made = "multiple"
    return f"{label}|{{input:|output:}}|{{{{{given}}}|{{{made}}}}}"


def plot_model(
    model: Any,
    to_file: Any = "model.png",
    show_shapes: bool = False,
    show_layer_names: bool = True,
    rankdir: str = "TB",
    expand_nested: bool = False,
    dpi: int = 96,
) -> None:
    """Draw the layers of a model into a file; its suffix says the format."""
    dot = model_to_dot(model, show_shapes, show_layer_names, rankdir, expand_nested, dpi)
    _, suffix = os.path.splitext(os.fspath(to_file))
    dot.render(outfile=os.fspath(to_file), format=suffix.removeprefix(".") or "png", cleanup=True)
