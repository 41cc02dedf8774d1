"""`staticgraph launch`: the processes of mpiexec, and their status."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from staticgraph.__main__ import main
from tests.processes.launching import ROOT

pytestmark = pytest.mark.takes_long

SCRIPT = """
import os, sys
import staticgraph as sg
tries = len(os.listdir(sys.argv[1]))
os.write(1, f"RANK {sg.distribute.rank()} of {sg.distribute.size()} {sys.argv[1:]}\\n".encode())
if sg.distribute.rank() == 0:
    open(os.path.join(sys.argv[1], str(tries)), "w").close()
sg.distribute.shutdown()
if tries < int(sys.argv[2]):
    sys.exit(5)
"""


def launch(tmp_path: Path, *words: str) -> tuple[int, list[str], str]:
    """The status, the lines that processes wrote, and the messages."""
    (tmp_path / "train.py").write_text(SCRIPT)
    (tmp_path / "tries").mkdir()
    line = [sys.executable, "-m", "staticgraph", "launch", *words]
    done = subprocess.run(line, cwd=ROOT, capture_output=True, text=True, timeout=120)
    return done.returncode, sorted(re.findall("RANK .*", done.stdout)), done.stderr


def test_processes_and_arguments(tmp_path: Path):
    script, tries = str(tmp_path / "train.py"), str(tmp_path / "tries")
    status, lines, _ = launch(tmp_path, "-n", "2", script, tries, "0")
    assert status == 0
    assert lines == [f"RANK {rank} of 2 ['{tries}', '0']" for rank in (0, 1)]


def test_a_run_that_fails_starts_again_with_fewer(tmp_path: Path):
    script, tries = str(tmp_path / "train.py"), str(tmp_path / "tries")
    status, lines, said = launch(tmp_path, "-n", "2", "--restarts", "2", "--fewer", script, tries, "1")
    assert status == 0
    assert [line.split("[")[0] for line in lines] == ["RANK 0 of 1 ", "RANK 0 of 2 ", "RANK 1 of 2 "]
    assert "the run ended with status 5; 1 processes start again" in said


@pytest.mark.parametrize(
    "words, text", [(["-n", "0"], "one process is needed"), (["--restarts", "-1"], "number of times")]
)
def test_wrong_usage(words: list[str], text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    script = tmp_path / "train.py"
    script.write_text("")
    assert main(["launch", *words, str(script)]) == 2
    assert text in capsys.readouterr().err
