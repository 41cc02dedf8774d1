"""Texts of all processes, exchanged outside of steps."""

from __future__ import annotations

import numpy as np

from staticgraph.compiler.graph.world import MEMBERSHIP


def texts_of_all(text: str) -> list[str]:
    """Return the texts that all processes give, in the order of ranks. Each of them must call this."""
    world, data = MEMBERSHIP.world, np.frombuffer(text.encode(), np.uint8)
    sizes = world.exchange("all_gather", np.array([len(data)]), "", 0)
    padded = np.zeros((1, int(sizes.max())), np.uint8)
    padded[0, : len(data)] = data
    rows = world.exchange("all_gather", padded, "", 0)
    return [bytes(row[:size]).decode() for row, size in zip(rows, sizes.tolist(), strict=True)]
