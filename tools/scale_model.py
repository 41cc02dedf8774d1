"""Model of a training step for many workers, from times measured here with a few.

    python tools/scale_model.py                      5 million parameters, 2, 4 and 8 processes
    python tools/scale_model.py --workers 16 64 256 --overlap 0.6

It measures three things with 2, 4 and 8 processes: a step without an exchange, an all-reduce of a few bytes,
and one of many, in buckets that travel together. They give the model of a step with exchange, which is
measured as well: the model may be 15 % apart, or it is not to be believed. Then it prints the step for 16 to
4,096 workers:

    step = compute + max(0, exchange - overlap * compute)
    exchange = 2 log2(p) latency + 2 (p - 1) / p bytes / bandwidth

The assumptions: each worker has a core of its own, and the same link as two processes have here; all links
work at the same time; an all-reduce is a reduce-scatter and an all-gather by halves; no worker is late. Here
MPI moves values by the core that computes, so nothing overlaps, and --overlap is 0; a network that moves them
by itself hides up to the part of a step in which gradients come, about 0.6. More processes than cores share
these: latency and bandwidth are then those of that many processes, and have no part in what is printed for
more.
"""

from __future__ import annotations

import argparse
import math
import os
import statistics
import sys
from typing import NamedTuple

from process_checks.launching import found
from process_checks.programs import net

LITTLE, MUCH = 1 << 10, 16 << 20  # bytes
MEASURED = (2, 4, 8)
WORKERS = (16, 64, 256, 1024, 4096)
MOST_APART = 0.15


class Machine(NamedTuple):
    """Times of some processes, in seconds.

    Attributes:
        compute: Of a step without exchange.
        latency: Of one of the messages of an all-reduce, which follow each other.
        byte: Of a byte that a process sends.
    """

    compute: float
    latency: float
    byte: float

    def exchange(self, workers: int, size: float) -> float:
        """The seconds in which `workers` exchange `size` bytes of gradients."""
        messages, sent = terms(workers, size)
        return messages * self.latency + sent * self.byte

    def step(self, workers: int, size: float, overlap: float) -> float:
        """The seconds of a step; `overlap` is the part of its computation in which values travel."""
        return self.compute + max(0.0, self.exchange(workers, size) - overlap * self.compute)


def terms(workers: int, size: float) -> tuple[float, float]:
    """The messages that follow each other in an all-reduce of `size` bytes, and the bytes that one sends."""
    return 2 * math.log2(workers), 2 * (workers - 1) / workers * size


def fitted(workers: int, compute: float, little: float, much: float) -> Machine:
    """The machine by the seconds of a step, and of all-reduces of few and of many bytes."""
    messages, sent = terms(workers, MUCH)
    return Machine(compute, little / messages, max(much - little, 0.0) / sent)


def measured(workers: int, steps: int) -> tuple[Machine, float]:
    """Return the machine as so many processes find it, and the seconds of a step with exchange."""
    times = {row["bytes"]: row["seconds"] for row in found(workers, "all_reduce.py", LITTLE, MUCH)}
    apart, together = (
        statistics.mean(row["wall"] for row in found(workers, "ours.py", steps, mode))
        for mode in ("apart", "together")
    )
    return fitted(workers, apart, times[LITTLE], times[MUCH]), together


def main() -> int:
    """Measure, check, and print the model; the status to exit with."""
    parser = argparse.ArgumentParser(
        description=__doc__.splitlines()[0], epilog=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--overlap", type=float, default=0.0, help="part of a step in which gradients travel")
    parser.add_argument("--steps", type=int, default=40, help="that are measured")
    parser.add_argument("--workers", type=int, nargs="+", default=WORKERS)
    options = parser.parse_args()
    size = 4.0 * sum(weight.size + bias.size for weight, bias in net.weights())
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    machines, right = {}, True
    print(f"measured on {cores} cores, {size / 1e6:.1f} MB of gradients")
    print(f"{'workers':>8} {'compute':>11} {'latency':>11} {'bandwidth':>12} {'step':>11} {'model':>11}")
    for workers in MEASURED:
        machine, step = measured(workers, options.steps)
        machines[workers] = machine
        model = machine.step(workers, size, 0.0)
        right &= abs(model / step - 1) <= MOST_APART
        told = f"{machine.compute * 1e3:>8.1f} ms {machine.latency * 1e6:>8.1f} us"
        told += f" {1e-9 / max(machine.byte, 1e-15):>7.2f} GB/s {step * 1e3:>8.1f} ms {model * 1e3:>8.1f} ms"
        print(f"{workers:>8} {told} {model / step - 1:>+6.0%}", flush=True)
    if not right:
        print(
            f"the model is more than {MOST_APART:.0%} apart: something else used the machine, or it is wrong"
        )
    print(f"{'workers':>8} {'exchange':>11} {'step':>11} {'efficiency':>11}")
    base = machines[MEASURED[0]]
    for workers in options.workers:
        sent, step = base.exchange(workers, size), base.step(workers, size, options.overlap)
        print(f"{workers:>8} {sent * 1e3:>8.1f} ms {step * 1e3:>8.1f} ms {base.compute / step:>11.0%}")
    return int(not right)


if __name__ == "__main__":
    sys.exit(main())
