"""`doctor` finds what is there, and says what is missing and how to mend it."""

from __future__ import annotations

import importlib.metadata
import json
import re
import tomllib
from pathlib import Path

import pytest

from staticgraph.__main__ import main
from staticgraph.applications.cli import checks, machine
from staticgraph.applications.cli.checks import EXTRAS, REQUIRED, SECTIONS, Finding, State, findings
from staticgraph.runtime.cpu.fast_path import dispatch
from staticgraph.runtime.gpu.cuda import cudnn, present
from staticgraph.runtime.gpu.cuda.driver import Card
from staticgraph.runtime.gpu.cuda.present import CudaSystem

PROJECT = tomllib.loads((Path(__file__).resolve().parents[2] / "pyproject.toml").read_text())["project"]

H200 = Card("NVIDIA H200", "sm_90", 132, 141 << 30)


def found(section: str) -> dict[str, Finding]:
    return {each.name: each for each in findings(section)}


def lacking(monkeypatch: pytest.MonkeyPatch, **versions: str | None) -> None:
    """Let packages have other versions, or none."""
    real = importlib.metadata.version

    def version(name: str) -> str:
        told = versions[name] if name in versions else real(name)
        if told is None:
            raise importlib.metadata.PackageNotFoundError(name)
        return told

    monkeypatch.setattr(importlib.metadata, "version", version)


def test_the_tables_are_those_of_the_project():
    everywhere = [each for each in PROJECT["dependencies"] if ";" not in each]
    assert [f"{name}>={least}" for name, least in REQUIRED.items()] == everywhere
    gpus = {"cuda12", "cuda13", "cudnn12", "cudnn13", "codecheck"}  # which have a section of their own
    others = gpus | {"docs", "examples", "test"}  # not for users
    extras = {n: p for n, p in PROJECT["optional-dependencies"].items() if n not in others}
    assert {each.name for each in EXTRAS} == set(extras)
    assert all(f"{each.package}>={each.least}" in extras[each.name] for each in EXTRAS)


def test_all_that_is_needed_works_here(monkeypatch, capsys):
    assert main(["doctor"]) == 0
    told = capsys.readouterr()
    assert told.err == ""
    lines = told.out.splitlines()
    assert lines[0].startswith("staticgraph ") and lines[-1] == "all that is needed works"
    assert all(len(line) <= 80 for line in lines)
    assert re.search(r"^  ok   self test +a step compiled and ran in ", told.out, re.MULTILINE)


