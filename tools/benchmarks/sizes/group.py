"""Runs the stories: every row in fresh processes with empty caches, in turns, one process at a time."""

from __future__ import annotations

import importlib.util
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks import floors
from benchmarks.calm import Watch
from benchmarks.compare import difference
from benchmarks.contest import Failed, contest, launched
from benchmarks.first import FIRST, first_steps
from benchmarks.peers import OPEN, OURS, PEERS, Row
from benchmarks.progress import Progress
from benchmarks.sizes.stories import STORIES, Story
from benchmarks.text import duration, ratio
from benchmarks.workloads import WORKLOADS

Facts = dict[str, Any]
TOLERANCE = 1e-2  # of losses; convolutions of 16-bit parts of some peers are not exact
README = tuple(name for name in WORKLOADS if not name.startswith(("scalar", "dag")))  # have a first size
PARTS = ("wall", "first", "rest", "peak", "new_size")


@dataclass(frozen=True, slots=True)
class Side:
    """A row of these tables: its file, the folder of its environment, the package that it needs."""

    file: str
    folder: str
    package: str


SIDES = {
    OURS: Side("graph_side", "", "staticgraph"),
    "PyTorch": Side("torch_side", "torch", "torch"),
    "torch.compile dynamic": Side("torch_side", "torch", "torch"),
    "JAX": Side("jax_side", "jax", "jax"),
    "TensorFlow": Side("graph_side", "tensorflow", "tensorflow"),
    "TensorFlow 1": Side("graph_side", "tensorflow1", "tensorflow"),
}


def installed(folder: Path | None) -> list[Row]:
    """Our row, and each peer with an environment in `folder`, or, TensorFlow 1 apart, installed in ours."""
    rows = []
    for name, side in SIDES.items():
        python = folder / side.folder / "bin" / "python" if folder and side.folder else None
        if python is not None and python.exists():
            rows.append(Row(name, str(python.absolute())))
        elif side.folder != "tensorflow1" and importlib.util.find_spec(side.package):
            rows.append(Row(name, sys.executable))
    return rows


def once(row: Row, name: str, threads: int, patience: float, *how: str) -> Facts:
    """A story in a fresh process with empty caches; `failure` if there is no result."""
    command = [
        row.python,
        "-m",
        "benchmarks.sizes.worker",
        SIDES[row.name].file,
        row.name,
        name,
        str(threads),
    ]
    with tempfile.TemporaryDirectory(prefix="benchmark-", ignore_cleanup_errors=True) as folder:
        variables = {
            "SG_CACHE_DIR": str(Path(folder, "staticgraph")),
            "TORCHINDUCTOR_CACHE_DIR": str(Path(folder, "inductor")),
        }
        start = time.perf_counter()
        worker = launched(row, [*command, *how], variables)
        facts: Facts = {}
        try:
            facts = worker.answer(patience)
            facts["wall"] = time.perf_counter() - start
            facts.update(worker.answer(patience))
        except Failed as failure:
            facts.setdefault("failure", str(failure))
            if "wall" in facts:  # the story is told, and only the second look at its sizes failed
                facts.pop("failure")
        worker.end()
        return facts


def told(
    rows: Sequence[Row],
    name: str,
    threads: int,
    rounds: int,
    patience: float,
    progress: Callable[[str], None],
    *how: str,
) -> dict[str, Facts]:
    """A story by all rows: medians of a few rounds, if results agree, and the memory of the largest size."""
    runs: dict[str, list[Facts]] = {row.name: [] for row in rows}
    for number in range(rounds):
        turn = number % len(rows)
        for row in [*rows[turn:], *rows[:turn]]:
            if any("failure" in facts for facts in runs[row.name]):
                continue
            progress(f"{name}: round {number + 1} of {rounds}, {row.name}")
            runs[row.name].append(once(row, name, threads, patience, *how))
    found = {row: _middle(facts) for row, facts in runs.items()}
    reference = next((facts["results"] for facts in found.values() if "results" in facts), [])
    for row in rows:
        facts = found[row.name]
        if "results" in facts:
            off = difference([[[*step]] for step in facts.pop("results")], [[[*step]] for step in reference])
            facts.update(difference=off, agrees=off < TOLERANCE)
            if STORIES[name].open:
                progress(f"{name}: largest size alone, {row.name}")
                facts["peak_of_largest"] = once(row, name, threads, patience, *how, "largest").get("peak")
    return found


def _middle(runs: Sequence[Facts]) -> Facts:
    """One run's facts with the median of what was measured."""
    facts = dict(runs[-1])
    if "failure" not in facts:
        for part in PARTS:
            values = [run[part] for run in runs if run.get(part) is not None]
            facts[part] = statistics.median(values) if values else None
    return facts


