"""Log of the device of each operation, for sessions made with `log_device_placement`."""

from __future__ import annotations

import sys
from collections.abc import Callable

from staticgraph.compiler.capture.segments import is_host
from staticgraph.compiler.graph.graph import Graph
from staticgraph.compiler.graph.tensor import Operation
from staticgraph.compiler.support.dataclass import dataclass


@dataclass(slots=True)
class PlacementLog:
    """Tells on the standard error stream where the operations of a graph are computed, as TF1 did: each once,
    when a program is compiled.
    """

    graph: Graph
    device: str
    on_host: Callable[[Operation], bool]  # whether the user has pinned an operation to the CPU
    _told: int = 0

    def __call__(self, *_: object) -> None:
        """Tell of the operations that are new."""
        new = self.graph.get_operations()[self._told :]
        self._told += len(new)
        for op in new:
            place = "CPU:0" if self.on_host(op) or is_host(op) else self.device
            print(f"{op.name}: ({op.type}): /job:localhost/replica:0/task:0/device:{place}", file=sys.stderr)
