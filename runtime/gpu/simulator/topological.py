"""Orders in which the nodes of a graph may be done."""

from __future__ import annotations

import heapq
import random
from collections.abc import Callable, Sequence


def order(waits: Sequence[Sequence[int]], schedule: int, replay: int = 0) -> list[int]:
    """All nodes, each after those that it waits for, which are earlier ones.

    `schedule`: 0 is the order of capture, odd ones put each node off as long as there is a later one to do,
    the others are random, and different ones in each `replay`.

    >>> waits = [[], [], [0], [1]]
    >>> order(waits, 0), order(waits, 1)
    ([0, 1, 2, 3], [1, 3, 0, 2])
    """
    if schedule == 0:
        return list(range(len(waits)))
    rng = random.Random(f"{schedule} {replay}")
    rank: Callable[[int], float] = (lambda node: -node) if schedule % 2 else (lambda node: rng.random())
    left = [len(each) for each in waits]
    after: list[list[int]] = [[] for _ in waits]
    for node, each in enumerate(waits):
        for earlier in each:
            after[earlier].append(node)
    ready = [(rank(node), node) for node, count in enumerate(left) if not count]
    heapq.heapify(ready)
    found = []
    while ready:
        _, node = heapq.heappop(ready)
        found.append(node)
        for following in after[node]:
            left[following] -= 1
            if not left[following]:
                heapq.heappush(ready, (rank(following), following))
    return found
