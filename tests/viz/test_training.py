"""Trainings in pictures of what the compiler made: one box beside the model, and no arrow back into it."""

import re

import networkx as nx
import numpy as np
import pytest

import staticgraph as sg
from staticgraph.draw.model import Drawing, Flow
from staticgraph.draw.outline.training import outlined_step
from staticgraph.draw.sample import drawn_stage
from staticgraph.runtime.fetches import Fetches

STAGES = ["optimized", "fused"]


def normalized(blocks: int = 2, training: bool = True) -> list:
    """Convolutions with batch normalization and their training, the running means included."""
    h = sg.placeholder(sg.float32, [8, 16, 16, 3], name="image")
    for number in range(blocks):
        with sg.variable_scope(f"block{number}"):
            h = sg.layers.conv2d(h, 4, 3, use_bias=False)
            h = sg.nn.relu(sg.layers.batch_normalization(h, training=training))
    loss = sg.reduce_mean(sg.square(h), name="loss")
    with sg.control_dependencies(sg.get_collection(sg.GraphKeys.UPDATE_OPS)):
        return [loss, sg.train.MomentumOptimizer(0.1, 0.9).minimize(loss)]


def step(fetches: list, stage: str, feeds: dict | None = None) -> Drawing:
    graph = sg.get_default_graph()
    drawing = drawn_stage(graph, Fetches(graph, fetches), stage, feeds or {}, None)
    return outlined_step(drawing, graph)


def ends(drawing: Drawing) -> set[tuple[str, str]]:
    """Titles of the boxes at both ends of each arrow."""
    titles = {box.key: box.title for box in drawing.boxes}
    return {(titles[link.source], titles[link.target]) for link in drawing.links}


@pytest.mark.parametrize("stage", STAGES)
def test_no_arrow_goes_from_the_gradients_back_into_the_model(stage):
    drawing = step(normalized(), stage)
    assert {target for source, target in ends(drawing) if source == "gradients"} == {"Momentum"}
    graph = nx.DiGraph([(link.source, link.target) for link in drawing.links if link.flow is Flow.DATA])
    assert nx.is_directed_acyclic_graph(graph)


@pytest.mark.parametrize("stage", STAGES)
def test_what_the_model_needs_of_its_gradients_is_in_the_scope_that_reads_it(stage):
    drawing = step(normalized(), stage)
    of_loss = {box.path[:1] for box in drawing.boxes if box.fetched}  # its kernel is in no scope
    assert {box.path[:1] for box in drawing.boxes} - of_loss <= {(), ("block0",), ("block1",)}
    kinds = [sorted(b.kind for b in drawing.boxes if b.path[:1] == (f"block{n}",)) for n in range(2)]
    assert stage == "fused" or kinds[0] == kinds[1]
    for box in drawing.boxes:  # each kernel keeps its area
        for depth in range(1, len(box.path) + 1):
            assert not box.path[depth - 1].startswith("kernel") or box.path[:depth] in drawing.regions


@pytest.mark.parametrize("stage", STAGES)
def test_each_box_has_an_arrow(stage):
    """A weight that only the training reads is one of those that it tells; an input has its arrow."""
    x = sg.placeholder(sg.float32, [8, 4], name="x")
    wanted = sg.placeholder(sg.float32, [8, 1], name="wanted")
    y = sg.layers.dense(sg.layers.dense(x, 3, activation=sg.tanh), 1)
    rate = sg.train.exponential_decay(0.1, sg.train.get_or_create_global_step(), 10, 0.9)
    loss = sg.losses.mean_squared_error(wanted, y)
    train = sg.train.AdamOptimizer(rate).minimize(loss, global_step=sg.train.get_global_step())
    drawing = step([y, train], stage)
    joined = {key for link in drawing.links for key in (link.source, link.target)}
    assert [box.title for box in drawing.boxes if box.key not in joined] == []
    assert {"x", "wanted"} <= {box.title for box in drawing.boxes}
    assert "gradients" in {source for source, target in ends(drawing) if target == "Adam"}


def test_what_is_done_to_gradients_has_arrows_to_the_optimizer():
    x = sg.placeholder(sg.float32, [8, 4], name="x")
    y = sg.layers.dense(sg.layers.dense(x, 3, activation=sg.tanh), 1)
    opt = sg.train.AdamOptimizer(0.1)
    pairs = opt.compute_gradients(sg.reduce_mean(sg.square(y)))
    drawing = step([opt.apply_gradients([(sg.tanh(g), v) for g, v in pairs])], "optimized")
    sources = {link.source for link in drawing.links}
    assert {box.title for box in drawing.boxes if box.key not in sources} == {"Adam"}


def test_gradients_that_are_used_elsewhere_are_drawn_before_what_uses_them():
    """A penalty of gradients: what the loss needs of them is outside of their box, so no way comes back."""
    x = sg.placeholder(sg.float32, [8, 4], name="x")
    y = sg.layers.dense(sg.layers.dense(x, 3, activation=sg.tanh), 1)
    [slope] = sg.gradients(y, x)
    loss = sg.reduce_mean(sg.square(y)) + sg.reduce_mean(sg.square(slope), name="penalty")
    drawing = step([loss, sg.train.AdamOptimizer().minimize(loss)], "optimized")
    graph = nx.DiGraph([(link.source, link.target) for link in drawing.links if link.flow is Flow.DATA])
    assert nx.is_directed_acyclic_graph(graph)


def test_a_folded_kernel_is_called_by_whole_words():
    x = sg.placeholder(sg.float32, [64, 64], name="x")
    outs = [
        sg.nn.softmax(sg.matmul(sg.tanh(x), sg.constant(np.eye(64, dtype="f") * k))) for k in range(1, 30)
    ]
    texts = sg.visualize(outs, stage="fused", max_nodes=40).svg
    shown = re.findall(r"<text[^>]*>kernel \d+(: [^<]*)</text>", texts)
    names = {"matmul", "sum", "max", "tanh", "divide", "exp", "subtract", "…", "multiply"}
    words = {word for text in shown for word in text.partition(": ")[2].split(" + ")}
    assert words and words <= names


@pytest.mark.parametrize("decided", [True, False])
def test_a_count_that_the_run_computes_is_assumed_or_asked_for(decided):
    """The length of what a loop wrote: any serves, unless another size must be the same."""
    n = sg.reduce_sum(sg.Variable([1, 2, 3]))
    count = sg.while_loop(lambda i: i < n, lambda i: i + 1, [sg.constant(0)], name="counting")
    y = sg.cast(sg.range(count), sg.float32)
    if not decided:
        y = y + sg.placeholder(sg.float32, [7], name="other")
        with pytest.raises(sg.errors.FeedError, match=r"pass feeds=.*a number"):
            sg.visualize(y, stage="optimized")
        picture = sg.visualize(y, stage="optimized", feeds={count: 7})
        assert "7 f32" in picture.svg
    else:
        assert "sizes that data decide taken as 32" in sg.visualize(y, stage="optimized").svg
