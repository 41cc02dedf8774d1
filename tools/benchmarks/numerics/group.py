"""Runs the works of the group: every row in its own process, all at the same work in turns."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.numerics.rows import SAID
from benchmarks.numerics.work import Work
from benchmarks.peers import OURS, Row
from benchmarks.text import cell, ratio
from benchmarks.turns import Facts, in_turns

FILES = ("algebra", "fourier", "ordering", "special")  # the subjects, each with a dictionary of its works
FOLDERS = {OURS: "", "NumPy": "numpy", "PyTorch": "torch", "JAX": "jax"}
PACKAGES = {OURS: "staticgraph", "NumPy": "scipy", "PyTorch": "torch", "JAX": "jax"}


def works() -> dict[str, tuple[str, Work]]:
    """Every work by name, with the file that has it."""
    found = {}
    for file in FILES:
        for name, work in importlib.import_module(f"benchmarks.numerics.{file}").WORK.items():
            found[name] = file, work
    return found


def installed(folder: Path | None) -> list[Row]:
    """Our row, and each peer with an environment in `folder` or installed in ours."""
    rows = []
    for name, place in FOLDERS.items():
        python = folder / place / "bin" / "python" if folder and place else None
        if python is not None and python.exists():
            rows.append(Row(name, str(python.absolute())))
        elif importlib.util.find_spec(PACKAGES[name]):
            rows.append(Row(name, sys.executable))
    return rows


def told(
    rows: Sequence[Row], name: str, threads: int, rounds: int, seconds: float, patience: float,
    progress: Callable[[str], None],
) -> dict[str, Facts]:  # fmt: skip
    """Facts of a work by row."""
    file, work = works()[name]
    commands = {
        row: ["benchmarks.numerics.worker", row.name, file, name, str(threads)]
        for row in rows
        if getattr(work, SAID[row.name]) is not None
    }
    return in_turns(
        commands, rounds, seconds, patience, work.tolerance, lambda text: progress(f"{name}: {text}")
    )


def measured(
    rows: Sequence[Row], names: Sequence[str], results: dict[str, Any], seconds: float, patience: float,
    progress: Callable[[str], None],
) -> Iterator[dict[str, Any]]:  # fmt: skip
    """`results` after each work."""
    results.update(work={})
    for name in names:
        results["work"][name] = told(
            rows, name, results["threads"], results["rounds"], seconds, patience, progress
        )
        yield results


def markdown(results: dict[str, Any]) -> str:
    """A table: the time of each row, and ours as a part of the fastest peer's beside what is aimed at."""
    columns = list(FOLDERS)
    lines = [
        f"| work | {' | '.join(columns)} | ours / fastest peer | goal |",
        f"|---|{'---|' * (len(columns) + 2)}",
    ]
    for name, found in results["work"].items():
        _, work = works()[name]
        medians = {row: facts["median"] for row, facts in found.items() if "median" in facts}
        peers = [median for row, median in medians.items() if row != OURS]
        part = medians[OURS] / min(peers) if OURS in medians and peers else None
        cells = [cell(found.get(row)) for row in columns]
        shown = "" if part is None else f"**{ratio(part)}**" if part > work.goal else ratio(part)
        lines.append(f"| {work.title} | {' | '.join(cells)} | {shown} | {work.goal:g} |")
    return "\n".join(lines) + "\n"
