"""Model of a training step for many workers, from times measured here with a few.

    python tools/scale_model.py                      5 million parameters, 2, 4 and 8 processes
    python tools/scale_model.py --workers 16 64 256 --overlap 0.6

It measures with 2, 4 and 8 processes what a step consists of, each part by itself:

    compute    a step that puts its gradients into buckets and takes them out, and sends nothing
    late       what the slowest of so many processes takes longer for such a step
    exchange   all-reduces of few and of many bytes, in buckets that were just computed

They give the model of a step with exchange:

    step = compute + late + max(0, exchange - overlap * compute)
    exchange = 2 log2(p) latency + 2 (p - 1) / p bytes / bandwidth

Such a step is measured as well, and its parts by a profile: what is no exchange, the exchange in the process
that waits least, and what the others wait longer. The model of the whole may be 15 % apart, or it is not to
be believed. Then it prints the step for 16 to 4,096 workers.

The assumptions: each worker has a core of its own, and the same link as two processes have here; all links
work at the same time; an all-reduce is a reduce-scatter and an all-gather by halves; workers are as late as
two are here. Here MPI moves values by the core that computes, so nothing overlaps, and --overlap is 0; a
network that moves them by itself hides up to the part of a step in which gradients come, about 0.6. More
processes than cores share these: latency and bandwidth are then those of that many processes, and have no
part in what is printed for more.
"""

from __future__ import annotations

import argparse
import math
import os
import statistics
import sys
from collections.abc import Sequence
from typing import NamedTuple

from process_checks.launching import found
from process_checks.programs import net

LITTLE, MUCH = 1 << 10, 16 << 20  # bytes
MEASURED = (2, 4, 8)
WORKERS = (16, 64, 256, 1024, 4096)
MOST_APART = 0.15


class Parts(NamedTuple):
    """The seconds of the parts of a step."""

    compute: float
    late: float
    exchange: float


class Machine(NamedTuple):
    """Times of some processes, in seconds.

    Attributes:
        compute: Of a step without exchange.
        late: By which the slowest process takes longer.
        latency: Of one of the messages of an all-reduce, which follow each other.
        byte: Of a byte that a process sends.
    """

    compute: float
    late: float
    latency: float
    byte: float

    def parts(self, workers: int, size: float, overlap: float = 0.0) -> Parts:
        """The parts of a step in which `workers` exchange `size` bytes of gradients.

        `overlap` is the part of its computation in which values travel.
        """
        messages, sent = terms(workers, size)
        exchange = messages * self.latency + sent * self.byte
        return Parts(self.compute, self.late, max(0.0, exchange - overlap * self.compute))


def terms(workers: int, size: float) -> tuple[float, float]:
    """The messages that follow each other in an all-reduce of `size` bytes, and the bytes that one sends."""
    return 2 * math.log2(workers), 2 * (workers - 1) / workers * size


def fitted(workers: int, times: Sequence[Sequence[float]], little: float, much: float) -> Machine:
    """The machine by the seconds of steps of each process, and of all-reduces of few and of many bytes."""
    messages, sent = terms(workers, MUCH)
    compute = statistics.mean(map(statistics.median, times))
    late = statistics.median(max(each) for each in zip(*times, strict=True)) - compute
    return Machine(compute, max(late, 0.0), little / messages, max(much - little, 0.0) / sent)


def measured(workers: int, steps: int) -> tuple[Machine, Parts, float]:
    """Return the machine as so many processes find it, the parts of a step with exchange, and its seconds."""
    times: dict[int, list[float]] = {LITTLE: [], MUCH: []}
    for row in found(workers, "all_reduce.py", LITTLE, MUCH):
        times[row["bytes"]].append(row["seconds"])
    before = found(workers, "ours.py", steps, "packed")
    together = found(workers, "ours.py", steps, "together")
    after = found(workers, "ours.py", steps, "packed")  # the machine may have become slower meanwhile
    alone = [a["times"] + b["times"] for a, b in zip(before, after, strict=True)]
    machine = fitted(workers, alone, min(times[LITTLE]), min(times[MUCH]))
    step = statistics.mean(row["wall"] for row in together)
    spent = [row["exchange"] for row in together]
    waited, travel = statistics.mean(spent), min(spent)
    return machine, Parts(step - waited, waited - travel, travel), step


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
    print(f"measured on {cores} cores, {size / 1e6:.1f} MB of gradients; milliseconds, model and measured")
    print(
        f"{'workers':>8} {'latency':>10} {'bandwidth':>10}"
        + "".join(f"{n:>16}" for n in (*Parts._fields, "step"))
    )
    for workers in MEASURED:
        machine, parts, step = measured(workers, options.steps)
        machines[workers] = machine
        model = machine.parts(workers, size)
        apart = sum(model) / step - 1
        right &= abs(apart) <= MOST_APART
        pairs = [*zip(model, parts, strict=True), (sum(model), step)]
        told = "".join(f"{a * 1e3:>9.1f}{b * 1e3:>7.1f}" for a, b in pairs)
        rates = f"{machine.latency * 1e6:>7.1f} us {1e-9 / max(machine.byte, 1e-15):>5.2f} GB/s"
        print(f"{workers:>8} {rates}{told} {apart:>+6.0%}", flush=True)
    if not right:
        print(
            f"the model is more than {MOST_APART:.0%} apart: something else used the machine, or it is wrong"
        )
    print(f"{'workers':>8} {'exchange':>11} {'step':>11} {'efficiency':>11}")
    base = machines[MEASURED[0]]
    for workers in options.workers:
        parts = base.parts(workers, size, options.overlap)
        told = f"{parts.exchange * 1e3:>8.1f} ms {sum(parts) * 1e3:>8.1f} ms"
        print(f"{workers:>8} {told} {base.compute / sum(parts):>11.0%}")
    return int(not right)


if __name__ == "__main__":
    sys.exit(main())
