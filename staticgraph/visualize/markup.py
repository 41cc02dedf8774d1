"""Labels in Graphviz's HTML-like markup. All text from outside comes in through `plain`."""

from __future__ import annotations

import html
from collections.abc import Sequence

from staticgraph.visualize.palette import QUIET


def plain(text: str) -> str:
    """`text` as markup that shows exactly it; characters that XML cannot hold become a replacement mark."""
    return html.escape("".join(c if c.isprintable() else "\ufffd" for c in text), quote=False)


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
