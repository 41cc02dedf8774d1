"""`Coordinator`: several threads that stop together, and hand over the error for which they do."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import TracebackType
from typing import Any

from staticgraph.building.read_only import read_only
from staticgraph.compiler.graph.errors import OutOfRangeError, misuse
from staticgraph.compiler.support.forks import brief
from staticgraph.formats.tf.log import log

_LONGEST_PAUSE = 0.1  # seconds until `join` looks again whether the threads ended by themselves

ExcInfo = tuple[type[BaseException], BaseException, TracebackType | None]


class Coordinator:
    """Lets threads stop together: whoever wants to end asks for it, all others see that and end as well.

    `clean_stop_exception_types`: exceptions that are an ordinary end and no failure; OutOfRangeError, the
    end of an input, by default.

    >>> import staticgraph as sg, threading
    >>> coord = sg.train.Coordinator()
    >>> done = []
    >>> def work():
    ...     with coord.stop_on_exception():
    ...         while not coord.should_stop():
    ...             done.append(1)
    ...             if len(done) == 3:
    ...                 coord.request_stop()
    >>> thread = threading.Thread(target=work)
    >>> thread.start()
    >>> coord.join([thread])
    >>> len(done)
    3
    """

    def __init__(self, clean_stop_exception_types: Iterable[type[BaseException]] | None = None) -> None:
        clean = (OutOfRangeError,) if clean_stop_exception_types is None else clean_stop_exception_types
        self._clean = tuple(clean)
        self._lock = brief(threading.RLock())
        self._stop = threading.Event()
        brief(self._stop._cond)  # type: ignore[attr-defined]
        self._error: BaseException | None = None
        self._joined = False
        self._threads: set[threading.Thread] = set()

    joined: bool = read_only("joined", "True if `join` has ended.")

    def request_stop(self, ex: BaseException | ExcInfo | None = None) -> None:
        """Ask all threads to stop. `join` will raise `ex`, an exception or `sys.exc_info()`, if it is given.

        Of several exceptions the first counts. After `join` nobody would see it any more: it is raised here.
        """
        error = ex[1] if isinstance(ex, tuple) else ex
        if isinstance(error, self._clean):
            error = None
        with self._lock:
            if self._joined and error is not None:
                raise error
            if self._stop.is_set():
                return
            if error is not None:
                log.info("Error reported to Coordinator: %s, %s", type(error), error, exc_info=error)
                self._error = error
            self._stop.set()

    def clear_stop(self) -> None:
        """Forget that a stop was asked for, and why: for another start."""
        with self._lock:
            self._joined = False
            self._error = None
            self._stop.clear()

    def should_stop(self) -> bool:
        """Return True if a stop was requested."""
        return self._stop.is_set()

    @contextmanager
    def stop_on_exception(self) -> Iterator[None]:
        """Context that turns any exception into a request to stop, with that exception."""
        try:
            yield
        except BaseException as error:  # `join` raises it again, in the thread that waits
            self.request_stop(error)

    def wait_for_stop(self, timeout: float | None = None) -> bool:
        """Wait until a stop is asked for, `timeout` seconds at most; returns whether it was."""
        return self._stop.wait(timeout)

    def register_thread(self, thread: threading.Thread) -> None:
        """Add a thread that `join` waits for."""
        with self._lock:
            self._threads.add(thread)

    def join(
        self,
        threads: Iterable[threading.Thread] | None = None,
        stop_grace_period_secs: float = 120,
        ignore_live_threads: bool = False,
    ) -> None:
        """Wait until all threads have ended, and raise the exception for which they were asked to stop.

        Waits for `threads` and the registered ones: as long as it takes until a stop is asked for, and from
        then on for `stop_grace_period_secs` seconds. RuntimeError if a thread still runs after that,
        unless `ignore_live_threads`.
        """
        with self._lock:
            awaited = [*self._threads.union(threads or ())]
        self._wait_while_alive(awaited)
        deadline = time.monotonic() + stop_grace_period_secs
        for thread in awaited:
            if thread.is_alive() and thread is not threading.current_thread():
                thread.join(max(0.0, deadline - time.monotonic()))
        stragglers = " ".join(thread.name for thread in awaited if thread.is_alive())
        with self._lock:
            self._joined = True
            self._threads.clear()
            error = self._error
        if error is not None:
            raise error
        if stragglers:
            message = f"Coordinator stopped with threads still running: {stragglers}"
            if not ignore_live_threads:
                hint = "a thread should end soon after coord.should_stop() is true"
                raise misuse(RuntimeError, message, hint)
            log.info(message)

    def raise_requested_exception(self) -> None:
        """Raise the exception with which a stop was asked for, if there was one."""
        with self._lock:
            error = self._error
        if error is not None:
            raise error

    def _wait_while_alive(self, threads: Sequence[threading.Thread]) -> None:
        """Until a stop is asked for, or all threads have ended without one. In short pauses, for Ctrl-C."""
        pause = 0.001
        while any(thread.is_alive() for thread in threads) and not self._stop.wait(pause):
            pause = min(2 * pause, _LONGEST_PAUSE)


class LooperThread(threading.Thread):
    """A daemon thread that calls `target(*args, **kwargs)` again and again, until its coordinator stops.

    `timer_interval_secs`: seconds from the start of one call to that of the next; None for no pause at all.
    A class of its own may override `run_loop` instead of passing `target`, and `start_loop` and
    `stop_loop`, which are called once before and after. An exception stops the coordinator.
    """

    def __init__(
        self,
        coord: Coordinator,
        timer_interval_secs: float | None,
        target: Callable[..., Any] | None = None,
        args: Sequence[Any] | None = None,
        kwargs: Mapping[str, Any] | None = None,
    ) -> None:
        if not isinstance(coord, Coordinator):
            raise misuse(ValueError, f"'coord' argument must be a Coordinator: {coord}")
        if target is None and (args or kwargs):
            raise misuse(ValueError, "'args' and 'kwargs' argument require that you also pass 'target'")
        super().__init__(daemon=True)
        self._coord = coord
        self._interval = timer_interval_secs
        self._call = target, tuple(args or ()), dict(kwargs or {})
        coord.register_thread(self)

    @staticmethod
    def loop(
        coord: Coordinator,
        timer_interval_secs: float | None,
        target: Callable[..., Any],
        args: Sequence[Any] | None = None,
        kwargs: Mapping[str, Any] | None = None,
    ) -> LooperThread:
        """A started `LooperThread`."""
        looper = LooperThread(coord, timer_interval_secs, target, args, kwargs)
        looper.start()
        return looper

    def run(self) -> None:
        with self._coord.stop_on_exception():
            self.start_loop()
            due = time.monotonic()
            while not self._coord.wait_for_stop(max(0.0, due - time.monotonic())):
                due += self._interval or 0.0
                self.run_loop()
            self.stop_loop()

    def start_loop(self) -> None:
        """Called in the thread before the first turn."""

    def stop_loop(self) -> None:
        """Called in the thread after the last turn, unless an exception ended it."""

    def run_loop(self) -> None:
        """One turn."""
        target, args, kwargs = self._call
        if target is not None:
            target(*args, **kwargs)
