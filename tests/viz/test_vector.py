"""The SVG of a drawing: shapes, colours for light and dark, text that is as wide as it was measured."""

import itertools
import re
from xml.etree import ElementTree

import pytest

import staticgraph as sg
from staticgraph.draw.layout.model import Place, Route
from staticgraph.draw.model import Box, Drawing, Flow, Link, Region, Role, Work
from staticgraph.draw.palette import (
    ACCENT,
    FLOWS,
    GROUND,
    INK,
    NESTED_SCOPE,
    QUIET,
    ROLES,
    WORKS,
    contrast,
    dark_fill,
    dark_line,
)
from staticgraph.draw.picture import Picture
from staticgraph.draw.vector import heights, size_of, title_place
from staticgraph.draw.wording import text_width
from tests.viz.graphs import layer, training

SVG = "{http://www.w3.org/2000/svg}"
FILLS = {look.fill for look in (*ROLES.values(), *WORKS.values())} | {NESTED_SCOPE, GROUND}


def everything() -> Drawing:
    """A box of each role, an arrow of each kind, a region of each work."""
    boxes = [Box(role.name, (), role.value, role, n, ("a line",)) for n, role in enumerate(Role)]
    regions = {}
    for n, work in enumerate(Work, len(boxes)):
        boxes.append(Box(work.name, (work.name,), work.value, Role.OP, n))
        regions[(work.name,)] = Region(work.value, work)
    flows = itertools.cycle(Flow)
    links = [Link(a.key, b.key, "t", "4 f32", "tip", next(flows)) for a, b in itertools.pairwise(boxes)]
    return Drawing(tuple(boxes), tuple(links), "everything", regions)


@pytest.mark.parametrize("fill", sorted(FILLS))
def test_text_can_be_read_on_every_area_in_light_and_dark(fill):
    for ink, least in ((INK, 7), (QUIET, 4.5)):
        assert contrast(ink, fill) >= least
        assert contrast(dark_line(ink), dark_fill(fill)) >= least


def test_lines_stand_out_from_the_ground_in_light_and_dark():
    lines = {look.stroke for look in ROLES.values()} | {ACCENT} | {flow["color"] for flow in FLOWS.values()}
    for line in lines:
        assert contrast(line, GROUND) >= 2.4
        assert contrast(dark_line(line), dark_fill(GROUND)) >= 3


def test_contrast_is_that_of_wcag():
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)  # the example that is often given


def test_every_colour_of_a_picture_has_a_dark_one():
    root = ElementTree.fromstring(Picture(everything()).svg)
    sheet = root.findtext(f"{SVG}style")
    for element in root.iter():
        for name, mark in (("fill", "fi"), ("stroke", "lr")):
            colour = element.get(name)
            if colour and colour.startswith("#"):
                assert any(f".sg-{m}{colour[1:]}{{{name}:" in sheet for m in mark), (element.tag, colour)
                assert any(f"sg-{m}{colour[1:]}" in element.get("class") for m in mark)


def test_each_role_has_its_outline_and_every_box_holds_its_text():
    drawing = everything()
    root = ElementTree.fromstring(Picture(drawing).svg)
    nodes = [group for group in root.iter(f"{SVG}g") if group.get("class") == "node"]
    outlines = {}
    for box, node in zip(drawing.boxes, nodes, strict=True):
        shapes = [e for e in node if e.tag != f"{SVG}title" and e.tag != f"{SVG}text"]
        outlines[box.role] = tuple(
            (e.tag, len(e.get("points", "").split()), len(e.get("d", ""))) for e in shapes
        )
        width, _ = size_of(box)
        assert all(float(text.get("textLength")) < width for text in node.iter(f"{SVG}text"))
    alike = {Role.ASSIGN: Role.OPTIMIZER, Role.INPUT: Role.CARRIED}  # told apart by colour and line
    distinct = {role: found for role, found in outlines.items() if role not in alike}
    assert len(set(distinct.values())) >= len(distinct) - 2


def test_the_widths_of_text_are_those_of_helvetica():
    assert text_width("MatMul", 10) == pytest.approx(10 * (0.833 + 0.556 + 0.278 + 0.833 + 0.556 + 0.222))
    assert text_width("é", 10) < text_width("漢", 10) == 10
    assert text_width("e\u0301", 10) == text_width("e", 10)


def test_the_title_of_an_area_keeps_clear_of_arrows():
    area = Place(100, 50, 200, 100)

    def down(x):
        return Route((x, -20, x, 0, x, 20, x, 40))

    assert title_place(area, 50, {})[0] == 8
    assert title_place(area, 50, heights([down(30)]))[0] == 142
    assert 8 < title_place(area, 50, heights([down(30), down(160)]))[0] < 142
    assert title_place(area, 50, heights([down(30), down(160), down(100)]))[0] == 8  # and the text has a rim
    root = ElementTree.fromstring(sg.visualize(layer(), max_nodes=None).svg)
    rims = [text for text in root.iter(f"{SVG}text") if text.get("paint-order") == "stroke"]
    assert [text.text for text in rims] == ["layer"]


def test_an_arrow_of_each_kind():
    root = ElementTree.fromstring(Picture(everything()).svg)
    edges = [group for group in root.iter(f"{SVG}g") if group.get("class") == "edge"]
    dashes = {group.find(f"{SVG}path").get("stroke-dasharray") for group in edges}
    assert dashes == {None, "5,3", "1.5,3"}
    heads = {tuple(e.tag for e in group if e.tag in (f"{SVG}polygon", f"{SVG}polyline")) for group in edges}
    assert heads == {(), (f"{SVG}polygon",), (f"{SVG}polyline",)}


def test_the_picture_is_as_large_as_what_is_in_it():
    svg = sg.visualize(training(), title="A title that is much wider than the graph " * 3).svg
    width, height = map(float, re.search(r'viewBox="0 0 (\d+) (\d+)"', svg).groups())
    for text in ElementTree.fromstring(svg).iter(f"{SVG}text"):
        if text.get("text-anchor") == "start":
            assert 0 <= float(text.get("x")) + float(text.get("textLength")) <= width
        assert 0 <= float(text.get("y")) <= height


def test_a_png_has_text_and_is_sharp(tmp_path):
    image = pytest.importorskip("PIL.Image")
    sg.visualize(layer(), tmp_path / "net.png")
    made = image.open(tmp_path / "net.png")
    with_text = len(made.getcolors(1 << 20))
    svg = sg.visualize(layer()).svg
    width = float(re.search(r'viewBox="0 0 (\d+)', svg)[1])
    assert made.width == pytest.approx(2 * width * 96 / 72, abs=2)
    assert with_text > 100  # edges of letters have many shades
