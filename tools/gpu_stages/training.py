"""Our own training steps."""

from __future__ import annotations

from typing import Any

import staticgraph as sg
from benchmarks import staticgraph_row
from benchmarks.workloads import Data
from gpu_stages.sizes import Step


def ours(step: Step, data: Data, device: str, **switches: Any) -> Any:
    """Our step on a device: a function that works on the next batch, and returns the loss."""
    with sg.Graph().as_default(), sg.options(device=device, **switches):
        return getattr(staticgraph_row, step.name)(data)
