"""Net, data and times that all programs of the comparison share: 5 million parameters, Adam."""

from __future__ import annotations

import json
import os
import statistics
import time
from collections.abc import Callable
from itertools import pairwise

import numpy as np

SIZES = (784, 1600, 1600, 800, 10)
BATCH = 64  # rows of each process
RATE = 1e-4
WARM = 5


def weights() -> list[tuple[np.ndarray, np.ndarray]]:
    """The first weights and biases, the same everywhere."""
    rng = np.random.RandomState(0)
    made = []
    for n, m in pairwise(SIZES):
        scaled = rng.standard_normal((n, m)) / np.sqrt(n)
        made.append((scaled.astype(np.float32), np.zeros(m, np.float32)))
    return made


def batch(rank: int) -> tuple[np.ndarray, np.ndarray]:
    """The rows of a process and their kinds."""
    rng = np.random.RandomState(1 + rank)
    rows = rng.standard_normal((BATCH, SIZES[0])).astype(np.float32)
    return rows, rows[:, : SIZES[-1]].argmax(1).astype(np.int32)


def told(step: Callable[[], float], steps: int, meet: Callable[[], None]) -> None:
    """Time steps, and write what was found as one line.

    Args:
        step: Takes a step, and returns the loss.
        steps: How many are timed.
        meet: Waits for the other processes.
    """
    for _ in range(WARM):
        step()
    meet()
    times, used = [], time.process_time()
    for _ in range(steps):
        start = time.perf_counter()
        loss = step()
        times.append(time.perf_counter() - start)
    used = (time.process_time() - used) / steps
    found = {"wall": statistics.median(times), "least": min(times), "cpu": used, "loss": float(loss)}
    os.write(1, f"FOUND {json.dumps(found)}\n".encode())
