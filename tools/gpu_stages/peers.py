"""The same training steps by others: PyTorch in several ways, and JAX, each in a process of its own.

All compute in float32 as it is meant, without TF32; batches come from the host in every step, and the loss
goes back to it. What takes long is to start and to compile, so that the processes do it side by side. Then
they take times one by one, in turns with ours.
"""

from __future__ import annotations

import importlib.util
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from gpu_stages.peer import TURNS, parts
from gpu_stages.peer_process import PeerProcess
from gpu_stages.setting import Setting
from gpu_stages.sizes import STEPS

PATIENCE = 100.0  # seconds for peers to prepare themselves side by side
TIMES = 2  # how often each takes times, in turns with ours
TURN = 0.6  # seconds that a turn takes, about
LEAST = 12.0  # seconds in which it makes sense to prepare something
TOLERANCE, ROUNDED_TOLERANCE = 1e-3, 5e-2  # of losses
OURS = "staticgraph"


@dataclass(frozen=True, slots=True)
class Row:
    """A way to do a step, and the package that it needs. Those that take long, or are not the fastest way to
    do more work, do `only` one step. `later`: all others come before it, at every step.
    """

    name: str
    package: str
    only: str = ""
    later: bool = False


SMALL = "small_mlp"
ROWS = (
    Row(OURS, "staticgraph"),
    Row("jax", "jax"),  # which takes the longest to be ready
    Row("torch.compile in a CUDA graph", "torch"),
    Row("torch in a CUDA graph", "torch", SMALL),
    Row("torch.compile", "torch", later=True),
    Row("torch.compile, reduce-overhead", "torch", SMALL, later=True),
    Row("torch", "torch", SMALL, later=True),
    Row("torch.compile, max-autotune", "torch", "mlp", later=True),
)
FASTER = {"torch.compile, reduce-overhead": 4.0}  # how many times, at the small net
AHEAD, SOONER = 1 / 0.9, 5.0  # how many times: at the other steps, and the first step of `COLD`
COLD = "resnet18"


@dataclass(frozen=True, slots=True)
class Ready:
    """A peer that is prepared for a step."""

    row: str
    process: PeerProcess
    losses: list[float]


def run(setting: Setting) -> None:
    """The stage. What matters most comes first: the time may not be enough for all."""
    rows = [row for row in ROWS if importlib.util.find_spec(row.package)]
    setting.findings.note("peers", ", ".join(row.name for row in rows if row.name != OURS) or "none is here")
    for later in (False, True):
        mine = [row for row in rows if row.name == OURS or row.later is later]
        work = {
            name: [row.name for row in mine if row.only in ("", name)]
            for name, step in STEPS.items()
            if step.speed
        }
        work = {name: names for name, names in work.items() if not later or names != [OURS]}
        while work:
            names = together(work, os.cpu_count() or 1, setting.left)
            several(setting, {name: work.pop(name) for name in names})


def together(work: dict[str, list[str]], cores: int, left: float) -> list[str]:
    """The first steps, whose peers prepare themselves at the same time: no more peers than there are
    cores, or than the time is enough for, but the first one is always among them.
    """
    names: list[str] = []
    count = 0
    for name, rows in work.items():
        count += len(rows)
        if names and (count > cores or left - _turns(count) < PATIENCE):
            break
        names.append(name)
    return names


def _turns(peers: int) -> float:
    """Seconds until so many have taken their times."""
    return 2 * TIMES * TURN * peers


def several(setting: Setting, work: dict[str, list[str]]) -> None:
    """Prepare all peers of some steps, then have them take times."""
    count = sum(map(len, work.values()))
    patience = min(PATIENCE, setting.left - _turns(count))
    if patience < LEAST:
        for name in work:
            setting.findings.note(STEPS[name].title, f"left out: {setting.left:.0f} s are left")
        return
    began = time.monotonic()
    started = {
        (name, row): PeerProcess(row, command(row, name, setting.device), compiling(count))
        for name, rows in work.items()
        for row in rows
    }
    try:
        ready: dict[str, list[Ready]] = {name: [] for name in work}
        for (name, row), process in started.items():
            what = f"{STEPS[name].title}: {row}"
            with setting.findings.trying(what):
                ready[name].append(Ready(row, process, process.losses(began + patience)))
                print(f"{what}: ready after {time.monotonic() - began:.1f} s at most", flush=True)
        for name, row in started:
            if row not in [each.row for each in ready[name]]:
                started[name, row].end()  # it would disturb the others
        for name, peers in ready.items():
            for dtype in dict.fromkeys(parts(each.row)[1] for each in peers):
                _in_turns(setting, name, [each for each in peers if parts(each.row)[1] == dtype])
    finally:
        for process in started.values():
            process.end()


