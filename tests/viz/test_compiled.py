"""Work of the compiler on a graph: optimized nodes, kernels with their members, updates in place."""

import re

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler.stages import NAMES
from staticgraph.draw.draw import STAGES
from staticgraph.draw.sample import drawn_stage
from staticgraph.runtime.fetches import Fetches
from tests.viz.graphs import layer, training


def clusters(dot: str) -> dict[str, str]:
    """The text of each kernel's area by its title, in whichever scope it is."""
    found = re.findall(r"\n(\t+)subgraph cluster_\w+ \{(.*?)\n\1\}", dot, re.DOTALL)
    areas = {re.search(r"label=<([^&]*)", text)[1]: text for _, text in found}
    inner = {title: text for area in areas.values() for title, text in clusters(area).items()}
    return {title: text for title, text in (areas | inner).items() if title.startswith("kernel")}


def test_one_kernel_holds_the_product_and_its_epilogue():
    picture = sg.visualize(layer(), stage="fused")
    assert list(clusters(picture.dot)) == ["kernel 1: matmul + add + relu"]
    inside = clusters(picture.dot)["kernel 1: matmul + add + relu"]
    assert re.findall(r"<b>(\w+)</b>", inside) == ["matmul", "add", "relu"]
    assert "fetched: layer/y:0" in inside


def test_every_stage_that_makes_a_function_or_a_fusion_is_drawn():
    x = sg.placeholder(sg.float32, [None, 300], name="x")
    w = sg.Variable(np.zeros((300, 40)), dtype=sg.float32, name="w")
    y = sg.nn.softmax(sg.tanh(sg.matmul(x, w) * 1.0), name="y")
    ops = {
        stage: re.findall(r"<b>(\w+)</b>", sg.visualize(y, stage=stage).dot)
        for stage in STAGES
        if stage == "optimized" or (stage in NAMES and not NAMES[stage].when)
    }
    assert ops["capture"] == ops["merge_loops"] == ops["loops"] and "softmax" in ops["capture"]
    assert "reduce_max" in ops["expand"] and "softmax" not in ops["expand"]
    assert ops["expand"].count("multiply") == ops["simplify"].count("multiply") + 1
    assert ops["defined"] == ops["optimized"]
    kernels = {stage: len(clusters(sg.visualize(y, stage=stage).dot)) for stage in ("fuse", "join", "fused")}
    assert kernels["fuse"] > kernels["join"] == kernels["fused"]


def test_stages_of_a_device_are_drawn_for_that_device():
    y = layer()
    with pytest.raises(
        ValueError, match=r"the stage 'attention' does not run here(.|\n)*it is for: on a GPU"
    ):
        sg.visualize(y, stage="attention")
    with sg.Session(device="standin") as session:
        picture = sg.visualize(y, stage="attention", session=session)
        assert list(clusters(picture.dot)) == ["kernel 1: matmul + add + relu"]
        with pytest.raises(ValueError, match="'fewer_products' does not run here"):
            sg.visualize(y, stage="fewer_products", session=session)


def test_optimized_has_no_kernels_and_what_folds_away_is_gone():
    x = sg.placeholder(sg.float32, [2], name="x")
    y = sg.tanh(x * 1.0 + sg.constant(2.0) * 3.0)
    dot = sg.visualize(y, stage="optimized").dot
    assert re.findall(r"<b>(\w+)</b>", dot) == ["x", "add", "tanh"]
    assert "y = all 6" in dot or "y = 6" in dot
    assert not clusters(dot)


def test_updates_in_place_are_marked():
    dot = sg.visualize(training(), stage="fused", opened=["GradientDescent"]).dot
    changed = [text for text in clusters(dot).values() if "in place" in text]
    assert {name for text in changed for name in re.findall(r"→ ([\w/]+)", text)} == {"layer/W", "layer/b"}


def test_unknown_sizes_are_assumed_and_said_or_given():
    y = layer()
    assumed = sg.visualize(y, stage="optimized").dot
    assert "unknown sizes taken as 32: x" in assumed and "32×64 f32" in assumed
    x = sg.get_default_graph().get_tensor_by_name("x:0")
    for given in ((7, 64), np.zeros((7, 64), np.float32)):
        dot = sg.visualize(y, stage="optimized", feeds={x: given}).dot
        assert "7×64 f32" in dot and "unknown sizes" not in dot


