"""One peer at one step, in this process: prints the time of a step and the first losses, as JSON.

python -m gpu_stages.peer ROW STEP DEVICE
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import time
from typing import Any

from gpu_stages.sizes import STEPS

LOSSES, ROUNDS, SECONDS = 4, 7, 0.4


def made(row: str, name: str, device: str) -> Any:
    """A function that does a step, and returns the loss. Only what it needs is imported."""
    step = STEPS[name]
    if row.startswith("torch"):
        from gpu_stages import torch_on_card

        return torch_on_card.made(row, step)
    if row == "jax":
        os.environ.update(JAX_PLATFORMS="cuda", XLA_PYTHON_CLIENT_PREALLOCATE="false")
        from benchmarks import jax_row

        jax_row.jax.config.update("jax_default_matmul_precision", "highest")
        return getattr(jax_row, step.name)(step.data())
    from gpu_stages.training import ours

    return ours(step, step.data(), device)


def timed(step: Any) -> float:
    """Seconds per step: the median of rounds, after a warm-up."""
    end, count = time.perf_counter() + SECONDS, 0
    while time.perf_counter() < end:
        step()
        count += 1
    repeats = max(3, count // 2)
    rounds = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        for _ in range(repeats):
            step()
        rounds.append((time.perf_counter() - start) / repeats)
    return statistics.median(rounds)


def main() -> None:
    """The command line."""
    row, name, device = sys.argv[1:4]
    step = made(row, name, device)
    losses = [float(step()) for _ in range(LOSSES)]
    print(json.dumps({"seconds": timed(step), "losses": losses}), flush=True)
    os._exit(0)  # how long a library takes to clean up is not of interest


if __name__ == "__main__":
    main()
