"""`sg.inspect` and `python -m staticgraph inspect` tell what is in a file, and whether it is whole."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.__main__ import main
from staticgraph.compiler.graph.errors import InvalidFileError, NotFoundError
from staticgraph.runtime.files.summary import FunctionSummary, VariableSummary
from tests.saving.nets import line
from tests.saving.test_damage import forge


def test_it_tells_what_is_in_a_graph(tmp_path: Path):
    path = line(tmp_path / "net.sg")
    found = sg.inspect(path)
    y = {"y": "float32[?, 2]", "loss": "float32[]"}
    x = {"x": "float32[?, 2]", "target": "float32[?, 2]"}
    assert found.signatures["predict"] == FunctionSummary(x, y, "dict", None)
    assert found.signatures["train"] == FunctionSummary(x, y, "dict", "AssignSub")
    assert found.variables == {
        "w": VariableSummary("float32[2]", 8, True, True),
        "b": VariableSummary("float32[]", 4, True, False),
    }
    assert (found.kind, found.format, found.bytes) == ("graph", 1, path.stat().st_size)
    assert found.producer.startswith("staticgraph")
    assert sum(found.operations.values()) == len(sg.load(path).graph.get_operations())
    assert (found.counters, found.kernels, found.constants) == ({}, {}, 0)
    assert json.loads(json.dumps(found.as_dict()))["variables"]["w"]["type"] == "float32[2]"


def test_the_printed_form(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    x = sg.placeholder(sg.float32, [None, 2], name="x")
    w, later = sg.Variable([1.0, 2.0], name="w"), sg.Variable(0.0, name="later", trainable=False)
    noise = sg.random_uniform([2], seed=1)
    table = sg.constant(np.arange(1000, dtype=np.float32))
    functions = {
        "predict": sg.Signature({"y": x * w + noise + table[0]}),
        "set": sg.Signature(step=later.initializer),
    }
    monkeypatch.chdir(tmp_path)
    with sg.Session() as session:
        session.run(w.initializer)
        sg.save("net.sg", signatures=functions, kernels="native", shapes={"x": [3, 2]})
    first, *lines = str(sg.inspect("net.sg")).splitlines()
    assert first.startswith("net.sg: graph, format 1, ")
    assert lines[:2] == ["  2 variables, 8 bytes", "  constants, 4.0 kB"]
    assert "operations: constant" in lines[2]
    assert lines[3].startswith("    ")  # the rest of the operations
    rest = "\n".join(lines[4:])
    assert rest.startswith(
        """\
  1 random stream, continued where it was saved

signature           name          type
predict    takes    x             float32[?, 2]
           returns  y             float32[?, 2]
set        runs     later/Assign

variable  type           size
w         float32[2]  8 bytes  trained
later     float32[]            no value here

machine code for """
    )
    assert rest.split()[-4:] == ["predict", "x:", "float32[3,", "2]"]
    assert all(len(line) <= 40 for line in sg.inspect("net.sg").text(40).splitlines()[1:])


def test_it_tells_what_is_in_a_checkpoint(tmp_path: Path):
    w = sg.Variable([1.0, 2.0], name="w")
    with sg.Session() as session:
        session.run(w.initializer)
        prefix = sg.train.Saver([w]).save(session, str(tmp_path / "model"))
    found = sg.inspect(f"{prefix}.index")
    assert (found.kind, found.variables) == ("checkpoint", {"w": VariableSummary("float32[2]", 8)})
    assert "\nw         float32[2]  8 bytes" in str(found)


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("COLUMNS", raising=False)  # no line is folded
    path = line(tmp_path / "net.sg")
    assert main(["inspect", str(path)]) == 0
    assert capsys.readouterr().out == f"{sg.inspect(path)}\n"
    assert main(["inspect", "--json", str(path)]) == 0
    assert json.loads(capsys.readouterr().out) == sg.inspect(path).as_dict()
    path.write_bytes(path.read_bytes()[:-1])
    assert main(["inspect", str(path)]) == 1
    assert "not a usable graph file" in capsys.readouterr().err
    assert main(["inspect", str(tmp_path / "none.sg")]) == 2
    assert "there is no file" in capsys.readouterr().err


def test_damaged_files_are_refused(tmp_path: Path):
    path = line(tmp_path / "net.sg")
    with pytest.raises(NotFoundError, match="there is no file"):
        sg.inspect(tmp_path / "no.sg")
    for change, member, message in (
        (lambda g: g.update(operations=[1]), "graph.json", "must be dict"),
        (lambda g: g["variables"][0].update(name=1), "graph.json", "must be str"),
        (lambda g: g["variables"].append({"name": "v"}), "graph.json", "outputs of 'v' must be list"),
        (lambda m: m["signatures"].update(x=1), "manifest.json", "must be dict"),
        (lambda m: m["counters"].update(x="1"), "manifest.json", "must be int"),
    ):
        with pytest.raises(InvalidFileError, match=message):
            sg.inspect(forge(line(path), change, member))


def test_nothing_in_a_file_steers_the_terminal(tmp_path: Path):
    path = forge(line(tmp_path / "net.sg"), lambda g: g["operations"][0].update(op="\x1b[2J"))
    assert "\x1b" not in str(sg.inspect(path))
    assert sg.inspect(path).operations["\x1b[2J"] == 1
