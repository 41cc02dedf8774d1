"""Plans, profiles, pictures and pages of steps with open sizes, compiled here or loaded from the disk."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.runtime.cpu.disk import disk_cache

pytestmark = pytest.mark.takes_long

KEY_OF = disk_cache.key_of  # the suite has a way of its own, which remembers nothing
Net = Callable[[], tuple[Any, dict[Any, np.ndarray], dict[Any, np.ndarray]]]


@pytest.fixture(autouse=True)
def disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disk_cache, "key_of", KEY_OF)
    monkeypatch.setattr(disk_cache, "compiler_version", lambda: "of today")
    monkeypatch.setenv("SG_CACHE_DIR", str(tmp_path / "cache"))


def arrays() -> Any:
    """A loop over the rows of TensorArrays, and its gradient."""
    x = sg.placeholder(sg.float32, [None, 3], name="x")
    n = sg.shape(x)[0]
    rows = sg.TensorArray(sg.float32, n).unstack(x)
    _, out = sg.while_loop(
        lambda i, out: i < n,
        lambda i, out: (i + 1, out.write(i, rows.read(i) * 2)),
        (0, sg.TensorArray(sg.float32, n)),
    )
    y = out.stack()
    fetches = [y, *sg.gradients(sg.reduce_sum(sg.square(y)), x)]
    return fetches, {x: np.ones((5, 3))}, {x: np.ones((0, 3))}


def mapped() -> Any:
    x = sg.placeholder(sg.float32, [None, 3], name="x")
    y = sg.map_fn(lambda row: row * 2 + sg.reduce_sum(row), x)
    return [y], {x: np.ones((4, 3))}, {x: np.ones((0, 3))}


def ordered() -> Any:
    x = sg.placeholder(sg.float32, [None, None], name="x")
    fetches = [sg.nn.softmax(x), sg.cumsum(x, 1), sg.sort(x, 1)]
    return fetches, {x: np.ones((3, 17))}, {x: np.ones((0, 17))}


def selected() -> Any:
    """A shape that the data decide."""
    x = sg.placeholder(sg.float32, [None], name="x")
    return [sg.boolean_mask(x, x > 0)], {x: np.arange(5.0) - 2}, {x: np.ones(0)}


def observed(session: sg.Session, fetches: Any, feeds: dict[Any, np.ndarray], folder: Path) -> None:
    """Look at a step in every way that there is."""
    plan = session.plan(fetches, feeds)
    assert "memory" in str(plan) and plan.table
    with session.profile() as profile:
        session.run(fetches, feeds)
    assert str(profile)
    profile.chrome_trace(folder / "trace.json")
    profile.plot(folder / "roofline.svg")
    assert all(map(str, session.compiles))
    for stage in ("optimized", "fused"):
        sg.visualize(fetches, folder / f"{stage}.svg", stage=stage, session=session, feeds=feeds)
    sg.show(fetches, folder / "page.html", session=session, feeds=feeds)


@pytest.mark.parametrize("net", [arrays, mapped, ordered, selected])
def test_steps_with_open_sizes_can_be_looked_at(net: Net, tmp_path: Path) -> None:
    for source in ("compiled", "loaded"):
        for which in (1, 2):
            with sg.Graph().as_default(), sg.Session(device="cpu") as session:
                made = net()
                if source == "loaded":
                    session.run(made[0], made[which])
                    assert not any(each.compiled for each in session.compiles), "all is on the disk"
                observed(session, made[0], made[which], tmp_path)
