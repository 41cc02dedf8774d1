"""A bar that shows how far a loop is, how long it still takes, and values."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Iterable
from typing import Any

from staticgraph.runtime.reports.compile_log import overwrites


def is_screen() -> bool:
    """Return True if a line on standard output can be drawn over itself."""
    return overwrites(sys.stdout)


class Progbar:
    """A bar on standard output. On a terminal it is drawn over itself, elsewhere only its end is printed.

    `target`: the number of steps, or None if it is not known. `verbose=2` prints one line at the end, 0
    nothing. Values are shown as their mean, weighted by steps; those in `stateful_metrics` as they are.
    """

    def __init__(
        self,
        target: int | None,
        width: int = 30,
        verbose: int = 1,
        interval: float = 0.05,
        stateful_metrics: Any = None,
        unit_name: str = "step",
    ) -> None:
        self.target, self.width, self.verbose, self.interval = target, width, verbose, interval
        self.stateful_metrics, self.unit_name = set(stateful_metrics or ()), unit_name
        self.seen = 0
        self._values: dict[str, tuple[float, int]] = {}  # the sum of values, and of the steps they stand for
        self._start = time.monotonic()
        self._drawn_at, self._length = 0.0, 0

    def add(self, n: int, values: Iterable[tuple[str, Any]] | None = None) -> None:
        """Go `n` steps on."""
        self.update(self.seen + n, values)

    def update(self, current: int, values: Iterable[tuple[str, Any]] | None = None) -> None:
        """Go to step `current`. `values`: pairs of a name and the value in these steps."""
        for name, value in values or ():
            steps = max(current - self.seen, 1)
            total, count = self._values.get(name, (0.0, 0))
            kept = name in self.stateful_metrics
            self._values[name] = (float(value), 1) if kept else (total + float(value) * steps, count + steps)
        self.seen = current
        done = self.target is not None and current >= self.target
        now = time.monotonic()
        if self.verbose == 2 and done:
            sys.stdout.write(f"{current}/{self.target} - {now - self._start:.0f}s{self._shown_values()}\n")
        elif self.verbose == 1 and (done or (is_screen() and now - self._drawn_at >= self.interval)):
            self._draw(current, now - self._start, done)
            self._drawn_at = now

    def _draw(self, current: int, elapsed: float, done: bool) -> None:
        each = elapsed / current if current else 0.0
        line = self._bar(current) + (
            f" - {elapsed:.0f}s {_duration(each)}/{self.unit_name}" if done else self._left(current, each)
        )
        line += self._shown_values()
        begin = "\r" if is_screen() else ""
        if begin and not done:  # a line that wraps cannot be drawn over
            line = line[: max(shutil.get_terminal_size().columns - 1, 1)]
        sys.stdout.write(begin + line.ljust(self._length) + ("\n" if done else ""))
        sys.stdout.flush()
        self._length = len(line)

    def _bar(self, current: int) -> str:
        if self.target is None:
            return f"{current:7d}/Unknown"
        full = int(self.width * current / max(self.target, 1))
        tip = ">" if 0 < full < self.width or current < self.target else ""
        bar = ("=" * max(full - len(tip), 0) + tip).ljust(self.width, ".")[: self.width]
        return f"{current:{len(str(self.target))}d}/{self.target} [{bar}]"

    def _left(self, current: int, each: float) -> str:
        if self.target is None:
            return f" - {_duration(each)}/{self.unit_name}"
        seconds = each * (self.target - current)
        hours, rest = divmod(int(seconds), 3600)
        minutes, rest = divmod(rest, 60)
        shown = (
            f"{hours}:{minutes:02d}:{rest:02d}"
            if hours
            else f"{minutes}:{rest:02d}"
            if minutes
            else f"{rest}s"
        )
        return f" - ETA: {shown}"

    def _shown_values(self) -> str:
        parts = []
        for name, (total, count) in self._values.items():
            value = total / max(count, 1)
            parts.append(f" - {name}: {value:.4f}" if 1e-3 < abs(value) < 1e6 else f" - {name}: {value:.4e}")
        return "".join(parts)


def _duration(seconds: float) -> str:
    if seconds >= 1:
        return f"{seconds:.0f}s"
    return f"{seconds * 1e3:.0f}ms" if seconds >= 1e-3 else f"{seconds * 1e6:.0f}us"
