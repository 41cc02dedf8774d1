"""Times of the instructions of a step on a GPU, from marks in its stream before and after each.

In a captured step the marks are part of the graph. Kernels then follow each other as without marks, one after
the other. The host's clock is used only if the host decides what comes next. The first run of a program is
reported apart: the host enqueues kernel after kernel then, so a mark may wait for the host.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import field

from staticgraph.compiler.lower.program import Instruction
from staticgraph.compiler.support.dataclass import dataclass
from staticgraph.runtime.gpu.cuda.driver import Driver, DriverMark
from staticgraph.runtime.profiling.times import Stamp, Times

Action = Callable[[], None]
What = Instruction | str | None  # an instruction, what else is done, or the run as a whole
COPIES, FEEDS, FETCHES = "copies", "feeds to the GPU", "fetches from the GPU"
_NOTHING = nullcontext()


class Untimed:
    """Takes no times. `overlap`: whether work may be done side by side while it takes the times of each."""

    overlap = True

    def of(self, what: What) -> AbstractContextManager[None]:
        """Context in which the GPU is asked for something."""
        return _NOTHING

    def begin(self) -> None:
        """A capture begins."""

    def end(self, replay: Action) -> Action:
        """A capture ends: how to replay it."""
        return replay

    def hosted(self, action: Action, what: What) -> Action:
        """Replace an action in which the host decides or computes: by itself, as no times are taken."""
        return action

    def around(self, parts: list[Action], captured: bool) -> list[Action]:
        """Replace the parts of a run: by themselves."""
        return parts


UNTIMED = Untimed()


@dataclass(slots=True)
class _TimeTotal:
    """The time of something in all runs, in nanoseconds, and of the last one when that was."""

    what: What
    nanoseconds: float = 0.0
    calls: int = 0
    start: int = 0
    last: float = 0.0


@dataclass(slots=True)
class _Tally:
    """Times by what they are of."""

    runs: int = 0
    totals: dict[int | str, _TimeTotal] = field(default_factory=dict)

    def add(self, what: What, start: int, nanoseconds: float) -> None:
        key = what if isinstance(what, str) else id(what)
        total = self.totals.setdefault(key, _TimeTotal(what))
        total.nanoseconds += nanoseconds
        total.calls += 1
        total.start, total.last = start, nanoseconds


class Timing(Untimed):
    """Takes the times of one program's runs on a GPU, beginning at zero."""

    overlap = False  # a mark is reached when all that was asked for before it is done

    def __init__(self, driver: Driver) -> None:
        self._driver = driver
        # What is being captured, or asked for at once; inside of what comes before it.
        self._open: list[list[tuple[What, DriverMark, DriverMark]]] = []
        self._first, self._replayed = _Tally(), _Tally()
        self._now = self._first
        self._unnamed = 0.0  # nanoseconds of what is no instruction

    @contextmanager
    def of(self, what: What) -> Iterator[None]:
        start = self._driver.mark()
        yield
        self._open[-1].append((what, start, self._driver.mark()))

    def begin(self) -> None:
        self._open.append([])

    def end(self, replay: Action) -> Action:
        segment = self._open.pop()

        def timed() -> None:
            begun = time.time_ns()
            replay()
            self._count(segment, begun)

        return timed

    def hosted(self, action: Action, what: What) -> Action:
        def timed() -> None:
            self._driver.synchronize()
            before, begun, start = self._unnamed, time.time_ns(), time.perf_counter_ns()
            self._asked(action)
            inside = self._unnamed - before
            self._now.add(what, begun, time.perf_counter_ns() - start - inside)

        return timed

    def around(self, parts: list[Action], captured: bool) -> list[Action]:
        def run() -> None:
            self._open.clear()
            self._now = self._replayed if captured else self._first
            begun, start = time.time_ns(), time.perf_counter_ns()
            self._asked(lambda: [part() for part in parts])
            self._now.add(None, begun, time.perf_counter_ns() - start)
            self._now.runs += 1

        return [run]

    def times(self) -> Times | None:
        """Return the times of captured runs, if there were any, else of the first run; None without a run."""
        tally = self._replayed if self._replayed.runs else self._first
        if not tally.runs:
            return None
        stamps = [
            Stamp(t.what, t.nanoseconds, t.calls, t.start, t.start + round(t.last), 0)
            for t in tally.totals.values()
        ]
        note = "" if tally is self._replayed else "the first run, in which the GPU waits for the host"
        return Times(tally.runs, stamps, 1, note)

    def _asked(self, action: Callable[[], object]) -> None:
        """Run an action that asks the GPU for more, at once or by replays, and wait until it is done."""
        begun = time.time_ns()
        self.begin()
        action()
        self._count(self._open.pop(), begun)

    def _count(self, segment: Sequence[tuple[What, DriverMark, DriverMark]], begun: int) -> None:
        """Wait for what was asked for at a time, and add how long it took."""
        self._driver.synchronize()
        for what, start, end in segment:
            nanoseconds = end.since(start)
            self._now.add(what, begun + round(start.since(segment[0][1])), nanoseconds)
            if isinstance(what, str):
                self._unnamed += nanoseconds
