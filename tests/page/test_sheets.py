"""A drawing as nested sheets: nothing is lost, nothing is too large, and borders have ports."""

import pytest

import staticgraph as sg
from staticgraph.draw.page.sheets import FEW, MOST, PORTS, WIDE, opened, place, sheets_of
from tests.viz.graphs import chain, drawn, layer, tangle, training


def leaves(sheets):
    return [box for sheet in sheets for box in sheet.boxes if box.key not in sheet.scopes]


def test_a_scope_is_a_sheet_whose_ports_are_what_is_around_it():
    outer, inner = sheets_of(drawn(layer()))
    assert [box.title for box in outer.boxes] == ["x", "layer"]
    assert [box.title for box in inner.boxes] == ["W", "MatMul", "b", "add", "y"]
    (port,) = inner.ports
    assert (port.title, port.is_input, port.target) == ("x", True, outer.boxes[0].key)
    (link,) = outer.links
    assert [link.source, link.target] == outer.keys


def test_all_boxes_are_on_one_sheet_each():
    for drawing in (drawn(*training()), drawn(tangle(400)), drawn(chain(2000))):
        boxes = [box.key for box in leaves(sheets_of(drawing))]
        assert sorted(boxes) == sorted(box.key for box in drawing.boxes)


@pytest.mark.takes_long
def test_no_sheet_is_too_large_however_long_the_row():
    sheets = sheets_of(drawn(tangle(5000)))
    assert max(len(sheet.boxes) for sheet in sheets) <= MOST
    assert max(sum(port.is_input for port in sheet.ports) for sheet in sheets) == PORTS
    assert max(sum(not port.is_input for port in sheet.ports) for sheet in sheets) <= PORTS
    assert any(port.title.endswith(" others") for sheet in sheets for port in sheet.ports)


def test_links_join_what_is_on_the_sheet_and_no_link_is_lost():
    drawing = drawn(tangle(300))
    sheets = sheets_of(drawing)
    for sheet in sheets:
        ends = {end for link in (*sheet.links, *sheet.implied) for end in (link.source, link.target)}
        assert ends <= set(sheet.keys)
    home = {box.key: i for i, sheet in enumerate(sheets) for box in sheet.boxes}
    for link in drawing.links:
        if home[link.source] == home[link.target]:
            sheet = sheets[home[link.source]]
            assert any(
                (at.source, at.target) == (link.source, link.target) for at in (*sheet.links, *sheet.implied)
            )


def test_links_are_left_out_only_where_others_lead_the_same_way():
    sheets = sheets_of(drawn(tangle(300)))
    assert any(sheet.implied for sheet in sheets)
    for sheet in sheets:
        assert not sheet.implied or len(sheet.keys) > FEW
        following = {}
        for link in sheet.links:
            following.setdefault(link.source, []).append(link.target)
        for link in sheet.implied:
            reached, stack = set(), [link.source]
            while stack:
                for key in following.get(stack.pop(), ()):
                    if key not in reached:
                        reached.add(key)
                        stack.append(key)
            assert link.target in reached


def test_variables_are_on_the_sheet_of_what_uses_them_first():
    variables = [sg.Variable([1.0, 2.0], name=f"v{i}") for i in range(100)]
    y = sg.placeholder(sg.float32, [2], name="x")
    for i, variable in enumerate(variables):
        y = (sg.tanh if i % 3 else sg.exp)(y * variable)
    sheets = sheets_of(drawn(y))
    home = {box.title: i for i, sheet in enumerate(sheets) for box in sheet.boxes}
    together = sum(home[f"v{i}"] == home["mul" if i == 0 else f"mul_{i}"] for i in range(100))
    assert together > 90


def test_little_is_open_at_first_and_outer_sheets_come_first():
    sheets = sheets_of(drawn(tangle(3000)))
    shown = opened(sheets, [100] * len(sheets))
    assert opened(sheets, [WIDE + 1] * len(sheets)) == [0]
    assert shown[0] == 0 and len(shown) < len(sheets)
    below = {number for at in shown for _, number in sheets[at].scopes.values()}
    assert set(shown[1:]) <= below


def test_boxes_do_not_lie_on_each_other_and_arrows_end_at_them():
    for sheet, placed in zip(sheets := sheets_of(drawn(tangle(200))), place(sheets), strict=True):
        edges = [
            (p.x - p.width / 2, p.y - p.height / 2, p.x + p.width / 2, p.y + p.height / 2)
            for p in placed.places
        ]
        for i, (left, top, right, bottom) in enumerate(edges):
            assert left >= -1 and top >= -1 and right <= placed.width + 1 and bottom <= placed.height + 1
            for other in edges[:i]:
                apart = other[0] >= right or other[2] <= left or other[1] >= bottom or other[3] <= top
                assert apart, (sheet.keys[i], other)
        for link, route in zip(sheet.links, placed.routes, strict=True):
            assert len(route.points) % 6 == 2  # a point, and three for each curve
            start = placed.places[sheet.keys.index(link.source)]
            assert abs(route.points[0] - start.x) <= start.width / 2 + 2
            assert abs(route.points[1] - start.y) <= start.height / 2 + 2


def test_boxes_with_nothing_between_them_are_laid_out_in_rows():
    made = [sg.placeholder(sg.float32, [2], name=f"x{i}") for i in range(9)]
    (placed,) = place(sheets_of(drawn(*made)))
    assert len({p.y for p in placed.places}) == 2
