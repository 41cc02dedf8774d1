"""From the start of the import to the end of the first step, in fresh processes, caches cold and warm."""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.contest import Failed, start
from benchmarks.peers import OURS, Row

FIRST = ("lenet", "resnet18")
SLOW = 10.0  # seconds: what takes longer is not repeated
PARTS = ("imported", "built", "first", "peak")


def first_steps(
    rows: Sequence[Row],
    threads: int,
    repeats: int,
    patience: float,
    progress: Callable[[str], None],
    workloads: Sequence[str] = FIRST,
) -> dict[str, list[dict[str, Any]]]:
    """By workload, entries of row, cache (cold; ours also warm) and the medians of PARTS."""
    found: dict[str, list[dict[str, Any]]] = {}
    for workload in workloads:
        for row in (row for row in rows if row.does(workload)):
            progress(f"{workload}: first step of {row.name}")
            cold = [_once(row, workload, threads, patience, warm=False)]
            while len(cold) < repeats and cold[0] and _total(cold[0]) < SLOW:
                cold.append(_once(row, workload, threads, patience, warm=False))
            _add(found, workload, row, "cold", cold)
            if row.name == OURS:
                warm = [_once(row, workload, threads, patience, warm=True) for _ in range(repeats)]
                _add(found, workload, row, "warm", warm)
    return found


def _add(found: dict[str, Any], workload: str, row: Row, cache: str, runs: Sequence[dict[str, Any]]) -> None:
    if ok := [run for run in runs if run]:
        entry = {part: statistics.median(run[part] for run in ok) for part in PARTS}
        found.setdefault(workload, []).append({"row": row.name, "cache": cache, **entry})


def _total(run: dict[str, Any]) -> float:
    return run["imported"] + run["built"] + run["first"]


def _once(row: Row, workload: str, threads: int, patience: float, warm: bool) -> dict[str, Any]:
    """The first step in a process whose caches are in a fresh folder; empty where it failed."""
    with tempfile.TemporaryDirectory(prefix="benchmark-", ignore_cleanup_errors=True) as folder:
        variables = {
            "SG_CACHE_DIR": str(Path(folder, "staticgraph")),
            "TORCHINDUCTOR_CACHE_DIR": str(Path(folder, "inductor")),
            "PYTENSOR_FLAGS": f"base_compiledir={Path(folder, 'pytensor')}",
        }
        answer: dict[str, Any] = {}
        for last in (False, True) if warm else (True,):
            worker = start(row, workload, threads, variables)
            try:
                answer = worker.answer(patience)
            except Failed:
                answer = {}
            if last:
                worker.end()
            else:
                worker.finish(patience)  # so that it fills the caches
        return answer
