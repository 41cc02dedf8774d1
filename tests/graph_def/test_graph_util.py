"""Parts of graphs as messages: extracted, frozen, cut down."""

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.formats.tf import graph_util
from staticgraph.formats.tf.messages import GraphDef


@pytest.fixture
def net():
    with sg.Graph().as_default() as graph, sg.Session() as sess:
        x = sg.placeholder(sg.float32, [None, 2], name="x")
        w = sg.get_variable("w", initializer=np.ones((2, 3), np.float32))
        b = sg.get_variable("b", initializer=np.zeros(3, np.float32))
        sg.exp(x, name="other")
        with sg.control_dependencies([sg.no_op(name="first")]):
            y = sg.matmul(x, w, name="product") + b
        sg.identity(sg.check_numerics(y, "bad"), name="y")
        sess.run(sg.global_variables_initializer())
        yield graph, sess


def names(graph_def):
    return [node.name for node in graph_def.node]


def test_what_a_node_needs(net):
    graph, _ = net
    found = graph_util.extract_sub_graph(graph.as_graph_def(), ["product"])
    assert names(found) == ["x", "w", "w/read", "first", "product"]


def test_arguments_of_other_types(net):
    graph, _ = net
    with pytest.raises(TypeError, match="must be a list"):
        graph_util.extract_sub_graph(graph.as_graph_def(), "y")
    with pytest.raises(TypeError, match=r"must be a graph_pb2\.GraphDef"):
        graph_util.extract_sub_graph(graph, ["y"])
    with pytest.raises(AssertionError, match="z is not in graph"):
        graph_util.extract_sub_graph(graph.as_graph_def(), ["z"])


def test_a_frozen_graph_runs_alone(net):
    graph, sess = net
    frozen = graph_util.convert_variables_to_constants(sess, graph.as_graph_def(), ["y"])
    assert not any(node.op.startswith("Variable") for node in frozen.node)
    value = np.array([[1.0, 2.0]], np.float32)
    with sg.Graph().as_default() as again, sg.Session() as other:
        sg.import_graph_def(frozen, name="")
        assert again.get_tensor_by_name("y:0").shape.as_list() == [None, 3]
        np.testing.assert_array_equal(other.run("y:0", {"x:0": value}), sess.run("y:0", {"x:0": value}))


def test_a_frozen_graph_with_loops_and_branches():
    start = np.array([[0.5, -0.25]], np.float32)
    with sg.Graph().as_default() as graph, sg.Session() as sess:
        x = sg.placeholder(sg.float32, [None, 2], name="x")
        w = sg.get_variable("w", initializer=np.array([[1.0, 2.0], [0.5, -1.0]], np.float32))
        r = sg.get_variable("r", initializer=np.float32(0.5), use_resource=True)

        def turn(i, y):
            return i + 1, sg.cond(y[0, 0] > 0.0, lambda: sg.tanh(sg.matmul(y, w)), lambda: y * r)

        _, y = sg.while_loop(lambda i, _: i < 4, turn, (0, x))
        sg.identity(y, name="y")
        sess.run(sg.global_variables_initializer())
        expected = sess.run("y:0", {"x:0": start})
        frozen = graph_util.convert_variables_to_constants(sess, graph.as_graph_def(), ["y"])
    assert not any(node.op.startswith(("Variable", "VarHandle", "Ref")) for node in frozen.node)
    with sg.Graph().as_default(), sg.Session() as sess:
        sg.import_graph_def(frozen, name="")
        np.testing.assert_array_equal(sess.run("y:0", {"x:0": start}), expected)


def test_variables_that_tensorflow_hands_into_loops_by_handle():
    """As its own variables of the newer kind: the loop gets the handle, and reads it in each round."""
    types = {"float": {"type": 1}, "resource": {"type": 20}}
    made = GraphDef()
    for name, op, inputs, attrs in [
        ("v", "VarHandleOp", [], {"dtype": types["float"], "shape": {"shape": {}}}),
        ("in", "Enter", ["v"], {"T": types["resource"], "frame_name": {"s": b"f"}}),
        ("read", "ReadVariableOp", ["in"], {"dtype": types["float"]}),
    ]:
        node = made.node.add(name=name, op=op)
        node.input.extend(inputs)
        for key, value in attrs.items():
            node.attr[key].CopyFrom(sg.messages.AttrValue(**value))
    with sg.Graph().as_default(), sg.Session() as sess:
        v = sg.Variable(2.0, name="v")
        sess.run(v.initializer)
        frozen = graph_util.convert_variables_to_constants(sess, made, ["read"])
    told = [(node.op, node.attr["T"].type) for node in frozen.node]
    assert told == [("Const", 0), ("Enter", 1), ("Identity", 1)]


def test_some_variables_stay(net):
    graph, sess = net
    types = []
    for chosen in ({"variable_names_whitelist": ["w"]}, {"variable_names_blacklist": ["w"]}):
        frozen = graph_util.convert_variables_to_constants(sess, graph.as_graph_def(), ["y"], **chosen)
        types.append({node.name: node.op for node in frozen.node if node.name in "wb"})
    assert types == [{"w": "Const", "b": "VariableV2"}, {"w": "VariableV2", "b": "Const"}]


def test_training_nodes_are_passed_over(net):
    graph, _ = net
    found = graph_util.remove_training_nodes(graph.as_graph_def(), protected_nodes=["y"])
    by_name = {node.name: node for node in found.node}
    assert "w/read" not in by_name
    assert list(by_name["product"].input) == ["x", "w", "^first"]
    assert list(by_name["y"].input) == ["add"]


def test_where_nodes_run(net):
    graph, _ = net
    with graph.as_default():
        small, text = sg.constant(1), sg.constant("text")
    assert graph_util.must_run_on_cpu(small.op)
    assert graph_util.must_run_on_cpu(text.op)
    w = graph.get_operation_by_name("w")
    assert not graph_util.must_run_on_cpu(w)
    assert graph_util.must_run_on_cpu(w, pin_variables_on_cpu=True)


def test_the_shape_of_an_input(net):
    graph, _ = net
    assert graph_util.tensor_shape_from_node_def_name(graph, "product").as_list() == [None, 3]
