"""A line on the terminal that tells how far a search is, if it takes long."""

from __future__ import annotations

import sys
import time

PATIENCE = 2.0  # seconds of silence; after that a terminal is told how far the search is


class Progress:
    """Context that is called after each step of a search for `what`."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._count = 0
        self._next = time.monotonic() + PATIENCE
        self._shown = False

    def __enter__(self) -> Progress:
        return self

    def __call__(self) -> None:
        self._count += 1
        if time.monotonic() > self._next and sys.stderr.isatty():
            print(f"\r{self._what}, {self._count} done", end="", file=sys.stderr)
            self._next = time.monotonic() + 0.5
            self._shown = True

    def __exit__(self, *_: object) -> None:
        if self._shown:
            print("\r\033[K", end="", file=sys.stderr)
