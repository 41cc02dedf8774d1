"""The model of steps in many processes finds the machine that has given its times."""

from __future__ import annotations

import random
import statistics
from collections import deque
from collections.abc import Sequence

import pytest

from tools.measure import scale_model

SLICE, POLL = (
    3e-3,
    8e-6,
)  # seconds: of a processor for one process, and of one that waits until it gives it away


@pytest.mark.parametrize("workers", [2, 8])
def test_the_machine_is_found_from_its_times(workers: int):
    """Steps of 10 or 12 ms in turns: in most of them, one process needs 12."""
    wanted = scale_model.Machine(11.0e-3, 1.0e-3, 5e-6, 1e-9)
    little, much = (wanted.parts(workers, size).exchange for size in (0.0, scale_model.MUCH))
    times = [[0.010, 0.012, 0.011], [0.012, 0.010, 0.011]] * (workers // 2)
    found = scale_model.fitted(times, workers, little, much)
    assert found == pytest.approx(wanted)
    assert found.parts(2, 20e6) == pytest.approx((0.011, 0.001, 0.02001))
    assert found.parts(2, 20e6, overlap=0.5).exchange == pytest.approx(0.01451)
    assert found.parts(1 << 20, 20e6).exchange == pytest.approx(0.0402, rel=1e-3)  # as much for any number


def test_one_process_exchanges_nothing():
    found = scale_model.fitted([[0.010, 0.012, 0.011]], 2, 0.0, 0.0)
    assert found == pytest.approx((0.011, 0.0, 0.0, 0.0))
    assert found.parts(1, 20e6).exchange == 0.0


def scheduled(step: Sequence[float], processors: int) -> float:
    """The seconds in which processors serve processes in turns, until none computes.

    A process that is done waits for the others: it polls, and gives the processor away.
    """
    ends = []
    for number in range(processors):
        queue = deque(step[number::processors])
        now, computing = 0.0, len(queue)
        while computing:
            left = queue.popleft()
            spent = min(left, SLICE) if left > 0.0 else POLL
            now += spent
            if left > 0.0:
                left -= spent
                computing -= left <= 0.0
            queue.append(left)
        ends.append(now)
    return max(ends)


@pytest.mark.parametrize("jitter", [0.0, 0.15])
@pytest.mark.parametrize(("workers", "processors"), [(2, 2), (3, 2), (4, 2), (8, 2), (8, 8), (12, 4)])
def test_steps_are_as_long_as_those_of_a_scheduler(workers: int, processors: int, jitter: float):
    """It gives processors in slices to processes of which each step takes another time."""
    rng = random.Random(0)

    def steps() -> list[list[float]]:
        return [[rng.gauss(0.023, 0.023 * jitter) for _ in range(60)] for _ in range(workers)]

    seen = statistics.median(scheduled(step, processors) for step in zip(*steps(), strict=True))
    compute, late, _ = scale_model.served(steps(), processors)
    assert compute == pytest.approx(0.023 * -(-workers // processors), rel=0.03)
    assert compute + late == pytest.approx(seen, rel=0.03)
    lonely = scale_model.served(steps(), workers)  # with a processor each, the slowest one counts
    assert late / compute <= lonely.late / lonely.compute + 0.01


def test_another_program_changes_times_and_not_what_the_model_takes():
    """Its processes get half of their processor: steps last twice as long, and that is told."""
    steps = [[2 * used, used] for used in (0.010, 0.012, 0.011)]
    rows = [
        {"alone": steps, "together": steps, "exchange": [0.001]}
        | {str(size): [0.001] for size in (scale_model.LITTLE, scale_model.MUCH)}
    ] * 2
    machine, seen = scale_model.machine_of(rows, 2)
    assert machine.compute == pytest.approx(0.011)
    assert seen.received == pytest.approx(0.5) and seen.step == pytest.approx(0.022)
    assert scale_model.machine_of(rows, 1)[1].received == pytest.approx(1.0)  # which two processes share
