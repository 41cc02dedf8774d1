"""Waiting for the checkpoints that another process writes, to evaluate each of them."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator

from staticgraph.formats.tf.checkpoints.checkpoint_state import latest_checkpoint
from staticgraph.formats.tf.log import log


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
        found = wait_for_new_checkpoint(checkpoint_dir, last, timeout=timeout)
        if found is None:
            if timeout_fn is None or timeout_fn():
                log.info("There is no new checkpoint in %s after %s seconds.", checkpoint_dir, timeout)
                return
            continue
        begin = time.monotonic()
        yield found
        last = found
        time.sleep(max(0.0, begin + min_interval_secs - time.monotonic()))


def wait_for_new_checkpoint(
    checkpoint_dir: str,
    last_checkpoint: str | None = None,
    seconds_to_sleep: float = 1,
    timeout: float | None = None,
) -> str | None:
    """Wait until the latest checkpoint of a folder is another than the last one.

    Args:
        checkpoint_dir: The folder.
        last_checkpoint: The prefix of the last checkpoint; None if there was none.
        seconds_to_sleep: The time until the folder is looked at again.
        timeout: The longest wait in seconds; None for no limit.

    Returns:
        The prefix of the new checkpoint, or None if that takes too long.

    >>> wait_for_new_checkpoint("/no/such/folder", timeout=0) is None
    True
    """
    deadline = math.inf if timeout is None else time.monotonic() + timeout
    while (found := latest_checkpoint(checkpoint_dir)) in (None, last_checkpoint):
        if time.monotonic() + seconds_to_sleep > deadline:
            return None
        time.sleep(seconds_to_sleep)
    return found
