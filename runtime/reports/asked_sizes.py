"""Words for what keeps a program from leaving sizes open: the operation and its line."""

from __future__ import annotations

import re
from collections.abc import Sequence

from staticgraph.compiler.capture.open_shapes import OpenShapes
from staticgraph.compiler.graph.errors import headline
from staticgraph.compiler.graph.open_sizes import symbols
from staticgraph.compiler.graph.provenance import Provenance
from staticgraph.compiler.graph.size_contexts import Undecided

Lines = list[tuple[str, Provenance | None]]


def asked(cause: Exception | None, labels: Sequence[str], shapes: OpenShapes) -> tuple[str, Lines]:
    """Return why a size must be known, as text, and the operations that ask, each with its line.

    Args:
        cause: What was raised, or None.
        labels: The names of the feeds.
        shapes: Their shapes and contents, with all sizes open.
    """
    if not isinstance(cause, Undecided):
        return "its sizes are needed" if cause is None else headline(cause), []
    called = {
        name: f"size {axis} of {label}"
        for label, shape in zip(labels, shapes.shapes, strict=True)
        for axis, n in enumerate(shape)
        for name in symbols(n)
    }
    called |= {
        name: f"{labels[number]}[{place}]"
        for number, row in zip(shapes.sized, shapes.contents, strict=True)
        for place, n in enumerate(row)
        for name in symbols(n)
    }
    names = sorted(frozenset[str]().union(*map(symbols, cause.sizes)))
    what = re.sub(r"open<(.*?)>", r"\1", cause.about)
    what = re.sub(r"\bn\d+\b", lambda found: called.get(found[0], found[0]), what)
    lines = list(dict.fromkeys(cause.asked_by))[:3]
    who = lines[0][0] if lines else "a stage of the compiler"
    more = f" ({', '.join(called[n] for n in names if n in called)})" if what == cause.about and names else ""
    return f"{who} asks for {what}{more}", lines
