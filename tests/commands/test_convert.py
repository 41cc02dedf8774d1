"""A graph keeps its values through every format that it is converted to, and commands take them all."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.__main__ import main
from staticgraph.formats.functions import functions_of

ROWS = np.linspace(-1, 1, 12, dtype=np.float32).reshape(3, 4)


def values(path: Path | str) -> list[np.ndarray]:
    """The results of the first function of a file for `ROWS`."""
    function = next(iter(functions_of(str(path))))
    (x,) = (tensor for name, tensor in function.inputs.items() if name in function.required)
    return list(function.session.run(function.outputs, {x: ROWS}).values())


@pytest.fixture
def every(files: dict[str, Path], tmp_path: Path) -> dict[str, Path]:
    """The files of a net, and events, a model of Keras and a meta graph beside its checkpoint."""
    with sg.Graph().as_default() as graph:
        y = sg.matmul(sg.placeholder(sg.float32, [None, 4], name="x"), sg.ones([4, 2]) / 3.0, name="y")
        sg.summary.FileWriter(str(tmp_path / "events"), graph).close()
    with sg.Graph().as_default(), sg.Session() as session:
        weights = sg.Variable(np.eye(4, 3, dtype=np.float32), name="w")
        y = sg.matmul(sg.placeholder(sg.float32, [None, 4], name="x"), weights, name="y")
        session.run(weights.initializer)
        signature = sg.saved_model.predict_signature_def({"x": y.op.inputs[0]}, {"y": y})
        meta = sg.train.export_meta_graph()
        meta.signature_def["predict"].CopyFrom(signature)
        sg.train.Saver().save(session, str(tmp_path / "model"), write_meta_graph=False)
        (tmp_path / "model.meta").write_bytes(meta.SerializeToString())
    with sg.Graph().as_default(), sg.Session().as_default():
        dense = sg.keras.layers.Dense(3, activation="tanh", input_shape=(4,))
        sg.keras.Sequential([dense]).save(tmp_path / "model.sgk")
    made = {"events": "events", "keras": "model.sgk", "meta": "model.meta"}
    return files | {kind: tmp_path / name for kind, name in made.items()}


@pytest.mark.takes_long
@pytest.mark.parametrize(
    "kind", ["graph", "onnx", "frozen", "text", "saved_model", "meta", "keras", "events"]
)
def test_every_format_becomes_every_other(every: dict[str, Path], kind: str, tmp_path: Path, capsys):
    (wanted,) = values(every[kind])
    for name in ("net.sg", "net.onnx", "net.pb", "net.pbtxt", "saved"):
        assert main(["convert", str(every[kind]), str(tmp_path / name)]) == 0
        assert capsys.readouterr().out.startswith(str(tmp_path / name))
        (found,) = values(tmp_path / name)
        np.testing.assert_allclose(found, wanted, rtol=1e-6)


@pytest.mark.parametrize("kind", ["onnx", "saved_model", "keras", "meta"])
def test_a_graph_of_any_format_is_compiled_for_c(every: dict[str, Path], kind: str, tmp_path: Path, capsys):
    assert main(["compile", str(every[kind]), "-o", str(tmp_path / "net"), "--json"]) == 0
    written = json.loads(capsys.readouterr().out)
    assert set(written) == {str(tmp_path / name) for name in ("net.o", "net.h", "main.c")}


@pytest.mark.parametrize("kind", ["keras", "meta", "events"])
def test_show_and_bench_and_visualize_take_them(every: dict[str, Path], kind: str, tmp_path: Path, capsys):
    assert main(["show", str(every[kind]), "--html", str(tmp_path / "net.html")]) == 0
    assert "kernel" in capsys.readouterr().out
    assert main(["bench", str(every[kind]), "--runs", "2", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["runs"] == 2
    assert sg.visualize(every[kind]).boxes >= 2


def test_training_steps_stay_in_our_own_format(files: dict[str, Path], tmp_path: Path):
    assert main(["convert", str(files["graph"]), str(tmp_path / "net.sg")]) == 0
    net = sg.load(tmp_path / "net.sg")
    assert set(net.signatures) == {"predict", "train"}
    before = net.variables["layer/kernel"].copy()
    net.signatures["train"](x=ROWS, labels=np.zeros(3, np.int32))
    assert (before != net.variables["layer/kernel"]).any()
    assert main(["convert", str(files["graph"]), str(tmp_path / "one.sg"), "--signature", "predict"]) == 0
    assert set(sg.load(tmp_path / "one.sg").signatures) == {"predict"}


def test_a_saved_model_has_the_signature_for_serving(files: dict[str, Path], tmp_path: Path):
    assert main(["convert", str(files["onnx"]), str(tmp_path / "saved")]) == 0
    with sg.Session(graph=sg.Graph()) as session:
        meta = sg.saved_model.load(session, ["serve"], str(tmp_path / "saved"))
    assert set(meta.signature_def) == {"serving_default"}


def test_what_cannot_be_converted_is_one_clear_error(files: dict[str, Path], tmp_path: Path, capsys):
    folder = tmp_path / "empty"
    with sg.summary.FileWriter(str(folder)) as writer:
        writer.add_summary(sg.summary.Summary(value=[{"tag": "loss", "simple_value": 0.5}]), 1)
    with sg.Graph().as_default(), sg.Session() as session:
        step = sg.Variable(1.0).initializer
        session.run(step)
        sg.save(tmp_path / "step.sg", step=step, session=session)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "kept").write_text("kept")
    for file, out, said in (
        (tmp_path / "step.sg", "step.onnx", "only .sg has room for steps alone"),
        (tmp_path / "step.sg", "step.pb", "only .sg has room for steps alone"),
        (tmp_path / "step.sg", "step", "only .sg has room for steps alone"),
        (files["graph"], "net.txt", "does not end with a format that a graph can be converted to: .txt"),
        (tmp_path / "none.onnx", "net.sg", "none.onnx"),
        (files["npz"], "net.sg", "net.npz"),
        (folder, "net.sg", "no graph is in the events of"),
    ):
        assert main(["convert", str(file), str(tmp_path / out)]) in (1, 2)
        told = capsys.readouterr().err
        assert said in told and "Traceback" not in told
        assert not (tmp_path / out).exists()
    assert main(["convert", str(files["graph"]), str(tmp_path / "full")]) == 1
    assert "a SavedModel gets a folder of its own" in capsys.readouterr().err
    assert [path.name for path in (tmp_path / "full").iterdir()] == ["kept"]
