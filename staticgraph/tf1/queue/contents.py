"""A queue in a session: its elements, and who waits for them or for room.

Whoever cannot be served at once waits in a line. The first in each line is served first, bit by bit: a batch
may be larger than the queue.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Sequence
from dataclasses import field

from staticgraph.compiler.graph.errors import CancelledError, OpError, OutOfRangeError
from staticgraph.compiler.support.dataclass import dataclass
from staticgraph.compiler.support.forks import brief
from staticgraph.runtime.state.resources import wait, waiting
from staticgraph.tf1.queue.elements import Element, Elements


@dataclass(slots=True, eq=False)
class _Attempt:
    """Somebody in a line: the elements that are still to be added, or those that were taken so far."""

    elements: deque[Element]
    wanted: int = 0
    fewer: bool = False  # whether at the end less than what is wanted will do
    done: bool = False
    error: OpError | None = None


@dataclass(slots=True, eq=False)
class Contents:
    """Contents of a queue of `capacity` elements. `label` names the queue in messages."""

    label: str
    capacity: int
    elements: Elements
    closed: bool = False
    _adding: deque[_Attempt] = field(default_factory=deque)
    _taking: deque[_Attempt] = field(default_factory=deque)
    _changed: threading.Condition = field(default_factory=lambda: brief(threading.Condition()))
    _process: int = field(default_factory=os.getpid)

    def add(self, elements: Sequence[Element]) -> None:
        """Add elements, when there is room. CancelledError in a closed queue."""
        attempt = _Attempt(deque(elements))
        with self._changed:
            self._forget_others()
            if self.closed:
                raise CancelledError(f"{self.label} is closed.")
            self._adding.append(attempt)
            self._serve()
        self._finish(attempt)

    def take(self, count: int, fewer: bool = False) -> list[Element]:
        """Take so many elements, when they are there.

        OutOfRangeError if they will never be, because the queue is closed; `fewer` takes what is left.
        """
        attempt = _Attempt(deque(), count, fewer)
        with self._changed:
            self._forget_others()
            self._taking.append(attempt)
            self._serve()
        self._finish(attempt)
        return list(attempt.elements)

    def close(self, cancel: bool) -> None:
        """Take no more elements. `cancel`: not even from those who wait for room already.

        CancelledError in a closed queue, unless `cancel`.
        """
        with self._changed:
            self._forget_others()
            if self.closed and not cancel:
                raise CancelledError(f"{self.label} is already closed.")
            self.closed = True
            if cancel:
                for attempt in self._adding:
                    attempt.error = CancelledError("Enqueue operation was cancelled")
                self._adding.clear()
            self._serve()

    def shut(self) -> None:
        """The session is closed."""
        with self._changed:
            self.closed = True
            for attempt in (*self._adding, *self._taking):
                attempt.error = CancelledError(
                    "the session was closed while an operation waited for the queue"
                )
            self._adding.clear()
            self._taking.clear()
            self._changed.notify_all()

    def __len__(self) -> int:
        with self._changed:
            return len(self.elements)

    def _finish(self, attempt: _Attempt) -> None:
        """Wait until an attempt is served."""
        if not attempt.done and attempt.error is None:
            try:
                with waiting(), self._changed:
                    while not attempt.done and attempt.error is None:
                        wait(self._changed)
            except BaseException:
                self._withdraw(attempt)
                raise
        if attempt.error is not None:
            raise attempt.error

    def _withdraw(self, attempt: _Attempt) -> None:
        """Leave the line: of a batch that is not complete, nothing was taken."""
        with self._changed:
            if attempt in self._taking:
                self._taking.remove(attempt)
                self.elements.restore(attempt.elements)
            elif attempt in self._adding:
                self._adding.remove(attempt)
            self._serve()

    def _forget_others(self) -> None:
        """In a forked process, empty both lines: the threads that wait in them are in the parent."""
        if self._process != os.getpid():
            self._process = os.getpid()
            for attempt in self._taking:
                self.elements.restore(attempt.elements)
            self._adding.clear()
            self._taking.clear()

    def _serve(self) -> None:
        """Serve both lines as far as possible."""
        while self._serve_adding() or self._serve_taking():
            pass
        self._changed.notify_all()

    def _serve_adding(self) -> bool:
        """Move waiting elements into the queue while there is room. Return True if any moved."""
        moved = False
        while self._adding:
            first = self._adding[0]
            while first.elements and len(self.elements) < self.capacity:
                self.elements.add(first.elements.popleft())
                moved = True
            if first.elements:
                break
            first.done = True
            self._adding.popleft()
        return moved

    def _serve_taking(self) -> bool:
        """Move elements from the queue to the attempts that wait for them.

        Return True if any moved, so that there is room in the queue.
        """
        moved = False
        while self._taking:
            first = self._taking[0]
            missing = first.wanted - len(first.elements)
            for _ in range(min(missing, self.elements.ready(self.closed))):
                first.elements.append(self.elements.take())
                moved = True
            if len(first.elements) < first.wanted and not self._is_over(first):
                break
            first.done = first.error is None
            self._taking.popleft()
        return moved

    def _is_over(self, attempt: _Attempt) -> bool:
        """Return True if no more elements will come.

        Then the attempt ends with the elements that it has, or this sets its error.
        """
        if not self.closed or self._adding:
            return False
        if not (attempt.fewer and attempt.elements):
            self.elements.restore(attempt.elements)
            found = f"(requested {attempt.wanted}, current size {len(self.elements)})"
            text = f"{self.label} is closed and has insufficient elements {found}"
            attempt.error = OutOfRangeError(text, hint="no more comes: this is how an input ends")
        return True
