"""Timeouts of tests, seen by one thread for all of them.

pytest-timeout starts and joins a thread for each test, which takes longer than many tests. What it does
when a test takes too long is left to it: it shows where all threads are, and ends the process.
"""

import threading
import time
from collections.abc import Callable

import pytest
from pytest_timeout import Settings, timeout_timer


class Deadlines:
    """A plugin of pytest.

    Args:
        look: Seconds between two looks at the test that runs.
        act: Called with a test that takes too long, and its settings.
    """

    def __init__(
        self, look: float = 5.0, act: Callable[[pytest.Item, Settings], None] = timeout_timer
    ) -> None:
        self._look, self._act = look, act
        self._running: tuple[float, pytest.Item, Settings] | None = None  # since when
        self._ended = threading.Event()

    def pytest_sessionstart(self) -> None:
        threading.Thread(target=self._watch, name="deadlines", daemon=True).start()

    def pytest_sessionfinish(self) -> None:
        self._ended.set()

    def pytest_timeout_set_timer(self, item: pytest.Item, settings: Settings) -> bool:
        self._running = time.monotonic(), item, settings
        return True  # no other timer

    def pytest_timeout_cancel_timer(self) -> bool:
        self._running = None
        return True

    def _watch(self) -> None:
        while not self._ended.wait(self._look):
            running = self._running
            if running is not None and time.monotonic() - running[0] > running[2].timeout:
                self._act(*running[1:])
