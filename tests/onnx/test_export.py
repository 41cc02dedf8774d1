"""Models that are written: their names, inputs, files and errors."""

from __future__ import annotations

import os

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler.graph.errors import FeedError, SaveError, UnimplementedError
from staticgraph.formats.onnx.export import OPSETS
from staticgraph.formats.onnx.proto import ModelProto
from staticgraph.formats.onnx.write import file as write_file
from tests.onnx.exporting import agrees, checked, export, onnx, operators, run


def dims(value) -> list:
    return [d.dim_param or d.dim_value for d in value.type.tensor_type.shape.dim]


def test_names_are_the_users():
    x = sg.placeholder(sg.float32, [None, 4], name="x")
    with sg.name_scope("layer"):
        w = sg.get_variable("w", [4, 3])
        h = sg.matmul(x, w, name="product")
    y = sg.nn.relu(h, name="y")
    model = agrees(y, {x: np.ones((2, 4), np.float32)})
    assert [node.name for node in model.graph.node] == ["layer/product", "y"]
    assert [list(node.output) for node in model.graph.node] == [["layer/product"], ["y"]]
    assert [each.name for each in model.graph.initializer] == ["w"]
    assert [each.name for each in model.graph.output] == ["y"]


def test_outputs_have_the_names_of_a_dict():
    x = sg.placeholder(sg.float32, [2], name="x")
    y = sg.exp(x, name="inner")
    model = export({"inner": x, "result": y, "again": y, "one": sg.constant([1.0])})
    checked(model)
    assert [each.name for each in model.graph.output] == ["inner", "result", "again", "one"]
    found = run(model, {"x": np.zeros(2, np.float32)})
    assert [array.tolist() for array in found] == [[0, 0], [1, 1], [1, 1], [1]]


def test_no_two_values_have_one_name():
    x = sg.placeholder(sg.float32, [2], name="x")
    h = sg.exp(x, name="h")
    model = export({"y": sg.sin(h, name="x_1") + 1.0}, feeds={"h": x})
    checked(model)
    assert run(model, {"h": np.zeros(2, np.float32)})[0] == pytest.approx(np.sin(1) + 1)
    with pytest.raises(SaveError, match="both called 'x'"):
        export([x, h])


def test_unknown_sizes_are_called_after_the_input():
    x = sg.placeholder(sg.float32, [None, 3, None], name="x")
    model = agrees(sg.reshape(x, [sg.shape(x)[0], -1]), {x: np.ones((2, 3, 5), np.float32)})
    assert dims(model.graph.input[0]) == ["x_0", 3, "x_2"]
    (found,) = run(model, {"x": np.ones((4, 3, 1), np.float32)})
    assert found.shape == (4, 3)


def test_feeds_may_be_any_tensors():
    x = sg.placeholder(sg.float32, [2], name="x")
    h = sg.exp(x, name="h")
    model = export({"y": h * 2.0}, feeds={"inner": h})
    assert [each.name for each in checked(model).graph.input] == ["inner"]
    assert run(model, {"inner": np.array([1, 2], np.float32)})[0].tolist() == [2, 4]


def test_a_placeholder_has_its_default_unless_it_is_fed():
    training = sg.placeholder_with_default(False, [], name="training")
    x = sg.placeholder(sg.float32, [2], name="x")
    y = sg.cond(training, lambda: x * 0.0, lambda: x + 1.0)
    model = export({"y": y})
    assert operators(model) == {"Add": 1}
    both = export({"y": y}, feeds=[x, training])
    assert operators(both) == {"If": 1}
    checked(both)
    for fed, wanted in ((True, [0, 0]), (False, [2, 2])):
        assert run(both, {"x": np.ones(2, np.float32), "training": np.array(fed)})[0].tolist() == wanted


def test_a_missing_feed_is_told():
    x, y = (sg.placeholder(sg.float32, [2], name=name) for name in "xy")
    with pytest.raises(FeedError, match="the placeholder y, which is not among the feeds"):
        export(x + y, feeds=[x])


