"""Times several rows at one workload: every row in its own process, visited in turns.

All workers are alive at once and stopped, except the one that is being timed, so that nobody's idle threads
spin beside it. Each round begins with another row, and a row's figures are over all rounds: what disturbs the
machine for a while disturbs everybody.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import select
import signal
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import IO, Any

from benchmarks.calm import Visit, Watch
from benchmarks.compare import TOLERANCE, Summary, difference
from benchmarks.peers import Row
from benchmarks.workloads import WORKLOADS, Cost

TOOLS = Path(__file__).resolve().parents[1]
SHORT = 2e-4  # steps shorter than this are timed in batches of about a millisecond


_running: set[subprocess.Popen[bytes]] = set()


@atexit.register
def _end_all() -> None:
    """A stopped process would outlive an interrupted benchmark."""
    for process in _running:
        process.kill()


class Failed(Exception):
    """A worker does not answer, or not in time."""


@dataclass(slots=True)
class Worker:
    """A process that runs one workload of one row."""

    row: Row
    process: subprocess.Popen[bytes]
    log: IO[bytes]
    facts: dict[str, Any] = field(default_factory=dict)
    rounds: list[Visit] = field(default_factory=list)
    buffer: bytes = b""

    def answer(self, seconds: float) -> dict[str, Any]:
        """The next answer; its facts are kept."""
        end = time.monotonic() + seconds
        assert self.process.stdout is not None
        while b"\n" not in self.buffer:
            ready, _, _ = select.select([self.process.stdout], [], [], max(0.0, end - time.monotonic()))
            if not ready:
                raise Failed(f"not ready after {seconds:.0f} s")
            got = os.read(self.process.stdout.fileno(), 1 << 20)
            if not got:
                raise Failed("failed: " + self.last_words())
            self.buffer += got
        line, _, self.buffer = self.buffer.partition(b"\n")
        answer: dict[str, Any] = json.loads(line)
        self.facts.update(answer)
        return answer

    def last_words(self) -> str:
        """The line in which Python names the error."""
        self.log.seek(0)
        text = self.log.read().decode(errors="replace").strip()
        lines = [line for line in text.splitlines() if "Error" in line] or text.splitlines() or ["no message"]
        return lines[-1][:200]

    def visit(self, seconds: float) -> list[float]:
        """Time steps for about so many seconds."""
        estimate = self.facts["estimate"]
        repeats = max(1, int(1e-3 / estimate)) if estimate < SHORT else 1
        steps = max(2, min(500, int(seconds / (estimate * repeats))))
        assert self.process.stdin is not None
        self.process.send_signal(signal.SIGCONT)
        self.process.stdin.write(f"{steps} {repeats}\n".encode())
        self.process.stdin.flush()
        times: list[float] = self.answer(60 + 10 * seconds)["times"]
        self.process.send_signal(signal.SIGSTOP)
        return times

    def finish(self, seconds: float) -> None:
        """Let the process come to its end, and stop it if it does not."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.stdin = None
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(seconds)
        self.end()

    def end(self) -> None:
        """Stop the process for good."""
        self.process.kill()
        self.process.communicate()
        self.log.close()
        _running.discard(self.process)


def launched(
    row: Row, command: Sequence[str], environment: dict[str, str], tree: Path | None = None
) -> Worker:
    """Start a process; `tree` is a checkout other than this one, whose own benchmark it runs."""
    variables = {**os.environ, "PYTHONWARNINGS": "ignore", **environment}
    variables.pop("PYTHONDONTWRITEBYTECODE", None)  # pip installs bytecode, too
    log, pipe = tempfile.TemporaryFile(), subprocess.PIPE  # noqa: SIM115 (closed by Worker.end)
    if tree is not None:
        variables["PYTHONPATH"] = str(tree)
    folder = TOOLS if tree is None else tree / "tools"
    process = subprocess.Popen(command, cwd=folder, env=variables, stdin=pipe, stdout=pipe, stderr=log)
    _running.add(process)
    return Worker(row, process, log)


def start(
    row: Row, workload: str, threads: int, environment: dict[str, str] | None = None, tree: Path | None = None
) -> Worker:
    """Start a worker for a workload."""
    command = [row.python, "-m", "benchmarks.worker", row.module, row.name, workload, str(threads)]
    return launched(row, command, environment or {}, tree)


def prepared(
    row: Row,
    workload: str,
    threads: int,
    patience: float,
    tree: Path | None = None,
    environment: dict[str, str] | None = None,
) -> Worker:
    """Start a worker, warm it up and stop it. Its facts may be only `failure`."""
    worker = start(row, workload, threads, environment, tree)
    try:
        deadline = time.monotonic() + patience
        while "estimate" not in worker.facts:
            worker.answer(deadline - time.monotonic() if worker.facts else patience)
        worker.process.send_signal(signal.SIGSTOP)
    except Failed as failure:
        worker.facts["failure"] = str(failure)
        worker.end()
    return worker


def contest(
    rows: Sequence[Row],
    workload: str,
    threads: int,
    rounds: int,
    seconds: float,
    patience: float,
    progress: Callable[[str], None],
    watch: Watch,
) -> dict[str, dict[str, Any]]:
    """Facts by row: median, min, floor, first step, peak memory and more, or `failure`."""
    progress(f"{workload}: {len(rows)} rows compile")
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        workers = list(pool.map(lambda row: prepared(row, workload, threads, patience), rows))
    alive = [worker for worker in workers if "failure" not in worker.facts]
    for number in range(rounds):
        turn = number % max(len(alive), 1)
        for worker in alive[turn:] + alive[:turn]:
            if "failure" not in worker.facts:
                progress(f"{workload}: round {number + 1} of {rounds}, {worker.row.name}")
                try:
                    worker.rounds.append(watch.calmest(partial(worker.visit, seconds)))
                except (Failed, BrokenPipeError) as failure:
                    worker.facts["failure"] = str(failure)
    for worker in alive:
        worker.end()
    return conclude(workers, WORKLOADS[workload].data().cost)


def conclude(workers: Sequence[Worker], cost: Cost) -> dict[str, dict[str, Any]]:
    """The figures of each worker, its results compared with those of the first that has any."""
    reference: list[Summary] = next((w.facts["results"] for w in workers if "results" in w.facts), [])
    table = {}
    for worker in workers:
        facts = dict(worker.facts)
        times = sorted(t for visit in worker.rounds for t in visit.times)
        facts.pop("times", None)
        results = facts.pop("results", None)
        if times and "failure" not in facts:
            facts["median"], facts["min"] = statistics.median(times), times[0]
            facts["rounds"] = [statistics.median(visit.times) for visit in worker.rounds]
            facts["floor"] = statistics.median(visit.limits.floor(cost)[0] for visit in worker.rounds)
        if results is not None:
            facts["difference"] = difference(results, reference)
            facts["agrees"] = facts["difference"] < TOLERANCE
        table[worker.row.name] = facts
    return table
