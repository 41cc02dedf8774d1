"""The descriptions among the examples keep what they promise."""

import json
import shutil
from pathlib import Path

import pytest

import staticgraph as sg
from staticgraph.__main__ import main

EXAMPLES = Path(__file__).resolve().parent.parent.parent / "examples"


@pytest.mark.parametrize(
    ("name", "accuracy"), [("iris", 0.93), pytest.param("digits", 0.98, marks=pytest.mark.slow)]
)
def test_an_example_reads_right_what_it_has_not_trained_on(tmp_path, capsys, name, accuracy):
    for file in EXAMPLES.glob(f"{name}.*"):
        if file.suffix in (".toml", ".csv"):
            shutil.copy(file, tmp_path)
    assert main(["train", str(tmp_path / f"{name}.toml"), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["validation"]["accuracy"] >= accuracy
    assert sg.load(found["file"]).signatures.keys() == {"predict", "train", "evaluate"}