def test_variables_need_a_session():
    v = sg.Variable([1.0, 2.0], name="v")
    with pytest.raises(SaveError, match="variable v has a value only in a session"):
        export(v * 2.0)
    with sg.Session() as session:
        session.run(v.initializer)
        model = export({"y": v * 2.0})  # in the default session
        session.run(v.assign([5.0, 6.0]))
    assert run(model, {})[0].tolist() == [2, 4]


def test_what_changes_a_variable_is_refused():
    v = sg.Variable([1.0], name="v")
    with sg.Session() as session:
        session.run(v.initializer)
        with pytest.raises(UnimplementedError, match="it changes a variable"):
            export(v.assign_add([1.0]), session=session)


def test_derivatives_are_refused():
    x = sg.placeholder(sg.float32, [2], name="x")
    with pytest.raises(UnimplementedError, match="derivative"):
        export(sg.gradients(sg.exp(x), x))


def test_sizes_that_must_be_known_are_told():
    x = sg.placeholder(sg.float32, [None], name="x")
    y = sg.cumprod(x, name="running")
    with pytest.raises(
        UnimplementedError, match=r"running(.|\n)*must be known(.|\n)*test_export(.|\n)*full shape"
    ):
        export(y)


def test_an_output_of_unknown_rank_is_refused():
    x = sg.placeholder(sg.float32, name="x")
    with pytest.raises(SaveError, match="number of axes of y:0"):
        export(sg.exp(x, name="y"))


def test_opsets():
    x = sg.placeholder(sg.float32, [2, 6, 6, 3], name="x")
    y = sg.reduce_mean(sg.nn.relu(sg.layers.conv2d(x, 4, 3)), [1, 2])
    for opset, version in OPSETS.items():
        model = agrees(y, {x: np.ones((2, 6, 6, 3), np.float32)}, opset=opset)
        assert (model.opset_import[0].version, model.ir_version) == (opset, version)
    with pytest.raises(SaveError, match="opset=11 is none of 18 to"):
        export(y, opset=11)


def test_large_constants_are_in_the_file_once():
    x = sg.placeholder(sg.float32, [1000], name="x")
    model = export(
        x * sg.constant(np.arange(1000.0), sg.float32) + sg.constant(np.arange(1000.0), sg.float32)
    )
    assert len(model.graph.initializer) == 1


def test_assertions_and_prints_are_left_out():
    x = sg.placeholder(sg.float32, [2], name="x")
    with sg.control_dependencies([sg.debugging.assert_positive(x)]):
        y = sg.check_numerics(sg.sqrt(x), "root")
    assert operators(agrees(y, {x: np.ones(2, np.float32)})) == {"Sqrt": 1}


@pytest.mark.parametrize("dtype", ["float16", "float64", "int8", "int32", "int64", "uint8", "bool"])
def test_types(dtype):
    x = sg.placeholder(dtype, [None, 2], name="x")
    agrees(sg.concat([x, x[::-1]], 0), {x: np.ones((3, 2), dtype)})


def test_bfloat16_is_rounded_as_ours_is():
    x = sg.placeholder(sg.float32, [64], name="x")
    y = sg.cast(sg.cast(x, sg.bfloat16) * sg.cast(x, sg.bfloat16), sg.float32)
    agrees(y, {x: np.linspace(-3, 3, 64, dtype=np.float32)}, rtol=0)


@pytest.mark.parametrize("dtype", ["uint8", "int8", "uint16", "int16", "uint32", "uint64"])
@pytest.mark.parametrize("source", ["float16", "float32", "float64"])
def test_what_is_out_of_range_becomes_the_nearest_integer(source, dtype):
    x = sg.placeholder(source, [7], name="x")
    largest = min(float(np.finfo(source).max), 1e30)
    model = export({"y": sg.cast(x, dtype)})
    (found,) = run(
        model, {"x": np.array([-5, 3.7, 300, 70000, 5e9, 1e30, -300]).clip(-largest, largest).astype(source)}
    )
    limits = np.iinfo(dtype)
    wanted = [
        min(max(n, limits.min), limits.max) for n in (-5, 3, 300, min(70000, largest), min(5e9, largest))
    ]
    np.testing.assert_allclose(found[:5].astype(float), wanted, rtol=1e-3)
    assert found[5] >= found[4]
    assert found[6] == max(-300, limits.min)


