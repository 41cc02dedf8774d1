"""The model of steps in many processes finds the machine that has given its times."""

from __future__ import annotations

import pytest
import scale_model


@pytest.mark.parametrize("workers", [2, 8])
def test_the_machine_is_found_from_its_times(workers: int):
    """Steps of 10 or 12 ms in turns: in most of them, one process needs 12."""
    wanted = scale_model.Machine(11.0e-3, 1.0e-3, 5e-6, 1e-9)
    little, much = (wanted.parts(workers, size).exchange for size in (0.0, scale_model.MUCH))
    times = [[0.010, 0.012, 0.011], [0.012, 0.010, 0.011]] * (workers // 2)
    found = scale_model.fitted(workers, times, little, much)
    assert found == pytest.approx(wanted)
    assert found.parts(2, 20e6) == pytest.approx((0.011, 0.001, 0.02001))
    assert found.parts(2, 20e6, overlap=0.5).exchange == pytest.approx(0.01451)
    assert found.parts(1 << 20, 20e6).exchange == pytest.approx(0.0402, rel=1e-3)  # as much for any number
