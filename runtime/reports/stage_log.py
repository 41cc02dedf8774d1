"""Log of one compile: how often each stage ran, if it changed anything, and how long it took."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from typing import Any

from staticgraph.compiler.stages import NUMBERS, STAGES, Report, unchanged
from staticgraph.compiler.support.dataclass import dataclass
from staticgraph.runtime.reports.table import duration, table


@dataclass(slots=True)
class StageRun:
    """The runs of one stage in a compile: `runs` in all, `changed` of them with a change, in `seconds`."""

    name: str
    runs: int = 0
    changed: int = 0
    seconds: float = 0.0

    @property
    def effect(self) -> str:
        """Effect of the stage in a few words."""
        if not self.runs:
            return "did not run"
        if not self.changed:
            return "changed nothing"
        return "" if self.changed == self.runs else f"changed {self.changed} of {self.runs}"


class StageLog:
    """Observer of a compile. Printed, it is a table of all stages of `compiler/stages.py`.

    The time of a stage is that since the stage before it: what prepares a stage counts for it. `earlier`: the
    reports of stages that ran before, in a time that is not known.
    """

    def __init__(self, earlier: Iterable[Report] = ()) -> None:
        self.runs = {stage.name: StageRun(stage.name) for stage in STAGES}
        for report in earlier:
            self._count(*report)
        self._since = time.perf_counter()

    def __call__(self, name: str, before: Any, after: Any) -> None:
        """Take note of a stage."""
        self.runs[name].seconds += time.perf_counter() - self._since
        self._count(name, before, after)
        self._since = time.perf_counter()

    def _count(self, name: str, before: Any, after: Any) -> None:
        found = self.runs[name]
        found.runs += 1
        found.changed += not unchanged(before, after)

    def __bool__(self) -> bool:
        """True if any stage ran."""
        return any(each.runs for each in self.runs.values())

    def __iter__(self) -> Iterator[StageRun]:
        return iter(self.runs.values())

    @property
    def seconds(self) -> float:
        """The time of all stages."""
        return sum(each.seconds for each in self)

    def __str__(self) -> str:
        head = ("", "stage", "time", "runs", "", "")
        rows = []
        for stage in STAGES:
            found = self.runs[stage.name]
            spent = duration(1e9 * found.seconds) if found.seconds else ""
            about = f"{stage.about} ({stage.when})" if stage.when else stage.about
            rows.append((str(NUMBERS[stage.name]), stage.name, spent, str(found.runs), found.effect, about))
        count = sum(each.runs > 0 for each in self)
        title = f"{count} of {len(rows)} stages in {duration(1e9 * self.seconds)}"
        return f"{title}\n{table(head, rows, left=(1, 4, 5))}"
