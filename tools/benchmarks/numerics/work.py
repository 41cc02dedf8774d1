"""The works: functions of arrays, said in the words of each library."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Arrays = tuple[np.ndarray, ...]
Said = Callable[..., Any] | None  # (library, *inputs) -> result or results; None: no way worth to compare


@dataclass(frozen=True)
class Work:
    """A function of arrays.

    `inputs` draws them, small ones for tests. The others say the function: with `staticgraph` as a module and
    tensors, with `scipy` and arrays, `torch` and its tensors, `jax` and its arrays. `goal`: the time that is
    aimed at, as a part of the fastest peer's.
    """

    title: str
    inputs: Callable[[np.random.Generator, bool], Arrays]
    staticgraph: Callable[..., Any]
    scipy: Said = None
    torch: Said = None
    jax: Said = None
    goal: float = 0.9
    tolerance: float = 1e-2  # of the results, as `compare.difference` measures them

    def arrays(self, small: bool = False) -> Arrays:
        """The same arrays for every row."""
        return self.inputs(np.random.default_rng(7), small)
