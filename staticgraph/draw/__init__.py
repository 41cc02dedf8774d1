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
    engine: str = "layered",
) -> Picture:
    """Draw a graph, or what the compiler makes of it.

    Loops and branches are areas around what is in them. What a loop carries is a box in it, to which dashed
    arrows come back from the values of the next round.

    A picture of the graph as it was built shows the model: a layer or loss that one line of your program
    made is one box with its weights, equal blocks in a row are drawn once, arrows tell a shape where it
    changes, and an optimizer is one box. Later stages keep the scopes of the user's graph, with the gradients
    and the optimizer as one box each. Tooltips of an SVG tell full names, types and the line of your program.
    Its colours follow the light or dark scheme of the page that it is on.

    Args:
        what: A graph, or what one would fetch: a tensor, operation or variable, or a nesting of them in lists
            and dicts; then only what these need is drawn. It may also be a model of Keras, a loaded graph, or
            the path of a file of any format that `python -m staticgraph convert` reads.
        path: A file to write, in the format of its ending: .svg and .dot, and with
            `pip install "staticgraph[viz]"` .png and .pdf. None writes none: a notebook shows the picture.
        stage: `"user"` is the graph as it was built, scopes as nested areas; `"optimized"` is what the
            compiler's passes leave of it; `"fused"` also shows which operations one kernel computes. Any
            stage of the compiler that makes a Function or a Fusion may be given too, such as `"expand"` or
            `"join"`; `staticgraph.compiler.stages` lists them. All but the first are compiled for static
            shapes.
        session: Tells the shapes of variables that the graph leaves open.
        feeds: An array or a shape for fed tensors; sizes that stay unknown are taken as 32.
        depth: Scopes that are nested deeper are closed. None closes none.
        max_nodes: A larger graph is folded until about so many boxes are left: scopes become one box, long
            repetitions are shown by their first two rounds and the last one, and long rows without scopes are
            folded by the lines of your program, or cut where few tensors pass. None draws everything.
        title: The heading; by default the names of what is drawn.
        legend: If False, the picture has no legend.
        opened: Names of scopes that are shown from inside, such as "Adam".
        engine: What lays the picture out: `"layered"` is staticgraph's own layout, `"dot"` is Graphviz, with
            the `dot` program or the extra `viz`. A PDF is always laid out by Graphviz.

    Returns:
        The picture; `picture.svg` is its text.

    Raises:
        ValueError: For an unknown stage, engine or ending, and for more boxes and long arrows than can be
            laid out in a minute, some ten thousand.
        FetchError, FeedError: As `Session.run` raises them.
        SaveError: If the file cannot be written.
        RendererMissingError: If a package is missing for this format; the picture is then left as SVG.

    >>> import staticgraph as sg
    >>> x = sg.placeholder(sg.float32, [None, 3], name="x")
    >>> picture = sg.visualize(sg.nn.relu(x * 2.0))
    >>> picture
    <Picture 'Relu' of 3 boxes>
    """
    # Imported at the first drawing: a program that draws nothing should not wait for it when it starts.
    from staticgraph.draw.draw import draw

    return draw(what, path, stage, session, feeds, depth, max_nodes, title, legend, opened, engine)
