"""The page of a saved graph, for the command line."""

from __future__ import annotations

import os

from staticgraph.compiler.graph.errors import InvalidArgumentError
from staticgraph.compiler.support.lazy_names import EXTENSIONS
from staticgraph.draw.page import show
from staticgraph.draw.page.page import Page
from staticgraph.saved.saving import load


def page_of_file(file: str, out: str) -> Page:
    """Write the page of the graph in `file` to `out`: of what its functions return, training steps included.

    Args:
        file: A graph in any format that `functions_of` opens.
        out: The page.

    Errors: InvalidArgumentError for a checkpoint, which has no graph in it, and those of `load` and `show`.
    """
    if not os.path.isdir(file) and file.endswith(".index"):
        raise InvalidArgumentError(f"{file} is a checkpoint: there is no graph in it that could be drawn")
    functions = list(EXTENSIONS["functions_of"](file))
    fetches = [each.fetches for each in functions] or load(file).graph
    return show(fetches, out, title=os.path.basename(os.path.normpath(file)))
