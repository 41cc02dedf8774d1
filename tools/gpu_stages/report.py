"""Report of the stages, as JSON and as a short table."""

from __future__ import annotations

import datetime
import json
import tarfile
from collections.abc import Container, Iterable, Sequence
from dataclasses import asdict
from pathlib import Path

from gpu_stages.findings import Finding, missed
from gpu_stages.runner import STAGES, Outcome

_SHOWN = 40
_LARGEST = 1 << 21  # bytes of a file: all of them together must come back
_TITLES = {stage.name: stage.title for stage in STAGES}


def write(outcomes: Sequence[Outcome], device: str, folder: Path) -> None:
    """results.json and report.md."""
    results = {
        "date": datetime.date.today().isoformat(),
        "device": device,
        "stages": [asdict(outcome) for outcome in outcomes],
    }
    _replace(folder / "results.json", json.dumps(results, indent=1) + "\n")
    _replace(folder / "report.md", markdown(outcomes, device) + "\n")


def pack(made: Path, folder: Path) -> None:
    """Write what stages said and made to details.tar.gz: a machine that is lent gives few files back."""
    whole = folder / "details.new"
    with tarfile.open(whole, "w:gz", compresslevel=1) as archive:
        for path in sorted(made.iterdir()):
            if path.is_file() and path.stat().st_size <= _LARGEST:
                archive.add(path, path.name)
    whole.replace(folder / "details.tar.gz")


def _replace(path: Path, text: str) -> None:
    """Write a file whole or not at all: whoever ends this process may do so at any time."""
    whole = path.with_suffix(".new")
    whole.write_text(text)
    whole.replace(path)


def read(folder: Path, device: str, without: Container[str]) -> list[Outcome]:
    """The outcomes that results.json in a folder has of other stages on the same device."""
    path = folder / "results.json"
    told = json.loads(path.read_text()) if path.exists() else {}
    if told.get("device") != device:
        return []
    return [
        Outcome(**each | {"findings": tuple(Finding(**finding) for finding in each["findings"])})
        for each in told["stages"]
        if each["stage"] not in without
    ]


def joined(before: Iterable[Outcome], outcomes: Iterable[Outcome]) -> list[Outcome]:
    """All outcomes, in the order of the stages."""
    order = [*_TITLES]
    return sorted(
        [*before, *outcomes], key=lambda each: order.index(each.stage) if each.stage in order else -1
    )


def line(outcome: Outcome) -> str:
    """A stage in one line."""
    return f"{outcome.stage:12} {outcome.how:9} {outcome.seconds:6.1f} s  {_counts(outcome)}"


def markdown(outcomes: Sequence[Outcome], device: str) -> str:
    """The whole report."""
    head = [f"# GPU check of {device}, {datetime.date.today().isoformat()}", "", *_facts(outcomes)]
    stages = _table(
        ("stage", "", "s", "found", "what"),
        ((o.stage, o.how, f"{o.seconds:.0f}", _counts(o), _TITLES.get(o.stage, "")) for o in outcomes),
    )
    parts = [*head, *stages]
    failed = [f for o in outcomes for f in o.findings if f.ok is False]
    if failed:
        parts += ["", "## What failed", "", *(f"- {f.stage}: {f.name}: {f.shown}" for f in failed[:_SHOWN])]
        if len(failed) > _SHOWN:
            parts.append(f"- and {len(failed) - _SHOWN} more, in results.json")
    for outcome in outcomes:
        if outcome.said and outcome.how in ("failed", "stopped"):
            parts += ["", f"`{outcome.stage}` said at last:", "", "```", outcome.said, "```"]
    for outcome in outcomes:
        numbers = [f for f in outcome.findings if f.value is not None]
        if numbers:
            rows = ((f.name, _number(f), _aim(f), f.text) for f in numbers)
            parts += ["", f"## {outcome.stage}", "", *_table(("", "measured", "target", ""), rows)]
    return "\n".join(parts)


def _facts(outcomes: Iterable[Outcome]) -> list[str]:
    notes = [f for o in outcomes for f in o.findings if f.ok is None and f.value is None]
    return [*(f"- {f.name}: {f.text}" for f in notes), ""] if notes else []


def _counts(outcome: Outcome) -> str:
    held = [f.ok for f in outcome.findings if f.ok is not None]
    numbers = [f for f in outcome.findings if f.value is not None]
    parts = [f"{sum(held)} of {len(held)} checks hold"] if held else []
    if numbers:
        below = sum(map(missed, numbers))
        parts.append(f"{len(numbers)} numbers" + (f", {below} below target" if below else ""))
    return "; ".join(parts) or outcome.said.partition("\n")[0]


def _number(finding: Finding) -> str:
    return Finding("", "", value=finding.value, unit=finding.unit).shown


def _aim(finding: Finding) -> str:
    if finding.target is None:
        return ""
    aim = Finding("", "", value=finding.target, unit=finding.unit).shown
    return f"{'at most' if finding.most else 'at least'} {aim}{' **missed**' if missed(finding) else ''}"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    def cells(row: Sequence[str]) -> str:
        return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in row) + " |"

    return [cells(head), cells(["---"] * len(head)), *map(cells, rows)]
