"""A net of the group: a `benchmarks.sizes.nets.Net` in the words of each library, at three sizes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.sizes.nets import Arrays, Net

BATCHES = 3  # that steps take in turns, and after which results are compared
SMALL, CPU, GPU = "small", "cpu", "gpu"


@dataclass(frozen=True, slots=True)
class Entry:
    """A net of the table.

    Attributes:
        title: Says to readers what it is.
        make: Gives the net for arguments.
        sizes: The arguments of `make` and the size of a batch: for tests, for a processor, and for a GPU.
        tolerance: The largest relative difference of results after three steps. Rows beyond have no times.
    """

    title: str
    make: Callable[..., Net]
    sizes: Mapping[str, tuple[tuple[Any, ...], int]]
    tolerance: float = 1e-3

    def net(self, size: str) -> Net:
        """Return the net at a size."""
        return self.make(*self.sizes[size][0])

    def batches(self, net: Net, size: str) -> list[Arrays]:
        """Draw the batches, the same for every row."""
        rng = np.random.default_rng(1)
        return [net.batch(rng, self.sizes[size][1]) for _ in range(BATCHES)]


def in_three_forms(
    staticgraph: Callable[..., Any], torch: Callable[..., Any], jax: Callable[..., Any]
) -> Callable[..., Any]:
    """Return a `Net.compute` that takes the form of the library; each gets the library, weights, feeds."""
    forms = {"staticgraph": staticgraph, "torch": torch, "jax": jax}

    def compute(o: Any, w: Any, *feeds: Any) -> Any:
        return forms[o.library.__name__](o.library, w, *feeds)

    return compute
