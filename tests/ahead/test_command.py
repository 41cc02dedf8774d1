"""`python -m staticgraph compile`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import staticgraph as sg
from staticgraph.__main__ import main
from tests.ahead.native import saved
from tests.ahead.objects import read


@pytest.fixture
def line(tmp_path: Path) -> Path:
    """A file with two functions."""
    path = tmp_path / "line.sg"
    x = sg.placeholder(sg.float32, [None, 3], name="x")
    w = sg.Variable([[1.0], [2.0], [3.0]], name="w")
    predict = sg.Signature({"y": sg.matmul(x, w)})
    saved(path, {"predict": predict, "reset": sg.Signature(step=w.initializer)})
    return path


@pytest.mark.takes_long
def test_the_files_are_written_and_listed(line: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["compile", str(line), "--batch", "1"]) == 0
    listed = [entry.split() for entry in capsys.readouterr().out.splitlines()]
    names = ["line.o", "line.h", "main.c"]
    assert [Path(path).name for _, path in listed] == names
    assert [int(size.replace(",", "")) for size, _ in listed] == [
        line.with_name(name).stat().st_size for name in names
    ]


def test_a_size_that_is_left_open_is_a_parameter(line: Path):
    assert main(["compile", str(line)]) == 0
    assert "int line_predict(line *self, int64_t x_0, const float *x," in line.with_name("line.h").read_text()


def test_what_closes_a_size_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    x = sg.placeholder(sg.float32, [None, 3], name="x")
    small = sg.nn.dilation2d(sg.ones([1, 9, 9, 1]), x[:, :, None], [1] * 4, [1] * 4, "SAME")
    saved(tmp_path / "net.sg", {"f": sg.Signature({"y": small})})
    assert main(["compile", str(tmp_path / "net.sg")]) == 1
    told = capsys.readouterr().err
    assert "f cannot be compiled for all sizes: Dilation2D asks for the value of" in told
    assert "test_command.py" in told
    assert "--shape x=8,3" in told


def test_json(line: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["compile", str(line), "--batch", "1", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert {Path(path).name for path in listed} == {"line.o", "line.h", "main.c"}
    assert all(Path(path).stat().st_size == size for path, size in listed.items())


def test_options(line: Path, capsys: pytest.CaptureFixture[str]):
    arguments = ["--target", "aarch64-linux-gnu", "--cpu", "neoverse-n1", "--shape", "x=7,3", "--weights"]
    command = ["compile", str(line), "-o", str(line.with_name("net")), *arguments]
    assert main([*command, "--threads", "2", "--function", "predict"]) == 0
    assert "net.weights" in capsys.readouterr().out
    header = line.with_name("net.h").read_text()
    assert "#define NET_PREDICT_X 21 /* float32[7, 3] */" in header
    assert "aarch64-unknown-linux-gnu, neoverse-n1" in header
    found = read(line.with_name("net.o").read_bytes())
    assert found.machine == 183
    expected = {"net_init", "net_predict", "net_pool_open", "net_pool_help", "net_pool_close"}
    assert found.defined == expected


@pytest.mark.parametrize(
    "arguments, status, message",
    [
        (["--shape", "x=1,2"], 1, "--shape x=[1, 2] does not fit float32[?, 3]"),
        (["--batch", "1", "--cpu", "486dx2"], 1, "'486dx2' is not a recognized processor"),
        (["--batch", "1", "--function", "train"], 2, "line.sg has no function 'train'"),
        (["--batch", "1", "-o", "no-such-name"], 1, "cannot be the name of a C type"),
    ],
)
def test_mistakes_are_told_without_a_traceback(
    arguments: list[str], status: int, message: str, line: Path, capsys: pytest.CaptureFixture[str]
):
    assert main(["compile", str(line), *arguments]) == status
    assert message in capsys.readouterr().err
    assert not line.with_name("line.o").exists()


def test_a_file_that_is_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["compile", str(tmp_path / "none.sg")]) == 2
    assert "none.sg" in capsys.readouterr().err


@pytest.mark.parametrize("shape", ["x", "x=", "=1", "x=1,b", "x=-1"])
def test_shapes_that_are_none(shape: str, line: Path, capsys: pytest.CaptureFixture[str]):
    if shape == "x=":  # that of a single number
        assert main(["compile", str(line), "--shape", shape]) == 1
        assert "--shape x=[] does not fit float32[?, 3]" in capsys.readouterr().err
        return
    with pytest.raises(SystemExit):
        main(["compile", str(line), "--shape", shape])
    assert "is not NAME=8,28,28,1" in capsys.readouterr().err
