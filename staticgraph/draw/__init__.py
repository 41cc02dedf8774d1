"""Drawings of graphs."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from staticgraph.draw.picture import Picture

__all__ = ["visualize"]


def visualize(
    what: Any,
    path: str | os.PathLike[str] | None = None,
    stage: str = "user",
    *,
    session: Any = None,
    feeds: Mapping[Any, Any] | None = None,
    depth: int | None = None,
    max_nodes: int | None = 100,
    title: str | None = None,
    legend: bool = True,
    opened: Collection[str] = (),
) -> Picture:
    """Draw a graph, or what the compiler makes of it.

    `what`: a graph, or what one would fetch: a tensor, operation or variable, or a nesting of them in lists
    and dicts; then only what these need is drawn. It may also be a model of Keras, a loaded graph, or the
    path of a file (.sg, .onnx, .pb, or the folder of a SavedModel). `path`: a file to write, in the format of
    its ending: .svg, .png, .pdf or .dot. Tooltips of an SVG tell full names, types and the line of your
    program. A notebook shows the returned picture.

    `stage`: `"user"` is the graph as it was built, scopes as nested areas; `"optimized"` is what the
    compiler's passes leave of it; `"fused"` also shows which operations one kernel computes. Any stage of
    the compiler that makes a Function or a Fusion may be given too, such as `"expand"` or `"join"`;
    `staticgraph.compiler.stages` lists them. All but the first are compiled for static shapes: `feeds` gives
    an array or a shape for fed tensors, and sizes that stay unknown are taken as 32. `session` tells the
    shapes of variables that the graph leaves open.

    Loops and branches are areas around what is in them. What a loop carries is a box in it, to which dashed
    arrows come back from the values of the next round.

    A large graph is folded until at most `max_nodes` boxes are left: scopes become one box, long
    repetitions are shown by their first two rounds and the last one, and long rows without scopes are
    folded by the lines of your program, or cut where few tensors pass. None draws everything. `depth`
    closes all scopes that are nested deeper.

    Such a picture of the graph as it was built shows the model: a layer or loss that one line of your program
    made is one box with its weights, equal blocks in a row are drawn once, arrows tell a shape where it
    changes, and an optimizer is one box. Later stages keep the scopes of the user's graph, with the gradients
    and the optimizer as one box each. `opened` names scopes that are shown from inside, such as "Adam".

    Errors: ValueError for an unknown stage or ending, FetchError,
    FeedError, SaveError; and where neither the `dot` program nor pygraphviz
    is installed RendererMissingError, after writing the graph as .dot text.

    >>> import staticgraph as sg
    >>> x = sg.placeholder(sg.float32, [None, 3], name="x")
    >>> picture = sg.visualize(sg.nn.relu(x * 2.0))
    >>> picture
    <Picture 'Relu' of 3 boxes>
    """
    # Imported at the first drawing: a program that draws nothing should not wait for Graphviz when it starts.
    from staticgraph.draw.draw import draw

    return draw(what, path, stage, session, feeds, depth, max_nodes, title, legend, opened)
