"""A line on the terminal that tells how far a compile or a search is, if it takes long."""

from __future__ import annotations

import os
import shutil
import sys
import time
from typing import TextIO

from staticgraph.compiler.graph.world import MEMBERSHIP
from staticgraph.runtime.switches.table import current

PATIENCE = 2.0  # seconds of silence; after that a terminal is told how far it is
_PAUSE = 0.5  # seconds between two lines
clock = time.monotonic


def overwrites(stream: TextIO) -> bool:
    """Return True if a line of `stream` can be written over: on a terminal, and in a notebook."""
    if type(stream).__module__.partition(".")[0] == "ipykernel":
        return True
    return stream.isatty() and os.environ.get("TERM") != "dumb"


class Progress:
    """Context that is called with each step of `what`.

    Nothing is written unless standard error is a terminal or a notebook, nor with `SG_PROGRESS=0`; of several
    processes that train together, the first one writes. The line is erased at the end.
    """

    def __init__(self, what: str) -> None:
        self._what = what
        self._count = 0
        self._next = clock() + PATIENCE
        self._shown = 0  # signs of the line

    def __enter__(self) -> Progress:
        return self

    def __call__(self, done: int | None = None, total: int | None = None, noun: str = "step") -> None:
        """Tell that a step is done, or that step `done` of `total` begins."""
        self._count += 1
        if clock() < self._next:
            return
        self._next = clock() + _PAUSE
        if overwrites(sys.stderr) and current("progress") and MEMBERSHIP.world.rank == 0:
            far = f", {self._count} done" if total is None else f": {noun} {done} of {total}"
            room = shutil.get_terminal_size().columns - len(far) - 1
            what = self._what if len(self._what) <= room else f"{self._what[: max(room - 3, 0)]}..."
            line = what + far
            print(f"\r{line.ljust(self._shown)}", end="", file=sys.stderr, flush=True)
            self._shown = len(line)

    def __exit__(self, *_: object) -> None:
        if self._shown:
            print(f"\r{' ' * self._shown}\r", end="", file=sys.stderr, flush=True)
