"""The results in the README: its table between two markers, made from what a full run has saved."""

from __future__ import annotations

import json
from pathlib import Path

from benchmarks.peers import OURS
from benchmarks.report import Results, cell, fastest_peer, floor_of, threads, times
from benchmarks.text import duration, ratio
from benchmarks.workloads import WORKLOADS

ROOT = Path(__file__).resolve().parent.parent.parent
README, SAVED = ROOT / "README.md", ROOT / "docs" / "benchmark.json"
BEGIN, END = "<!-- benchmark -->\n", "<!-- end of benchmark -->\n"


def update() -> None:
    """Show the saved results in the README."""
    if not SAVED.exists():
        raise SystemExit("there are no saved results: run with `--save docs/benchmark` first")
    results = json.loads(SAVED.read_text())
    if results["quick"]:
        raise SystemExit(f"{SAVED.name} is of a quick run; the README shows full ones")
    README.write_text(filled(README.read_text(), section(results)))


def filled(text: str, content: str) -> str:
    """`text` with `content` between the markers."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return before + BEGIN + content + END + after


def shown(text: str) -> str:
    """Return the part of `text` between the markers."""
    return text.partition(BEGIN)[2].partition(END)[0]


def section(results: Results) -> str:
    """Return the section: place and date, how often we are ahead, the table, the chart."""
    machine = results["machine"]
    ratios = [value for name in results["work"] if (value := speed(results, name)) is not None]
    ahead = sum(value >= 1 for value in ratios)
    return "\n".join(
        [
            f"{machine['cpu']}, {threads(results)}, {machine['system']}, "
            f"{results['date']}: ahead of the fastest peer in {ahead} of {len(ratios)} kinds of work. "
            "All peers, their versions, first steps and memory: [docs/benchmark.md](docs/benchmark.md); "
            "on one thread: [docs/benchmark_1_thread.md](docs/benchmark_1_thread.md); "
            "on a newer processor that is held to AVX2, where some peers are not: "
            "[docs/benchmark_avx2.md](docs/benchmark_avx2.md).",
            "",
            table(results),
            "",
            "![Bar chart of the times of all peers](docs/benchmark.svg)",
            "",
        ]
    )


def speed(results: Results, workload: str) -> float | None:
    """Return how many times as fast as the fastest peer we are, if both ran."""
    rows = results["work"][workload]
    mine, best = times(rows).get(OURS), fastest_peer(rows)
    return rows[best]["median"] / mine if mine and best else None


def table(results: Results) -> str:
    """A line for each kind of work: ours, the fastest peer, and what the machine allows."""
    lines = [
        f"| time of a step | {OURS} | fastest peer | | times as fast | floor of the machine |",
        "|---|---:|---:|---|---:|---:|",
    ]
    for workload, rows in results["work"].items():
        best, value, floor = fastest_peer(rows), speed(results, workload), floor_of(results, workload)
        cells = [
            WORKLOADS[workload].title,
            cell(rows[OURS]) if OURS in rows else "",
            duration(rows[best]["median"]) if best else "",
            best or "",
            "" if value is None else f"**{ratio(value)}**" if value >= 1 else f"{ratio(value)}, slower",
            duration(floor) if floor else "",
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)
