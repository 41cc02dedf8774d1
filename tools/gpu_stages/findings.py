"""Findings of a stage: lines of JSON in a file, written one by one, so that what was found stays."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Finding:
    """A number, or whether something holds.

    `ok` is None for what is only told. A number with a `target` is as it should be when it is at least that,
    or at most, where `most` is set.
    """

    stage: str
    name: str
    ok: bool | None = None
    value: float | None = None
    unit: str = ""
    target: float | None = None
    most: bool = False
    text: str = ""

    @property
    def shown(self) -> str:
        """The number with its unit, and the text."""
        number = "" if self.value is None else f"{_short(self.value)} {self.unit}".strip()
        aim = "" if self.target is None else f"(target {'<=' if self.most else '>='} {_short(self.target)})"
        return " ".join(part for part in (number, aim, self.text) if part)


def _short(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


class Findings:
    """The file of a stage, open for more."""

    def __init__(self, stage: str, path: Path) -> None:
        self._stage, self._path = stage, path

    def note(self, name: str, text: str) -> None:
        """Something to know, such as a version."""
        self._write(Finding(self._stage, name, text=text))

    def check(self, name: str, holds: bool, text: str = "") -> bool:
        """Something that must hold; whether it does."""
        self._write(Finding(self._stage, name, ok=bool(holds), text=text))
        return holds

    def measured(
        self,
        name: str,
        value: float,
        unit: str,
        target: float | None = None,
        most: bool = False,
        text: str = "",
    ) -> None:
        """A number. One that misses its target is told apart, and is not an error."""
        self._write(Finding(self._stage, name, None, float(value), unit, target, most, text))

    @contextmanager
    def trying(self, name: str) -> Iterator[None]:
        """Context whose errors are findings, so that the rest of the stage goes on."""
        try:
            yield
        except Exception as error:  # whatever it is, the stage has more to do
            lines = [line for line in str(error).splitlines() if line.strip()] or [""]
            self.check(name, False, f"{type(error).__name__}: {' '.join(lines[:4])[:500]}")

    def _write(self, finding: Finding) -> None:
        with self._path.open("a") as file:
            file.write(json.dumps(asdict(finding)) + "\n")
        print(f"{finding.name}: {_verdict(finding)}{finding.shown}", flush=True)


def _verdict(finding: Finding) -> str:
    return "" if finding.ok is None else "ok " if finding.ok else "FAILED "


def read(path: Path) -> list[Finding]:
    """Return the findings of a stage so far. A line that is not finished is left out."""
    found = []
    for line in path.read_text().splitlines() if path.exists() else []:
        try:
            found.append(Finding(**json.loads(line)))
        except ValueError:
            continue
    return found


def missed(finding: Finding) -> bool:
    """Return True if a number is not what it should be."""
    if finding.value is None or finding.target is None:
        return False
    return finding.value > finding.target if finding.most else finding.value < finding.target
