"""The stages of tools/endurance.py at small counts: nothing hangs, nothing is lost or half done."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
LONGEST = 300  # seconds: it hangs
pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="processes cannot be forked here"),
    pytest.mark.takes_long,
]


def run(*command: str) -> str:
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "tools")])}
    done = subprocess.run(
        [sys.executable, *command], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=LONGEST
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize(
    ("stage", "found"),
    [
        ("interrupts=12", "all variables changed or none"),
        ("threads=3200", "all exact"),
        ("forks=10", "none hung"),
        ("cache=400", "of them killed: all exact"),
    ],
)
def test_a_stage(stage: str, found: str):
    assert found in run("tools/endurance.py", stage)


def test_kills_in_writes_to_the_cache(tmp_path: Path):
    """Kills in saves are in tests/saving/test_kills.py, those in trainings in tests/solver/test_kills.py."""
    program = (
        "import random, pathlib; from endurance_stages import kills;"
        f"print(kills._writes(12, random.Random(1), pathlib.Path({str(tmp_path / 'cache')!r})))"
    )
    assert run("-c", program) == "12\n"


def test_an_unknown_stage():
    command = [sys.executable, "tools/endurance.py", "x=1"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 2 and "no such stage: x; there are interrupts" in done.stderr
