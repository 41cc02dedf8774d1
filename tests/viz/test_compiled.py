"""Work of the compiler on a graph: optimized nodes, kernels with their members, updates in place."""

import re

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler.stages import NAMES
from staticgraph.draw.draw import STAGES
from tests.viz.graphs import layer, training


def clusters(dot: str) -> dict[str, str]:
    """The text of each kernel's area by its title."""
    found = re.findall(r"subgraph cluster_0_\w+ \{(.*?)\n\t\t\}", dot, re.DOTALL)
    return {re.search(r"label=<([^&]*)", text)[1]: text for text in found}


def test_one_kernel_holds_the_product_and_its_epilogue():
    picture = sg.visualize(layer(), stage="fused")
    assert list(clusters(picture.dot)) == ["kernel 1: product"]
    inside = clusters(picture.dot)["kernel 1: product"]
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
        assert list(clusters(picture.dot)) == ["kernel 1: product"]
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
    dot = sg.visualize(training(), stage="fused").dot
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
