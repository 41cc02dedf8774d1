"""Times a command of each row in turns: whatever disturbs the machine disturbs every row."""

from __future__ import annotations

import signal
import statistics
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from benchmarks.compare import difference
from benchmarks.contest import Failed, Worker, launched
from benchmarks.peers import Row

Facts = dict[str, Any]


def started(
    row: Row, command: list[str], patience: float, environment: Mapping[str, str] | None = None
) -> Worker:
    """Start a worker, warm it up and stop it. Its facts may be only `failure`."""
    worker = launched(row, [row.python, "-m", *command], dict(environment or {}))
    try:
        while "estimate" not in worker.facts:
            worker.answer(patience)
        worker.process.send_signal(signal.SIGSTOP)  # idle threads would spin beside other rows
    except Failed as failure:
        worker.facts["failure"] = str(failure)
        worker.end()
    return worker


def in_turns(
    commands: Mapping[Row, list[str]],
    rounds: int,
    seconds: float,
    patience: float,
    tolerance: float,
    progress: Callable[[str], None],
) -> dict[str, Facts]:
    """Facts by row: median, first step, peak memory, the last result's first number, and
    if results agree with the first row's; or `failure`.

    Args:
        commands: A module that talks as `benchmarks.worker` does, and its arguments, by row.
        rounds: Visits of each row.
        seconds: Timed seconds of a visit.
        patience: Seconds that a row may take until it answers.
        tolerance: The largest relative difference of results that agree.
        progress: Is told what happens.
    """
    progress(f"{len(commands)} rows begin")
    workers = [started(row, command, patience) for row, command in commands.items()]
    return visited(workers, rounds, seconds, tolerance, progress)


def visited(
    workers: Sequence[Worker],
    rounds: int,
    seconds: float,
    tolerance: float,
    progress: Callable[[str], None],
) -> dict[str, Facts]:
    """Facts by row of workers that are `started`, as `in_turns` gives them. All workers end."""
    times: dict[str, list[float]] = {worker.row.name: [] for worker in workers}
    for number in range(rounds):
        turn = number % max(len(workers), 1)
        for worker in [*workers[turn:], *workers[:turn]]:
            if "failure" not in worker.facts:
                progress(f"round {number + 1} of {rounds}, {worker.row.name}")
                try:
                    times[worker.row.name] += worker.visit(seconds)
                except (Failed, BrokenPipeError) as failure:
                    worker.facts["failure"] = str(failure)
    reference = next((w.facts["results"] for w in workers if "results" in w.facts), [])
    table = {}
    for worker in workers:
        facts = {key: fact for key, fact in worker.facts.items() if key not in ("times", "results")}
        if "results" in worker.facts:
            facts["last"] = worker.facts["results"][-1][0][0]
            off = difference(worker.facts["results"], reference)
            facts.update(difference=off, agrees=off < tolerance)
        if times[worker.row.name]:
            facts["median"] = statistics.median(times[worker.row.name])
        if worker.process.returncode is None:
            worker.end()
        table[worker.row.name] = facts
    return table
