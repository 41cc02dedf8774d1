"""Loops and branches are areas, with what is carried and what is captured visibly connected."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler.compile import optimize
from staticgraph.draw.compiled import fused, optimized, scopes_of
from staticgraph.draw.fold import fold
from staticgraph.draw.model import Drawing, Flow, Role, Work
from staticgraph.draw.palette import entries
from tests.passes.steps import step_of
from tests.viz.graphs import by_title, drawn


def powers() -> tuple[sg.Tensor, sg.Tensor]:
    """x * a * a * ... as a loop that captures `a`."""
    x, a = (sg.placeholder(sg.float32, [3], name=name) for name in "xa")
    return sg.while_loop(lambda i, y: i < 5, lambda i, y: (i + 1, sg.multiply(y, a, name="by")), [0, x])[1], a


def arrows(drawing: Drawing, *flows: Flow) -> set[tuple[str, ...]]:
    """Links of these kinds by the names of what they connect."""
    titles = {box.key: box.title for box in drawing.boxes}
    return {
        (titles[link.source], titles[link.target], link.text) for link in drawing.links if link.flow in flows
    }


def areas(drawing: Drawing) -> dict[str, list[str]]:
    """The titles of the areas around each box."""
    return {
        box.title: [drawing.region(box.path[: i + 1]).title for i in range(len(box.path))]
        for box in drawing.boxes
    }


def test_a_loop_is_an_area_with_one_box_for_each_carried_value():
    drawing = drawn(powers()[0])
    around = ["while", "while: rounds"]
    assert areas(drawing) == {
        "x": [],
        "a": [],
        "Identity": around,
        "Identity_1": around,
        "Less": around,
        "add": around,
        "by": around,
        "While": ["while"],
        "Exit_1": ["while"],
    }
    boxes = by_title(drawing)
    assert boxes["Identity"].role is Role.CARRIED and boxes["Identity"].lines == ("i32", "from 0")
    assert boxes["Identity_1"].lines == ("3 f32",)
    assert boxes["While"].lines == ()


def test_arrows_enter_a_loop_leave_it_and_go_round():
    drawing = drawn(powers()[0])
    assert arrows(drawing, Flow.DATA) == {
        ("x", "Identity_1", "3 f32"),
        ("a", "by", "3 f32"),
        ("Identity_1", "by", "3 f32"),
        ("Identity", "Less", "i32"),
        ("Identity", "add", "i32"),
        ("Less", "While", "condition"),
        ("add", "While", "i32"),
        ("by", "While", "3 f32"),
        ("While", "Exit_1", "3 f32"),
    }
    assert arrows(drawing, Flow.NEXT) == {("add", "Identity", ""), ("by", "Identity_1", "")}


def test_each_branch_is_an_area_and_gives_to_the_operation():
    x, p = sg.placeholder(sg.float32, [3], name="x"), sg.placeholder(sg.bool, [], name="p")
    drawing = drawn(sg.cond(p, lambda: sg.exp(x), lambda: sg.constant(np.zeros(3, np.float32))) + 1.0)
    assert areas(drawing) == {
        "x": [],
        "p": [],
        "add": [],
        "Exp": ["cond", "cond: true"],
        "Const": ["cond", "cond: false"],
        "If": ["cond"],
    }
    assert arrows(drawing, Flow.DATA) == {
        ("x", "Exp", "3 f32"),
        ("Exp", "If", "3 f32"),
        ("Const", "If", "3 f32"),
        ("p", "If", "condition"),
        ("If", "add", "3 f32"),
    }


def test_a_branch_may_give_what_is_around_it():
    x, i = sg.placeholder(sg.float32, [3], name="x"), sg.placeholder(sg.int32, [], name="i")
    y = sg.switch_case(i, [lambda: x, lambda: -x, lambda: sg.exp(x)])
    drawing = drawn(y)
    assert ("x", "If", "3 f32") in arrows(drawing, Flow.DATA)
    assert areas(drawing)["Exp"] == ["switch_case", "branch 2"]


def test_loops_nest_and_scopes_in_them_stay():
    x = sg.placeholder(sg.float32, [3], name="x")

    def body(y: Any) -> Any:
        with sg.name_scope("part"):
            return sg.while_loop(lambda z: sg.reduce_sum(z) < 9, lambda z: sg.exp(sg.tanh(z)), [y])

    drawing = drawn(sg.while_loop(lambda y: sg.reduce_sum(y) < 99, body, [x]))
    outer = ["while", "while: rounds", "part", "while"]
    assert areas(drawing)["Tanh"] == [*outer, "while: rounds"]


def test_a_closed_loop_is_one_box():
    folded = fold(drawn(powers()[0]), most=None, depth=1)
    (box,) = [box for box in folded.boxes if box.work is Work.ROUNDS]
    assert (box.title, box.lines) == ("while: rounds", ("Less, Identity, …, by",))
    assert not any(link.flow is Flow.NEXT for link in folded.links)
    assert arrows(folded, Flow.DATA) >= {
        ("x", "while: rounds", "3 f32"),
        ("while: rounds", "While", "3 tensors"),
    }


def test_the_whole_graph_has_them_too():
    powers()
    dot = sg.visualize(sg.get_default_graph()).dot
    assert "while: rounds" in dot and "Identity_1" in dot


def compiled(stage: str, fetch: sg.Tensor) -> Drawing:
    """The drawing of a stage for placeholders of known shapes."""
    inputs = [op.outputs[0] for op in fetch.graph.get_operations() if op.type == "Placeholder"]
    step = step_of([fetch], {t: np.ones(t.shape.as_list()) for t in inputs})
    fusion = optimize(step.function)
    scopes = scopes_of(sg.get_default_graph())
    if stage == "fused":
        return fused(step, fusion, ["y"], scopes)
    return optimized(step, fusion.function, ["y"], scopes)


def test_a_compiled_loop_tells_its_rounds_and_links_what_it_captures():
    drawing = compiled("optimized", powers()[0])
    inside = ["loop: rounds"]
    shown = [(box.title, box.lines, areas(drawing)[box.title]) for box in drawing.boxes]
    assert shown == [
        ("x", ("3 f32",), []),
        ("a", ("3 f32",), []),
        ("carried", ("i32", "from 0"), inside),
        ("add", ("y = 1",), inside),
        ("less", ("y = 5",), inside),
        ("carried", ("3 f32",), inside),
        ("multiply", (), inside),
        ("loop", ("5 rounds", "fetched: y"), []),
    ]
    assert arrows(drawing, Flow.DATA) == {
        ("x", "carried", "3 f32"),
        ("a", "multiply", "3 f32"),
        ("carried", "multiply", "3 f32"),
        ("carried", "add", "i32"),
        ("add", "less", "i32"),
        ("less", "loop", "condition"),
        ("add", "loop", "i32"),
        ("multiply", "loop", "3 f32"),
    }
    assert arrows(drawing, Flow.NEXT) == {("add", "carried", ""), ("multiply", "carried", "")}


def test_a_fused_loop_has_its_kernels_inside():
    drawing = compiled("fused", powers()[0])
    around = areas(drawing)
    assert around["multiply"][0] == around["add"][0] == "loop: rounds"
    assert around["multiply"][1].startswith("kernel ") and around["multiply"][1].endswith(": multiply")
    assert around["loop"] == []


def test_rows_that_need_no_kernel_are_params_of_the_loop():
    table = sg.placeholder(sg.float32, [5, 16], name="table")
    total = sg.while_loop(
        lambda i, s: i < 5, lambda i, s: (i + 1, s + sg.exp(sg.gather(table, i))), [0, sg.zeros([16])]
    )[1]
    fused_drawing, plain = compiled("fused", total), compiled("optimized", total)
    assert ("table", "row", "5×16 f32") in arrows(fused_drawing, Flow.DATA)
    assert "row" not in by_kind(plain) and "gather" not in by_kind(fused_drawing)


def by_kind(drawing: Drawing) -> set[str]:
    return {box.title for box in drawing.boxes}


@pytest.mark.parametrize("stage", ["optimized", "fused"])
def test_a_compiled_branch_in_a_loop(stage: str):
    x = sg.placeholder(sg.float32, [3], name="x")
    y = sg.while_loop(
        lambda y: sg.reduce_sum(y) < 9,
        lambda y: sg.cond(y[0] > 0, lambda: sg.sin(y) * x, lambda: sg.cos(y) * x),
        [x],
    )
    drawing = compiled(stage, y)
    around = areas(drawing)
    assert around["sin"][:2] == ["loop: rounds", "branch 0"] and around["cos"][:2] == [
        "loop: rounds",
        "branch 1",
    ]
    assert around["branch"] == ["loop: rounds"]
    twice = [box.key for box in drawing.boxes if box.title == "multiply"]
    assert len(twice) == len(set(twice)) == 2  # the same node where branches have it in common
    assert ("x", "multiply", "3 f32") in arrows(drawing, Flow.DATA)
    assert ("carried", "sin", "3 f32") in arrows(drawing, Flow.DATA)


@pytest.mark.parametrize("stage", ["optimized", "fused"])
def test_derivatives_and_random_numbers_in_loops(stage: str):
    x = sg.placeholder(sg.float32, [3], name="x")
    noisy = sg.while_loop(
        lambda i, y: i < 3, lambda i, y: (i + 1, y * sg.random_uniform([3], seed=1)), [0, x]
    )[1]
    dot = sg.visualize(sg.gradients(noisy, x)[0], stage=stage).dot
    assert len(re.findall("label=<loop: rounds", dot)) == 2 and "random (hexagon)" in dot


@pytest.mark.parametrize("stage", ["optimized", "fused"])
def test_a_loop_of_derivatives_is_in_the_box_of_gradients(stage: str):
    w = sg.Variable(np.eye(3, dtype=np.float32), name="w")
    x = sg.placeholder(sg.float32, [4, 2, 3], name="x")
    states = sg.scan(lambda h, e: sg.tanh(sg.matmul(h, w) + e), x, sg.zeros([2, 3]))
    loss = sg.reduce_sum(states)
    step = sg.train.GradientDescentOptimizer(0.1).minimize(loss)
    dot = sg.visualize([loss, step], stage=stage).dot
    assert len(re.findall(r"<b>loop</b>", dot)) == 1 and "<b>gradients</b>" in dot


def test_a_number_of_rounds_that_data_decide_is_assumed_and_said():
    x = sg.placeholder(sg.float32, [], name="x")
    y = sg.while_loop(lambda y: y < 9, lambda y: y * y, [x])
    dot = sg.visualize(sg.gradients(y, x)[0], stage="optimized").dot
    assert "rounds of which data decide the number taken as 32: while/While" in dot


def test_effects_have_the_names_of_their_operations():
    x = sg.placeholder(sg.float32, [], name="x")
    dot = sg.visualize(sg.Print(x, [x], name="show"), stage="fused").dot
    assert "<b>show</b>" in dot and "call of NumPy" in dot


def test_the_legend_explains_loops_where_there_are_some():
    texts = [e.text for e in entries(drawn(powers()[0]))]
    assert {"carried by a loop", "rounds of a loop", "in the next round"} <= set(texts)
    assert "branch" not in texts
