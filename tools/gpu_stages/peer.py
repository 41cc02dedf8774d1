"""One peer at one step, in this process: prints the time of a step and the first losses, as JSON.

python -m gpu_stages.peer ROW STEP DEVICE

With `turns` as a fourth argument it prints the losses when it is prepared, then takes times whenever a line
that says "time" comes in, and ends with its input.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

from gpu_stages.sizes import STEPS

LOSSES, ROUNDS, WARM_UP, SECONDS = 4, 7, 0.1, 0.05  # before the rounds, and for each
TURNS, TIME = "turns", "time"
ROUNDED = ("bfloat16", "float16")  # what a row may round operands of products to


def rounded(row: str, dtype: str) -> str:
    """Return the name of a row that rounds operands of products.

    >>> rounded("torch.compile", "bfloat16")
    'torch.compile, bfloat16'
    """
    return f"{row}, {dtype}"


def parts(row: str) -> tuple[str, str | None]:
    """Return what `rounded` was told.

    >>> parts("torch.compile, bfloat16"), parts("torch.compile, max-autotune")
    (('torch.compile', 'bfloat16'), ('torch.compile, max-autotune', None))
    """
    name, _, dtype = row.rpartition(", ")
    return (name, dtype) if dtype in ROUNDED else (row, None)


def maker(row: str, name: str, device: str) -> Callable[[], Any]:
    """Return a function that builds the step of a row. All that the row needs is imported here already."""
    step = STEPS[name]
    row, dtype = parts(row)
    data = step.data()
    if row.startswith("torch"):
        from gpu_stages import torch_on_card

        return lambda: torch_on_card.made(row, step, dtype)
    if row == "jax":
        os.environ.update(JAX_PLATFORMS="cuda", XLA_PYTHON_CLIENT_PREALLOCATE="false")
        from benchmarks import jax_row

        jax_row.jax.config.update("jax_default_matmul_precision", "highest")
        return lambda: getattr(jax_row, step.name)(data)
    from gpu_stages.training import ours

    if dtype == "float16":  # which is no precision of float32 products: the graph has casts
        return lambda: ours(step, data, device, cast=dtype)
    return lambda: ours(step, data, device, matmul_precision=dtype or "float32")


def rounds(step: Any) -> list[float]:
    """Seconds per step, in each of some rounds after a warm-up."""
    start, count = time.perf_counter(), 0
    while count < 3 or time.perf_counter() - start < WARM_UP:
        step()
        count += 1
    repeats = max(1, round(SECONDS * count / (time.perf_counter() - start)))
    taken = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        for _ in range(repeats):
            step()
        taken.append((time.perf_counter() - start) / repeats)
    return taken


def main() -> None:
    """The command line."""
    row, name, device = sys.argv[1:4]
    make = maker(row, name, device)
    began = time.perf_counter()
    step = make()
    losses = [float(step())]
    first = time.perf_counter() - began
    losses += [float(step()) for _ in range(1, LOSSES)]
    if sys.argv[4:] == [TURNS]:
        _say({"losses": losses, "first": first})
        for line in sys.stdin:
            if line.strip() == TIME:
                _say({"rounds": rounds(step)})
    else:
        _say({"seconds": statistics.median(rounds(step)), "losses": losses})
    os._exit(0)  # how long a library takes to clean up is not of interest


def _say(what: dict[str, Any]) -> None:
    print(json.dumps(what), flush=True)


if __name__ == "__main__":
    main()
