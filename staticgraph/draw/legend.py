"""The legend: an entry for each thing that occurs in a drawing, and for nothing else."""

from __future__ import annotations

from collections.abc import Iterator

from staticgraph.compiler.support.dataclass import dataclass
from staticgraph.draw.model import Drawing, Flow, Role, Work
from staticgraph.draw.palette import ACCENT, FLOWS, QUIET, ROLES, WORKS

_ARROWS = {Flow.CONTROL: "╌╌▸", Flow.REFERENCE: "┄┄┄", Flow.NEXT: "╌╌▶"}


@dataclass(frozen=True, slots=True)
class Entry:
    """A word, and a patch of colour or an arrow."""

    text: str
    fill: str = "#ffffff"
    stroke: str = QUIET
    width: float = 1
    arrow: str = ""


def entries(drawing: Drawing) -> Iterator[Entry]:
    """Yield an entry for each kind of thing that occurs in a drawing and needs an explanation."""
    roles = {box.role for box in drawing.boxes}
    works = {drawing.region(b.path[: i + 1]).work for b in drawing.boxes for i in range(len(b.path))}
    works |= {b.work for b in drawing.boxes}
    for role, look in ROLES.items():
        if role in roles and role not in (Role.OP, Role.STUB):
            yield Entry(role.value, look.fill, look.stroke, look.width)
    for work, look in WORKS.items():
        if work in works and work is not Work.SCOPE:
            yield Entry(work.value, look.fill, look.stroke, look.width)
    if any(b.fetched for b in drawing.boxes):
        yield Entry("fetched", "#ffffff", ACCENT, 2)
    flows = {link.flow for link in drawing.links}
    for flow, arrow in _ARROWS.items():
        if flow in flows:
            yield Entry(flow.value, stroke=FLOWS[flow]["color"], arrow=arrow)
