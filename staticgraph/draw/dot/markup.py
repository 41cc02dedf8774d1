"""Labels in Graphviz's HTML-like markup. All text from outside comes in through `plain` or `escaped`."""

from __future__ import annotations

import html
from collections.abc import Sequence

import graphviz

from staticgraph.draw.palette import QUIET
from staticgraph.draw.wording import printable

# Behind a backslash, Graphviz takes some letters for "the name of this node" and the like, in markup too, and
# in some attributes it looks twice. This invisible character comes between the two.
JOINER = "\u2060"


def plain(text: str) -> str:
    """`text` as markup that shows exactly it."""
    return _entities(text).replace("\\", "\\" + JOINER)


def escaped(text: str) -> str:
    """`text`, of one or more lines, for an attribute in which Graphviz expands entities and backslashes."""
    lines = (_entities(line).replace("\\", "\\\\" + JOINER) for line in text.split("\n"))
    return graphviz.nohtml("\\n".join(lines))


def _entities(text: str) -> str:
    return html.escape(printable(text), quote=False)


def label(
    title: str, lines: Sequence[str] = (), bold: bool = True, quiet: bool = False, room: int = 0
) -> str:
    """A title with small lines below it, and `room` spaces for fonts wider than Graphviz believes."""
    head = (plain(title) or " ") + "&nbsp;" * room
    head = f"<b>{head}</b>" if bold and not quiet else head
    if not lines:
        return f"<{head}>"
    rows = [head, *(f'<font point-size="9" color="{QUIET}">{plain(line)}</font>' for line in lines)]
    cells = "".join(f"<tr><td>{row}</td></tr>" for row in rows)
    return f'<<table border="0" cellborder="0" cellspacing="0" cellpadding="1">{cells}</table>>'
