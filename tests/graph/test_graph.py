"""The user's graph: names, look-up, scopes, and that a failed operation leaves no trace."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler.graph import static_value as static_values
from staticgraph.compiler.graph.dtypes import DTYPES
from staticgraph.compiler.graph.errors import DtypeError, FinalizedError, ShapeError


@pytest.fixture
def graph():
    return sg.get_default_graph()


def names(graph: sg.Graph) -> list[str]:
    return [op.name for op in graph.get_operations()]


# A failed operation


@pytest.mark.parametrize(
    ("act", "error"),
    [
        (lambda x: x + [1.0, 2.0, 3.0, 4.0], ShapeError),
        (lambda x: x + True, DtypeError),
        (lambda x: sg.matmul(x, x), ShapeError),
        (lambda x: sg.reshape(x, [7]), ShapeError),
        (lambda x: sg.add(x, object()), TypeError),
        (lambda x: sg.concat([x, [1.0]], 5), ShapeError),
        (lambda x: sg.exp(x, name="not a name"), ValueError),
        (lambda x: sg.reduce_sum(x, axis=3), ShapeError),
    ],
)
def test_an_error_leaves_the_graph_as_it_was(act, error, graph):
    """Neither constants made for the call nor names stay behind."""
    x = sg.placeholder(sg.float32, [3], name="x")
    before = names(graph)
    taken = graph.unique_name("add", mark_as_used=False)
    with pytest.raises(error):
        act(x)
    assert names(graph) == before
    assert graph.unique_name("add", mark_as_used=False) == taken
    assert (x + 1.0).op.name == "add"


def test_an_interruption_leaves_the_graph_as_it_was(graph):
    class Interrupting:
        def __array__(self, *args: object, **kwargs: object) -> object:
            raise KeyboardInterrupt

    x = sg.placeholder(sg.float32, [3], name="x")
    with pytest.raises(KeyboardInterrupt):
        sg.add([1.0], Interrupting())
    assert names(graph) == ["x"]
    assert (x + 1.0).op.name == "add"


# Names


def test_names_that_are_taken_get_a_number(graph):
    assert [sg.constant(1.0, name="c").op.name for _ in range(3)] == ["c", "c_1", "c_2"]
    assert sg.constant(1.0, name="C").op.name == "C_3"
    assert sg.constant(1.0).op.name == "Const"


def test_scopes(graph):
    with sg.name_scope("a") as first:
        x = sg.constant(1.0, name="x")
        with sg.name_scope("b"):
            y = sg.constant(1.0, name="y")
    with sg.name_scope("a"):
        z = sg.constant(1.0, name="x")
    with sg.name_scope(first):
        w = sg.constant(1.0, name="x")
    assert [t.op.name for t in (x, y, z, w)] == ["a/x", "a/b/y", "a_1/x", "a/x_1"]


def test_invalid_names(graph):
    for name in ("_x", "a b", "ä", "-"):
        with pytest.raises(ValueError, match="is not a valid operation name"):
            sg.constant(1.0, name=name)
    assert names(graph) == []


# Look-up


def test_look_up(graph):
    x = sg.constant(1.0, name="x")
    left, right = sg.split(sg.constant([1.0, 2.0]), 2, name="parts")
    assert graph.get_operation_by_name("x") is x.op
    assert graph.get_tensor_by_name("parts:1") is right
    assert graph.as_graph_element("x:0") is x
    assert graph.as_graph_element(left.op) is left.op
    w = sg.Variable(1.0)
    assert graph.as_graph_element(w) is w.to_tensor()


@pytest.mark.parametrize(
    ("look", "error", "message"),
    [
        (lambda g: g.get_operation_by_name("y"), KeyError, "no operation 'y'"),
        (lambda g: g.get_tensor_by_name("x"), ValueError, "operation:index"),
        (lambda g: g.get_tensor_by_name("x:1"), KeyError, "has 1 outputs"),
        (lambda g: g.get_tensor_by_name(3), TypeError, "are strings"),
        (lambda g: g.as_graph_element(3.0), TypeError, "is not a Tensor or Operation"),
    ],
)
def test_look_up_of_nothing(look, error, message: str, graph):
    sg.constant(1.0, name="x")
    with pytest.raises(error, match=message):
        look(graph)


# Recording


def test_operations_keep_their_order_and_know_their_graph(graph):
    x = sg.placeholder(sg.float32, [2], name="x")
    y = x + 1.0
    assert names(graph) == ["x", "add/y", "add"]
    assert [op.id for op in graph.get_operations()] == [0, 1, 2]
    assert y.op.inputs[0] is x
    assert x.consumers() == [y.op]
    assert y.op.traceback[0][0] == __file__


def test_control_dependencies_nest_and_clear(graph):
    a, b = sg.constant(1.0, name="a"), sg.constant(2.0, name="b")
    with sg.control_dependencies([a]):
        with sg.control_dependencies([b.op]):
            both = sg.no_op()
        with sg.control_dependencies(None):
            none = sg.no_op()
        one = sg.no_op()
    assert [o.name for o in both.control_inputs] == ["a", "b"]
    assert none.control_inputs == []
    assert [o.name for o in one.control_inputs] == ["a"]


def test_tensors_of_two_graphs_do_not_mix():
    x = sg.constant(1.0, name="x")
    with sg.Graph().as_default():
        y = sg.constant(1.0)
        with pytest.raises((ValueError, TypeError), match=r"another graph|not an element"):
            sg.add(y, x)


def test_a_finalized_graph(graph):
    x = sg.constant(1.0)
    graph.finalize()
    for act in (lambda: x + 1.0, lambda: graph.add_to_collection("c", x), lambda: sg.Variable(1.0)):
        with pytest.raises(FinalizedError):
            act()
    assert names(graph) == ["Const"]


def test_networkx(graph):
    x = sg.placeholder(sg.float32, [2], name="x")
    with sg.control_dependencies([x]):
        y = sg.multiply(x, x, name="y")
    made = graph.to_networkx()
    assert set(made.nodes) == {"x", "y"}
    assert [d["tensor"] for _, _, d in made.edges(data=True)] == [x, x, None]
    assert made.nodes["y"]["op"] is y.op


def test_equal_element_types_have_equal_hashes():
    types = {dtype: dtype.name for dtype in DTYPES.values()}
    assert len(types) == len(DTYPES)
    for dtype in DTYPES.values():
        if dtype.is_numpy_compatible:
            assert types[np.dtype(dtype.numpy)] == dtype.name


def test_we_read_the_tensors_of_an_operation_and_not_its_inputs():
    """Its inputs are for users: they are in TensorFlow's order, and also axes and shapes."""
    root = Path(sg.__file__).parent.parent
    found = [
        f"{path.relative_to(root)}: {line.strip()}"
        for folder in ("compiler", "runtime", "staticgraph")
        for path in (root / folder).rglob("*.py")
        for line in path.read_text().splitlines()
        if re.search(r"\bop\.inputs\b", line) and ">>>" not in line
    ]
    editor = "staticgraph/tf1/compat/building/graph_editor.py"  # walks over graphs as users see them
    others = [line for line in found if not line.startswith(editor)]
    assert others == ["staticgraph/differentiation/gradient_functions.py: inputs = list(op.inputs)"]


