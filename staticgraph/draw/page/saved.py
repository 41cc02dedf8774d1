"""The page of a saved graph, for the command line."""

from __future__ import annotations

import os

from staticgraph.compiler.graph.errors import InvalidArgumentError
from staticgraph.draw.page import show
from staticgraph.draw.page.page import Page
from staticgraph.saving import load


def page_of_file(file: str, out: str) -> Page:
    """Write the page of the graph in `file`, which `sg.save` wrote, to `out`: of what its signatures return,
    its training steps included.

    Errors: InvalidArgumentError for a checkpoint, which has no graph in it, and those of `load` and `show`.
    """
    if not os.path.isdir(file) and file.endswith(".index"):
        raise InvalidArgumentError(f"{file} is a checkpoint: there is no graph in it that could be drawn")
    loaded = load(file)
    fetches = [
        end
        for function in loaded.signatures.values()
        for end in (*function.outputs.values(), *((function.step,) if function.step is not None else ()))
    ]
    return show(fetches or loaded.graph, out, title=os.path.basename(file))
