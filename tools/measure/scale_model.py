"""Model of a training step for many workers, from times measured here with a few.

    python tools/measure/scale_model.py                      5 million parameters, 1, 2, 4 and 8 processes
    python tools/measure/scale_model.py --workers 16 64 256 --overlap 0.6

It measures what a step consists of, each part by itself, in rounds: 1, 2, 4 and 8 processes, and again.

    steps that put gradients into buckets and take them out, and send nothing
    all-reduces of few and of many bytes, in buckets that were just computed

They give the model of a step with exchange:

    step = compute + late + max(0, exchange - overlap * compute)
    compute = most processes of a processor * mean time of a process
    late = mean of the longest sum of times of the processes of a processor - compute
    exchange = 2 log2(p) latency + 2 (p - 1) / p bytes / bandwidth

An exchange is complete when the last process has come. With a processor each, that is the slowest one. If
processes share a processor, it serves one while the others wait, so that nobody waits for a process, but for
a processor: until the one with most to do has served all of its processes. What one of them needs longer,
another one may need less, so that sums differ less than their parts. The time of a process is that in which
it has a processor: the waiting for one is in the sum already, and so another program makes no difference.

Such a step is measured as well, and its parts by a profile: what is no exchange, the exchange in the process
that waits least, and what the others wait longer. The model of the whole may be 15 % apart, or it is not to
be believed. If another program has used the processors meanwhile, which steps without exchange tell, nothing
is said of that. Then it prints the step for 16 to 4,096 workers.

The assumptions: processes stay on a processor, of which each has as many, up to one; a process that waits
takes no time from those that compute. For more workers: each has a processor of its own, and the same link as
two processes have here; all links work at the same time; an all-reduce is a reduce-scatter and an all-gather
by halves; workers are as late as two are here. Here MPI moves values by the processor that computes, so
nothing overlaps, and --overlap is 0; a network that moves them by itself hides up to the part of a step in
which gradients come, about 0.6. Latency and bandwidth of more processes than processors are those of that
many processes, and have no part in what is printed for more.
"""

from __future__ import annotations

import argparse
import math
import os
import statistics
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from process_checks.launching import found
from process_checks.programs import net

LITTLE, MUCH = 1 << 10, 16 << 20  # bytes
MEASURED = (1, 2, 4, 8)
WORKERS = (16, 64, 256, 1024, 4096)
MOST_APART = 0.15
CALM = 0.93  # the least part of their processors that processes get if nothing else runs


class Parts(NamedTuple):
    """The seconds of the parts of a step."""

    compute: float
    late: float
    exchange: float


