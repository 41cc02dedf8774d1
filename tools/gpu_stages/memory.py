"""Kernels under NVIDIA's compute-sanitizer, where that is installed: accesses out of bounds, and races."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from gpu_stages.runner import TOOLS
from gpu_stages.setting import Setting

PLACES = ("/usr/local/cuda/bin",)
KINDS = ("memcheck", "racecheck", "initcheck")
FOUND = 9  # the exit status that says so
_SUMMARY = re.compile(r"(?:ERROR|RACECHECK) SUMMARY: .*")


def run(setting: Setting) -> None:
    """The stage. A sanitizer slows kernels down by far: a few small models, and a sample of ops."""
    program = shutil.which("compute-sanitizer") or shutil.which(
        "compute-sanitizer", path=os.pathsep.join(PLACES)
    )
    if program is None:
        setting.findings.note("memory", "compute-sanitizer is not installed")
        return

    def check(kind: str) -> None:
        with setting.findings.trying(kind):
            _checked(setting, program, kind, setting.left - 1)

    with ThreadPoolExecutor(len(KINDS)) as pool:  # side by side: none of them takes times
        list(pool.map(check, KINDS))


def _checked(setting: Setting, program: str, kind: str, seconds: float) -> None:
    log = setting.folder / f"{kind}.log"
    command = [
        program,
        "--tool",
        kind,
        "--error-exitcode",
        str(FOUND),
        "--log-file",
        str(log),
        sys.executable,
        "-m",
        "gpu_stages.sanitized",
        setting.device,
    ]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=seconds, cwd=TOOLS, check=False
        )
    except subprocess.TimeoutExpired:
        setting.findings.note(kind, f"not done after {seconds:.0f} s; so far: {_summary(log)}")
        return
    steps = done.stdout.count("done")
    said = "" if done.returncode in (0, FOUND) else " / ".join(done.stderr.splitlines()[-3:])
    text = f"{steps} steps; {_summary(log)} {said}".strip()
    setting.findings.check(kind, done.returncode == 0, text)


def _summary(log: Path) -> str:
    told = _SUMMARY.findall(log.read_text()) if log.exists() else []
    return told[-1] if told else "no summary"
