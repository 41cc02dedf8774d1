"""The score that each module has reached, which the tests do not let fall: `floors.json`."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path

from surface.score import Verdict, total, totals

FILE = Path(__file__).resolve().parent / "floors.json"
ALL = "all"

Floors = dict[str, dict[str, float]]


def load() -> Floors:
    """Percentages by package and module; of `all` modules together too."""
    loaded: Floors = json.loads(FILE.read_text()) if FILE.exists() else {}
    return loaded


def reached(verdicts: Sequence[Verdict]) -> dict[str, float]:
    """The present scores by module, rounded down, without those of modules of which there is nothing."""
    scores = {module: each.score for module, each in totals(verdicts).items()}
    scores[ALL] = total(verdicts).score
    return {module: math.floor(10 * score) / 10 for module, score in scores.items() if score}


def fallen(verdicts: Sequence[Verdict], floors: Mapping[str, float]) -> dict[str, tuple[float, float]]:
    """Modules whose score is below what it was: its floor, and what it is now."""
    now = reached(verdicts)
    return {
        module: (floor, now.get(module, 0.0))
        for module, floor in floors.items()
        if now.get(module, 0.0) < floor
    }


def accept(found: Mapping[str, Sequence[Verdict]]) -> None:
    """Raise the floors to the present scores. They are lowered by hand only."""
    floors = load()
    for package, verdicts in found.items():
        before = floors.get(package, {})
        now = reached(verdicts)
        floors[package] = {
            module: max(before.get(module, 0.0), now.get(module, 0.0)) for module in sorted({*before, *now})
        }
    FILE.write_text(json.dumps(floors, indent=1) + "\n")
