"""Nets that nobody tuned compute in every place where programs run what PyTorch and JAX compute."""

import json
from pathlib import Path

import numpy as np
import pytest

import staticgraph as sg
from benchmarks.compare import difference, summary
from benchmarks.nets.table import NETS
from benchmarks.nets.worker import stepping
from benchmarks.peers import OURS
from tests.everywhere import check_everywhere
from tests.nets.programs import NAMES, built, feeds

pytestmark = pytest.mark.takes_long

RECORDED = json.loads((Path(__file__).parent / "recorded.json").read_text())
HELD = ("session", "interpreter", "file", "graph_def")


@pytest.mark.parametrize("name", NAMES)
def test_three_steps_have_the_losses_of_peers(name: str):
    with sg.Graph().as_default():
        step, _ = stepping(OURS, name, "small", sg.get_num_threads())
        mine = [summary(tuple(made) if isinstance(made, list) else made) for made in (step(), step(), step())]
    assert len(RECORDED[name]) == 2
    for peer, theirs in RECORDED[name].items():
        assert difference(mine, theirs) < NETS[name].tolerance, peer


@pytest.mark.parametrize("name", NAMES)
def test_three_sizes_compute_the_same_everywhere(name: str):
    runs = list(feeds(name, 2, 5, 3))
    found = check_everywhere(lambda: built(name), *runs, places=HELD, rtol=1e-3, atol=1e-4)
    for place in HELD:
        outcomes = found[place]
        assert isinstance(outcomes, list), (place, outcomes.__cause__)
        assert not any(outcome.error for outcome in outcomes), (place, outcomes)


@pytest.mark.parametrize("name", NAMES)
def test_one_program_serves_three_sizes(name: str):
    with sg.Graph().as_default(), sg.Session() as session:
        fetches = built(name)
        session.run(sg.global_variables_initializer())
        before = len(session.compiles)
        for fed in feeds(name, 2, 5, 3):
            made = session.run(fetches, {f"{key}:0": array for key, array in fed.items()})
            assert all(np.isfinite(value).all() for value in made.values() if value is not None)
        assert len(session.compiles) - before == 1
