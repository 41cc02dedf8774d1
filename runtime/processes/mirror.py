"""World for looking at a failed run alone: all other processes are taken to give what this one gives."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from staticgraph.compiler.graph.world import MEMBERSHIP, World


class Mirror:
    """A world of as many processes as `world`, of which only this one exists."""

    def __init__(self, world: World) -> None:
        self.size, self.rank = world.size, world.rank
        self.local_size, self.local_rank = world.local_size, world.local_rank

    def exchange(self, kind: str, value: np.ndarray, combine: str, root: int) -> np.ndarray:
        """Return the result of a collective to which each process gives `value`."""
        if kind in ("all_reduce", "reduce_scatter"):
            match combine:
                case "sum":
                    value = (value * self.size).astype(value.dtype)
                case "prod":
                    value = (value**self.size).astype(value.dtype)
        if kind in ("reduce_scatter", "all_to_all"):
            value = np.split(value, self.size)[self.rank]
        if kind in ("all_gather", "all_to_all"):
            value = np.concatenate([value] * self.size)
        return np.array(value, order="C")


@contextmanager
def without_others() -> Iterator[None]:
    """Context in which collectives by their NumPy meaning send nothing: the others may have gone on."""
    world = MEMBERSHIP.world
    if world.size > 1:
        MEMBERSHIP.enter(Mirror(world))
    try:
        yield
    finally:
        MEMBERSHIP.enter(world)
