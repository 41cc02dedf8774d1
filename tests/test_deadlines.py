"""The thread that ends tests which hang."""

import queue
from types import SimpleNamespace

from tests.deadlines import Deadlines


def test_a_test_that_hangs_is_told_and_others_are_not():
    told = queue.SimpleQueue()
    deadlines = Deadlines(0.001, lambda item, settings: told.put(item))
    deadlines.pytest_sessionstart()
    for item, timeout in (("patient", 900.0), ("hanging", 0.0)):
        deadlines.pytest_timeout_set_timer(item, SimpleNamespace(timeout=timeout))
        if timeout:
            deadlines.pytest_timeout_cancel_timer()
    assert told.get(timeout=60) == "hanging"
    deadlines.pytest_timeout_cancel_timer()
    deadlines.pytest_sessionfinish()


def test_all_tests_are_watched(request):
    assert request.config.pluginmanager.get_plugin("deadlines")._running[1] is request.node
