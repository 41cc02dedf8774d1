"""What a run is going to change: nothing in the session changes before the whole run has succeeded."""

from __future__ import annotations

from dataclasses import field

import numpy as np

from staticgraph.compiler.graph.tensor import Operation
from staticgraph.compiler.support.dataclass import dataclass
from staticgraph.runtime.variables import VariableStore


@dataclass(slots=True)
class Changes:
    """New values of variables, as compiled code holds them, and how far random ops get.

    `advances`: how far their counters move; `states`: new states, where only the step knows how far.
    """

    values: dict[Operation, np.ndarray] = field(default_factory=dict)
    advances: dict[Operation, int] = field(default_factory=dict)
    states: dict[Operation, np.ndarray] = field(default_factory=dict)

    def add(self, more: Changes) -> None:
        """Take in what another stage changes. Where both change the same, it is to the same."""
        self.values |= more.values
        self.advances |= more.advances
        self.states |= more.states

    def commit(self, store: VariableStore) -> None:
        """Make them."""
        for op, buffer in self.values.items():
            store.commit(op, buffer)
        for op, advance in self.advances.items():
            store.random_state(op)[0] += np.uint64(advance)
        for op, state in self.states.items():
            store.random_state(op)[...] = state
