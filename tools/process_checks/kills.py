"""Kill a random process of a training at a random time, again and again, and see that it ends as it must."""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

from process_checks.launching import ROOT, SCRIPTS
from staticgraph.applications.cli.processes import Ranks

_LIMIT = 120.0  # seconds: a training that takes longer hangs


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the options."""
    parser.add_argument("--times", type=int, default=200)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--latest", type=float, help="seconds after the start; default: as long as it takes")
    parser.add_argument("--log", type=Path, help="a file with what each kill did: go on after its last line")


def check(options: argparse.Namespace) -> bool:
    """Return True if each training has gone on from its last checkpoint, to the result of one in peace.

    A training that ends before it is killed does not count.
    """
    known = (
        [*map(json.loads, options.log.read_text().splitlines())]
        if options.log and options.log.exists()
        else []
    )
    _training(options.workers, None)  # later ones find its code on the disk
    begun = time.monotonic()
    wanted, _, _ = _training(options.workers, None)
    latest = options.latest or time.monotonic() - begun
    while sum(each["killed"] for each in known) < options.times:
        number = len(known)
        rng = random.Random(f"{options.seed} {number}")  # a run that goes on kills as one without a break
        moment = rng.uniform(0.0, latest)
        found, again, told = _training(options.workers, (moment, rng.randrange(options.workers)))
        outcome = {"hangs": found == "hangs", "lost": found not in (wanted, "hangs")}
        known.append(
            {"killed": again > 0 or found == "hangs", **outcome, "starts again": again, "named": told}
        )
        if options.log:
            with options.log.open("a") as log:
                log.write(json.dumps(known[-1]) + "\n")
        if found != wanted or number % 10 == 9:
            _tell(known)
    _tell(known)
    return not any(each["hangs"] or each["lost"] for each in known)


def _tell(known: list[dict[str, int]]) -> None:
    sums = ", ".join(f"{sum(each[name] for each in known)} {name}" for name in known[0]) if known else ""
    print(f"{len(known)} trainings: {sums}", flush=True)


def _training(workers: int, kill: tuple[float, int] | None) -> tuple[str, int, int]:
    """Return the result of a training, how often it began again, and how many killed processes were named."""
    with tempfile.TemporaryDirectory() as folder:
        line = [sys.executable, "-m", "staticgraph", "launch", "-n", str(workers), "--restarts", "3"]
        run = subprocess.Popen(
            [*line, str(SCRIPTS / "goes_on.py"), folder],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=ROOT, start_new_session=True,
            env=os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"},
        )  # fmt: skip
        if kill is not None:
            _kill(run.pid, *kill)
        try:
            said = run.communicate(timeout=_LIMIT)[0].decode(errors="replace")
        except subprocess.TimeoutExpired:
            os.killpg(run.pid, signal.SIGKILL)
            run.communicate()
            return "hangs", 0, 0
        found = sorted(set(re.findall("RESULT (.*)", said)))
        again = said.count("processes start again")
        if not found or run.returncode:
            print(said)
            for file in Path(folder).iterdir():
                print(file, file.stat().st_size)
        told = "staticgraph: (?:the )?process .* (was killed by signal 9|was the first to end)"
        return " ".join(found), again, len(re.findall(told, said))


def _kill(launcher: int, moment: float, rank: int) -> None:
    """Kill a process of this rank so many seconds after all have started, unless the training ends before."""
    started = time.monotonic()
    ranks = Ranks(launcher, rank + 1)
    while rank not in ranks.known.values() and time.monotonic() - started < _LIMIT:
        time.sleep(0.02)
    time.sleep(moment)
    for pid, number in ranks.known.items():
        if number == rank:
            with suppress(ProcessLookupError):  # the training is over
                os.kill(pid, signal.SIGKILL)
            break
    ranks.stop()