def opened(name: str, results: Facts, seconds: float, patience: float, watch: Watch, bar: Progress) -> Facts:
    """A row of README with its first sizes left open against the same row closed, in turns."""
    pair = [Row(OURS, sys.executable), Row(OPEN, sys.executable)]
    facts = contest(pair, name, results["threads"], results["rounds"], seconds, patience, bar.show, watch)
    both = zip(facts[OPEN].get("rounds", ()), facts[OURS].get("rounds", ()), strict=False)
    ratios = [mine / closed for mine, closed in both]
    return {
        "closed": facts[OURS].get("median"),
        "open": facts[OPEN].get("median"),
        "ratio": statistics.median(ratios) if ratios else None,
        "failure": facts[OPEN].get("failure") or facts[OURS].get("failure"),
        "agrees": facts[OPEN].get("agrees", False),
    }


def measured(
    rows: Sequence[Row], work: Sequence[str], results: Facts, seconds: float, patience: float
) -> Iterator[Facts]:
    """Fill `results` part by part; gives them after each."""
    threads, rounds = results["threads"], results["rounds"]
    bar = Progress(len(work))
    results.update(versions={}, stories={}, first={}, open={})
    for name in (name for name in work if name in STORIES):
        results["stories"][name] = found = told(rows, name, threads, rounds, patience, bar.show)
        for row, facts in found.items():
            results["versions"].setdefault(row, facts.get("version", row))
        bar.advance()
        yield results
    for name in (name for name in work if name in FIRST):
        known = [row for row in rows if row.name in PEERS]
        results["first"].update(first_steps(known, threads, rounds, patience, bar.show, (name,)))
        bar.advance()
        yield results
    watch = None
    for name in (name for name in README if f"open_{name}" in work):
        watch = watch or Watch(threads, floors.measure(threads))
        results["open"][name] = opened(name, results, seconds, patience, watch, bar)
        bar.advance()
        yield results
    bar.end()


def markdown(results: Facts) -> str:
    """The tables."""
    parts = [f"# Open sizes: {OURS} and its peers, {results['threads']} threads"]
    versions = ", ".join(dict.fromkeys(results["versions"].values()))
    parts.append(
        f"{results['date']}, {results['machine']['cpu']}, {results['machine']['cores']} cores. {versions}."
        " Made by `python tools/benchmark.py --group sizes`. Each row runs in a fresh process with empty"
        " caches; the time is wall time from the start of the process, imports included, to the end of the"
        f" last step, the median of {results['rounds']} rounds in turns."
    )
    for name, rows in results["stories"].items():
        parts += [f"## {STORIES[name].title}", _story(STORIES[name], rows)]
    if results.get("first"):
        parts += ["## Other first steps", _first(results["first"])]
    if results.get("open"):
        parts += ["## Rows of README, their first size left open", _open(results["open"])]
    return "\n\n".join(parts) + "\n"


def _table(head: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    rows = [head, ["---", *["---:"] * (len(head) - 1)], *lines]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def _story(story: Story, rows: dict[str, Facts]) -> str:
    mine = rows.get(OURS, {}).get("wall")
    lines = []
    for name, facts in rows.items():
        if "failure" in facts:
            lines.append([name, facts["failure"].replace("|", "/"), *[""] * (7 if story.open else 3)])
            continue
        line = [name + ("" if facts["agrees"] else " ≠"), duration(facts["wall"])]
        line.append("" if name == OURS or not mine else _verdict(mine / facts["wall"]))
        line.append(duration(facts["first"]))
        if story.open:
            alone, new = facts.get("peak_of_largest"), facts.get("new_size")
            line += [
                duration(facts["rest"]),
                duration(max(new, 0.0)) if new is not None else "",
                str(facts["programs"]) if facts.get("programs") is not None else "",
            ]
        line.append(f"{facts['peak']:.0f} MB")
        if story.open:
            line.append(ratio(facts["peak"] / alone) if alone else "")
        lines.append(line)
    head = ["row", "in all", "ours / this", "first step"]
    if story.open:
        head += ["other steps", "a new size", "programs"]
    head.append("peak memory")
    if story.open:
        head.append("of the largest size alone")
    return _table(head, lines)


def _verdict(value: float) -> str:
    return ratio(value) if value <= 1 else f"**{ratio(value)}, slower**"


def _first(first: Facts) -> str:
    lines = []
    for work, entries in first.items():
        for each in entries:
            whole = sum(each[part] for part in ("imported", "built", "first"))
            line = [work, each["row"], each["cache"], duration(whole), duration(each["first"])]
            lines.append([*line, f"{each['peak']:.0f} MB"])
    return _table(["work", "row", "kernel cache", "in all", "first step", "peak memory"], lines)


def _open(rows: dict[str, Facts]) -> str:
    lines = []
    for name, facts in rows.items():
        if facts["ratio"] is None:
            lines.append([name, facts["failure"] or "failed", "", ""])
            continue
        shown = ratio(facts["ratio"]) if facts["ratio"] < 1.03 else f"**{facts['ratio']:.2f}, slower**"
        lines.append([name, duration(facts["closed"]), duration(facts["open"]), shown])
    return _table(["work", "closed", "open", "open / closed, median of pairs"], lines)
