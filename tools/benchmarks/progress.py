"""A progress bar on stderr; where that is no terminal, a line whenever a part is done."""

from __future__ import annotations

import sys
import time


class Progress:
    """Parts done, time taken, and what is going on."""

    def __init__(self, parts: int) -> None:
        self.parts = parts
        self.done = 0
        self.begun = time.monotonic()
        self.now = ""

    def show(self, text: str) -> None:
        """Say what is going on."""
        self.now = text
        if sys.stderr.isatty():
            bar = "#" * (30 * self.done // self.parts)
            print(f"\r[{bar:30}] {self.clock()} {text[:60]:60}", end="", file=sys.stderr, flush=True)

    def advance(self) -> None:
        """One part more is done."""
        self.done += 1
        if not sys.stderr.isatty():
            print(f"{self.done}/{self.parts} {self.clock()} {self.now}", file=sys.stderr, flush=True)

    def end(self) -> None:
        """Leave the line."""
        if sys.stderr.isatty():
            print(file=sys.stderr)

    def clock(self) -> str:
        minutes, seconds = divmod(int(time.monotonic() - self.begun), 60)
        return f"{minutes}:{seconds:02}"
