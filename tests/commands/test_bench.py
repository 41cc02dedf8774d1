"""`bench` times what it is given, whatever kind of file that is; only its numbers are left open here."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.__main__ import main
from staticgraph.applications.cli.feeding import random
from staticgraph.compiler.graph.dtypes import DTYPES
from staticgraph.compiler.graph.shapes import TensorType


def bench(capsys, *arguments: str) -> dict:
    assert main(["bench", *map(str, arguments), "--runs", "3", "--json"]) == 0
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize(
    "kind, signature",
    [
        ("graph", "predict"),
        ("onnx", "graph"),
        ("frozen", "graph"),
        ("text", "graph"),
        ("saved_model", "serving_default"),
    ],
)
def test_all_kinds_of_files(files: dict[str, Path], kind, signature, capsys):
    found = bench(capsys, files[kind], "--batch", "7")
    assert (found["signature"], found["feeds"], found["runs"]) == (signature, {"x": "float32[7, 4]"}, 3)
    seconds = found["seconds"]
    assert 0 < seconds["min"] <= seconds["quarter"] <= seconds["median"] <= seconds["max"]
    assert found["compile"]["seconds"] > 0 and found["peak_bytes"] >= 7 * 4 * 4
    assert found["flops"] >= 2 * 7 * 4 * 3
    kernels = {kernel["name"]: kernel for kernel in found["kernels"]}
    assert any("matmul" in name for name in kernels)
    assert sum(kernel["share"] for kernel in kernels.values()) == pytest.approx(1, abs=0.01)
    worked = [kernel for kernel in kernels.values() if "flops" in kernel]
    assert worked and all(kernel["limit"] and kernel["of_limit"] >= 0 for kernel in worked)


def test_a_training_step_on_values_of_a_file(files: dict[str, Path], capsys):
    found = bench(capsys, files["graph"], "--signature", "train", "--feeds", files["feeds"])
    assert found["feeds"] == {"x": "float32[5, 4]", "labels": "int32[5]"}
    found = bench(capsys, files["graph"], "--signature", "train", "--batch", "2", "--shape", "labels=2")
    assert found["feeds"] == {"x": "float32[2, 4]", "labels": "int32[2]"}


def test_the_file_is_not_changed(files: dict[str, Path], capsys):
    before = files["graph"].read_bytes()
    bench(capsys, files["graph"], "--signature", "train")
    assert files["graph"].read_bytes() == before


def test_threads_are_as_before(files: dict[str, Path], capsys):
    before = sg.get_num_threads()
    assert bench(capsys, files["graph"], "--threads", str(before + 1))["threads"] == before + 1
    assert sg.get_num_threads() == before


@pytest.mark.parametrize("columns", [None, "80", "40"])
def test_the_printed_form(files: dict[str, Path], columns, monkeypatch, capsys):
    if columns is not None:
        monkeypatch.setenv("COLUMNS", columns)
    monkeypatch.chdir(files["graph"].parent)
    assert main(["bench", "net.sg", "--runs", "2", "--batch", "3", "--threads", "1"]) == 0
    told = capsys.readouterr()
    lines = told.out.splitlines()
    assert lines[0].startswith("net.sg, predict: 1 thread, ")
    labels = [line.split()[0] for line in lines if re.match(r"  \w", line)]
    assert labels == ["feeds", "compile", "memory", "speed"]
    (steps,) = (number for number, line in enumerate(lines) if line.startswith("step "))
    quartiles = ["25", "%"], ["75", "%"]
    if columns == "40":
        quartiles = [], []
    assert lines[steps].split() == ["step", "shortest", *quartiles[0], "median", *quartiles[1], "longest"]
    assert lines[steps + 1].startswith("2 runs")
    assert any(line.startswith("kernel ") for line in lines) and "\na core does" in told.out
    assert told.err == ""
    assert columns is None or all(len(line) <= int(columns) for line in lines)


@pytest.mark.parametrize(
    "arguments, status, message",
    [
        (["net.sg", "--signature", "trian"], 2, "has no signature 'trian': did you mean 'train'?"),
        (["net.sg", "--signature", "zzz"], 2, "it has predict, train"),
        (["net.sg", "--shape", "y=3"], 2, "has no input 'y', which --shape names: it takes x"),
        (["net.sg", "--feeds", "net.npz"], 2, "which net.npz has: it takes x"),
        (["net.sg", "--shape", "x=3,5"], 1, "--shape x=[3, 5] does not fit float32[?, 4]"),
        (["net.sg", "--threads", "1000"], 2, "there may be 256"),
        (["net.npz"], 1, "is not a usable graph file"),
        (["theirs"], 1, "is not a usable graph file"),
    ],
)
def test_what_cannot_be_timed(files: dict[str, Path], arguments, status, message, monkeypatch, capsys):
    monkeypatch.chdir(files["graph"].parent)
    assert main(["bench", *arguments]) == status
    told = capsys.readouterr()
    assert message in told.err and not told.out


@pytest.mark.parametrize("number", ["0", "-1", "1.5", "many"])
def test_numbers_are_above_zero(number, capsys):
    with pytest.raises(SystemExit) as left:
        main(["bench", "net.sg", f"--batch={number}"])
    assert left.value.code == 2
    assert "is not a whole number above zero" in capsys.readouterr().err


@pytest.mark.parametrize("dtype", DTYPES.values(), ids=DTYPES)
def test_random_values_are_of_the_type(dtype):
    value = random(np.random.default_rng(0), TensorType(dtype, (2, 3)))
    assert value.shape == (2, 3)
    x = sg.placeholder(dtype, [2, 3])
    with sg.Session() as session:
        session.run(sg.identity(x), {x: value})
