"""The checks of a step that its feeds alone decide: the processor does them before anything is sent."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from staticgraph.compiler.graph.dtypes import bool_
from staticgraph.compiler.graph.shapes import TensorType
from staticgraph.runtime.cpu.executable import CpuExecutable
from staticgraph.runtime.state.memory import empty


class FeedChecks:
    """Tells if feeds are what a step requires.

    Args:
        program: Its arguments are some of the feeds, its result is one truth value.
        feeds: Which feeds these are.
    """

    def __init__(self, program: CpuExecutable, feeds: Sequence[int]) -> None:
        self._program = program
        self._feeds = feeds
        self._sound = [empty(TensorType(bool_, ()))]

    def __call__(self, feeds: Sequence[np.ndarray]) -> bool:
        """Return if these feeds are good, as compiled code holds them."""
        self._program([np.ascontiguousarray(feeds[n]) for n in self._feeds], self._sound)
        return bool(self._sound[0])
