"""The processes that train together, as ops see them: how many there are, and what exchanges values.

A process by itself is a world of one, in which each collective gives back what it takes. The runtime enters
another world when it connects to MPI (`runtime/processes/`).
"""

from __future__ import annotations

from typing import Protocol

import numpy as np


class World(Protocol):
    """Some processes, each of which has a number, its rank."""

    size: int
    rank: int
    local_size: int  # those on this machine
    local_rank: int

    def exchange(self, kind: str, value: np.ndarray, combine: str, root: int) -> np.ndarray:
        """Perform a collective with all other processes and return its result.

        Args:
            kind: The name of an op of `compiler/ops/control/collectives.py`.
            value: What this process gives.
            combine: For a reduction: "sum", "prod", "min" or "max".
            root: For a broadcast: the rank whose value all get.
        """


class SingleProcess:
    """World of one process."""

    size = local_size = 1
    rank = local_rank = 0

    def exchange(self, kind: str, value: np.ndarray, combine: str, root: int) -> np.ndarray:
        """Return a copy of `value`, which all collectives of one process amount to."""
        return np.array(value, order="C")


class Membership:
    """The world that this process is in."""

    def __init__(self) -> None:
        self.world: World = SingleProcess()

    def enter(self, world: World) -> None:
        """Join `world`."""
        self.world = world


MEMBERSHIP = Membership()
