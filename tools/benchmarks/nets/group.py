"""Runs the nets: every row in its own process, all at the same net in turns; their results must agree."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.nets.net import CPU, GPU
from benchmarks.nets.table import NETS
from benchmarks.peers import OURS, Row
from benchmarks.text import duration, ratio
from benchmarks.turns import Facts, in_turns

GOAL = 1.0  # of the fastest peer's time


@dataclass(frozen=True, slots=True)
class Peer:
    """A row of this group: the folder of its environment, its package, and where it takes part by default."""

    folder: str
    package: str
    devices: tuple[str, ...] = (CPU, GPU)


PEERS = {
    OURS: Peer("", "staticgraph"),
    "PyTorch": Peer("torch", "torch"),
    "torch.compile": Peer("torch", "torch", (GPU,)),
    "torch.compile graphs": Peer("torch", "torch", (GPU,)),
    "JAX": Peer("jax", "jax"),
}


def installed(folder: Path | None, device: str) -> list[Row]:
    """Our row, and each peer of a device with an environment in `folder` or installed in ours."""
    rows = []
    for name, peer in PEERS.items():
        if device not in peer.devices:
            continue
        python = folder / peer.folder / "bin" / "python" if folder and peer.folder else None
        if python is not None and python.exists():
            rows.append(Row(name, str(python.absolute())))
        elif importlib.util.find_spec(peer.package):
            rows.append(Row(name, sys.executable))
    return rows


def command(row: Row, name: str, size: str, threads: int) -> list[str]:
    """Return the module that runs a net for a row, and its arguments."""
    return ["benchmarks.nets.worker", row.name, name, size, str(threads)]


def measured(
    rows: Sequence[Row], names: Sequence[str], results: dict[str, Any], seconds: float, patience: float,
    progress: Callable[[str], None],
) -> Iterator[dict[str, Any]]:  # fmt: skip
    """`results` after each net; `results["size"]` says which size of it."""
    results.update(work={}, versions={})
    for name in names:
        commands = {row: command(row, name, results["size"], results["threads"]) for row in rows}

        def tell(text: str, name: str = name) -> None:
            progress(f"{name}: {text}")

        tolerance = NETS[name].tolerance
        found = in_turns(commands, results["rounds"], seconds, patience, tolerance, tell)
        results["work"][name] = checked(found)
        for row, facts in found.items():
            results["versions"].setdefault(row, facts.get("version", row))
        yield results


def checked(found: dict[str, Facts]) -> dict[str, Facts]:
    """No times if any row computes something else: one of them is wrong, and who it is nobody knows."""
    if all(facts.get("agrees", True) for facts in found.values()):
        return found
    for facts in found.values():
        facts.pop("median", None)
    return found


def markdown(results: dict[str, Any]) -> str:
    """A table: the time of a step of each row, ours as a part of the fastest peer's, and the last loss."""
    columns = [name for name in PEERS if any(name in found for found in results["work"].values())]
    lines = [
        f"| net ({results['size']}) | {' | '.join(columns)} | ours / fastest peer | result of step 3 |",
        f"|---|{'---|' * (len(columns) + 2)}",
    ]
    for name, found in results["work"].items():
        medians = {row: facts["median"] for row, facts in found.items() if "median" in facts}
        peers = [median for row, median in medians.items() if row != OURS]
        part = medians[OURS] / min(peers) if OURS in medians and peers else None
        shown = "" if part is None else f"**{ratio(part)}, slower**" if part > GOAL else ratio(part)
        cells = [_cell(found.get(row)) for row in columns]
        last = next((f"{facts['last']:.5g}" for facts in found.values() if "last" in facts), "")
        lines.append(f"| {NETS[name].title} | {' | '.join(cells)} | {shown} | {last} |")
    return "\n".join(lines) + "\n"


def _cell(facts: Facts | None) -> str:
    if facts is None:
        return ""
    if "failure" in facts:
        return f"failed: {facts['failure']}"
    if not facts.get("agrees", True):
        return f"differs by {facts['difference']:.1e}"
    return duration(facts["median"]) if "median" in facts else "not shown: results differ"
