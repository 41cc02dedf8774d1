"""`inspect` tells the same of a net in whatever kind of file it is, and refuses what is damaged."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.__main__ import main
from staticgraph.compiler.graph.errors import InvalidFileError, NotFoundError
from staticgraph.formats.onnx.proto import ModelProto
from staticgraph.formats.tf.messages.tensor_bundle import BundleEntryProto
from staticgraph.formats.tf.tensor_bundle import table as table_file
from staticgraph.runtime.files.summary import FunctionSummary, VariableSummary

WEIGHTS = {"layer/kernel": "float32[4, 3]", "layer/bias": "float32[3]"}


@pytest.mark.parametrize(
    "kind, said, format",
    [
        ("graph", "graph", 1),
        ("onnx", "ONNX model", 10),
        ("npz", "NumPy arrays", None),
        ("safetensors", "safetensors", None),
        ("own", "checkpoint", 1),
        ("theirs", "TensorFlow checkpoint", 2),
        ("saved_model", "SavedModel", 134),
    ],
)
def test_the_weights_are_told(files: dict[str, Path], kind, said, format):
    found = sg.inspect(files[kind])
    assert (found.kind, found.format) == (said, format)
    assert {name: v.type for name, v in found.variables.items()}.items() >= WEIGHTS.items()
    assert found.variables["layer/kernel"].bytes == 48 and found.variables["layer/bias"].bytes == 12
    assert all(variable.has_value for variable in found.variables.values())
    assert found.bytes > 60


@pytest.mark.parametrize(
    "kind, name, inputs, outputs",
    [
        ("graph", "predict", {"x": "float32[?, 4]"}, {"logits": "float32[?, 3]"}),
        ("onnx", "graph", {"x": "float32[x_0, 4]"}, {"logits": "float32[?, 3]"}),
        ("frozen", "graph", {"x": "float32[?, 4]"}, {"layer/Relu": "float32<unknown>"}),
        ("text", "graph", {"x": "float32[?, 4]"}, {"layer/Relu": "float32<unknown>"}),
        ("saved_model", "serving_default", {"x": "float32[?, 4]"}, {"logits": "float32[?, 3]"}),
    ],
)
def test_the_functions_are_told(files: dict[str, Path], kind, name, inputs, outputs):
    found = sg.inspect(files[kind])
    assert found.signatures[name] == FunctionSummary(inputs, outputs, "dict", None)
    assert sum(found.operations.values()) >= 3


def test_a_frozen_graph_has_its_weights_as_constants(files: dict[str, Path]):
    found = sg.inspect(files["frozen"])
    assert (found.kind, found.constants, found.variables) == ("TensorFlow graph", 60, {})
    assert found.operations["MatMul"] == 1


def test_a_meta_graph_has_variables_without_values(files: dict[str, Path]):
    found = sg.inspect(files["meta"])
    assert found.variables["layer/kernel"] == VariableSummary("float32[4, 3]", 0, False, True)
    assert "trained, no value here" in str(found)
    assert found.producer == "TensorFlow 1.15.5"


def test_a_saved_model_tells_which_variables_are_trained(files: dict[str, Path]):
    found = sg.inspect(files["saved_model"])
    assert found.variables["layer/kernel"] == VariableSummary("float32[4, 3]", 48, True, True)
    assert found.details == {"tags": "serve"}
    assert sg.inspect(files["saved_model"] / "saved_model.pb").as_dict() == found.as_dict()


def test_a_checkpoint_by_its_prefix_its_index_and_its_folder(files: dict[str, Path]):
    for kind in ("own", "theirs"):
        prefix = files[kind]
        told = sg.inspect(prefix).variables
        assert told == sg.inspect(f"{prefix}.index").variables == sg.inspect(prefix.parent).variables


def test_a_checkpoint_is_told_without_its_values(files: dict[str, Path], tmp_path: Path):
    (tmp_path / "model.index").write_bytes(Path(f"{files['theirs']}.index").read_bytes())
    assert sg.inspect(tmp_path / "model").variables.keys() >= WEIGHTS.keys()


def test_a_model_of_onnx_that_has_what_does_not_exist_here(tmp_path: Path):
    model = ModelProto(ir_version=8, producer_name="other", producer_version="2")
    graph = model.graph
    graph.name = "net"
    graph.initializer.add(name="w", data_type=22, dims=[3, 3])
    item = graph.input.add(name="items").type.sequence_type.elem_type.tensor_type
    item.elem_type = 17
    graph.node.add(op_type="NoSuchOperator")
    model.opset_import.add(domain="", version=21)
    model.opset_import.add(domain="com.example", version=1)
    (tmp_path / "net.onnx").write_bytes(model.SerializeToString())
    found = sg.inspect(tmp_path / "net.onnx")
    assert found.variables == {"w": VariableSummary("int4[3, 3]", 5)}
    assert found.signatures["net"].inputs == {"items": "sequence of float8e4m3fn<unknown>"}
    assert (found.producer, found.operations) == ("other 2", {"NoSuchOperator": 1})
    assert found.details == {"operators": "ai.onnx 21, com.example 1"}


def test_a_run_that_failed(tmp_path: Path, monkeypatch):
    x, w = sg.placeholder(sg.float32, [None, 2], name="x"), sg.Variable([1.0, 2.0], name="w")
    y = sg.check_numerics(x * w, "bad", name="checked")
    with sg.Session(failures=str(tmp_path)) as session:
        session.run(w.initializer)
        with pytest.raises(sg.errors.InvalidArgumentError):
            session.run(y, {x: [[np.nan, 1]]})
    (file,) = tmp_path.iterdir()
    found = sg.inspect(file)
    assert found.kind == "run that failed"
    assert found.signatures == {
        "run": FunctionSummary({"x:0": "float32[1, 2]"}, {"checked:0": "float32[?, 2]"}, "list", None)
    }
    assert found.variables == {"w": VariableSummary("float32[2]", 8, True)}
    assert found.details["error"].startswith("InvalidArgumentError: ")
    assert found.details["operation"] == "checked"


def test_sizes_in_a_hostile_file_take_no_memory(tmp_path: Path):
    entry = BundleEntryProto(dtype=1)
    for _ in range(4):
        entry.shape.dim.add(size=2**40)
    head = b"\x08\x01"  # one shard
    data = table_file.table_bytes({b"": head, b"w": entry.SerializeToString()})
    (tmp_path / "model.index").write_bytes(b"".join(data) if isinstance(data, list) else data)
    with pytest.raises(sg.errors.InvalidFileError, match="'w' cannot have the shape"):
        sg.inspect(tmp_path / "model")
    model = ModelProto()
    model.graph.initializer.add(name="w", data_type=1, dims=[2**62, 2**62, -5])
    (tmp_path / "net.onnx").write_bytes(model.SerializeToString())
    assert sg.inspect(tmp_path / "net.onnx").variables["w"].bytes == 0


@pytest.mark.parametrize("kind", ["graph", "onnx", "npz", "safetensors", "frozen", "meta"])
def test_a_damaged_file_is_refused(files: dict[str, Path], kind, tmp_path: Path, capsys):
    whole = files[kind].read_bytes()
    path = tmp_path / files[kind].name
    path.write_bytes(whole[: len(whole) // 2])
    assert main(["inspect", str(path)]) == 1
    told = capsys.readouterr()
    assert not told.out and "Traceback" not in told.err and told.err.strip()


@pytest.mark.parametrize("name", ["no.sg", "no.onnx", "no.npz", "no.pb", "no.meta", "no", "no.index"])
def test_a_file_that_does_not_exist(tmp_path: Path, name):
    with pytest.raises(NotFoundError, match="there is no file"):
        sg.inspect(tmp_path / name)


def test_an_empty_folder(tmp_path: Path, capsys):
    assert main(["inspect", str(tmp_path)]) == 1
    assert "SavedModel file does not exist" in capsys.readouterr().err


def test_a_graph_without_nodes(tmp_path: Path):
    (tmp_path / "net.pb").write_bytes(b"")
    with pytest.raises(InvalidFileError, match="is not a usable graph file"):
        sg.inspect(tmp_path / "net.pb")


def test_the_table_fits_a_narrow_terminal(tmp_path: Path, monkeypatch, capsys):
    np.savez(tmp_path / "w.npz", **{"a/very/long/scope/" * 4 + "kernel": np.zeros((3, 4)), "b": np.zeros(3)})
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.chdir(tmp_path)
    assert main(["inspect", "w.npz"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert all(len(line) <= 40 for line in lines[2:])
    assert any(line.startswith("a/very/") and "..." not in line and ".." in line for line in lines)
    monkeypatch.delenv("COLUMNS")
    assert main(["inspect", "w.npz"]) == 0
    assert "a/very/long/scope/" * 4 + "kernel" in capsys.readouterr().out


def test_json_is_what_a_program_gets(files: dict[str, Path], capsys):
    for kind in ("graph", "onnx", "theirs", "saved_model", "npz"):
        assert main(["inspect", "--json", str(files[kind])]) == 0
        assert json.loads(capsys.readouterr().out) == sg.inspect(str(files[kind])).as_dict()
