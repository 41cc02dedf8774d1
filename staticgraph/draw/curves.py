"""Curves of numbers over steps or epochs as SVG: one panel for each quantity, one line for each series."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from xml.sax.saxutils import escape

from staticgraph.compiler.graph.errors import misuse
from staticgraph.draw.picture import write
from staticgraph.draw.wording import printable

_WIDTH, _HEIGHT = 360, 240  # of a panel
_LEFT, _RIGHT, _TOP, _BOTTOM = 56, 14, 34, 34
_COLOURS = ("#2b6397", "#b3440a", "#1b7a58", "#6d4591", "#9a6410")

_Scale = Callable[[float], float]

_STYLE = """\
.curves text { font: 11px Helvetica, Arial, sans-serif; fill: #1f2933 }
.curves .name { font-size: 13px; font-weight: 600 }
.curves .grid { stroke: #dde2e8 }
.curves .line { fill: none; stroke-width: 1.8; stroke-linejoin: round }
@media (prefers-color-scheme: dark) {
  .curves text { fill: #d5dbe3 } .curves .grid { stroke: #3a424d }
}"""


class Curves:
    """A picture of series of numbers. Notebooks show it.

    Args:
        panels: For each panel, by its title, the series in it by name.
        along: What the numbers are counted by, such as "epoch".

    >>> Curves({"loss": {"loss": [3.0, 1.0], "val_loss": [3.5, 2.0]}}, "epoch")
    <Curves of loss>
    """

    def __init__(self, panels: Mapping[str, Mapping[str, Sequence[float]]], along: str) -> None:
        self._panels, self._along = panels, along

    @property
    def svg(self) -> str:
        """The picture as SVG text."""
        columns = min(len(self._panels), 3) or 1
        rows = math.ceil(len(self._panels) / columns) or 1
        size = f'width="{columns * _WIDTH}" height="{rows * _HEIGHT}"'
        parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" class="curves" {size} '
            f'viewBox="0 0 {columns * _WIDTH} {rows * _HEIGHT}" role="img">',
            f"<title>{escape(printable(', '.join(self._panels)))}</title><style>{_STYLE}</style>",
        ]
        for number, (title, series) in enumerate(self._panels.items()):
            row, column = divmod(number, columns)
            parts.append(f'<g transform="translate({column * _WIDTH} {row * _HEIGHT})">')
            parts += [*_panel(title, series, self._along), "</g>"]
        return "\n".join([*parts, "</svg>\n"])

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the picture to a file that ends with .svg. ValueError for another ending, SaveError if the
        file cannot be written.
        """
        target = Path(path)
        if target.suffix.lower() != ".svg":
            raise misuse(ValueError, f"curves are written as .svg, and the file is {target.name!r}")
        write("plot", target, self.svg.encode())

    def _repr_svg_(self) -> str:
        return self.svg

    def __repr__(self) -> str:
        return f"<Curves of {', '.join(self._panels) or 'nothing'}>"


def ticks(low: float, high: float, most: int = 5) -> list[float]:
    """Round numbers from `low` to `high`, at most `most` + 1 of them.

    >>> ticks(0.0, 1.0)
    [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
    >>> ticks(3.1, 3.4, 3)
    [3.1, 3.2, 3.3, 3.4]
    """
    rough = (high - low) / most
    scale = 10.0 ** math.floor(math.log10(rough))
    step = next(scale * factor for factor in (1, 2, 5, 10) if scale * factor >= rough * (1 - 1e-9))
    first = math.ceil(low / step - 1e-9)
    digits = max(0, -math.floor(math.log10(step) + 1e-9))
    return [round(n * step, digits) for n in range(first, math.floor(high / step + 1e-9) + 1)]


def _panel(title: str, series: Mapping[str, Sequence[float]], along: str) -> Iterator[str]:
    finite = [value for values in series.values() for value in values if math.isfinite(value)]
    low, high = (min(finite), max(finite)) if finite else (0.0, 1.0)
    if high - low <= 1e-12 * max(abs(high), abs(low), 1e-300):  # a constant is drawn in the middle
        low, high = low - (abs(low) or 1.0) / 2, high + (abs(high) or 1.0) / 2
    count = max(map(len, series.values()), default=1)

    def x(at: float) -> float:
        return round(_LEFT + (_WIDTH - _LEFT - _RIGHT) * (at - 1) / max(count - 1, 1), 1)

    def y(value: float) -> float:
        return round(_HEIGHT - _BOTTOM - (_HEIGHT - _TOP - _BOTTOM) * (value - low) / (high - low), 1)

    yield f'<text class="name" x="{_LEFT}" y="18">{escape(printable(title))}</text>'
    for value in ticks(low, high):
        yield f'<line class="grid" x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y(value)}" y2="{y(value)}"/>'
        yield f'<text x="{_LEFT - 6}" y="{y(value) + 4}" text-anchor="end">{value:g}</text>'
    for number in ticks(1, max(count, 2)):
        if number == int(number):
            yield f'<text x="{x(number)}" y="{_HEIGHT - 18}" text-anchor="middle">{int(number)}</text>'
    yield f'<text x="{_WIDTH - _RIGHT}" y="{_HEIGHT - 4}" text-anchor="end">{along}</text>'
    for position, (name, values) in enumerate(series.items()):
        yield from _line(name, values, _COLOURS[position % len(_COLOURS)], x, y)
    yield from _names(series)


def _line(name: str, values: Sequence[float], colour: str, x: _Scale, y: _Scale) -> Iterator[str]:
    """A line, with gaps where a value is not finite. One value alone is a dot."""
    told = escape(printable(f"{name}: {values[-1]:.6g} at the end")) if values else ""
    gaps = [at for at, value in enumerate(values) if not math.isfinite(value)]
    for start, end in zip([0, *(gap + 1 for gap in gaps)], [*gaps, len(values)], strict=True):
        points = [(x(at + 1), y(values[at])) for at in range(start, end)]
        if len(points) == 1:
            yield f'<circle cx="{points[0][0]}" cy="{points[0][1]}" r="2.5" fill="{colour}"/>'
        elif points:
            path = " ".join(f"{a},{b}" for a, b in points)
            yield f'<polyline class="line" stroke="{colour}" points="{path}"><title>{told}</title></polyline>'


def _names(series: Mapping[str, Sequence[float]]) -> Iterator[str]:
    """The names of several lines, in their colours, at the upper right."""
    if len(series) > 1:
        for position, name in enumerate(series):
            place = f'x="{_WIDTH - _RIGHT}" y="{_TOP - 4 + 13 * position}"'
            look = f"fill: {_COLOURS[position % len(_COLOURS)]}"
            yield f'<text {place} text-anchor="end" style="{look}">{escape(printable(name))}</text>'
