"""Exchanges of all processes outside of steps: means of numbers, and the news that all have come so far."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from staticgraph.compiler.graph.world import MEMBERSHIP
from staticgraph.distribute.world import size


def means_of_all(numbers: Mapping[str, float]) -> dict[str, float]:
    """Return the mean over all processes of each number. All call this, with numbers of the same names."""
    if size() == 1 or not numbers:
        return dict(numbers)
    names = sorted(numbers)
    here = np.array([numbers[name] for name in names], np.float64)
    total = MEMBERSHIP.world.exchange("all_reduce", here, "sum", 0)
    means = dict(zip(names, map(float, total / size()), strict=True))
    return {name: means[name] for name in numbers}


def wait_for_all() -> None:
    """Return once all processes have come here, for example to read what one of them has written."""
    if size() > 1:
        MEMBERSHIP.world.exchange("all_reduce", np.zeros(1, np.int32), "sum", 0)
