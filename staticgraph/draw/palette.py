"""Appearance of drawings: shapes and colours, and the legend that explains them.

Kinds differ in shape or outline too, not in colour alone, so that a print without colour can be read.
The hues are blue, orange, green and purple of about equal lightness, which are told apart with any
colour vision. A picture has colours on light and on dark ground.
"""

from __future__ import annotations

import colorsys
from collections.abc import Iterator

from staticgraph.compiler.support.dataclass import dataclass
from staticgraph.draw.model import Drawing, Flow, Role, Work

FONT = "Helvetica,Arial,Liberation Sans,DejaVu Sans,Noto Sans,Segoe UI,sans-serif"  # the first that there is
INK, QUIET, LINE = "#1f2933", "#566270", "#7b8794"
ACCENT = "#b3440a"  # fetched, in place: what one looks for


@dataclass(frozen=True, slots=True)
class Look:
    """Shape and colours of a box, or of the area of a region."""

    shape: str
    fill: str
    stroke: str
    style: str = "filled"
    width: float = 1.0
    double: bool = False  # the outline


ROLES = {
    Role.INPUT: Look("box", "#d6e6f5", "#2b6397", "filled,rounded", 2.0),
    Role.VARIABLE: Look("cylinder", "#fbe3bd", "#9a6410"),
    Role.CONSTANT: Look("note", "#f3f4f6", "#8a94a0"),
    Role.OP: Look("box", "#ffffff", LINE),
    Role.RANDOM: Look("hexagon", "#e8def1", "#6d4591"),
    Role.ASSIGN: Look("box", "#fdf3e1", "#9a6410", double=True),
    Role.GRADIENTS: Look("octagon", "#d5eee3", "#1b7a58", "filled", 1.6),
    Role.CONTROL: Look("ellipse", "#ffffff", LINE, "filled,dashed"),
    Role.CARRIED: Look("box", "#e4f2f3", "#2f7f86", "filled,rounded", 1.4),
    Role.HIDDEN: Look("folder", "#e7eaee", "#5b6673"),
    Role.OPTIMIZER: Look("box", "#fdf3e1", "#9a6410", width=1.6, double=True),
    Role.STUB: Look("plaintext", "#ffffff", QUIET, ""),
    Role.REPEATS: Look("box3d", "#e7eaee", "#5b6673"),
}
WORKS = {
    Work.SCOPE: Look("box", "#f6f7f9", "#c3cad3", "filled,rounded"),
    Work.LOOPS: Look("box", "#e3eefa", "#7ba3cc", "filled,rounded"),
    Work.REDUCTION: Look("box", "#dff1e8", "#62a98a", "filled,rounded,dashed", 1.4),
    Work.PRODUCT: Look("box", "#fcebda", "#cc8f4b", "filled,rounded", 1.8),
    Work.HOST: Look("box", "#f0e6f5", "#9a78b5", "filled,rounded,dotted", 1.6),
    Work.EXCHANGE: Look("box", "#f7e8ee", "#b06a86", "filled,rounded,dotted", 1.6),
    Work.ROUNDS: Look("box", "#f2f9f9", "#2f7f86", "filled,rounded", 1.6),
    Work.BRANCH: Look("box", "#fbf7fd", "#8a6aa5", "filled,rounded,dashed", 1.4),
}
NESTED_SCOPE = "#eceff3"  # every second level of scopes
FLOWS = {
    Flow.DATA: {"color": LINE, "style": "solid"},
    Flow.CONTROL: {"color": "#9aa5b1", "style": "dashed", "arrowhead": "vee"},
    Flow.REFERENCE: {"color": "#c08a3a", "style": "dotted", "arrowhead": "none", "penwidth": "1.4"},
    Flow.NEXT: {"color": "#2f7f86", "style": "dashed", "constraint": "false"},
}
_ARROWS = {Flow.CONTROL: "╌╌▸", Flow.REFERENCE: "┄┄┄", Flow.NEXT: "╌╌▶"}


@dataclass(frozen=True, slots=True)
class LegendEntry:
    """A word, and a patch of colour or an arrow."""

    text: str
    fill: str = "#ffffff"
    stroke: str = QUIET
    width: float = 1
    arrow: str = ""


