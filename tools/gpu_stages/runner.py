"""Runs stages, each in a process of its own that is ended when its time is over.

Those that take times are alone on the machine. The others share it where it has cores enough.
"""

from __future__ import annotations

import itertools
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
ENOUGH = 8  # cores, for stages side by side
_GRACE = 3.0  # seconds from the request to end until the end
_LOOK = 0.02  # seconds between two looks at those that run


FIRST, SECOND = "first", "second"
# Seconds of each call: a machine is lent for 900, of which its start takes some, and for 600 to one command.
CALLS = {FIRST: 570.0, SECOND: 140.0}


@dataclass(frozen=True, slots=True)
class Stage:
    """Work to try, in at most so many seconds; `card`: not without one. `alone`: nothing else may run
    meanwhile, since it takes times. `after`: the stage whose findings it goes by. `call`: which of `CALLS` it
    belongs to.
    """

    name: str
    seconds: float
    title: str
    card: bool = False
    alone: bool = True
    after: str = ""
    call: str = FIRST


STAGES = (  # what was never measured comes first
    Stage("probe", 15, "versions, copies, ceilings of the card, products, what a capture allows"),
    Stage("nets", 195, "nets that nobody tuned, beside JAX and PyTorch"),
    Stage("peers", 110, "the same steps by JAX and PyTorch", card=True),
    Stage("generated", 18, "a token of GPT-2 small, against the memory"),
    Stage("loops", 12, "what a round of a tiny loop costs"),
    Stage("halves", 63, "steps in bfloat16 and float16, beside PyTorch with autocast", card=True),
    Stage("changing", 12, "sizes that change from run to run"),
    Stage("starts", 30, "the first step of a process, cold and with programs on disk"),
    Stage("kernels", 90, "every op against its meaning in NumPy", alone=False),
    Stage("models", 65, "training steps, captured and replayed, against the processor", alone=False),
    Stage("suspects", 25, "which kernel is at fault where such a step differs", alone=False, after="models"),
    Stage("overhead", 25, "what a run costs the host, and a replay by the number of its nodes"),
    Stage("memory", 65, "kernels under compute-sanitizer", card=True, alone=False, call=SECOND),
    Stage(
        "harvest", 15, "facts about the card, and the graph of a step", card=True, alone=False, call=SECOND
    ),
    Stage("golden", 65, "recorded answers of TensorFlow 1.15", alone=False, call=SECOND),
    Stage("bandwidth", 25, "templates of kernels, against the ceilings of the card", call=SECOND),
    Stage("convolutions", 25, "layers of usual nets by cuDNN, against our own kernels", call=SECOND),
    Stage("build", 25, "kernels of whole steps: how long they take to compile, and to load", call=SECOND),
)


@dataclass(frozen=True, slots=True)
class Outcome:
    """End of a stage: "done", "failed", "stopped" at the end of its time, or "left out"."""

    stage: str
    how: str
    seconds: float
    findings: tuple[Finding, ...] = ()
    said: str = ""  # the last lines that it printed, where it did not end well


Chain = list[Stage]  # stages of which each waits for the one before


def run_stages(
    stages: Sequence[Stage],
    device: str,
    budget: float,
    folder: Path,
    tell: Callable[[list[Outcome], Outcome], None],
    command: Sequence[str] = (sys.executable, "-m", "gpu_stages.worker"),
    cores: int | None = None,
) -> list[Outcome]:
    """The outcome of each stage, in at most `budget` seconds together. If that is more than they need, or if
    some end sooner, later ones have more. `tell` is told each of them when it is there, with all so far in
    the order of the stages; and if the whole is ended, those that run, with what they have found.
    """
    done: dict[str, Outcome] = {}
    end = time.monotonic() + budget
    order = turns(stages, os.cpu_count() or 1 if cores is None else cores)

    def told(outcome: Outcome) -> None:
        done[outcome.stage] = outcome
        tell(_sorted(stages, done), outcome)

    for number, turn in enumerate(order):
        needed = sum(max(_seconds(chain) for chain in later) for later in order[number:])
        share = max(1.0, (end - time.monotonic()) / max(needed, 1.0))
        _side_by_side(turn, device, share, end, folder, command, told)
    return _sorted(stages, done)


