"""Appearance of drawings: shapes and colours, and the legend that explains them.

Kinds differ in shape or outline too, not in colour alone, so that a print without colour can be read.
The hues are blue, orange, green and purple of about equal lightness, which are told apart with any
colour vision.
"""

from __future__ import annotations

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
