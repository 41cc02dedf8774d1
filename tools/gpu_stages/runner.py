"""Runs stages one after the other, each in a process of its own that is ended when its time is over."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from gpu_stages.findings import Finding, read

TOOLS = Path(__file__).resolve().parents[1]
_GRACE = 3.0  # seconds from the request to end until the end


@dataclass(frozen=True, slots=True)
class Stage:
    """What is tried, in at most so many seconds; `card`: not without one."""

    name: str
    seconds: float
    title: str
    card: bool = False


STAGES = (
    Stage("probe", 20, "versions, copies, ceilings of the card, products, what a capture allows"),
    Stage("build", 50, "kernels of whole steps: how long they take to compile, and to load when they are"),
    Stage("kernels", 90, "every op against its meaning in NumPy"),
    Stage("models", 80, "training steps, captured and replayed, against the processor"),
    Stage("suspects", 20, "which kernel is at fault where such a step differs"),
    Stage("convolutions", 25, "layers of usual nets by cuDNN, against our own kernels"),
    Stage("bandwidth", 60, "templates of kernels, against the ceilings of the card"),
    Stage("overhead", 30, "what a run costs the host, and a replay by the number of its nodes"),
    Stage("peers", 105, "the same steps by PyTorch and JAX", card=True),
    Stage("memory", 50, "kernels under compute-sanitizer", card=True),
    Stage("harvest", 10, "facts about the card, and the graph of a step", card=True),
)


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a stage went: "done", "failed", "stopped" at the end of its time, or "left out"."""

    stage: str
    how: str
    seconds: float
    findings: tuple[Finding, ...] = ()
    said: str = ""  # the last lines that it printed, where it did not end well


def run_stages(
    stages: Sequence[Stage],
    device: str,
    budget: float,
    folder: Path,
    tell: Callable[[list[Outcome]], None],
    command: Sequence[str] = (sys.executable, "-m", "gpu_stages.worker"),
) -> list[Outcome]:
    """The outcome of each stage, in at most `budget` seconds together: where that is more than they need,
    each has more. `tell` is told after each of them.
    """
    outcomes: list[Outcome] = []
    end = time.monotonic() + budget
    share = max(1.0, budget / sum(stage.seconds for stage in stages))
    for stage in stages:
        left = end - time.monotonic() - _GRACE
        if left < 2:
            outcomes.append(Outcome(stage.name, "left out", 0, said="no time was left"))
        else:
            outcomes.append(_run(stage, device, min(stage.seconds * share, left), folder, command))
        tell(outcomes)
    return outcomes


def _run(stage: Stage, device: str, seconds: float, folder: Path, command: Sequence[str]) -> Outcome:
    found, log = folder / f"{stage.name}.jsonl", folder / f"{stage.name}.log"
    found.unlink(missing_ok=True)
    start = time.monotonic()
    # A stage stops by itself a little earlier, with all that it has found.
    arguments = [*command, stage.name, device, f"{seconds - min(2.0, seconds / 10):.1f}", str(folder)]
    environment = {**os.environ, "PYTHONPATH": _path(), "PYTHONUNBUFFERED": "1"}
    with log.open("w") as output:
        process = subprocess.Popen(
            arguments, stdout=output, stderr=subprocess.STDOUT, env=environment, start_new_session=True
        )
        try:
            code = process.wait(seconds)
            how = "done" if code == 0 else "failed"
        except subprocess.TimeoutExpired:
            how = "stopped"
        finally:
            _end(process)
    findings = tuple(read(found))
    if how == "done" and any(finding.ok is False for finding in findings):
        how = "failed"
    lines = log.read_text(errors="replace").splitlines()
    said = "" if how == "done" else "\n".join(lines[-12:])
    return Outcome(stage.name, how, time.monotonic() - start, findings, said)


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a stage and all that it started."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
        except ProcessLookupError:
            break
        try:
            process.wait(_GRACE)
        except subprocess.TimeoutExpired:
            continue
    process.wait()


def _path() -> str:
    """Where stages import from: these tools, and the tests, whose descriptions of ops they use."""
    before = os.environ.get("PYTHONPATH")
    return os.pathsep.join([str(TOOLS), str(TOOLS.parent), *([before] if before else [])])