def command(row: str, step: str, device: str) -> list[str]:
    """Return the command that runs a peer."""
    return [sys.executable, "-m", "gpu_stages.peer", row, step, device, TURNS]


def compiling(peers: int) -> dict[str, str]:
    """Return the environment of peers that prepare themselves side by side.

    Each has its share of the cores to compile with, and keeps what it has compiled for another call.
    """
    kept = Path(tempfile.gettempdir()) / "staticgraph-gpu-check"
    return {
        "TORCHINDUCTOR_COMPILE_THREADS": str(max(1, 2 * (os.cpu_count() or 1) // peers)),
        "TORCHINDUCTOR_CACHE_DIR": str(kept / "inductor"),
        "JAX_COMPILATION_CACHE_DIR": str(kept / "jax"),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
    }


def _in_turns(setting: Setting, step: str, peers: Sequence[Ready]) -> None:
    """Times of all peers at a step, each in turns with ours; those of ours from all turns come last."""
    title, mine = STEPS[step].title, list[float]()
    ours = next((each for each in peers if parts(each.row)[0] == OURS), None)
    others = [each for each in peers if each is not ours]
    if ours is not None and step == COLD:
        _first_steps(setting, title, ours, others)
    for each in others:
        what = f"{title}: {each.row}"
        if setting.within(what, _turns(1)):
            with setting.findings.trying(what):
                taken, ours_taken = list[float](), list[float]()
                for _ in range(TIMES):
                    if ours is not None:
                        ours_taken += ours.process.rounds()
                    taken += each.process.rounds()
                mine += ours_taken
                _tell(setting, step, what, each, taken, ours_taken)
                if ours is not None:
                    _compare_losses(setting, what, each.losses, ours.losses)
        each.process.end()
        if ours is not None and ours.process.failed:
            ours = None
    if ours is not None:
        what = f"{title}: {ours.row}"
        with setting.findings.trying(what):
            mine = mine or ours.process.rounds()
            setting.findings.measured(what, 1e6 * statistics.median(mine), "us")
        ours.process.end()


def _first_steps(setting: Setting, title: str, ours: Ready, others: Sequence[Ready]) -> None:
    """Seconds until the first loss, after the import of a library and beside others that begin."""
    mine = ours.process.first
    for each in (ours, *others):
        compiled = each.row.startswith("torch.compile") and each.process.first
        what = f"{title}: {each.row}: first step after import"
        setting.findings.measured(what, each.process.first, "s", SOONER * mine if compiled else None)


def _tell(setting: Setting, step: str, what: str, peer: Ready, taken: list[float], ours: list[float]) -> None:
    """A peer's time, which should be no less than ours, and for which ours is the target."""
    seconds = statistics.median(taken)
    if not ours:
        setting.findings.measured(what, 1e6 * seconds, "us")
        return
    mine = statistics.median(ours)
    times = FASTER.get(peer.row, 1.0) if step == SMALL or parts(peer.row)[1] else AHEAD
    text = f"{seconds / mine:.2f} times as long as ours, {1e6 * mine:.4g} us"
    setting.findings.measured(what, 1e6 * seconds, "us", 1e6 * times * mine, text=text)


def _compare_losses(setting: Setting, what: str, theirs: list[float], ours: list[float]) -> None:
    off = max(abs(a - b) / max(abs(b), 1e-3) for a, b in zip(theirs, ours, strict=True))
    most = TOLERANCE if parts(what)[1] is None else ROUNDED_TOLERANCE
    setting.findings.check(f"{what} has our losses", off < most, f"off by {off:.1e}")
