"""A training that is killed at any moment goes on bit for bit as if it had not been."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.solver.descriptions import SPIRAL, train, with_spiral

pytestmark = pytest.mark.takes_long

ROOT = Path(__file__).resolve().parent.parent.parent
KILLED = """\
import os, signal, sys
from staticgraph.__main__ import main
from staticgraph.runtime.disk import atomic
from staticgraph.applications.solver import loop

moment, at = sys.argv[1], int(sys.argv[2])
kill = lambda: os.kill(os.getpid(), signal.SIGKILL)
one, fsync, rename = loop._Training.one, os.fsync, os.replace
counts = {"fsync": 0, "rename": 0}

def step(self, batch):
    one(self, batch)
    if moment == "step" and self.step == at:
        kill()

def counted(name, real):
    def call(*arguments):
        counts[name] += 1
        if moment == name and counts[name] == at:
            kill()
        return real(*arguments)
    return call

loop._Training.one = step
os.fsync, os.replace = counted("fsync", fsync), counted("rename", rename)
sys.exit(main(["train", *sys.argv[3:]]))
"""
STEPS = np.random.default_rng(20151109).choice(np.arange(1, 36), 3, replace=False).tolist()


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Return the end of a training without a stop."""
    folder = tmp_path_factory.mktemp("whole")
    with_spiral(folder, SPIRAL)
    assert train(folder) == 0
    return (folder / "net.sg").read_bytes()


@pytest.mark.parametrize(
    ("moment", "at"),
    [*(("step", step) for step in STEPS), ("fsync", 5), ("rename", 3)],  # within the third snapshot
)
def test_a_killed_training_goes_on_bit_for_bit(tmp_path, whole, moment, at):
    with_spiral(tmp_path, SPIRAL)
    command = [sys.executable, "-c", KILLED, moment, str(at), str(tmp_path / "net.toml")]
    killed = subprocess.run(
        command,
        cwd=tmp_path,
        capture_output=True,
        timeout=300,
        env={**os.environ, "PYTHONPATH": str(ROOT), "SG_CACHE_DIR": ""},  # which writes files too
    )
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert not (tmp_path / "net.sg").exists()
    assert train(tmp_path, "--resume") == 0
    assert (tmp_path / "net.sg").read_bytes() == whole
    assert {path.suffix for path in (tmp_path / "net.snapshots").iterdir()} == {".sg"}
