"""The count of the names of TF1 that scripts need."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tools.surface.coverage_of_names import of_names, of_scripts

SCRIPTS = [
    {"id": "a", "names": ["nn.relu", "Session"]},
    {"id": "b", "names": ["nn.relu", "nn.relu_seven"]},
    {"id": "c"},
    {"id": "d", "names": []},
]


@pytest.fixture
def scripts(tmp_path):
    path = tmp_path / "scripts.json"
    path.write_text(json.dumps({"scripts": SCRIPTS}))
    return path


@pytest.fixture
def names(tmp_path):
    path = tmp_path / "names.csv"
    path.write_text("name,files,call_sites\ntf.nn.relu,5,7\ntf.nn.relu_seven,2,3\n")
    return path


def test_scripts_that_need_nothing_more(scripts):
    found = of_scripts(scripts)
    assert found.percent == {"scripts": pytest.approx(100 * 2 / 3)}
    assert found.missing == {"nn.relu_seven": 1}


def test_names_and_their_uses(names):
    found = of_names(names)
    assert found.percent == {"names": 50.0, "uses": 70.0}
    assert found.missing == {"nn.relu_seven": 2}


@pytest.mark.takes_long
def test_command_line(scripts, names):
    tool = Path(__file__).resolve().parent.parent / "tools" / "surface" / "coverage_of_names.py"
    done = subprocess.run(
        [sys.executable, tool, scripts, names, "--missing"], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines() == [
        "scripts.json: 66.7 % of scripts",
        "     1  tf.nn.relu_seven",
        "names.csv: 50.0 % of names, 70.0 % of uses",
        "     2  tf.nn.relu_seven",
    ]