def test_a_constant_beside_the_graph_stands_for_what_was_left_out():
    x = sg.placeholder(sg.float32, [2, 3])
    turned = sg.transpose(x)
    count = turned.graph.version
    given, perm = turned.op.inputs
    assert given is x and turned.op.inputs[1] is perm
    assert turned.graph.version == count
    assert sg.Session().run(perm).tolist() == [1, 0]


def test_a_shape_is_known_without_a_walk_through_the_net(monkeypatch):
    """Only the operands of a shape are asked for, not those of the tensor that has it."""
    looked_at = []
    value = static_values._value
    monkeypatch.setattr(static_values, "_value", lambda t, *rest: (looked_at.append(t), value(t, *rest))[1])
    x = sg.placeholder(sg.float32, [None, 3])
    for _ in range(50):
        x = sg.tanh(x)
    assert static_values.static_value(sg.shape(x), partial=True) == (None, 3)
    assert len(looked_at) < 5


def test_long_vectors_are_no_shapes():
    """Before, a few operations that double a vector took gigabytes while the graph was built."""
    x = sg.constant([1, 1])
    for _ in range(21):
        x = sg.concat([x, x], 0)
    assert static_values.static_value(x) is None
    fed = sg.placeholder(sg.int32, [1 << 22])
    assert static_values.static_value(fed, partial=True) is None
    assert sg.fill(fed, 1.0).shape.ndims is None


def test_a_graph_lists_its_collections():
    graph = sg.Graph()
    assert graph.collections == []
    graph.add_to_collection("key", 12)
    graph.add_to_collection("key", 15)
    graph.add_to_collection("other", "foo")
    assert graph.collections == ["key", "other"]