def test_strings():
    x = sg.placeholder(sg.string, [None], name="x")
    fed = {"x": np.array(["ab", "Ü1", ""], object)}
    joined = sg.strings.join([x, sg.constant("suffix")], separator="-")
    fetches = [joined, sg.equal(x, "ab"), sg.strings.regex_full_match(x, "[a-z]+"), sg.reverse(x, [0])]
    model = export({f"y{i}": t for i, t in enumerate(fetches)})
    checked(model)
    found = [array.tolist() for array in run(model, fed)]
    assert found == [
        ["ab-suffix", "Ü1-suffix", "-suffix"],
        [True, False, False],
        [True, False, False],
        ["", "Ü1", "ab"],
    ]


# Files


def test_a_file_is_the_model(tmp_path):
    x = sg.placeholder(sg.float32, [2], name="x")
    model = export(x * 2.0, tmp_path / "net.onnx")
    assert ModelProto.FromString((tmp_path / "net.onnx").read_bytes()) == model
    assert os.listdir(tmp_path) == ["net.onnx"]


def test_nothing_changes_where_a_model_cannot_be_written(tmp_path):
    (tmp_path / "net.onnx").write_bytes(b"before")
    x = sg.placeholder(sg.float32, [2], name="x")
    with pytest.raises(UnimplementedError):
        export(sg.math.lgamma(x), tmp_path / "net.onnx")
    with pytest.raises(SaveError, match="does not exist"):
        export(x * 2.0, tmp_path / "no" / "net.onnx")
    assert (tmp_path / "net.onnx").read_bytes() == b"before"


def weights(values) -> tuple:
    x = sg.placeholder(sg.float32, [3], name="x")
    return x, {"y": x * sg.constant(values, sg.float32) + sg.constant([1.0, 2.0, 3.0], sg.float32)}


def test_values_in_a_file_beside_the_model(tmp_path):
    path = tmp_path / "net.onnx"
    _, fetches = weights([2.0, 3.0, 4.0])
    export(fetches, path, external_data=True)
    (first,) = (p.name for p in tmp_path.iterdir() if p != path)
    assert first.startswith("net.onnx-")
    onnx.checker.check_model(str(path), full_check=True)
    assert run(str(path), {"x": np.ones(3, np.float32)})[0].tolist() == [3, 5, 7]
    loaded = sg.onnx.load(path)
    with sg.Session(graph=loaded.graph) as session:
        made = session.run(loaded.outputs["y"], {loaded.inputs["x"]: np.ones(3, np.float32)})
    assert made.tolist() == [3, 5, 7]
    sg.reset_default_graph()
    _, fetches = weights([5.0, 6.0, 7.0])
    export(fetches, path, external_data=True)  # the values of the earlier model go when they are not needed
    (second,) = (p.name for p in tmp_path.iterdir() if p != path)
    assert second != first
    assert run(str(path), {"x": np.ones(3, np.float32)})[0].tolist() == [6, 8, 10]


def test_a_model_too_large_for_one_file_has_two(tmp_path, monkeypatch):
    monkeypatch.setattr(write_file, "_LARGEST", 20)
    _, fetches = weights([2.0, 3.0, 4.0])
    with pytest.raises(SaveError, match="24 bytes, are to be in a file"):
        export(fetches)
    export(fetches, tmp_path / "net.onnx")
    assert len(os.listdir(tmp_path)) == 2
    assert run(str(tmp_path / "net.onnx"), {"x": np.ones(3, np.float32)})[0].tolist() == [3, 5, 7]


def test_an_earlier_model_keeps_its_values_until_the_new_one_is_there(tmp_path, monkeypatch):
    path = tmp_path / "net.onnx"
    _, fetches = weights([2.0, 3.0, 4.0])
    export(fetches, path, external_data=True)
    sg.reset_default_graph()
    _, fetches = weights([5.0, 6.0, 7.0])
    replace = os.replace

    def fails(source, target):
        if os.fspath(target).endswith(".onnx"):
            raise OSError(28, "no space")
        replace(source, target)

    monkeypatch.setattr(os, "replace", fails)
    with pytest.raises(SaveError, match="disk is full"):
        export(fetches, path, external_data=True)
    assert run(str(path), {"x": np.ones(3, np.float32)})[0].tolist() == [3, 5, 7]
