"""Time exchanges inside of steps, and steps of several processes against those of PyTorch and JAX.

Three parts, each by itself or all: `exchange`, the all-reduce in a step against MPI_Allreduce of the same
bytes (at most 1.1 of it); `alone`, the distributed optimizer in one process (at most 1.01 of the inner one);
`peers`, a step of two processes with 5 million parameters against DistributedDataParallel with gloo (at most
0.8 of it) and JAX's collectives. It needs a machine that does nothing else. Peers have an environment each in
the folder --peers: torch and jax.
"""

from __future__ import annotations

import argparse
import os
import socket
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

from process_checks.launching import PROGRAMS, ROOT, found, rows_of
from staticgraph.applications.cli.launch import mpiexec

PARTS = ("exchange", "alone", "peers")
SIZES = (1 << 12, 1 << 16, 1 << 20, 20 << 20)
ROUNDS, LIMIT = 3, 170.0
_SINGLE = {
    "SG_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the options."""
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)}; all by default")
    parser.add_argument("--peers", type=Path, help="a folder with environments torch and jax")
    parser.add_argument("--steps", type=int, default=60, help="of each program in each of three rounds")
    parser.add_argument("--workers", type=int, default=2)


def check(options: argparse.Namespace) -> bool:
    """Return True if all that was measured is within its limit."""
    parts = {"exchange": _exchange, "alone": _alone, "peers": _peers}
    right = {name: parts[name](options) for name in options.parts or PARTS}
    return all(right.values())


def _exchange(options: argparse.Namespace) -> bool:
    right = True
    print("an all-reduce inside a step against MPI_Allreduce alone")
    for row in found(options.workers, "exchange.py", 15, *SIZES):
        within = row["ratio"] <= 1.1
        right &= within
        times = f"{row['inside'] / 1000:>9.1f} us {row['bare'] / 1000:>9.1f} us"
        print(f"{row['bytes']:>10} bytes {times} {row['ratio']:>6.2f} {'' if within else 'too slow'}")
    return right


def _alone(options: argparse.Namespace) -> bool:
    [row] = found(1, "one_process.py", 21)
    same = "the same step" if row["same"] else "another step"
    print(f"the distributed optimizer in one process: {same}, {row['ratio']:.4f} of the CPU time")
    return row["same"] and row["ratio"] < 1.01


def _peers(options: argparse.Namespace) -> bool:
    ways = {"staticgraph": _ours}
    for name, script in (("torch", "torch_ddp.py"), ("jax", "jax_gloo.py")):
        python = (options.peers or Path()) / name / "bin" / "python"
        if python.exists():
            ways[name] = _Peer(str(python.absolute()), script).lines
        else:
            print(f"{name}: no environment in --peers")
    times: dict[tuple[str, str], list[dict[str, float]]] = {}
    for _ in range(ROUNDS):
        for mode in ("together", "apart"):
            for name, lines in ways.items():
                rows = _started(lines(options, mode))
                slowest = {key: max(row[key] for row in rows) for key in ("wall", "cpu")}
                times.setdefault((name, mode), []).append(slowest)
    print(f"{'':12} {'step':>9} {'of it exchange':>15} {'CPU time':>9} {'ours against it':>16}")
    quotients = {}
    for name in ways:
        step, apart = (_least(times[name, mode], "wall") for mode in ("together", "apart"))
        pairs = zip(times["staticgraph", "together"], times[name, "together"], strict=True)
        quotients[name] = statistics.median(a["wall"] / b["wall"] for a, b in pairs)
        cpu = _least(times[name, "together"], "cpu")
        row = f"{step * 1e3:>6.2f} ms {(step - apart) * 1e3:>12.2f} ms {cpu * 1e3:>6.2f} ms"
        print(f"{name:12} {row} {quotients[name]:>16.2f}")
    return quotients.get("torch", 0.0) <= 0.8


def _least(rows: list[dict[str, float]], key: str) -> float:
    return min(row[key] for row in rows)


def _ours(options: argparse.Namespace, mode: str) -> list[list[str]]:
    program = [sys.executable, str(PROGRAMS / "ours.py"), str(options.steps), mode]
    return [[mpiexec(), "-n", str(options.workers), *program]]


class _Peer:
    """A peer whose processes find each other at a port."""

    def __init__(self, python: str, script: str) -> None:
        self._python, self._script = python, script

    def lines(self, options: argparse.Namespace, mode: str) -> list[list[str]]:
        """The call of each process."""
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        words = [self._python, str(PROGRAMS / self._script), str(options.steps), mode]
        return [[*words, str(rank), str(options.workers), str(port)] for rank in range(options.workers)]


def _started(lines: list[list[str]]) -> list[dict[str, Any]]:
    """Run programs at the same time, and return what they have found."""
    environment = os.environ | _SINGLE | {"PYTHONPATH": str(ROOT)}
    runs = [
        subprocess.Popen(
            line, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment
        )
        for line in lines
    ]  # fmt: skip
    said = [run.communicate(timeout=LIMIT)[0] for run in runs]
    if any(run.returncode for run in runs):
        raise SystemExit("\n".join(said))
    return [row for text in said for row in rows_of(text)]
