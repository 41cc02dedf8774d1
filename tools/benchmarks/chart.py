"""The results as a bar chart: one group per workload, times on a logarithmic axis, the fastest on top."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape

from benchmarks.text import duration

WIDTH, MARGIN, BAR, TITLE, GAP = 1080, 20, 13, 20, 14
COLUMNS = 2
LABEL = 150  # room to the right of the longest bar, for its name and time
OURS, THEIRS, FLOOR, GRID, TEXT, FAINT = "#d9480f", "#b9c4d3", "#1f2937", "#e5e7eb", "#111827", "#6b7280"


@dataclass(frozen=True, slots=True)
class Group:
    """The bars of one workload: seconds by name. `floor` is drawn as a line, None if there is none."""

    title: str
    times: dict[str, float]
    floor: float | None

    @property
    def height(self) -> int:
        return TITLE + BAR * len(self.times) + GAP


def draw(groups: Sequence[Group], ours: str, caption: str) -> str:
    """The chart as SVG, on white."""
    groups = [group for group in groups if group.times]
    if not groups:
        return _document(60, caption, [])
    everything = [t for g in groups for t in (*g.times.values(), g.floor) if t]
    low, high = math.floor(math.log10(min(everything))), math.log10(max(everything))
    column = (WIDTH - MARGIN) / COLUMNS - MARGIN
    scale = (column - LABEL) / max(high - low, 1e-9)
    columns = balanced(groups)
    body = max(sum(group.height for group in part) for part in columns)
    top = 60
    parts = []
    for number, part in enumerate(columns):
        left = MARGIN + number * (column + MARGIN)
        for decade in range(low, math.floor(high) + 1):
            parts += _decade(left + (decade - low) * scale, top, body, decade)
        y = float(top)
        for group in part:
            parts += _group(group, left, y, lambda t: (math.log10(t) - low) * scale, ours)
            y += group.height
    return _document(top + body + MARGIN, caption, parts)


def balanced(groups: Sequence[Group]) -> list[list[Group]]:
    """The groups in columns of about the same height, in order."""
    columns: list[list[Group]] = [[]]
    room = sum(group.height for group in groups) / COLUMNS
    filled = 0.0
    for group in groups:
        if filled + group.height / 2 > room and len(columns) < COLUMNS:
            columns.append([])
            filled = 0.0
        columns[-1].append(group)
        filled += group.height
    return columns


def _decade(x: float, top: int, height: int, decade: int) -> list[str]:
    line = f'<line x1="{x:.1f}" y1="{top}" x2="{x:.1f}" y2="{top + height}" stroke="{GRID}"/>'
    return [line, _text(x, top - 6, duration(10.0**decade), FAINT, "middle")]


def _group(group: Group, left: float, y: float, place: Callable[[float], float], ours: str) -> list[str]:
    parts = [_text(left, y + TITLE - 6, group.title, TEXT, weight="bold", size=11.5)]
    y += TITLE
    for row, (name, time) in enumerate(sorted(group.times.items(), key=lambda pair: pair[1])):
        mine, at = name == ours, y + row * BAR
        length = max(place(time), 1.0)
        parts.append(
            f'<rect x="{left:.1f}" y="{at + 1:.1f}" width="{length:.1f}" height="{BAR - 2}" rx="1.5" '
            f'fill="{OURS if mine else THEIRS}"/>'
        )
        label = f"{name}  {duration(time)}"
        colour, weight = (OURS, "bold") if mine else (TEXT, "normal")
        floor = 0.0 if group.floor is None else place(group.floor)
        # To the right of the line of the floor, where that would cross it.
        start = floor if length <= floor < length + LABEL else length
        parts.append(_text(left + start + 5, at + BAR - 3.5, label, colour, weight=weight))
    if group.floor is not None:
        x, bottom = left + place(group.floor), y + BAR * len(group.times)
        parts.append(
            f'<line x1="{x:.1f}" y1="{y:.1f}" x2="{x:.1f}" y2="{bottom:.1f}" stroke="{FLOOR}" '
            f'stroke-width="1.5" stroke-dasharray="3 2"/>'
        )
    return parts


def _text(
    x: float,
    y: float,
    content: str,
    colour: str,
    anchor: str = "start",
    weight: str = "normal",
    size: float = 10,
) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size:g}" font-weight="{weight}" fill="{colour}" '
        f'text-anchor="{anchor}">{escape(content)}</text>'
    )


def _document(height: float, caption: str, parts: Sequence[str]) -> str:
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:.0f}" width="{WIDTH}" '
        f'height="{height:.0f}" font-family="Helvetica, Arial, sans-serif">',
        f'<rect width="{WIDTH}" height="{height:.0f}" fill="#ffffff"/>',
        _text(MARGIN, 24, caption, TEXT, size=12.5),
        *parts,
        "</svg>",
    ]
    return "\n".join(lines) + "\n"
