"""Resources of a session besides the values of variables, such as the elements of its queues.

A queue of the graph is a description, and its elements live in a session. A host op therefore asks for the
*resource* that belongs to the description, in the session that calls the op. A host op that must wait for
another thread's run does so inside `waiting()`. Runs of other threads then take place, and one of them may
bring what the op waits for.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, Protocol, TypeVar
from weakref import WeakKeyDictionary

from staticgraph.compiler.graph.errors import AbortedError, CancelledError, DeadlineExceededError, misuse
from staticgraph.compiler.support.forks import brief, in_child

MOMENT = 0.1  # seconds


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
        self._lock = brief(threading.RLock())
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

    def check_open(self) -> None:
        """CancelledError if the session was closed."""
        if self._closed:
            raise closed_meanwhile()

    def close(self) -> None:
        """Forget all, and wake up what waits."""
        with self._lock:
            self._closed = True
            held = list(self._held.values())
            self._held.clear()
        for resource in held:
            resource.shut()


def closed_meanwhile() -> CancelledError:
    """Return the error of a run during which another thread closed the session."""
    text = "the session was closed during the run"
    return misuse(CancelledError, text, "join threads that use a session before it is closed")


class _Call(threading.local):
    """Resources, pause and deadline of the host op that this thread is in."""

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
    """The seconds that are left of the present run's time, at least 0; None if there is no limit."""
    return None if _call.deadline is None else max(0.0, _call.deadline - time.monotonic())


def resources() -> Resources:
    """Return the resources of the session that calls the present host op."""
    return _call.resources


@contextmanager
def waiting() -> Iterator[None]:
    """Context for waiting. No lock may be held that a run of another thread could need."""
    with _call.pause():
        yield


@contextmanager
def exclusive(lock: threading.RLock) -> Iterator[None]:
    """Context that holds `lock`. Waits for it as if for another thread's run, which may hold it."""
    if not lock.acquire(blocking=False):
        with waiting():
            while not lock.acquire(timeout=_moment()):
                pass
    try:
        yield
    finally:
        lock.release()


def wait(condition: threading.Condition) -> None:
    """Wait, inside `waiting()`, until `condition` is notified, or for a moment: the caller must look again.

    A signal that comes just before a thread falls asleep does not wake it, so that an interrupt would be lost
    if it slept for ever.

    Raises:
        DeadlineExceededError: The time that the run was given is over.
        AbortedError: This process was forked, and has no other thread that could bring what is awaited.
    """
    if _forked and _is_alone():
        raise left_behind("the threads that fill and empty queues")
    condition.wait(_moment())


def _moment() -> float:
    """The seconds until a thread that waits looks around. DeadlineExceededError when time is over."""
    left = remaining()
    if left == 0:
        raise DeadlineExceededError("the time that the run was given is over")
    return MOMENT if left is None else min(MOMENT, left)


def _is_alone() -> bool:
    """Return if this process has no other thread than this one and those that work on steps."""
    others = (thread for thread in threading.enumerate() if thread is not threading.current_thread())
    return all(thread.name.startswith("staticgraph ") for thread in others)


def left_behind(what: str) -> AbortedError:
    """Return the error for what threads of the process that this one was forked from would have to do."""
    text = f"this process was forked, and its parent has {what}"
    hint = "fork before they start, or start them again in this process"
    return misuse(AbortedError, text, hint)


_forked = False


def _note() -> None:
    global _forked
    _forked = True


in_child(_note)