def test_a_shape_that_depends_on_a_value_needs_the_value():
    n = sg.placeholder(sg.int32, [2], name="n")
    y = sg.reshape(sg.constant(np.arange(6.0, dtype=np.float32)), n) * 2.0
    with pytest.raises(sg.errors.FeedError, match="depend on the value of n:0"):
        sg.visualize(y, stage="optimized")
    assert "3×2 f32" in sg.visualize(y, stage="fused", feeds={n: np.array([3, 2], np.int32)}).dot


def test_a_shape_that_does_not_fit_names_the_placeholder():
    y = layer()
    with pytest.raises(sg.errors.FeedError, match=r"feeds\[x:0\] is \[7, 65\], and x:0 is float32\[\?, 64\]"):
        sg.visualize(y, stage="fused", feeds={"x:0": (7, 65)})


def test_a_whole_graph_cannot_be_compiled():
    layer()
    with pytest.raises(ValueError, match="pass what you would fetch"):
        sg.visualize(sg.get_default_graph(), stage="fused")
    with pytest.raises(ValueError, match="stage is one of 'user', 'optimized', 'fused'"):
        sg.visualize(sg.get_default_graph(), stage="final")


def perceptron() -> list:
    x = sg.placeholder(sg.float32, [32, 64], name="x")
    y = sg.placeholder(sg.float32, [32, 10], name="y")
    for i in range(4):
        with sg.variable_scope(f"block{i}"):
            x = x + sg.layers.dense(x, 64, activation=sg.nn.relu, name="up")
    loss = sg.losses.mean_squared_error(y, sg.layers.dense(x, 10, name="head"))
    return [loss, sg.train.AdamOptimizer(0.002).minimize(loss)]


@pytest.mark.parametrize("stage", ["optimized", "fused"])
def test_a_step_has_the_scopes_of_the_graph_with_the_training_beside_them(stage):
    fetches = perceptron()
    dot = sg.visualize(fetches, stage=stage).dot
    titles = set(re.findall(r"<b>([^<]*)</b>", dot)) | set(re.findall(r"label=<([^&<]*)", dot))
    assert {"Adam", "gradients", "head"} <= titles
    assert any(title.startswith("block") and "×" in title for title in titles)
    assert not [title for title in titles if "/Adam" in title]  # what Adam keeps is in its box
    assert "reads" in dot
    opened = sg.visualize(fetches, stage=stage, opened=["Adam", "gradients"]).dot
    assert "reads" not in opened


def test_a_gradient_that_is_fetched_is_shown_from_inside():
    x = sg.placeholder(sg.float32, [3], name="x")
    dot = sg.visualize(sg.gradients(sg.tanh(x), x)[0], stage="fused").dot
    assert clusters(dot)


def test_derivatives_that_the_compiler_takes_are_no_part_of_the_model():
    x = sg.placeholder(sg.float32, [32, 64], name="x")
    with sg.variable_scope("body"):
        y = sg.reduce_sum(sg.nn.log_softmax(sg.layers.dense(x, 10)))
    [g] = sg.gradients(y, sg.trainable_variables()[:1])
    drawing = optimized_of([y, g])
    scopes = {box.path[0] for box in drawing.boxes if box.path}
    assert scopes == {"body", "gradients"}
    inside = [box.title for box in drawing.boxes if box.path[:1] == ("body",)]
    assert inside.count("matmul") == 1


def optimized_of(fetches):
    graph = fetches[0].graph
    x = graph.get_tensor_by_name("x:0")
    return drawn_stage(graph, Fetches(graph, fetches), "optimized", {x: x.shape.as_list()}, None)


@pytest.mark.parametrize(
    ("stage", "told"), [("fusd", "did you mean 'fused'"), (None, "stage is one of"), (3, "stage is one of")]
)
def test_a_stage_that_there_is_not(stage, told):
    with pytest.raises(ValueError, match=f"no stage {stage!r}(.|\n)*{told}"):
        sg.visualize(sg.exp(sg.placeholder(sg.float32, [2])), stage=stage)
