"""Tables as HTML with styles in their tags: a notebook shows no style sheets of others."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from staticgraph.draw.wording import printable
from staticgraph.runtime.reports.table import Table

_CELL = "padding: 2px 10px; vertical-align: top; text-align:"


def text(value: object) -> str:
    """Return `value` as text that no notebook takes for markup."""
    return escape(printable(str(value)))


def table(shown: Table, most: int = 60) -> str:
    """Return a table, of which at most `most` rows are shown at once; the others unfold.

    >>> print(table(Table("kernels", ("name", "ns"), (("relu", "12"),))))
    <div><b>kernels</b></div><table><tr><th ...>name</th>...
    """
    rows = [_row("td", row, shown.left) for row in shown.rows]
    head = _row("th", shown.head, shown.left)
    parts = [f"<div><b>{text(shown.title)}</b></div>", f"<table>{head}{''.join(rows[:most])}</table>"]
    if len(rows) > most:
        parts.append(unfolding(f"{len(rows) - most} more", f"<table>{head}{''.join(rows[most:])}</table>"))
    return "".join(parts)


def facts(title: str, pairs: Iterable[tuple[str, object]]) -> str:
    """Return names and values in two columns."""
    rows = tuple((name, str(value)) for name, value in pairs)
    cells = "".join(_row("td", row, (0, 1)) for row in rows)
    return f"<div><b>{text(title)}</b></div><table>{cells}</table>"


def unfolding(title: str, inside: str) -> str:
    """Return what a click on the title shows."""
    return f"<details><summary>{text(title)}</summary>{inside}</details>"


def plain(lines: str) -> str:
    """Return text whose lines and columns are kept."""
    return f"<pre>{escape(lines)}</pre>"


def _row(tag: str, cells: Sequence[str], left: Sequence[int]) -> str:
    sides = ("left" if column in left else "right" for column in range(len(cells)))
    inside = (
        f'<{tag} style="{_CELL} {side}">{text(c)}</{tag}>' for c, side in zip(cells, sides, strict=True)
    )
    return f"<tr>{''.join(inside)}</tr>"
