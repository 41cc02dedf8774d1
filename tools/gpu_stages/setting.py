"""Setting of a stage: the device, the sizes, the time, and where its findings go."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import staticgraph as sg
from gpu_stages.findings import Findings
from staticgraph.runtime.gpu.cuda.driver import Driver

STANDIN = "standin"
PATIENCE = 1.0  # the part of its time that a measurement takes; tests of the tool wait for none


@dataclass(frozen=True, slots=True)
class Setting:
    """`device`: "gpu:0", or "standin", which has small sizes and no speed. `seconds`: how long the stage may
    take; what does not fit is left out.
    """

    device: str
    seconds: float
    folder: Path
    findings: Findings
    began: float

    @property
    def small(self) -> bool:
        """Return True if sizes are those for tests."""
        return self.device == STANDIN

    def sized(self, full: int, small: int) -> int:
        """A size on a card, and without one."""
        return small if self.small else full

    @property
    def left(self) -> float:
        """Seconds that are left."""
        return self.began + self.seconds - time.monotonic()

    def within(self, what: str, seconds: float) -> bool:
        """Return True if there is time for something that takes so long; if not, that is noted."""
        if self.left > seconds:
            return True
        self.findings.note(what, f"left out: {self.left:.0f} s are left")
        return False

    @contextmanager
    def driver(self) -> Iterator[Driver]:
        """The driver of the device, closed afterwards."""
        if self.small:
            from staticgraph.runtime.gpu.simulator.driver import Simulator

            made: Driver = Simulator()
        else:
            from staticgraph.runtime.gpu.cuda.present import find

            made = find(int(self.device.partition(":")[2] or 0))
        try:
            yield made
        finally:
            made.close()

    @contextmanager
    def session(self, device: str | None = None) -> Iterator[sg.Session]:
        """A session on the device, or on another, with variables that are initialized."""
        with sg.Session(device=device or self.device) as session:
            session.run(sg.global_variables_initializer())
            yield session


def seconds_per_call(call: Callable[[], Any], finish: Callable[[], Any], budget: float = 0.5) -> float:
    """Return the time of a call, with `finish` after the last of many: the best of three rounds."""
    call()
    finish()
    start = time.perf_counter()
    call()
    finish()
    once = max(time.perf_counter() - start, 1e-7)
    count = max(1, min(2000, int(PATIENCE * budget / 3 / once)))
    rounds = []
    for _ in range(3):
        start = time.perf_counter()
        for _ in range(count):
            call()
        finish()
        rounds.append((time.perf_counter() - start) / count)
    return min(rounds)
