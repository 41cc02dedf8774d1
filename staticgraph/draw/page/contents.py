"""Contents of a page as plain data: stages with their sheets laid out, kernels, memory."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from staticgraph.compiler.compile import Compiled
from staticgraph.compiler.compiled_step import CompiledStep
from staticgraph.compiler.graph.function import Literal
from staticgraph.compiler.graph.tensor import Operation
from staticgraph.compiler.lower.program import HostCall, Launch
from staticgraph.compiler.stages import STAGES
from staticgraph.draw.layout.model import Layout, Place
from staticgraph.draw.model import Box, Drawing, Link, Path, Role, Work
from staticgraph.draw.page.kernels import KernelFacts, kernel_facts, named
from staticgraph.draw.page.sheets import PORT, TITLE, Port, Sheet, opened, place, sheets_of
from staticgraph.draw.page.stages import Compilation, Stage
from staticgraph.draw.page.timeline import live_bytes, timeline
from staticgraph.draw.wording import attribute_lines, shorten, type_text
from staticgraph.runtime.reports.stage_log import StageLog

Data = dict[str, Any]
Texts = dict[str, int]  # numbers for texts that are compared, and not shown
_TYPED = (Role.INPUT, Role.VARIABLE, Role.CONSTANT, Role.CARRIED, Role.GRADIENTS)  # they say more already


def contents(
    title: str,
    stages: Sequence[Stage],
    compilation: Compilation | None,
    profile: Mapping[str, float],
    programs: Sequence[Data] = (),
) -> Data:
    """Everything that the page of `stages` shows. `programs`: see `programs_of`."""
    texts: Texts = {}
    compiled = None if compilation is None else compilation.step
    kernels = kernel_facts(compiled, profile) if compiled is not None else []
    return {
        "title": title,
        "stages": [_stage(stage, kernels, texts) for stage in stages],
        "kernels": [kernel.as_data() for kernel in kernels],
        "code": {each.name: each.text for kernel in kernels for each in kernel.view.listings},
        "language": "LLVM" if isinstance(compiled, Compiled) else "CUDA C",
        "memory": None if compiled is None else _memory(compiled, kernels),
        "programs": [*programs],
        "compile": [] if compilation is None else _compile(compilation.log),
        "roles": {role.name: role.value for role in Role},
        "works": {work.name: work.value for work in Work},
    }


def _compile(log: StageLog) -> list[Data]:
    """Every stage of the compiler and its effect; no time, so that a graph has one page."""
    return [
        {
            "name": stage.name,
            "about": f"{stage.about} ({stage.when})" if stage.when else stage.about,
            "changed": bool(run.changed),
            "effect": run.effect,
        }
        for stage, run in zip(STAGES, log, strict=True)
    ]


def _stage(stage: Stage, kernels: Sequence[KernelFacts], texts: Texts) -> Data:
    drawing, names = named(stage.drawing, kernels)
    sheets = sheets_of(_typed(drawing))
    layout = place(sheets)
    around = {child: sheet for sheet in sheets for _, child in sheet.scopes.values()}
    return {
        "name": stage.name,
        "about": stage.about,
        "notes": drawing.notes,
        "opened": opened(sheets, [placed.width for placed in layout]),
        "sheets": [
            _sheet(sheet, placed, around.get(i), names, texts)
            for i, (sheet, placed) in enumerate(zip(sheets, layout, strict=True))
        ],
    }


def _typed(drawing: Drawing) -> Drawing:
    """The drawing with types in its boxes: the arrows of a sheet have no text."""

    def typed(box: Box) -> Box:
        outputs = () if box.of is None or box.role in _TYPED else box.of.outputs
        return replace(box, lines=(*box.lines, *(type_text(v.type) for v in outputs[:1])))

    return replace(drawing, boxes=tuple(map(typed, drawing.boxes)))


def _sheet(
    sheet: Sheet, placed: Layout, around: Sheet | None, names: Mapping[Path, str], texts: Texts
) -> Data:
    number = {key: i for i, key in enumerate(sheet.keys)}
    arrows = zip(sheet.links, placed.routes, strict=True)
    boxes = zip(sheet.boxes, placed.places, strict=False)
    ports = zip(sheet.ports, placed.places[len(sheet.boxes) :], strict=True)
    return {
        "size": [placed.width, placed.height],
        "boxes": [_box(box, at, sheet, names, texts) for box, at in boxes],
        "ports": [_port(port, at, [] if around is None else around.keys) for port, at in ports],
        "links": [_link(link, number) | {"route": route.points} for link, route in arrows],
        "implied": [_link(link, number) for link in sheet.implied],
    }


def _port(port: Port, place: Place, around: Sequence[str]) -> Data:
    found: Data = {"at": _at(place), "title": shorten(port.title, PORT), "tip": port.title}
    if port.target in around:
        found["leads"] = around.index(port.target)  # to a box or port of the sheet around this one
    return found


def _at(place: Place) -> list[int]:
    return [place.x, place.y, place.width, place.height]


def _box(box: Box, place: Place, sheet: Sheet, names: Mapping[Path, str], texts: Texts) -> Data:
    found: Data = {
        "at": _at(place),
        "title": shorten(box.title, TITLE),
        "lines": box.lines,
        "role": box.role.name,
        "work": box.work.name,
        "tip": box.tooltip,
        "place": box.place,
        "source": box.source,
    }
    if box.fetched:
        found["fetched"] = True
    if box.key in sheet.scopes:
        scope, found["inside"] = sheet.scopes[box.key]
        if scope.folded is None and (kernel := names.get(scope.path)):
            found["kernel"] = kernel
    elif box.of is not None:
        found["same"] = [texts.setdefault(text, len(texts)) for text in _identities(box)]
        # Two uses of one line of a function are two operations, each with a place of its own in the program.
        if box.of.where is not None:
            found["made"] = texts.setdefault(f"operation {id(box.of.where)}", len(texts))
    return found


def _identities(box: Box) -> tuple[str, str]:
    """Return two texts by which boxes of different stages that stand for the same thing are matched.

    The first text holds all that is known of an operation. The second holds its kind and its line,
    which is all that remains of an operation of the user's graph in the compiler's.
    """
    is_recorded = isinstance(box.of, Operation)
    if box.role in (Role.INPUT, Role.VARIABLE):  # one op in the graph, and another in the compiler
        same = f"{box.role.name}\0{box.of.name if is_recorded else box.title}"
        return same, same
    op = box.of.definition if is_recorded else box.of.op
    attrs = attribute_lines(op, box.of.attrs)
    literals = (v for v in box.of.attrs.values() if isinstance(v, Literal))
    data = [hashlib.blake2b(literal.data, digest_size=8).hexdigest() for literal in literals]
    name = box.title if op.name == "parameter" else ""
    whole = [op.name, name, *attrs, *data, *(str(v.type) for v in box.of.outputs), box.place]
    return "\0".join(whole), f"{op.name}\0{box.place}"


def _link(link: Link, number: Mapping[str, int]) -> Data:
    return {
        "from": number[link.source],
        "to": number[link.target],
        "flow": link.flow.name,
        "tip": link.tooltip,
        "text": link.text,
        "count": link.count,
    }


def _memory(compiled: CompiledStep, kernels: Sequence[KernelFacts]) -> Data:
    """The arena over the instructions of the step, and what else it needs as a table."""
    program = compiled.program
    outer = iter([kernel.view.name for kernel in kernels if not kernel.view.inside])
    steps = [
        next(outer) if isinstance(each, Launch | HostCall) else type(each).__name__.lower()
        for each in program.instructions
    ]
    blocks = timeline(program)
    return {
        "arena": program.arena,
        "steps": steps,
        "blocks": [[b.offset, b.size, b.first, b.last, b.text] for b in blocks],
        "live": live_bytes(blocks, len(steps)),
        "table": str(compiled.memory),
    }
