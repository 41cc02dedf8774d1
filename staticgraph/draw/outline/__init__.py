"""A graph as its user thinks of it: layers, equal blocks once, and the optimizer beside the model.

Each file here leaves out one kind of detail of a drawing: `outlined` applies those of a user's graph, and
`training.py` those of what the compiler made of it. Nothing else of the project needs to know them.
"""

from __future__ import annotations

from collections.abc import Collection

from staticgraph.draw.model import Drawing
from staticgraph.draw.outline.blocks import with_blocks_once
from staticgraph.draw.outline.closed import with_calls_closed, with_optimizers_closed
from staticgraph.draw.outline.labels import with_changes_told, with_parameters_told
from staticgraph.draw.outline.sources import with_stubs, with_weights_inside


def outlined(drawing: Drawing, opened: Collection[str] = ()) -> Drawing:
    """Return a drawing of a user's graph without the detail that nobody asked for.

    Args:
        drawing: All of it.
        opened: The names of scopes to be shown from inside.
    """
    drawing = with_parameters_told(drawing)
    drawing = with_optimizers_closed(drawing, opened)
    drawing = with_changes_told(drawing)
    drawing = with_weights_inside(drawing)
    drawing = with_calls_closed(drawing, opened)
    drawing = with_blocks_once(drawing, opened)
    return with_stubs(drawing)
