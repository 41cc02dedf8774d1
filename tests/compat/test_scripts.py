"""Whole scripts of TF1, in the manners of tutorials and of programs: each prints what TensorFlow prints.

`outputs.json` holds what TensorFlow 1.15.5 printed, recorded by `tools/record/scripts.py`. Words must be
equal, numbers as near as rounding and the order of sums allow.
"""

import json
import logging
import re
import sys
from pathlib import Path

import pytest

import staticgraph as sg
from staticgraph.tf1.drop_in.runner import run_script
from tools.record.scripts import scripts

pytestmark = pytest.mark.takes_long

FOLDER = Path(__file__).parent
OUTPUTS = json.loads((FOLDER / "outputs.json").read_text())
NUMBER = re.compile(r"(?<![\w.])[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?(?!\w)")


@pytest.fixture(autouse=True)
def alone(monkeypatch, tmp_path):
    """A folder, a graph, arguments and a level of logging of the test's own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["script"])
    monkeypatch.setattr(sys, "path", list(sys.path))
    log = logging.getLogger("tensorflow")
    before = log.level
    sg.reset_default_graph()
    yield
    sg.reset_default_graph()
    log.setLevel(before)


def words(line: str) -> str:
    return "".join(NUMBER.sub("#", line).split())


def numbers(lines: list[str]) -> list[float]:
    return [float(found) for line in lines for found in NUMBER.findall(line)]


def test_all_scripts_are_recorded():
    assert sorted(OUTPUTS) == scripts()
    assert len(OUTPUTS) >= 40


@pytest.mark.parametrize("name", OUTPUTS)
def test_prints_what_tensorflow_prints(name, capsys):
    try:
        status = run_script(str(FOLDER / "scripts" / f"{name}.py"), [])
    except SystemExit as stop:
        status = stop.code or 0
    printed = capsys.readouterr()
    lines = printed.out.splitlines()
    assert status == 0, printed.err
    assert [*map(words, lines)] == [*map(words, OUTPUTS[name])]
    assert numbers(lines) == pytest.approx(numbers(OUTPUTS[name]), rel=2e-3, abs=2e-3)
