"""Writing of derivatives through loops and branches: what a loop keeps for them, and what cannot be."""

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import staticgraph as sg
import staticgraph.compat.tf1 as tf
from staticgraph.formats.tf.graph_def import own_nodes
from tests.graph_def import slopes


@pytest.fixture
def graph():
    with sg.Graph().as_default() as graph:
        yield graph


def types(graph):
    return Counter(node.op for node in graph.as_graph_def().node)


def looped(body, *initial):
    made = sg.while_loop(lambda i, *_: i < 3, lambda i, *values: (i + 1, *body(*values)), (0, *initial))
    return made[1:]


class TestWhatALoopKeeps:
    def test_no_operation_is_carried_out_twice(self, graph):
        x = sg.placeholder(sg.float32, [3])

        def body(y):
            noisy = y * sg.random_uniform([3])
            with sg.control_dependencies([sg.print("round", noisy)]):
                return [sg.sin(noisy)]

        (y,) = looped(body, x)
        before = types(graph)
        sg.gradients(y, x)
        after = types(graph)
        assert own_nodes(graph) == {}
        for type in ("RandomUniform", "PrintV2", "Sin"):
            assert after[type] == before[type] == 1
        assert after["LoopCond"] == 2

    def test_only_what_the_derivative_needs(self, graph):
        x = sg.placeholder(sg.float32, [3])
        (y,) = looped(lambda y: [sg.sin(y + 1.0) * 2.0], x)
        sg.gradients(y, x)
        assert types(graph)["TensorArrayV3"] == types(graph)["Cos"] == 1

    def test_several_derivatives_share_it(self, graph):
        x, z = sg.placeholder(sg.float32, [3]), sg.placeholder(sg.float32, [3])
        y, w = looped(lambda y, w: [y * w, sg.tanh(w)], x, z)
        sg.gradients(y, x)
        alone = types(graph)["TensorArrayV3"]
        sg.gradients([y, w], [x, z])
        assert types(graph)["TensorArrayV3"] == alone > 0

    @pytest.mark.parametrize(
        ("build", "growing"),
        [
            (slopes.lstm_descent, {False}),
            (slopes.layer_slopes, {False}),
            (slopes.endless_slopes, {True, False}),  # one of its loops has a limit
        ],
    )
    def test_arrays_grow_only_where_the_number_of_rounds_is_not_clear(self, graph, build, growing):
        build(tf)
        arrays = [node for node in graph.as_graph_def().node if node.op == "TensorArrayV3"]
        assert {node.attr["dynamic_size"].b for node in arrays} == growing

    @pytest.mark.parametrize(
        ("start", "test", "rounds"),
        [
            (0, lambda i, n: i < n, 5),
            (2, lambda i, n: i <= n, 4),
            (1, lambda i, n: n > i, 4),
            (0, lambda i, n: n >= i, 6),
            (7, lambda i, n: i < n, 0),
            (0, lambda i, n: sg.logical_and(sg.cos(sg.to_float(n)) < 2.0, i < n), 5),
        ],
    )
    def test_the_number_of_rounds(self, graph, start, test, rounds):
        x, n = sg.placeholder(sg.float32, [], name="x"), sg.placeholder(sg.int32, [], name="n")
        _, y = sg.while_loop(lambda i, _: test(i, n), lambda i, y: (1 + i, sg.sin(y)), (start, x))
        sg.gradients(y, x)
        written = graph.as_graph_def()
        [array] = [node for node in written.node if node.op == "TensorArrayV3"]
        assert not array.attr["dynamic_size"].b
        with sg.Graph().as_default(), sg.Session() as sess:
            sg.import_graph_def(written, name="")
            assert sess.run(f"{array.input[0]}:0", {"n:0": 5}) == rounds


class TestShapes:
    def test_of_tensor_arrays(self, graph):
        """TensorFlow refuses shapes that are not those of its own handles and states."""
        array = sg.TensorArray(sg.float32, 3, element_shape=[2], name="array")
        array = looped(lambda array: [array.write(0, [1.0, 2.0])], array)[0]
        array.stack(name="rows")
        nodes = graph.as_graph_def(add_shapes=True).node
        told = {node.name: node.attr["_output_shapes"].list.shape for node in nodes}
        sizes = {name: [[dim.size for dim in shape.dim] for shape in shapes] for name, shapes in told.items()}
        assert sizes["array"] == [[2], []]
        assert sizes["while/TensorArrayWrite"] == [[]]
        assert sizes["rows"] == [[-1, 2]]


class TestNotWritten:
    def test_derivatives_of_derivatives(self, graph):
        x = sg.placeholder(sg.float32, [3])
        (y,) = looped(lambda y: [sg.sin(y)], x)
        (slope,) = sg.gradients(y, x, name="slope")
        (second,) = sg.gradients(slope, x, name="second")
        reason = "is a derivative itself, and those of derivatives are not written"
        assert own_nodes(graph) == {second.op.name: f"slope/while/While_grad/WhileGrad {reason}"}

    def test_derivatives_in_a_loop(self, graph):
        x = sg.placeholder(sg.float32, [3])
        looped(lambda y: [y - sg.gradients(sg.cumprod(y), y, name="slope")[0]], x)
        name = "while/slope/while/Cumprod_grad/CumprodGrad"
        assert own_nodes(graph) == {name: "it is in a loop or a branch"}

    def test_branches_by_number(self, graph):
        x, i = sg.placeholder(sg.float32, [3]), sg.placeholder(sg.int32, [])
        y = sg.switch_case(i, [lambda: x * x, lambda: x, lambda: sg.exp(x)])
        (slope,) = sg.gradients(y, x, name="slope")
        assert "branches of our own type" in own_nodes(graph)[slope.op.name]

    def test_nothing_is_left_of_what_was_begun(self, graph):
        x = sg.placeholder(sg.float32, [3, 2], name="x")
        (y,) = looped(lambda y: [sg.sin(y) + sg.cumprod(y)], x)
        before = graph.as_graph_def()
        (slope,) = sg.gradients(y, x, name="slope")
        assert "Cumprod" in own_nodes(graph)[slope.op.name]
        assert list(graph.as_graph_def().node)[: len(before.node)] == list(before.node)
        with sg.Session() as sess:
            expected = sess.run(slope, {x: np.ones((3, 2))})
        with sg.Graph().as_default(), sg.Session() as sess:
            sg.import_graph_def(graph.as_graph_def(), name="")
            np.testing.assert_array_equal(sess.run(slope.name, {"x:0": np.ones((3, 2))}), expected)


def test_derivatives_of_derivatives_and_of_selected_rows_are_nodes_of_tensorflow(tmp_path, monkeypatch):
    """The script is one whose numbers are recorded from TensorFlow. Its batch is open."""
    monkeypatch.chdir(tmp_path)
    script = Path(__file__).parents[1] / "compat" / "scripts" / "gradients_of_gradients.py"
    source = script.read_text().partition("with tf.Session()")[0].replace("import tensorflow as tf\n", "")
    with sg.Graph().as_default() as graph:
        exec(compile(source, str(script), "exec"), {"tf": tf})  # noqa: S102
        assert own_nodes(graph) == {}
