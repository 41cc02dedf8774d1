"""Large graphs become small pictures that still say what is in them."""

import pytest

import staticgraph as sg
from staticgraph.draw.fold import fold
from staticgraph.draw.model import Role
from tests.viz.graphs import arrows, by_title, chain, drawn, layer, tangle

pytestmark = pytest.mark.takes_long


def layers(count: int) -> sg.Tensor:
    h = sg.placeholder(sg.float32, [None, 8], name="x")
    for _ in range(count):
        h = sg.layers.dense(h, 8, activation=sg.nn.relu)
    return h


def test_a_closed_scope_is_one_box_that_counts_what_is_in_it():
    folded = fold(drawn(layer()), most=None, depth=0)
    assert by_title(folded)["layer"].lines == ("3 ops, 2 variables",)
    assert arrows(folded) == {("x", "layer", "?×64 f32")}


def test_links_between_the_same_boxes_are_one_link_that_counts_them():
    x = sg.placeholder(sg.float32, [3], name="x")
    with sg.name_scope("left"):
        a, b = sg.exp(x), sg.tanh(x)
    with sg.name_scope("right"):
        y = sg.add(a, b) * a
    folded = fold(drawn(y), most=None, depth=0)
    assert arrows(folded) == {("x", "left", "3 f32"), ("left", "right", "2 × 3 f32")}


def test_scopes_nest_and_a_scope_around_one_thing_is_left_out():
    x = sg.placeholder(sg.float32, [3], name="x")
    with sg.name_scope("outer"):
        with sg.name_scope("inner"):
            y = sg.exp(sg.tanh(x))
        with sg.name_scope("single"):
            y = sg.negative(y)
    folded = fold(drawn(y), most=100)
    depths = {
        box.title: [folded.region(box.path[: i + 1]).title for i in range(len(box.path))]
        for box in folded.boxes
    }
    assert depths == {"x": [], "Tanh": ["outer", "inner"], "Exp": ["outer", "inner"], "single/Neg": ["outer"]}


def test_long_repetitions_of_scopes_show_the_first_two_rounds_and_the_last():
    folded = fold(drawn(layers(50)), most=100)
    (repeated,) = [box for box in folded.boxes if box.role is Role.REPEATS]
    assert repeated.title == "dense_2 … dense_48"
    assert repeated.lines == ("47 × (3 ops, 2 variables)", "141 ops, 94 variables")
    shown = {folded.region(box.path).title for box in folded.boxes if box.path}
    assert shown == {"dense", "dense_1", "dense_49"}


def test_repetitions_without_scopes_are_found_too():
    folded = fold(drawn(chain(5000)), most=100)
    titles = [box.title for box in folded.boxes]
    assert titles == ["x", "Tanh", "Exp", "Tanh_1", "Exp_1", "Tanh_2 … Exp_2498", "Tanh_2499", "Exp_2499"]
    assert folded.boxes[5].lines == ("2,497 × (Tanh, Exp)", "4,994 ops")


def test_rows_that_do_not_repeat_are_cut_into_runs_with_arrows_pointing_forwards():
    folded = fold(drawn(tangle(1000)), most=100)
    assert 10 <= len(folded.boxes) <= 24
    order = {box.key: i for i, box in enumerate(folded.boxes)}
    assert all(order[link.source] < order[link.target] for link in folded.links)
    counts = [int(box.lines[0].partition(" ")[0]) for box in folded.boxes if box.lines[0].endswith("ops")]
    assert sum(counts) == len(drawn(tangle_again()).boxes)


def tangle_again() -> sg.Tensor:
    return sg.get_default_graph().get_operations()[-1].outputs[0]


def test_operations_of_one_line_fold_to_that_line():
    y = sg.placeholder(sg.float32, [4], name="x")
    for f in (sg.exp, sg.tanh, sg.sin, sg.cos, sg.sqrt):
        y = f(f(f(y)) + f(y) * f(y) - f(y) / f(y))  # eleven operations
        y = sg.negative(y)
    folded = fold(drawn(y), most=20)
    lines = [box for box in folded.boxes if box.role is Role.HIDDEN]
    assert len(lines) == 5 and all(box.title.startswith("test_fold.py:") for box in lines)
    assert {box.lines[-1] for box in lines} == {"11 ops"}
    assert "y = f(f(f(y))" in lines[0].lines[0]


def test_scopes_that_look_alike_are_opened_together_or_not_at_all():
    y = layers(6)
    closed, opened = fold(drawn(y), most=40), fold(drawn(y), most=100)
    assert sum(box.role is Role.HIDDEN for box in closed.boxes) == 6
    assert not any(box.role is Role.HIDDEN for box in opened.boxes)


@pytest.mark.by_turns("make")
@pytest.mark.parametrize("make", [chain, tangle])
@pytest.mark.parametrize("stage", ["user", "optimized", "fused"])
def test_five_thousand_nodes_make_few_boxes(make, stage):
    picture = sg.visualize(make(5000), stage=stage)
    assert picture.boxes <= 100
    assert len(picture.svg) < 200_000
