"""Stopping from outside: after Ctrl-C, or a request to end, the step is finished and a snapshot written."""

from __future__ import annotations

import signal
from types import FrameType, TracebackType
from typing import Any

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Stop:
    """A context that notes the first signal; a second one ends the program as usual."""

    def __init__(self) -> None:
        self.asked: signal.Signals | None = None
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Stop:
        try:
            self._before = {number: signal.signal(number, self._note) for number in _SIGNALS}
        except ValueError:  # only the main thread has signals; elsewhere the caller decides
            self._before = {}
        return self

    def _note(self, number: int, frame: FrameType | None) -> None:
        self.asked = signal.Signals(number)
        self._restore()

    def _restore(self) -> None:
        for number, before in self._before.items():
            signal.signal(number, before)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._restore()

    @property
    def status(self) -> int:
        """Exit status of the program: 128 plus the number of the signal, as in shells, or 0 without one."""
        return 0 if self.asked is None else 128 + self.asked
