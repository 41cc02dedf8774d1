"""Models become graphs: inputs, weights, graphs and functions inside, and files beside the model."""

import subprocess
import sys

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.formats.onnx.proto import FunctionProto, ModelProto
from tests.onnx.models import graph, info, line, model, node, tensor

X = np.float32([[1, 2], [-1, 0.5], [3, 0]])
Y = np.maximum(X @ np.float32([[1, -1], [2, 3]]) + np.float32([0.5, -0.5]), 0)


def run(made, **feeds):
    with sg.Session(graph=made.graph) as session:
        return session.run(dict(made.outputs), {made.inputs[name]: value for name, value in feeds.items()})


def result(nodes, inputs, outputs, constants=(), opset=21, functions=(), **feeds):
    """The only output of a model."""
    infos = (
        [info(name, value.dtype, value.shape) for name, value in feeds.items()] if inputs is None else inputs
    )
    proto = model(nodes, infos, [info(outputs, "float32", [])], constants, opset, functions)
    return run(sg.onnx.load(proto.SerializeToString()), **feeds)[outputs]


def test_a_model_is_read_from_a_file_and_from_bytes(tmp_path):
    data = line().SerializeToString()
    (tmp_path / "line.onnx").write_bytes(data)
    for given in (tmp_path / "line.onnx", str(tmp_path / "line.onnx"), data, ModelProto.FromString(data)):
        made = sg.onnx.load(given)
        assert list(made.inputs) == ["x"] and made.inputs["x"].shape.as_list() == [None, 2]
        np.testing.assert_allclose(run(made, x=X)["y"], Y, rtol=1e-6)


def test_reading_does_not_import_onnx():
    code = "import sys, staticgraph.onnx; sys.exit('onnx' in sys.modules or 'ml_dtypes' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_model_becomes_part_of_a_graph():
    with sg.Graph().as_default() as mine:
        x = sg.placeholder(sg.float32, [3, 2])
        made = sg.onnx.load(line().SerializeToString(), inputs={"x": 2.0 * x})
        total = sg.reduce_sum(made.outputs["y"])
    assert made.graph is mine and total.graph is mine
    with sg.Session(graph=mine) as session:
        assert session.run(total, {x: X / 2}) == pytest.approx(Y.sum(), rel=1e-6)


def test_weights_can_be_trained():
    made = sg.onnx.load(line().SerializeToString(), trainable=True)
    assert list(made.variables) == ["w", "b"]
    with made.graph.as_default(), sg.Session() as session:
        loss = sg.reduce_mean(sg.square(made.outputs["y"]))
        step = sg.train.GradientDescentOptimizer(0.05).minimize(loss)
        session.run(sg.global_variables_initializer())
        before = session.run(loss, {made.inputs["x"]: X})
        for _ in range(5):
            session.run(step, {made.inputs["x"]: X})
        assert session.run(loss, {made.inputs["x"]: X}) < before / 2


def test_a_value_that_decides_a_number_of_axes_is_given():
    nodes = [node("Unsqueeze", "x axes", "y")]
    data = model(
        nodes, [info("x", "float32", [2]), info("axes", "int64", [2])], [info("y", "float32", [])]
    ).SerializeToString()
    with pytest.raises(sg.onnx.UnknownValueError, match=r"depends on .axes.:\sgive load") as caught:
        sg.onnx.load(data)
    assert caught.value.inputs == ("axes",)
    made = sg.onnx.load(data, inputs={"axes": [0, 2]})
    assert list(made.inputs) == ["x"]
    assert made.outputs["y"].shape.as_list() == [1, 2, 1]


def test_shapes_that_depend_on_what_is_fed():
    nodes = [
        node("Shape", "x", "s"),
        node("Gather", "s zero", "n"),
        node("Concat", "n minus", "t", axis=0),
        node("Reshape", "x t", "y"),
    ]
    constants = [tensor("zero", np.int64([0])), tensor("minus", np.int64([-1]))]
    x = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    inputs = [info("x", "float32", ["n", 3, "m"])]
    np.testing.assert_array_equal(result(nodes, inputs, "y", constants, x=x), x.reshape(2, 12))


