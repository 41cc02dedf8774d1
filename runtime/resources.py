"""What a session holds besides the values of variables, such as the elements of its queues; and how a host op
waits for another thread's run.

A queue of the graph is a description; its elements live in a session. So a host op asks for the *resource*
that belongs to the description, in the session which calls it. One that must wait does so inside `waiting()`:
runs of other threads take place meanwhile, and one of them may bring what it waits for.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, Protocol, TypeVar
from weakref import WeakKeyDictionary

from staticgraph.compiler.graph.errors import CancelledError, DeadlineExceededError

_MOMENT = 0.1  # seconds


class Resource(Protocol):
    """Something that lives as long as a session."""

    def shut(self) -> None:
        """The session is closed: nothing may wait any longer."""
        ...


R = TypeVar("R", bound=Resource)


class Resources:
    """The resources of one session, by the object of the graph that each belongs to."""

    def __init__(self) -> None:
        self._held: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()
        self._lock = threading.Lock()
        self._closed = False

    def of(self, owner: Any, make: Callable[[], R]) -> R:
        """The resource of `owner`, made when it is first asked for. CancelledError in a closed session."""
        with self._lock:
            if self._closed:
                raise CancelledError("the session is closed")
            found: R | None = self._held.get(owner)
            if found is None:
                found = self._held[owner] = make()
            return found

    def close(self) -> None:
        """Forget all, and wake up what waits."""
        with self._lock:
            self._closed = True
            held = list(self._held.values())
            self._held.clear()
        for resource in held:
            resource.shut()


class _Call(threading.local):
    """What the host op that this thread is in may ask for."""

    def __init__(self) -> None:
        self.resources = Resources()  # of calls outside of all sessions
        self.pause: Callable[[], AbstractContextManager[None]] = nullcontext
        self.deadline: float | None = None


_call = _Call()


@contextmanager
def calling(resources: Resources, pause: Callable[[], AbstractContextManager[None]]) -> Iterator[None]:
    """Context in which host ops find these resources. `pause` lets other runs take place."""
    before = _call.resources, _call.pause
    _call.resources, _call.pause = resources, pause
    try:
        yield
    finally:
        _call.resources, _call.pause = before


@contextmanager
def time_limit(milliseconds: float) -> Iterator[None]:
    """Context in which host ops wait, and loops run, until this time is over, and no longer."""
    before, _call.deadline = _call.deadline, time.monotonic() + milliseconds / 1000
    try:
        yield
    finally:
        _call.deadline = before


def remaining() -> float | None:
    """The seconds that are left of the present run's time, at least 0; None where there is no limit."""
    return None if _call.deadline is None else max(0.0, _call.deadline - time.monotonic())


def resources() -> Resources:
    """Those of the session that calls the present host op."""
    return _call.resources


@contextmanager
def waiting() -> Iterator[None]:
    """Context for waiting. No lock may be held that a run of another thread could need."""
    with _call.pause():
        yield


@contextmanager
def exclusive(lock: threading.Lock) -> Iterator[None]:
    """Context that holds `lock`. Waits for it as if for another thread's run, which may hold it."""
    if not lock.acquire(blocking=False):
        with waiting():
            lock.acquire()
    try:
        yield
    finally:
        lock.release()


def wait(condition: threading.Condition) -> None:
    """Wait, inside `waiting()`, until `condition` is notified, or for a moment: the caller must look again.

    DeadlineExceededError when time is over. A signal that comes just before a thread falls asleep does not
    wake it, so that an interrupt would be lost if it slept for ever.
    """
    left = remaining()
    if left == 0:
        raise DeadlineExceededError("the time that the run was given is over")
    condition.wait(_MOMENT if left is None else min(_MOMENT, left))
