"""Numbers that programs compute outside of steps, such as metrics of an epoch, exchanged by all processes."""

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
