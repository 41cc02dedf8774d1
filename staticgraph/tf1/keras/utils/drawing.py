"""Models as pictures."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from staticgraph.draw.model import Box, Drawing, Flow, Link, Role
from staticgraph.draw.palette import FONT, INK, LINE

if TYPE_CHECKING:  # a program that draws nothing does not wait for them
    import graphviz

    from staticgraph.draw.picture import Picture


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
    import graphviz

    dot = graphviz.Digraph(model.name, graph_attr={"rankdir": rankdir, "dpi": str(dpi)})
    dot.attr("node", shape="record", style="rounded", color=LINE, fontname=FONT, fontcolor=INK, fontsize="11")
    dot.attr("edge", color=LINE, arrowsize="0.7")
    for layer in _layers(model):
        dot.node(str(id(layer)), _label(layer, show_shapes, show_layer_names))
    for source, target in _joined(model):
        dot.edge(str(id(source)), str(id(target)))
    return dot


def _label(layer: Any, shapes: bool, names: bool) -> str:
    kind = type(layer).__name__
    label = f"{layer.name}: {kind}" if names else kind
    if not shapes:
        return label
    given, made = _shapes(layer)
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
        to_file: The file to write, whose ending says the format: .svg, .dot, and with
            `pip install "staticgraph[viz]"` .png or .pdf. None writes none.
        show_shapes: If each layer tells the shapes of its inputs and outputs.
        show_layer_names: If each layer tells its name.
        rankdir: "TB" draws from top to bottom, "LR" from left to right.
        expand_nested: Taken for the sake of scripts; a model in a model is one box.
        dpi: Dots per inch of a PNG.

    Returns:
        The picture, which a notebook shows.

    Raises:
        ValueError: If the ending is none of these.
        RendererMissingError: If the extra `viz` is not installed and the format needs it; the picture is then
            written as SVG.

    >>> import staticgraph as sg
    >>> model = sg.keras.Sequential([sg.keras.layers.Dense(2, input_shape=[3])], name="net")
    >>> sg.keras.utils.plot_model(model, to_file=None)
    <Picture 'net' of 2 boxes>
    """
    from staticgraph.draw.picture import Picture

    drawing = _drawing(model, show_shapes, show_layer_names)
    picture = Picture(drawing, legend=False, sideways=rankdir in ("LR", "RL"), dpi=dpi)
    if to_file is not None:
        picture.save(to_file)
    return picture


def _drawing(model: Any, shapes: bool, names: bool) -> Drawing:
    """Return a box for each layer and an arrow for each tensor between two of them."""
    boxes, links = [], []
    for number, layer in enumerate(_layers(model)):
        kind = type(layer).__name__
        lines = [kind] if names else []
        if shapes:
            given, made = _shapes(layer)
            lines += [f"input: {given}", f"output: {made}"]
        role = Role.INPUT if kind == "InputLayer" else Role.OP
        title = layer.name if names else kind
        boxes.append(Box(str(id(layer)), (), title, role, number, tuple(lines), f"{layer.name}: {kind}"))
    for source, target in _joined(model):
        links.append(Link(str(id(source)), str(id(target)), source.name, flow=Flow.DATA))
    return Drawing(tuple(boxes), tuple(links), model.name)


def _layers(model: Any) -> Sequence[Any]:
    return getattr(model, "_graph_layers", model.layers)


def _joined(model: Any) -> Iterator[tuple[Any, Any]]:
    """Yield each two layers of which the second takes what the first gives."""
    inside = {id(node) for node in getattr(model, "_nodes", ())}
    for layer in _layers(model):
        for node in layer.inbound_nodes:
            if id(node) in inside:
                for parent in node.parents():
                    yield parent.layer, layer


def _shapes(layer: Any) -> tuple[str, str]:
    """Return the shapes of what a layer takes and gives. A layer of inputs takes what it gives."""
    try:
        given, made = str(layer.input_shape), str(layer.output_shape)
    except AttributeError:
        return "multiple", "multiple"
    return (made if type(layer).__name__ == "InputLayer" else given), made
