"""Stacks and arrays of derivatives, in graphs that TensorFlow 1.15.5 wrote and in some that nobody would."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pytest

import staticgraph as sg
import staticgraph.compat.tf1 as tf
from staticgraph.formats.tf.graph_def.nodes import GraphDefError
from staticgraph.formats.tf.messages import GraphDef
from tests.graph_def import models, slopes
from tests.graph_def.test_models import DATA, check, graph_def, recorded

Change = Callable[[GraphDef], None]


def theirs(name: str) -> GraphDef:
    return graph_def(DATA / "tf" / f"{name}.pb")


def run(build: Callable[..., models.Model], given: GraphDef, prefix: str = "") -> list[np.ndarray]:
    """Return the model's fetches in that graph."""
    name = build.__name__
    with sg.Graph().as_default():
        told = build(tf)
    with np.load(DATA / "tf" / "names.npz") as names:
        model = models.renamed(told, [prefix + str(each) if each else "" for each in names[name]])
    model = model._replace(feeds={prefix + each: value for each, value in model.feeds.items()})
    with sg.Graph().as_default() as graph:
        sg.import_graph_def(given, name=prefix.rstrip("/"))
        return models.run(sg, graph, model)


@pytest.mark.parametrize("build", [slopes.loop_slopes, slopes.branch_slopes, slopes.mapped_slopes])
def test_below_a_scope_and_among_other_nodes(build: Callable[..., models.Model]):
    check(run(build, theirs(build.__name__), "inside/"), recorded(DATA / "tf" / f"{build.__name__}.npz"))


def test_the_first_form_of_their_types():
    """Graphs of TensorFlow 1.0 have them without a number."""
    given = theirs("drawn_slopes")
    for node in given.node:
        node.op = re.sub(r"^(Stack|StackPush|StackPop)V2$", r"\1", node.op)
        if node.op == "Stack":
            node.ClearField("input")
            del node.attr["stack_name"]
    assert {"Stack", "StackPush", "StackPop"} <= {node.op for node in given.node}
    check(run(slopes.drawn_slopes, given), recorded(DATA / "tf" / "drawn_slopes.npz"))


@pytest.mark.parametrize(
    ("name", "grows"), [("lstm_descent", False), ("both_ways_momentum", False), ("endless_slopes", True)]
)
def test_a_stack_has_a_row_for_each_round_where_their_number_is_clear(name: str, grows: bool):
    with sg.Graph().as_default() as graph:
        sg.import_graph_def(theirs(name), name="")
    assert any(op.definition.name == "tensor_array_grow" for op in graph.get_operations()) is grows


def test_nothing_is_left_of_the_first_attempt():
    with sg.Graph().as_default() as graph:
        sg.import_graph_def(theirs("lstm_descent"), name="")
        loops = [op for op in graph.get_operations() if op.definition.name == "while_region"]
        assert len(loops) == 2
        assert graph.get_operation_by_name("net/rnn/while/While")


def test_a_training_graph_goes_on_training():
    """As a script does that takes its graph from a file."""
    given = theirs("stacked_adam")
    with sg.Graph().as_default() as graph:
        told = slopes.stacked_adam(tf)
    with np.load(DATA / "tf" / "names.npz") as names:
        model = models.renamed(told, names["stacked_adam"])
    with sg.Graph().as_default() as graph, sg.Session() as sess:
        sg.import_graph_def(given, name="")
        feeds = {graph.get_tensor_by_name(name): value for name, value in model.feeds.items()}
        sess.run(graph.get_operation_by_name(model.init))
        for _ in range(model.steps):
            sess.run(graph.get_operation_by_name(model.step), feeds)
        wanted = recorded(DATA / "tf" / "stacked_adam.npz")[len(model.fetches) :]
        check(sess.run(model.fetches, feeds), wanted)


def without(type: str) -> Change:
    """Leave out the nodes of a type."""

    def change(given: GraphDef) -> None:
        kept = [node for node in given.node if node.op != type]
        gone = {node.name for node in given.node} - {node.name for node in kept}
        del given.node[:]
        given.node.extend(kept)
        for node in given.node:
            left = [each for each in node.input if each.lstrip("^") not in gone]
            node.ClearField("input")
            node.input.extend(left)

    return change


def first_input(type: str, name: str) -> Change:
    """Let nodes of a type have another handle."""

    def change(given: GraphDef) -> None:
        for node in given.node:
            if node.op == type:
                node.input[0] = name

    return change


def nothing(given: GraphDef) -> None:
    """Say of stacks that what is pushed has no type."""
    for node in given.node:
        if node.op == "StackV2":
            node.attr["elem_type"].type = 0


def handles(given: GraphDef) -> None:
    """Say that stacks have handles."""
    for node in given.node:
        if node.op == "StackV2":
            node.attr["elem_type"].type = 20


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("loop_slopes", without("StackPushV2"), "what was pushed on .* cannot be found"),
        ("loop_slopes", without("StackV2"), "has no handle that can be followed"),
        ("loop_slopes", first_input("StackPopV2", "x"), "what was pushed on 'x' cannot be found"),
        ("loop_slopes", nothing, "DT_INVALID is not an element type here"),
        ("loop_slopes", handles, "is a stack of handles that are not those of tensor arrays"),
        ("array_slopes", first_input("TensorArrayGradV3", "x"), "'x' is not a tensor array"),
        ("array_slopes", first_input("TensorArrayGradV3", "^x"), "has 1 inputs, and not 1"),
    ],
)
def test_what_cannot_be_followed_is_refused(name: str, change: Change, message: str):
    given = theirs(name)
    change(given)
    with sg.Graph().as_default(), pytest.raises(GraphDefError, match=message):
        sg.import_graph_def(given, name="")


_ITSELF = """
node { name: "most" op: "Const" attr { key: "dtype" value { type: DT_INT32 } }
       attr { key: "value" value { tensor { dtype: DT_INT32 tensor_shape {} int_val: 1 } } } }
node { name: "stack" op: "StackV2" input: "most" attr { key: "elem_type" value { type: DT_RESOURCE } } }
node { name: "pop" op: "StackPopV2" input: "stack" attr { key: "elem_type" value { type: DT_RESOURCE } } }
node { name: "push" op: "StackPushV2" input: "stack" input: "pop" }
node { name: "slopes" op: "TensorArrayGradV3" input: "pop" input: "most" }
"""


def test_a_handle_that_only_comes_from_itself_is_refused():
    given = sg.messages.text_format.Parse(_ITSELF, GraphDef())
    with sg.Graph().as_default(), pytest.raises(GraphDefError, match="cannot be found"):
        sg.import_graph_def(given)
