"""Real TensorFlow 1.15 reads what is written here, and the reverse, where one is installed."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
VARIABLE = "TENSORFLOW_1_PYTHON"  # the Python that has it: tools/record/__init__.py says how to get one


@pytest.mark.slow
@pytest.mark.skipif(VARIABLE not in os.environ, reason=f"{VARIABLE} names no Python with TensorFlow 1.15")
def test_files_go_both_ways():
    command = [sys.executable, ROOT / "tools" / "check_tf_files.py", os.environ[VARIABLE]]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(done.stdout.splitlines()) > 30
