"""Output of a command: the terminal's width, the characters it can show, and the progress of long work."""

from __future__ import annotations

import os
import sys
import time

from staticgraph.runtime.reports.compile_log import StatusLine, overwrites
from staticgraph.runtime.reports.table import printable


def width() -> int | None:
    """The columns of the terminal, or what `COLUMNS` says; None if the output goes to a file or a pipe."""
    told = os.environ.get("COLUMNS", "")
    if told.isdecimal() and int(told) > 0:
        return int(told)
    try:
        return os.get_terminal_size(sys.stdout.fileno()).columns or None
    except (OSError, ValueError):  # no terminal, or no file at all
        return None


def out(text: str) -> None:
    """Print a text. Signs that steer a terminal, or that the encoding has not, are shown by number."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    shown = "\n".join(map(printable, text.splitlines()))
    print(shown.encode(encoding, "backslashreplace").decode(encoding))


class Progress(StatusLine):
    """A line on the error stream that tells how far long work is. It appears after a second, if that is a
    terminal which can erase it again, and is gone at the end of the context.
    """

    def __init__(self) -> None:
        super().__init__()
        self._shows = overwrites(sys.stderr) and os.environ.get("TERM") != ""
        self._next = time.monotonic() + 1.0

    def __call__(self, text: str, at_once: bool = False) -> None:
        """Tell this, unless the last look was only just now; `at_once` before what cannot tell by itself."""
        now = time.monotonic()
        if self._shows and (at_once or now >= self._next):
            self._next = now + 0.1
            room = (os.get_terminal_size(sys.stderr.fileno()).columns or 80) - 1
            self.show(text[:room])
