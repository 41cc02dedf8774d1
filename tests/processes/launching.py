"""Programs in several processes, as a user starts them."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

from staticgraph.applications.cli.launch import mpiexec

ROOT = Path(__file__).resolve().parent.parent.parent
# A line is one write: those of several processes come through one pipe.
HEAD = """
import os
import numpy as np
import staticgraph as sg
def say(*words):
    os.write(1, (" ".join(map(str, words)) + chr(10)).encode())
"""
LIMIT = 120  # seconds: a run that hangs is a failure


def launched(
    processes: int, program: str | Path, *arguments: str, status: int | None = 0, **environment: str
) -> str:
    """Return what the processes print: both streams, in any order of the processes.

    `program` is a file, or the text of one, after the imports that all need. `status` is that which is
    expected, None for any but 0.
    """
    words = [str(program)]
    if isinstance(program, str):
        words = ["-c", HEAD + textwrap.dedent(program)]
    line = [sys.executable, *words, *arguments]
    if processes > 1:
        line = [mpiexec(), "-n", str(processes), *line]
    done = subprocess.run(
        line,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=LIMIT,
        env=os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", **environment},
    )
    failed = done.returncode != 0
    assert failed if status is None else done.returncode == status, done.stdout
    return done.stdout
