"""The profile of a step with open sizes times the schedule that runs without it."""

from __future__ import annotations

from typing import Any

import numpy as np

import staticgraph as sg
from staticgraph.runtime.cpu.measurements import meter


def test_timed_code_has_the_schedule_and_the_scratch_memory_of_the_step(monkeypatch: Any) -> None:
    """With sizes known, more products would run side by side, with scratch memory for each of them."""
    rng = np.random.default_rng(0)

    def dense(x: sg.Tensor, columns: int) -> sg.Tensor:
        return sg.matmul(x, rng.normal(size=(x.shape[1], columns)).astype(np.float32) / 16)

    x = sg.placeholder(sg.float32, [None, 128])
    h = sg.sin(x)
    for width in (256, 512, 1024):
        direct = dense(h, width)
        h = sg.nn.relu(dense(sg.nn.relu(dense(h, width // 4)), width) + direct)
    made = []
    timed = meter.timed

    def told(compiled: Any, clock: Any) -> Any:
        made.append((compiled.written, *timed(compiled, clock)))
        return made[-1][1:]

    monkeypatch.setattr(meter, "timed", told)
    with sg.Session(device="cpu") as session:
        session.run(h, {x: np.ones((32, 128))})
        with session.profile() as profile:
            session.run(h, {x: np.ones((32, 128))})
    ((plain, written, _),) = made
    assert written.shared == plain.shared
    assert [s.chunks for s in written.segments] == [s.chunks for s in plain.segments]
    assert len([k for k in profile.steps[0].kernels if k.kernel is not None]) >= 3
