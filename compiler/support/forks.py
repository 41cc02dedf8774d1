"""Locks in processes that are forked while other threads run.

A child process has only the thread that forked it. A lock that another thread held at that moment would stay
taken in the child for good, and what the lock guards may be half changed. So all locks of this package are of
one of three kinds:

* `brief` ones are held for moments. A fork takes them all, so that the child finds them free and what they
  guard whole. If a thread does not give one back in time, the child gets it free nevertheless.
* `patient` ones too, but a fork waits for them as long as it takes: LLVM cannot be left in the middle. A fork
  takes them first, then waits for the threads that pause, and takes those last that such a thread may need to
  come so far: `late` ones.
* Lasting ones may be held for as long as a run takes. Their owner asks `reclaim` for them in the child, from
  a function that it gives to `in_child`, and refuses to go on with what was lost.

A thread of the parent may also be importing a module, which the child could never import then. A fork waits
for modules of this package, for some time.
"""

from __future__ import annotations

import _imp
import os
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from importlib import _bootstrap
from typing import Any, TypeVar
from weakref import WeakKeyDictionary, WeakSet

_BRIEF_WAIT = 1.0  # seconds, for all brief locks together
_IMPORT_WAIT = 10.0  # seconds
_LOOK = 0.001  # seconds between two looks at what is being imported
_PACKAGES = (__name__.partition(".")[0], "llvmlite", "numpy")

AnyLock = TypeVar("AnyLock", bound=Any)
_brief: WeakSet[Any] = WeakSet()
_patient: list[Any] = [threading.RLock()]  # the first is for forks themselves: one at a time
_late: list[Any] = []  # patient too, and taken after the pauses
_pauses: list[tuple[Callable[[], object], Callable[[], object]]] = []  # and what ends each
_functions: list[Callable[[], object]] = []
_methods: WeakKeyDictionary[Any, str] = WeakKeyDictionary()  # names of methods, by object
_held: list[Any] = []  # by the fork in progress
_resumes: list[Callable[[], object]] = []  # after the fork in progress


def brief(lock: AnyLock) -> AnyLock:
    """Register a lock that is held for moments only, and return it.

    Args:
        lock: A lock, reentrant or not, or a condition. A thread that holds one that is not reentrant must not
            fork.
    """
    _brief.add(lock)
    return lock


def patient(lock: AnyLock) -> AnyLock:
    """Register a reentrant lock that a fork waits for, and return it. It is kept for good."""
    _patient.append(lock)
    return lock


def late(lock: AnyLock) -> AnyLock:
    """Register a patient lock that a thread may need to come to its pause, and return it."""
    _late.append(lock)
    return lock


def pausing(pause: Callable[[], object], resume: Callable[[], object]) -> None:
    """Call `pause` before each fork, which has the patient locks by then, and `resume` in the parent."""
    _pauses.append((pause, resume))


def in_child(function: Callable[[], object]) -> None:
    """Call a function in each child process; a method of an object, as long as the object is there."""
    if hasattr(function, "__self__"):
        _methods[function.__self__] = function.__name__
    else:
        _functions.append(function)


def reclaim(lock: Any) -> bool:
    """Free a reentrant lock in a child if a thread that is not there holds it, and return if that was so."""
    if lock.acquire(blocking=False):
        lock.release()
        return False
    lock._at_fork_reinit()
    return True


def _before() -> None:
    # A module that another thread was importing may have registered more, and that thread may use it by now.
    while True:
        registered = len(_patient), len(_pauses), len(_late)
        _hold_locks()
        _hold_imports(time.monotonic() + _IMPORT_WAIT)
        if registered == (len(_patient), len(_pauses), len(_late)):
            return
        _after_in_parent()


def _hold_locks() -> None:
    for lock in _patient:
        lock.acquire()
        _held.append(lock)
    for pause, resume in _pauses:
        pause()
        _resumes.append(resume)
    for lock in _late:
        lock.acquire()
        _held.append(lock)
    end = time.monotonic() + _BRIEF_WAIT
    for lock in list(_brief):
        if lock.acquire(timeout=max(0.0, end - time.monotonic())):
            _held.append(lock)


class _ImportLock:
    """The lock without which no thread can begin to import a module."""

    acquire = staticmethod(_imp.acquire_lock)

    @staticmethod
    def release() -> None:
        with suppress(RuntimeError):  # some versions of Python free it in the child
            _imp.release_lock()


def _hold_imports(end: float) -> None:
    """Wait until no other thread imports a module of this package, and let none begin."""
    while True:
        _ImportLock.acquire()
        if not _importing():
            _held.append(_ImportLock)
            return
        _ImportLock.release()
        if time.monotonic() > end:
            return
        time.sleep(_LOOK)


def _importing() -> bool:
    """Return if another thread is importing a module of this package, or one that it is made of."""
    locks = list(getattr(_bootstrap, "_module_locks", {}).items())
    owners = (getattr(reference(), "owner", None) for name, reference in locks if name.startswith(_PACKAGES))
    return any(owner not in (None, threading.get_ident()) for owner in owners)


def _after_in_parent() -> None:
    while _resumes:
        _resumes.pop()()
    _release()


def _release() -> None:
    while _held:
        _held.pop().release()


def _after_in_child() -> None:
    taken = {id(lock) for lock in _held}
    _resumes.clear()
    _release()
    for lock in list(_brief):
        if isinstance(lock, threading.Condition):
            lock._waiters.clear()  # type: ignore[attr-defined] # threads that are not there
        if id(lock) not in taken:
            lock._at_fork_reinit()
    methods = [getattr(owner, name) for owner, name in list(_methods.items())]
    for function in (*_functions, *methods):
        function()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_after_in_parent, after_in_child=_after_in_child)
