"""Runs the pipelines of the group: every row in its own process, all at the same pipeline in turns."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.peers import OURS, Row
from benchmarks.pipelines.works import WORKS
from benchmarks.text import cell, ratio
from benchmarks.turns import in_turns

PEER = "TensorFlow 1"
TOLERANCE = 1e-2  # of what is read: decoders of JPEG differ by a step of color


def installed(folder: Path | None) -> list[Row]:
    """Our row, and TensorFlow 1.15 if its environment is in `folder`."""
    rows = [Row(OURS, sys.executable)] if importlib.util.find_spec("staticgraph") else []
    python = folder / "tensorflow1" / "bin" / "python" if folder else None
    return rows + ([Row(PEER, str(python.absolute()))] if python is not None and python.exists() else [])


def measured(
    rows: Sequence[Row], names: Sequence[str], results: dict[str, Any], seconds: float, patience: float,
    progress: Callable[[str], None],
) -> Iterator[dict[str, Any]]:  # fmt: skip
    """`results` after each pipeline."""
    results.update(work={})
    for name in names:

        def told(text: str, name: str = name) -> None:
            progress(f"{name}: {text}")

        threads = str(results["threads"])
        commands = {row: ["benchmarks.pipelines.worker", row.name, name, threads] for row in rows}
        results["work"][name] = in_turns(commands, results["rounds"], seconds, patience, TOLERANCE, told)
        yield results


def markdown(results: dict[str, Any]) -> str:
    """A table: CPU time of a batch, and ours as a part of TensorFlow's. Rows that lose are bold."""
    lines = [f"| pipeline | {OURS} | {PEER} | ours / {PEER} |", "|---|---|---|---|"]
    for name in WORKS:
        if (found := results["work"].get(name)) is not None:
            medians = [found.get(row, {}).get("median") for row in (OURS, PEER)]
            part = None if None in medians else medians[0] / medians[1]
            shown = "" if part is None else f"**{ratio(part)}**" if part > 1 else ratio(part)
            cells = [cell(found.get(row)) for row in (OURS, PEER)]
            lines.append(f"| {name} | {' | '.join(cells)} | {shown} |")
    return "\n".join(lines) + "\n"