def test_branches_and_loops_run_in_the_graph():
    branches = {
        "then_branch": graph([node("Neg", "x", "a")], [], [info("a", "float32", [3])]),
        "else_branch": graph([node("Abs", "x", "b")], [], [info("b", "float32", [3])]),
    }
    nodes = [node("If", "c", "y", **branches)]
    inputs = [info("c", "bool", []), info("x", "float32", [3])]
    for c in (True, False):
        x = np.float32([1, -2, 3])
        y = result(nodes, inputs, "y", c=np.bool_(c), x=x)
        np.testing.assert_array_equal(y, -x if c else abs(x))
    body = graph(
        [node("Add", "s step", "t"), node("Less", "t most", "go"), node("Identity", "t", "row")],
        [info("i", "int64", []), info("on", "bool", []), info("s", "float32", [])],
        [info("go", "bool", []), info("t", "float32", []), info("row", "float32", [])],
    )
    constants = [
        tensor("step", np.float32(1.5)),
        tensor("most", np.float32(7)),
        tensor("zero", np.float32(0)),
    ]
    nodes = [node("Loop", "count  zero", "last rows", body=body)]
    rows = result(nodes, [info("count", "int64", [])], "rows", constants, count=np.int64(20))
    np.testing.assert_array_equal(rows, [1.5, 3, 4.5, 6, 7.5])


def test_a_value_grows_in_a_loop():
    body = graph(
        [node("Concat", "s x", "t", axis=0)],
        [info("i", "int64", []), info("on", "bool", []), info("s", "float32", ["n"])],
        [info("on", "bool", []), info("t", "float32", ["m"])],
    )
    nodes = [node("Loop", "count  x", "y", body=body)]
    inputs = [info("count", "int64", []), info("x", "float32", [2])]
    x = np.float32([1, 2])
    np.testing.assert_array_equal(result(nodes, inputs, "y", count=np.int64(3), x=x), np.tile(x, 4))


@pytest.mark.parametrize("length", [3, 12])
def test_a_scan_collects_rows_in_both_directions(length):
    body = graph(
        [node("Add", "s r", "t"), node("Identity", "t", "row")],
        [info("s", "float32", [2]), info("r", "float32", [2])],
        [info("t", "float32", [2]), info("row", "float32", [2])],
    )
    for backwards in (0, 1):
        nodes = [
            node(
                "Scan",
                "zero x",
                "last y",
                body=body,
                num_scan_inputs=1,
                scan_input_directions=[backwards],
                scan_output_axes=[1],
            )
        ]
        x = np.arange(2 * length, dtype=np.float32).reshape(length, 2)
        y = result(nodes, [info("x", "float32", [length, 2])], "y", [tensor("zero", np.float32([0, 0]))], x=x)
        np.testing.assert_array_equal(y, np.cumsum(x[::-1] if backwards else x, axis=0).T)


def test_functions_of_a_model_are_expanded_with_their_attributes():
    scaled = FunctionProto(name="Scaled", domain="mine", input=["a"], output=["b"], attribute=["factor"])
    scaled.opset_import.add(version=21)
    inner = node("Constant", "", "k")
    inner.input[:] = []
    inner.attribute.add(name="value_float", ref_attr_name="factor", type=1)
    scaled.node.extend([inner, node("Mul", "a k", "b")])
    x = np.float32([1, 2])
    nodes = [node("Scaled", "x", "h", "mine", factor=3.0), node("Scaled", "h", "y", "mine", factor=0.5)]
    np.testing.assert_array_equal(result(nodes, None, "y", functions=[scaled], x=x), x * 1.5)


def test_the_largest_value_has_a_place_counted_from_the_end():
    """Once, minus infinity as where a search begins came into the arithmetic of places."""
    x = np.float32([[2, 2, 1], [3, 10, 10]])
    y = result([node("ArgMax", "x", "y", axis=1, keepdims=0, select_last_index=1)], None, "y", x=x)
    np.testing.assert_array_equal(y, [1, 2])


def test_weights_lie_in_a_file_beside_the_model(tmp_path):
    proto = line()
    weights = proto.graph.initializer[0]
    (tmp_path / "weights.bin").write_bytes(bytes(16) + weights.raw_data)
    weights.ClearField("raw_data")
    weights.data_location = 1
    for key, value in (("location", "weights.bin"), ("offset", "16"), ("length", "16")):
        weights.external_data.add(key=key, value=value)
    (tmp_path / "line.onnx").write_bytes(proto.SerializeToString())
    np.testing.assert_allclose(run(sg.onnx.load(tmp_path / "line.onnx"), x=X)["y"], Y, rtol=1e-6)
    with pytest.raises(sg.onnx.OnnxError, match="load the model by its path"):
        sg.onnx.load(proto.SerializeToString())


def test_strings_and_sparse_constants():
    proto = model([node("Add", "x s", "y")], [info("x", "float32", [2, 3])], [info("y", "float32", [2, 3])])
    sparse = proto.graph.sparse_initializer.add(dims=[2, 3])
    sparse.values.CopyFrom(tensor("s", np.float32([5, 7])))
    sparse.indices.CopyFrom(tensor("", np.int64([1, 5])))
    y = run(sg.onnx.load(proto.SerializeToString()), x=np.zeros((2, 3), np.float32))["y"]
    np.testing.assert_array_equal(y, [[0, 5, 0], [0, 0, 7]])