def turns(stages: Sequence[Stage], cores: int) -> list[list[Chain]]:
    """Turns one after the other, and in each of them what runs side by side: with few cores nothing, else
    neighbours of which none must be alone.
    """
    if cores < ENOUGH:
        return [[[stage]] for stage in stages]
    order: list[list[Chain]] = []
    for alone, neighbours in itertools.groupby(stages, lambda stage: stage.alone):
        chains: dict[str, Chain] = {}
        for stage in neighbours:
            chains.setdefault(stage.after or stage.name, []).append(stage)
        order += [[chain] for chain in chains.values()] if alone else [[*chains.values()]]
    return order


def _seconds(chain: Chain) -> float:
    return sum(stage.seconds for stage in chain)


def _sorted(stages: Sequence[Stage], done: dict[str, Outcome]) -> list[Outcome]:
    return [done[stage.name] for stage in stages if stage.name in done]


def _side_by_side(
    turn: list[Chain],
    device: str,
    share: float,
    end: float,
    folder: Path,
    command: Sequence[str],
    tell: Callable[[Outcome], None],
) -> None:
    """Run chains of stages, all of which have until the same end."""
    waiting, running = [list(chain) for chain in turn], dict[int, _Running]()
    try:
        while running or any(waiting):
            for place, chain in enumerate(waiting):
                if place not in running and chain:
                    stage, left = chain.pop(0), end - time.monotonic() - _GRACE
                    if left < 2:
                        tell(Outcome(stage.name, "left out", 0, said="no time was left"))
                    else:
                        seconds = min(stage.seconds * share, left)
                        running[place] = _Running(stage, device, seconds, folder, command)
                elif place in running and (outcome := running[place].outcome()) is not None:
                    del running[place]
                    tell(outcome)
            time.sleep(_LOOK)
    finally:
        for outcome in [each.ended("stopped") for each in running.values()]:
            tell(outcome)


class _Running:
    """The process of a stage."""

    def __init__(
        self, stage: Stage, device: str, seconds: float, folder: Path, command: Sequence[str]
    ) -> None:
        self._stage, self._seconds = stage.name, seconds
        self._found, self._log = folder / f"{stage.name}.jsonl", folder / f"{stage.name}.log"
        self._found.unlink(missing_ok=True)
        self._start = time.monotonic()
        # A stage stops by itself a little earlier, with all that it has found.
        arguments = [*command, stage.name, device, f"{seconds - min(2.0, seconds / 10):.1f}", str(folder)]
        environment = {**os.environ, "PYTHONPATH": _path(), "PYTHONUNBUFFERED": "1"}
        with self._log.open("w") as output:
            self._process = subprocess.Popen(
                arguments, stdout=output, stderr=subprocess.STDOUT, env=environment, start_new_session=True
            )

    def outcome(self) -> Outcome | None:
        """Return its outcome; None as long as it runs and has time."""
        code = self._process.poll()
        took = time.monotonic() - self._start
        if code is None and took < self._seconds:
            return None
        return self.ended("stopped" if code is None else "failed" if code else "done")

    def ended(self, how: str) -> Outcome:
        """End the stage and all that it started, and return its outcome."""
        took = time.monotonic() - self._start
        self._end()
        findings = tuple(read(self._found))
        if how == "done" and any(finding.ok is False for finding in findings):
            how = "failed"
        lines = self._log.read_text(errors="replace").splitlines()
        return Outcome(self._stage, how, took, findings, "" if how == "done" else "\n".join(lines[-12:]))

    def _end(self) -> None:
        for number in (signal.SIGTERM, signal.SIGKILL):
            try:
                os.killpg(self._process.pid, number)
            except ProcessLookupError:
                break
            try:
                self._process.wait(_GRACE)
            except subprocess.TimeoutExpired:
                continue
        self._process.wait()


def _path() -> str:
    """Return the path of a stage's imports: these tools, and the tests, which describe the ops."""
    before = os.environ.get("PYTHONPATH")
    return os.pathsep.join([str(TOOLS), str(TOOLS.parent), *([before] if before else [])])
