"""Profile of a step in all processes: how long each of them waited for the others, and in which exchange."""

from __future__ import annotations

import json
from collections.abc import Sequence

from staticgraph.compiler.support.dataclass import dataclass
from staticgraph.runtime.processes.texts import texts_of_all
from staticgraph.runtime.profiling.step_times import StepTimes
from staticgraph.runtime.reports.table import Table, counted, duration


@dataclass(frozen=True, slots=True)
class RankTimes:
    """The runs of a step in one process.

    Attributes:
        rank: The number of the process.
        runs: The number of runs.
        nanoseconds: The time of all runs together.
        waits: For each exchange by name, the nanoseconds of waiting in all runs.
    """

    rank: int
    runs: int
    nanoseconds: float
    waits: dict[str, float]

    @property
    def waited(self) -> float:
        """The nanoseconds of waiting in all runs."""
        return sum(self.waits.values())


@dataclass(frozen=True, slots=True)
class MergedTimes:
    """A step in all processes. Printed, it is two tables: one of processes, and one of exchanges.

    Attributes:
        what: The text of the fetches.
        ranks: The times of each process.
    """

    what: str
    ranks: tuple[RankTimes, ...]

    @property
    def processes(self) -> Table:
        """The processes, one in each row: the one that waits least is the one that the others wait for."""
        last = min(self.ranks, key=lambda each: each.waited / each.runs)
        title = f"{self.what}: {counted(len(self.ranks))} processes; process {last.rank} waits least"
        return Table(title, ("process", "step", "works", "waits", "share"), tuple(map(_row, self.ranks)))

    @property
    def exchanges(self) -> Table:
        """The exchanges, one in each row, with the wait of each process in a run.

        The least of these is the time in which values travel; what is more is waiting for a late process.
        """
        head = ("exchange", *(f"process {each.rank}" for each in self.ranks), "least")
        names = dict.fromkeys(name for each in self.ranks for name in each.waits)
        return Table("waits in a run, by exchange", head, tuple(map(self._waits, names)))

    def _waits(self, name: str) -> tuple[str, ...]:
        found = [each.waits.get(name, 0.0) / each.runs for each in self.ranks]
        return (name, *map(duration, found), duration(min(found)))

    def __str__(self) -> str:
        return f"{self.processes}\n\n{self.exchanges}"


class AllTimes(list[MergedTimes]):
    """The times of several steps in all processes. Printed, it is the tables of each."""

    def __str__(self) -> str:
        return "\n\n".join(map(str, self))


def merged(steps: Sequence[StepTimes]) -> AllTimes:
    """Return the times of all processes for those steps that exchange something. All must call this."""
    mine = []
    for step in steps:
        waits = {k.name: k.waited for k in step.kernels if k.is_exchange}
        if waits:
            mine.append([step.what, step.runs, step.nanoseconds, waits])
    every = [json.loads(text) for text in texts_of_all(json.dumps(mine))]
    made = AllTimes()
    for row in zip(*every, strict=False):
        ranks = (RankTimes(rank, *told) for rank, (_, *told) in enumerate(row))
        made.append(MergedTimes(row[0][0], tuple(ranks)))
    return made


def _row(times: RankTimes) -> tuple[str, ...]:
    step, waits = times.nanoseconds / times.runs, times.waited / times.runs
    return (str(times.rank), duration(step), duration(step - waits), duration(waits), f"{waits / step:.1%}")
