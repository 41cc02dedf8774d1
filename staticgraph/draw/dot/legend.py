"""The legend of a drawing as a table in Graphviz's HTML-like markup."""

from __future__ import annotations

from collections.abc import Iterator

from staticgraph.draw.dot.markup import plain
from staticgraph.draw.model import Drawing
from staticgraph.draw.palette import QUIET, LegendEntry, entries


def legend_table(drawing: Drawing) -> str:
    """The legend as an HTML-like table; empty if there is nothing to explain."""
    found = list(entries(drawing))
    if not found:
        return ""
    across = 2 if len(drawing.boxes) < 12 else 3
    rows = "".join(f"<tr>{''.join(map(_cells, row))}</tr>" for row in _batched(found, across))
    return f'<table border="0" cellborder="0" cellspacing="5" cellpadding="1">{rows}</table>'


def _batched(found: list[LegendEntry], across: int) -> Iterator[list[LegendEntry]]:
    for start in range(0, len(found), across):
        yield found[start : start + across]


def _cells(entry: LegendEntry) -> str:
    if entry.arrow:
        sample = f'<td width="26"><font color="{entry.stroke}">{entry.arrow}</font></td>'
    else:
        sample = (
            f'<td width="26" height="13" fixedsize="true" border="{round(entry.width)}" '
            f'bgcolor="{entry.fill}" color="{entry.stroke}"></td>'
        )
    text = f'<font point-size="9" color="{QUIET}">{plain(entry.text)}&nbsp;&nbsp;</font>'
    return f'{sample}<td align="left">{text}</td>'
