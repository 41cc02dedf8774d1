"""Nets that nobody tuned compute on the simulator of a CUDA driver what they compute on the processor."""

import pytest

from tests.everywhere import check_everywhere
from tests.nets.programs import NAMES, built, feeds

FAST = ("k_means", "bodies")


@pytest.mark.takes_long
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name in FAST else pytest.mark.slow) for name in NAMES]
)
def test_a_gpu_computes_the_same(name: str):
    runs = list(feeds(name, 2, 3))
    found = check_everywhere(lambda: built(name), *runs, places=("session", "gpu"), rtol=1e-3, atol=1e-4)
    outcomes = found["gpu"]
    assert isinstance(outcomes, list), outcomes.__cause__
    assert not any(outcome.error for outcome in outcomes), outcomes
