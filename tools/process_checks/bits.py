"""Train with shards in different numbers of processes, and compare hashes of all variables."""

from __future__ import annotations

import argparse
import re
import time

from process_checks.launching import SCRIPTS, launched


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the options."""
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2, 4, 8])
    parser.add_argument("--nets", nargs="+", default=["cnn", "lstm"])


def check(options: argparse.Namespace) -> bool:
    """Return True if each net has one hash for each seed."""
    right = True
    for net in options.nets:
        for seed in options.seeds:
            hashes: set[str] = set()
            started = time.perf_counter()
            for workers in options.workers:
                said = launched(workers, SCRIPTS / "same_bits.py", net, str(options.steps), str(seed))
                found = re.findall("HASH (.*)", said)
                if len(found) != workers:
                    raise SystemExit(said)
                hashes.update(found)
            seconds = time.perf_counter() - started
            print(
                f"{net} seed {seed} workers {options.workers}: {sorted(hashes)} in {seconds:.0f} s",
                flush=True,
            )
            right &= len(hashes) == 1
    return right