class Machine(NamedTuple):
    """Times of some processes, in seconds.

    Attributes:
        compute: Of a step without exchange, until a processor has served all of its processes.
        late: By which the slowest processor takes longer.
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


class Measured(NamedTuple):
    """Parts of a step, and the whole, as they were measured in some processes."""

    parts: Parts
    step: float
    received: float  # the part of their processors that steps without exchange got


def terms(workers: int, size: float) -> tuple[float, float]:
    """The messages that follow each other in an all-reduce of `size` bytes, and the bytes that one sends."""
    return 2 * math.log2(workers), 2 * (workers - 1) / workers * size


def served(times: Sequence[Sequence[float]], processors: int) -> Parts:
    """The seconds in which processors serve processes that share them, and the slowest of them longer.

    Args:
        times: For each process, the seconds that it computes in each of some steps.
        processors: Each has as many of the processes, up to one.
    """
    shares = [times[number::processors] for number in range(min(processors, len(times)))]
    compute = len(shares[0]) * statistics.mean(map(statistics.median, times))
    steps = zip(*times, strict=True)
    longest = [max(sum(step[number::processors]) for number in range(len(shares))) for step in steps]
    return Parts(compute, max(statistics.median(longest) - compute, 0.0), 0.0)


def fitted(times: Sequence[Sequence[float]], processors: int, little: float, much: float) -> Machine:
    """The machine by the seconds of steps of each process, and of all-reduces of few and of many bytes."""
    compute, late, _ = served(times, processors)
    messages, sent = terms(len(times), MUCH)
    if len(times) == 1:
        return Machine(compute, late, 0.0, 0.0)
    return Machine(compute, late, little / messages, max(much - little, 0.0) / sent)


def machine_of(rows: Sequence[dict[str, Any]], processors: int) -> tuple[Machine, Measured]:
    """The machine as the processes of some rounds find it, and what they have measured.

    `rows`: what `programs/parts.py` has found, one for each process.
    """
    # The least of each run: the last process to come waits for nobody.
    little, much, exchange = (
        statistics.median(map(min, zip(*(row[name] for row in rows), strict=True)))
        for name in (str(LITTLE), str(MUCH), "exchange")
    )
    alone = [[used for _, used in row["alone"]] for row in rows]
    step = statistics.mean(statistics.median(wall for wall, _ in row["together"]) for row in rows)
    waited = statistics.mean(statistics.median(row["exchange"]) for row in rows)
    walls = [wall for row in rows for wall, _ in row["alone"]]
    received = sum(map(sum, alone)) / sum(walls) * max(1.0, len(rows) / processors)
    parts = Parts(step - waited, waited - exchange, exchange)
    return fitted(alone, processors, little, much), Measured(parts, step, received)


def measured(rounds: int, steps: int) -> dict[int, list[dict[str, Any]]]:
    """The findings of each number of processes, in rounds of all numbers: for each process, of all rounds."""
    known: dict[int, list[dict[str, Any]]] = {}
    for _ in range(rounds):
        for workers in MEASURED:
            rows = found(workers, "parts.py", 2, steps, LITTLE, MUCH)
            before = known.setdefault(workers, [{name: [] for name in row} for row in rows])
            for row, more in zip(before, rows, strict=True):
                for name, values in more.items():
                    row[name] += values
    return known


def check(known: dict[int, list[dict[str, Any]]], processors: int, size: float) -> dict[int, Machine] | None:
    """Print the model beside what was measured, and return the machines; None if it is wrong."""
    machines, right, calm = {}, True, True
    print(f"measured on {processors} processors, {size / 1e6:.1f} MB of gradients; model, measured in ms")
    heads = "".join(f"{name:>16}" for name in (*Parts._fields, "step"))
    print(f"{'workers':>8} {'latency':>10} {'bandwidth':>10}{heads} {'apart':>6} {'received':>9}")
    for workers, rows in known.items():
        machine, seen = machine_of(rows, processors)
        machines[workers] = machine
        model = machine.parts(workers, size)
        apart = sum(model) / seen.step - 1
        right &= abs(apart) <= MOST_APART
        calm &= seen.received >= CALM
        pairs = [*zip(model, seen.parts, strict=True), (sum(model), seen.step)]
        told = "".join(f"{a * 1e3:>9.1f}{b * 1e3:>7.1f}" for a, b in pairs)
        rates = f"{machine.latency * 1e6:>7.1f} us {1e-9 / max(machine.byte, 1e-15):>5.2f} GB/s"
        print(f"{workers:>8} {rates if workers > 1 else '':>20}{told} {apart:>+6.0%} {seen.received:>9.0%}")
    if not calm:
        print(f"the machine was not calm: another program took more than {1 - CALM:.0%} of the processors")
    elif not right:
        print(f"the model is more than {MOST_APART:.0%} apart: it is wrong")
    return machines if right else None


def main() -> int:
    """Measure, check, and print the model; the status to exit with."""
    parser = argparse.ArgumentParser(
        description=__doc__.splitlines()[0], epilog=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--overlap", type=float, default=0.0, help="part of a step in which gradients travel")
    parser.add_argument("--rounds", type=int, default=3, help="of all numbers of processes")
    parser.add_argument("--steps", type=int, default=10, help="that are timed in a row, twice in a round")
    parser.add_argument("--workers", type=int, nargs="+", default=WORKERS)
    options = parser.parse_args()
    size = 4.0 * sum(weight.size + bias.size for weight, bias in net.weights())
    processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    known = measured(options.rounds, options.steps)
    right = check(known, processors, size)
    one, two = (machine_of(known[workers], processors)[0] for workers in (1, 2))
    print(f"{'workers':>8} {'exchange':>11} {'step':>11} {'efficiency':>11}")
    for workers in options.workers:
        parts = two.parts(workers, size, options.overlap)
        told = f"{parts.exchange * 1e3:>8.1f} ms {sum(parts) * 1e3:>8.1f} ms"
        print(f"{workers:>8} {told} {one.compute / sum(parts):>11.0%}")
    return int(right is None)


if __name__ == "__main__":
    sys.exit(main())
