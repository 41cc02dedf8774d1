"""Tries for long what must never hang, and never lose or half do anything.

    python tools/endurance.py                       all stages, with the counts of a release
    python tools/endurance.py interrupts=100 forks=20
    python tools/endurance.py --seed 7 kills=600    other moments

The stages: `interrupts`, SIGINT at random moments of steps; `kills`, SIGKILL in saves, in writes to the cache
and in the training command; `threads`, runs of 64 threads; `forks`, while other threads run; `cache`, entries
written by 8 processes, some of which are killed. Each stage is a process of its own. The exit status is 1 if
one has failed.
"""

from __future__ import annotations

import argparse
import importlib
import subprocess
import sys
import tempfile
import time
from pathlib import Path

COUNTS = {"interrupts": 1000, "kills": 600, "threads": 100_000, "forks": 300, "cache": 10_000}


def stage(name: str, count: int, seed: int) -> str:
    """Run one stage in this process and return what it found."""
    module = importlib.import_module(f"endurance_stages.{name}")
    with tempfile.TemporaryDirectory() as folder:
        return str(module.run(count, seed, Path(folder)))


def main() -> int:
    """Run the stages that the command line names."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("stages", nargs="*", metavar="STAGE=COUNT", help=f"of {', '.join(COUNTS)}")
    parser.add_argument("--seed", type=int, default=0, help="other random moments")
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    chosen = dict(each.split("=") for each in options.stages) or COUNTS
    if unknown := chosen.keys() - COUNTS.keys():
        parser.error(f"no such stage: {', '.join(sorted(unknown))}; there are {', '.join(COUNTS)}")
    failed = False
    for name, count in chosen.items():
        if options.here:
            print(stage(name, int(count), options.seed))
            continue
        begin = time.monotonic()
        command = [sys.executable, __file__, "--here", "--seed", str(options.seed), f"{name}={count}"]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
        outcome = done.stdout.strip().splitlines()[-1] if done.returncode == 0 else "FAILED"
        print(f"{name:10} {count:>7}  {time.monotonic() - begin:6.0f} s  {outcome}", flush=True)
        failed |= done.returncode != 0
    return int(failed)


if __name__ == "__main__":
    raise SystemExit(main())
