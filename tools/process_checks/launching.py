"""Programs in several processes, for checks."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from staticgraph.applications.cli.launch import mpiexec

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = ROOT / "tests" / "processes" / "scripts"
PROGRAMS = Path(__file__).parent / "programs"
_FOUND = "FOUND "


def launched(workers: int, script: Path, *arguments: str, limit: float = 1800.0) -> str:
    """Return what the processes print. Each has one thread."""
    line = [sys.executable, str(script), *arguments]
    if workers > 1:
        line = [mpiexec(), "-n", str(workers), *line]
    done = subprocess.run(
        line, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=limit,
        env=os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "SG_THREADS": "1"},
    )  # fmt: skip
    if done.returncode:
        raise SystemExit(done.stdout)
    return done.stdout


def found(workers: int, program: str, *arguments: object) -> list[dict[str, Any]]:
    """Return what a program in `programs` finds in so many processes."""
    return rows_of(launched(workers, PROGRAMS / program, *map(str, arguments)))


def rows_of(said: str) -> list[dict[str, Any]]:
    """Return what programs have found, of all that they print."""
    lines = (line for line in said.splitlines() if line.startswith(_FOUND))
    return [json.loads(line.removeprefix(_FOUND)) for line in lines]
