"""`replay` and `bisect`: what they print, and the statuses that they exit with."""

from __future__ import annotations

import json
from collections import OrderedDict
from pathlib import Path

import pytest

import staticgraph as sg
from staticgraph.__main__ import main
from staticgraph.applications.cli.outcome import DONE, FAILED, UNLIKE, USAGE
from staticgraph.compiler import kernel_codes
from staticgraph.compiler.codegen.llvm import scalar as llvm_scalar
from staticgraph.compiler.graph.dtypes import float32


@pytest.fixture
def failed(tmp_path: Path) -> Path:
    """A run of three ops that failed at the last one."""
    x = sg.placeholder(sg.float32, [3], name="x")
    y = sg.log(sg.multiply(x, 2.0, name="twice"), name="root")
    with sg.Session(failures=str(tmp_path)) as sess, pytest.raises(sg.errors.InvalidArgumentError):
        sess.run(sg.check_numerics(y, "no root", name="check"), {x: [1, -1, 4]})
    return tmp_path / "failure.sg"


def names(told: str) -> list[str]:
    return [row["name"] for row in json.loads(told)["rows"]]


def test_a_replay(failed, capsys):
    assert main(["replay", str(failed)]) == DONE
    told = capsys.readouterr().out
    assert "\n>  check_numerics  check" in told and "\n!  log             root" in told
    assert "NaN or Inf begins in log (root)" in told and "fails in check_numerics (check)" in told
    assert "InvalidArgumentError: check (CheckNumerics): no root : Tensor had NaN values" in told
    assert told.endswith("the run fails as it did\n")


def test_a_part_of_it(failed, capsys):
    assert main(["replay", str(failed), "--only", "tw*", "--values"]) == DONE
    told = capsys.readouterr().out
    assert "multiply  twice" in told and " log " not in told.partition("NaN or Inf")[0]
    assert "[ 2. -2.  8.]" in told
    assert main(["replay", str(failed), "--to", "twice", "--json"]) == DONE
    assert names(capsys.readouterr().out) == ["feed x", "twice"]
    assert main(["replay", str(failed), "--to", "thrice"]) == DONE  # it fails before it could be missed
    assert main(["replay", str(failed), "--only", "test_replay.py:*", "--json"]) == DONE
    assert "root" in names(capsys.readouterr().out.rpartition("the run fails as it did\n")[2])


def test_json(failed, capsys):
    assert main(["replay", str(failed), "--json"]) == DONE
    told = json.loads(capsys.readouterr().out)
    assert told["reproduced"] is True and told["error"]["class"] == "InvalidArgumentError"
    assert told["failed"]["name"] == "check" and told["source"]["outputs"][0]["nan"] == 1
    assert set(told["versions"]) >= {"python", "numpy", "machine"}


def test_step_by_step(failed, capsys, monkeypatch):
    asked = iter(["n", "", "b", "p x", "p", "p nothing", "f", "?", "q"])
    monkeypatch.setattr("builtins.input", lambda prompt: next(asked))
    assert main(["replay", str(failed), "--step"]) == DONE
    told = capsys.readouterr().out
    shown = [line for line in told.splitlines() if " of " in line]
    assert shown[:4] == ["1 of 8", "2 of 8", "3 of 8", "2 of 8"]
    assert "there is no operation 'nothing'" in told and "\n8 of 8\n" in told
    assert told.count("n: next") == 2
    assert next(asked, None) is None


def test_the_end_of_the_input_ends_it(failed, monkeypatch, capsys):
    def nothing(prompt):
        raise EOFError

    monkeypatch.setattr("builtins.input", nothing)
    assert main(["replay", str(failed), "--step"]) == DONE


def test_a_failure_that_does_not_come_again(tmp_path, capsys):
    def raises(values):
        raise RuntimeError("not today")

    x = sg.placeholder(sg.float32, [2], name="x")
    with sg.Session(failures=str(tmp_path)) as sess, pytest.raises(sg.errors.OpError):
        sess.run(sg.py_func(raises, [x * 2.0], sg.float32, name="mine"), {x: [1, 2]})
    path = str(tmp_path / "failure.sg")
    assert main(["replay", path]) == UNLIKE
    told = capsys.readouterr().out
    assert "no file can hold it: mine" in told and f"python -m staticgraph bisect {path}" in told
    assert main(["bisect", path]) == DONE


@pytest.mark.parametrize("command", ["replay", "bisect"])
def test_files_that_are_none(command, tmp_path, capsys):
    assert main([command, str(tmp_path / "none.sg")]) == USAGE
    (tmp_path / "text.sg").write_text("hello")
    assert main([command, str(tmp_path / "text.sg")]) == FAILED
    assert "text.sg is not a usable" in capsys.readouterr().err


def test_a_saved_graph_is_no_failed_run(files, capsys):
    assert main(["replay", str(files["graph"])]) == FAILED
    assert "of kind 'graph'" in " ".join(capsys.readouterr().err.split())


# bisect


@pytest.mark.parametrize("kind", ["graph", "onnx", "frozen", "saved_model"])
def test_files_of_all_kinds(files, kind, capsys):
    assert main(["bisect", str(files[kind])]) == DONE
    assert capsys.readouterr().out.endswith("and the whole program do what NumPy does\n")


def test_a_training_step_on_given_values(files, capsys):
    chosen = ["--signature", "train", "--feeds", str(files["feeds"])]
    assert main(["bisect", str(files["graph"]), *chosen, "--json"]) == DONE
    [told] = json.loads(capsys.readouterr().out)
    assert told["agrees"] and "new value of layer/kernel" in told["results"]


def test_a_failed_run_that_compiled_code_is_not_to_blame_for(failed, capsys):
    assert main(["bisect", str(failed)]) == DONE
    assert "do what NumPy does" in capsys.readouterr().out


def test_a_fault_is_named(files, tmp_path, monkeypatch, capsys):
    right = llvm_scalar.unrounded

    def wrong(site, op, *operands):
        made = right(site, op, *operands)
        damaged = op == "maximum" and site.dtype is float32
        return site.op("fmul", made, site.const(1.01)) if damaged else made

    monkeypatch.setattr(llvm_scalar, "unrounded", wrong)
    monkeypatch.setattr(kernel_codes, "_emitted", OrderedDict())
    folder = tmp_path / "fault"
    assert main(["bisect", str(files["graph"]), "--dump", str(folder)]) == UNLIKE
    told = capsys.readouterr().out
    assert "the first kernel that differs is " in told and f"its code and its inputs are in {folder}" in told
    assert "relu" in told and "files.py:" in told and "-simplify" in told
    assert told.splitlines()[-1].startswith("at fault: the code of the kernel ")
    assert (folder / "kernel.txt").is_file()
    assert main(["bisect", str(files["graph"]), "--rtol", "0.1"]) == DONE
    assert main(["bisect", str(files["graph"]), "--rtol", "1e-3", "--json"]) == UNLIKE
    assert json.loads(capsys.readouterr().out.partition("\n")[2])[0]["fault"].startswith("the code of")