def test_json(monkeypatch, capsys):
    assert main(["doctor", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["fine"] is True
    assert told["running"]["self test"]["state"] == "ok"
    assert told["needed"]["numpy"]["hint"] is None
    assert told.keys() == {"version", "system", "fine", *SECTIONS}


@pytest.mark.parametrize("columns", ["40", "60"])
def test_a_narrow_terminal(columns, monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", columns)
    assert main(["doctor"]) == 0
    assert all(len(line) <= int(columns) for line in capsys.readouterr().out.splitlines()[1:])


def test_a_package_that_is_missing_or_old(monkeypatch, capsys):
    lacking(monkeypatch, llvmlite=None, networkx="3.0.1", pillow=None, h5py="3.8rc1", scipy="1.2")
    needed, extras = found("needed"), found("extras")
    assert needed["llvmlite"] == Finding(
        "llvmlite", State.BAD, "not installed", 'pip install "llvmlite>=0.44"'
    )
    assert needed["networkx"].text == "3.0.1, and 3.2 or later is needed"
    assert extras["pillow"].state is State.MISSING
    assert extras["pillow"].hint == 'pip install "staticgraph[images]"'
    assert extras["h5py"].state is State.OK and extras["scipy"].state is State.MISSING
    assert main(["doctor"]) == 1
    assert "this does not work: llvmlite, networkx" in capsys.readouterr().out


def test_a_step_that_gives_wrong_numbers(monkeypatch):
    monkeypatch.setattr(checks, "_SELF_TEST_ERROR", -1.0)
    told = found("running")["self test"]
    assert told.state is State.BAD and "a relative error of" in told.text


def test_a_compiler_that_fails(monkeypatch, capsys):
    def broken() -> Finding:
        raise RuntimeError("no such target\nand more")

    monkeypatch.setattr(checks, "self_test", broken)
    assert [each.text for each in findings("running")] == ["RuntimeError: no such target"]
    assert main(["doctor"]) == 1
    assert "BAD  running       RuntimeError: no such target" in capsys.readouterr().out


def test_calls_through_ctypes(monkeypatch):
    monkeypatch.setattr(dispatch.at, "WRITEABLE", 1 << 20)
    told = found("running")["calls"]
    assert told.state is State.DOUBTFUL and "arrays of NumPy's are laid out in an unknown way" in told.text


class TestCache:
    def test_a_folder_that_is_not_there_yet(self, monkeypatch, tmp_path):
        monkeypatch.setenv("SG_CACHE_DIR", str(tmp_path / "a" / "b"))
        told = checks.cache()
        assert told.state is State.OK and "0 entries" in told.text
        assert [*tmp_path.iterdir()] == [], "doctor makes nothing"

    def test_none(self, monkeypatch):
        monkeypatch.setenv("SG_CACHE_DIR", "")
        assert checks.cache().state is State.MISSING

    def test_one_that_cannot_be_written(self, monkeypatch, tmp_path):
        (tmp_path / "file").touch()
        monkeypatch.setenv("SG_CACHE_DIR", str(tmp_path))

        def refuse(**_):
            raise PermissionError(13, "Permission denied")

        monkeypatch.setattr(checks.tempfile, "TemporaryFile", refuse)
        told = checks.cache()
        assert told.state is State.DOUBTFUL and "cannot be written (Permission denied)" in told.text


def test_switches(monkeypatch):
    for name in [*checks.switches.in_environment()]:
        monkeypatch.delenv(name)
    assert found("switches in the environment") == {}
    monkeypatch.setenv("SG_MATH", "quick\x1b")
    monkeypatch.setenv("SG_THREAD", "2")
    monkeypatch.setenv("SG_TRACE", "compiles")
    told = found("switches in the environment")
    assert {name: each.state.value for name, each in told.items()} == {
        "SG_MATH": "??",
        "SG_THREAD": "??",
        "SG_TRACE": "ok",
    }
    assert told["SG_THREAD"].hint == "did you mean SG_THREADS?"
    assert told["SG_MATH"].hint == "it takes 'precise' or 'fast'" and "\x1b" not in told["SG_MATH"].text


def test_drawing(monkeypatch):
    lacking(monkeypatch, pygraphviz=None)
    monkeypatch.setattr(checks.shutil, "which", lambda name: None)
    assert found("drawing")["Graphviz"].hint.startswith("pip install")
    monkeypatch.setattr(checks.shutil, "which", lambda name: "/usr/bin/dot")
    assert found("drawing")["Graphviz"].text == "dot, /usr/bin/dot"


def with_cards(monkeypatch, system, driver=None, **packages):
    """Let the driver of the system say so, and these packages be all of CuPy that there is."""
    monkeypatch.setattr(machine, "nvidia_driver", lambda: driver)
    monkeypatch.setattr(present, "system", lambda: system)
    lacking(monkeypatch, **{name: packages.get(name.replace("-", "_")) for name in present.PACKAGES})
    return found("GPU")


def test_no_gpu(monkeypatch):
    (told,) = with_cards(monkeypatch, None).values()
    assert (told.name, told.state) == ("NVIDIA", State.MISSING)
    (told,) = with_cards(monkeypatch, None, driver="550.54").values()
    assert told.text == "driver 550.54, but its library libcuda is not found: steps run on the processor"


def test_a_gpu_that_lacks_something(monkeypatch):
    told = with_cards(monkeypatch, CudaSystem((13, 0), 0, (H200,)), driver="580.65")
    assert told["NVIDIA"].text == "driver 580.65, for CUDA 13.0"
    assert told["gpu:0"].text == "NVIDIA H200, sm_90, 132 multiprocessors, 141.0 GiB"
    assert "CuPy" not in told and told["sessions"].state is State.DOUBTFUL
    assert told["sessions"].hint == 'pip install "staticgraph[cuda13]"'
    told = with_cards(monkeypatch, CudaSystem((12, 4), 0, (H200,)), cupy_cuda12x="14.1.0", cupy="14.0.0")
    assert told["CuPy"].text == "cupy-cuda12x 14.1.0, cupy 14.0.0"
    assert "only one of them works" in told["sessions"].text and "uninstall" in told["sessions"].hint
    told = with_cards(monkeypatch, CudaSystem((12, 4), 802, ()), cupy_cuda12x="14.1.0")
    assert "the GPUs are not ready" in told["sessions"].text


def test_a_gpu_that_works(monkeypatch):
    tested = []
    result = Finding("self test", State.OK, "it ran")
    monkeypatch.setattr(checks, "self_test", lambda device: tested.append(device) or result)
    told = with_cards(monkeypatch, CudaSystem((13, 0), 0, (H200,)), cupy_cuda13x="14.2.0")
    assert tested == ["gpu"] and told["sessions"].state is State.OK and told["self test"] is result


def test_cudnn(monkeypatch):
    monkeypatch.setattr(checks, "self_test", lambda device: Finding("self test", State.OK, "it ran"))
    system, cupy = CudaSystem((13, 0), 0, (H200,)), {"cupy_cuda13x": "14.2.0"}
    both = {"nvidia-cudnn-frontend": "1.28.0", "nvidia-cudnn-cu13": "9.14.0.64", "nvidia-cudnn-cu12": None}
    monkeypatch.setattr(cudnn, "version", both.get)
    told = with_cards(monkeypatch, system, **cupy)["cuDNN"]
    assert told.state is State.OK
    assert told.text == "nvidia-cudnn-frontend 1.28.0, nvidia-cudnn-cu13 9.14.0.64: does large convolutions"
    monkeypatch.setattr(cudnn, "version", lambda name: None)
    told = with_cards(monkeypatch, system, **cupy)["cuDNN"]
    assert told.state is State.MISSING and told.hint == 'pip install "staticgraph[cudnn13]"'
    assert told.text == "nvidia-cudnn-frontend is not installed: kernels of this package do convolutions"
    told = with_cards(monkeypatch, CudaSystem((12, 4), 0, (H200,)), cupy_cuda12x="14.2.0")["cuDNN"]
    assert told.hint == 'pip install "staticgraph[cudnn12]"'


def test_the_driver_is_read_from_the_system(monkeypatch, tmp_path):
    told = tmp_path / "version"
    told.write_text(
        "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.15  Tue Mar  5 22:23:56 UTC 2024\n"
    )
    monkeypatch.setattr(machine, "_NVIDIA", told)
    assert machine.nvidia_driver() == "550.54.15"