def entries(drawing: Drawing) -> Iterator[LegendEntry]:
    """Yield an entry for each kind of thing that occurs in a drawing and needs an explanation."""
    roles = {box.role for box in drawing.boxes}
    works = {drawing.region(b.path[: i + 1]).work for b in drawing.boxes for i in range(len(b.path))}
    works |= {b.work for b in drawing.boxes}
    for role, look in ROLES.items():
        if role in roles and role not in (Role.OP, Role.STUB):
            yield LegendEntry(role.value, look.fill, look.stroke, look.width)
    for work, look in WORKS.items():
        if work in works and work is not Work.SCOPE:
            yield LegendEntry(work.value, look.fill, look.stroke, look.width)
    if any(b.fetched for b in drawing.boxes):
        yield LegendEntry("fetched", "#ffffff", ACCENT, 2)
    flows = {link.flow for link in drawing.links}
    for flow, arrow in _ARROWS.items():
        if flow in flows:
            yield LegendEntry(flow.value, stroke=FLOWS[flow]["color"], arrow=arrow)


GROUND = "#ffffff"


class Colours:
    """The colours that a picture uses, each noted when it is asked for."""

    def __init__(self) -> None:
        self._fills: set[str] = set()
        self._lines: set[str] = set()

    def look(self, fill: str = "", line: str = "", **others: str) -> dict[str, str]:
        """Return the attributes of a shape with an area and an outline of these colours."""
        made, classes = {}, []
        if fill:
            self._fills.add(fill)
            made["fill"] = fill
            classes.append(f"sg-f{fill[1:]}")
        if line:
            self._lines.add(line)
            made["stroke"] = line
            classes.append(f"sg-l{line[1:]}")
        return {
            "class": " ".join(classes),
            **made,
            **{name.replace("_", "-"): text for name, text in others.items()},
        }

    def rim(self, ground: str) -> dict[str, str]:
        """Return the attributes of a rim around text, in the colour of the area that it is on."""
        self._fills.add(ground)
        return {"class": f"sg-r{ground[1:]}", "stroke": ground, "stroke-width": "3", "paint-order": "stroke"}

    def ink(self, colour: str) -> dict[str, str]:
        """Return the attributes of text, or of the head of an arrow, in the colour of a line."""
        self._lines.add(colour)
        return {"class": f"sg-i{colour[1:]}", "fill": colour}

    def sheet(self) -> str:
        """Return the style sheet for a dark page."""
        rules = []
        for fill in sorted(self._fills):
            dark = dark_fill(fill)
            rules.append(f".sg-f{fill[1:]}{{fill:{dark}}}.sg-r{fill[1:]}{{stroke:{dark}}}")
        for line in sorted(self._lines):
            dark = dark_line(line)
            rules.append(f".sg-l{line[1:]}{{stroke:{dark}}}.sg-i{line[1:]}{{fill:{dark}}}")
        return f"@media (prefers-color-scheme:dark){{{''.join(rules)}}}"


def dark_fill(colour: str) -> str:
    """Return the colour of an area on dark ground: of the same hue, darker the lighter it was.

    >>> dark_fill("#ffffff")
    '#1a1a1a'
    """
    hue, light, saturation = _parts(colour)
    return _colour(hue, 0.1 + 0.9 * (1 - light), 0.45 * saturation)


def dark_line(colour: str) -> str:
    """Return the colour of a line or of text on dark ground: of the same hue, lighter the darker it was.

    >>> dark_line("#000000")
    '#ffffff'
    """
    hue, light, saturation = _parts(colour)
    return _colour(hue, 1 - 0.62 * light, min(saturation, 0.75))


def contrast(a: str, b: str) -> float:
    """Return the ratio of contrast of two colours after WCAG 2: 21 for black on white, 1 for equal ones."""
    high, low = sorted((_luminance(a), _luminance(b)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def _luminance(colour: str) -> float:
    def linear(part: float) -> float:
        return part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4

    red, green, blue = map(linear, _rgb(colour))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _rgb(colour: str) -> tuple[float, float, float]:
    red, green, blue = bytes.fromhex(colour[1:])
    return red / 255, green / 255, blue / 255


def _parts(colour: str) -> tuple[float, float, float]:
    return colorsys.rgb_to_hls(*_rgb(colour))


def _colour(hue: float, light: float, saturation: float) -> str:
    return "#" + "".join(f"{round(255 * part):02x}" for part in colorsys.hls_to_rgb(hue, light, saturation))
