"""Waiting for the checkpoints that another process writes, to evaluate each of them."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator

from staticgraph.formats.tf.checkpoints.checkpoint_state import latest_checkpoint
from staticgraph.formats.tf.log import log

__all__ = ["checkpoints_iterator"]

_PAUSE = 1.0  # seconds until the folder is looked at again


def checkpoints_iterator(
    checkpoint_dir: str,
    min_interval_secs: float = 0,
    timeout: float | None = None,
    timeout_fn: Callable[[], bool] | None = None,
) -> Iterator[str]:
    """The prefix of the latest checkpoint in a folder, again whenever there is a new one.

    Checkpoints that are replaced while one is worked on are left out. `min_interval_secs`: the least number
    of seconds between two. `timeout`: after so many seconds without a new one it ends, never by default;
    with `timeout_fn` only where that returns true.

    >>> import staticgraph as sg
    >>> list(sg.train.checkpoints_iterator("/no/such/folder", timeout=0))
    []
    """
    last = None
    while True:
        found = _newer(checkpoint_dir, last, math.inf if timeout is None else timeout)
        if found is None:
            if timeout_fn is None or timeout_fn():
                log.info("There is no new checkpoint in %s after %s seconds.", checkpoint_dir, timeout)
                return
            continue
        begin = time.monotonic()
        yield found
        last = found
        time.sleep(max(0.0, begin + min_interval_secs - time.monotonic()))


def _newer(folder: str, last: str | None, timeout: float) -> str | None:
    """The latest checkpoint once it is another than `last`; None if that takes too long."""
    deadline = time.monotonic() + timeout
    while (found := latest_checkpoint(folder)) in (None, last):
        if time.monotonic() + _PAUSE > deadline:
            return None
        time.sleep(_PAUSE)
    return found
