"""`tf.contrib.slim.queues`: the threads of input queues, for as long as a context lasts."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import staticgraph as sg


@contextmanager
def QueueRunners(session: Any) -> Iterator[None]:
    """Context in which all queue runners of the graph fill their queues.

    Args:
        session: The session that runs them.
    """
    coordinator = sg.train.Coordinator()
    threads = sg.train.start_queue_runners(session, coordinator)
    try:
        yield
    finally:
        coordinator.request_stop()
        coordinator.join(threads, stop_grace_period_secs=120)
