"""Programs in several processes, for checks."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from staticgraph.cli.launch import mpiexec

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = ROOT / "tests" / "processes" / "scripts"


def launched(workers: int, script: Path, *arguments: str, limit: float = 1800.0) -> str:
    """Return what the processes print. Each has one thread."""
    line = [sys.executable, str(script), *arguments]
    if workers > 1:
        line = [mpiexec(), "-n", str(workers), *line]
    done = subprocess.run(
        line, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=limit,
        env=os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    if done.returncode:
        raise SystemExit(done.stdout)
    return done.stdout
