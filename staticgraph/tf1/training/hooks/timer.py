"""Timer of hooks: every so many steps, or every so many seconds."""

from __future__ import annotations

import time

from staticgraph.compiler.graph.errors import misuse


class SecondOrStepTimer:
    """Triggers at the first step, and `every_secs` seconds or `every_steps` steps after it last did.

    ValueError unless exactly one of them is given.

    >>> import staticgraph as sg
    >>> timer = sg.train.SecondOrStepTimer(every_steps=3)
    >>> triggered = []
    >>> for step in range(8):
    ...     if timer.should_trigger_for_step(step):
    ...         triggered.append((step, timer.update_last_triggered_step(step)[1]))
    >>> triggered
    [(0, None), (3, 3), (6, 3)]
    """

    def __init__(self, every_secs: float | None = None, every_steps: int | None = None) -> None:
        if every_secs is None and every_steps is None:
            raise misuse(ValueError, "Either every_secs or every_steps should be provided.")
        if every_secs is not None and every_steps is not None:
            raise misuse(ValueError, "Can not provide both every_secs and every_steps.")
        self._secs = every_secs
        self._steps = every_steps
        self.reset()

    def reset(self) -> None:
        """As if it never triggered."""
        self._last_step: int | None = None
        self._last_time = 0.0

    def should_trigger_for_step(self, step: int) -> bool:
        """Return True if this step is due. The step that triggered last is not due again.

        Args:
            step: The number of the step.
        """
        if self._last_step is None:
            return True
        if step == self._last_step:
            return False
        if self._secs is not None:
            return time.monotonic() >= self._last_time + self._secs
        return self._steps is not None and step >= self._last_step + self._steps

    def update_last_triggered_step(self, step: int) -> tuple[float | None, int | None]:
        """Note that this step triggered; returns seconds and steps since the one before, None at first."""
        now, last = time.monotonic(), self._last_step
        elapsed = (None, None) if last is None else (now - self._last_time, step - last)
        self._last_step, self._last_time = step, now
        return elapsed

    def last_triggered_step(self) -> int | None:
        """The step that triggered last, or None."""
        return self._last_step
