"""Models as pictures."""

from __future__ import annotations

import os
from typing import Any

import graphviz

from staticgraph.draw.palette import FONT, INK, LINE
from staticgraph.draw.picture import Picture

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
    dot.attr("node", shape="record", style="rounded", color=LINE, fontname=FONT, fontcolor=INK, fontsize="11")
    dot.attr("edge", color=LINE, arrowsize="0.7")
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
    to_file: str | os.PathLike[str] | None = "model.png",
    show_shapes: bool = False,
    show_layer_names: bool = True,
    rankdir: str = "TB",
    expand_nested: bool = False,
    dpi: int = 96,
) -> Picture:
    """Draw the layers of a model and how they are connected.

    Args:
        model: A model that is built.
        to_file: The file to write, whose ending says the format: .png, .svg, .pdf or .dot. None writes none.
        show_shapes: If each layer tells the shapes of its inputs and outputs.
        show_layer_names: If each layer tells its name.
        rankdir: "TB" draws from top to bottom, "LR" from left to right.
        expand_nested: Taken for the sake of scripts; a model in a model is one box.
        dpi: Dots per inch of a PNG.

    Returns:
        The picture, which a notebook shows.

    Raises:
        ValueError: If the ending is none of these.

    >>> import staticgraph as sg
    >>> model = sg.keras.Sequential([sg.keras.layers.Dense(2, input_shape=[3])], name="net")
    >>> sg.keras.utils.plot_model(model, to_file=None)
    <Picture 'net' of 2 boxes>
    """
    dot = model_to_dot(model, show_shapes, show_layer_names, rankdir, expand_nested, dpi)
    picture = Picture(dot.source, model.name, len(getattr(model, "_graph_layers", model.layers)))
    if to_file is not None:
        picture.save(to_file)
    return picture
