"""Scripts that were written for Horovod, unmodified."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from staticgraph.tf1 import horovod as hvd
from staticgraph.tf1.drop_in.finder import standing_in
from tests.processes.launching import ROOT

pytestmark = pytest.mark.takes_long

SCRIPTS = Path(__file__).parent / "scripts"


@pytest.mark.parametrize("processes", [2, *(pytest.param(n, marks=pytest.mark.slow) for n in (1, 4))])
def test_a_script_with_a_monitored_session(processes: int, tmp_path: Path):
    line = [sys.executable, "-m", "staticgraph", "launch", "-n", str(processes), "--tensorflow"]
    done = subprocess.run(
        [*line, str(SCRIPTS / "horovod_digits.py"), str(tmp_path)],
        cwd=ROOT,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout
    lines = sorted(line for line in done.stdout.splitlines() if line.startswith("rank"))
    assert lines == [f"rank {n} of {processes}: right True, apart 0.0" for n in range(processes)]
    assert (tmp_path / "checkpoint").exists()  # of process 0


def test_modules_that_are_not_supported():
    with standing_in(), pytest.raises(ModuleNotFoundError, match=r"horovod\.torch is not supported"):
        import horovod.torch  # noqa: F401


def test_more_passes_per_step_are_refused():
    from staticgraph import train

    with pytest.raises(NotImplementedError, match="gradients are sent in each step"):
        hvd.DistributedOptimizer(train.AdamOptimizer(0.1), backward_passes_per_step=2)


def test_what_scripts_use_besides(tmp_path: Path):
    line = [sys.executable, "-m", "staticgraph", "launch", "-n", "2", "--tensorflow"]
    done = subprocess.run(
        [*line, str(SCRIPTS / "horovod_rest.py"), str(tmp_path)],
        cwd=ROOT,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout
    # The last line: a step of 0.5, then its momentum, with gradients of -1 and 1 that cancel out.
    for text in (
        "ROWS [0.0, 1.0, 1.0]",
        "TABLE [-1.0, -0.5, 0.0, 0.0]",
        "NOW [1.0, 2.5] 5",
        "ALL [0, 0, 1]",
        f"WEIGHT {0.5 + 0.45} SGD",
    ):
        assert done.stdout.count(text) == 2, done.stdout
