"""The benchmark of open sizes measures the right work, and its report tells losses."""

import sys

import benchmark
import numpy as np
import pytest

import staticgraph as sg
from benchmarks import peers, staticgraph_row
from benchmarks.compare import difference, summary
from benchmarks.sizes import graph_side, group, worker
from benchmarks.sizes.stories import STORIES
from benchmarks.workloads import WORKLOADS

pytestmark = pytest.mark.takes_long


@pytest.fixture
def side():
    graph_side.setup(peers.OURS, 2)
    with sg.Graph().as_default():
        yield graph_side


def less_often(*names: str) -> list:
    return [pytest.param(name, marks=pytest.mark.slow) for name in names]


@pytest.mark.parametrize("name", ["cnn_39", "segmenter", *less_often("tagger", "gpt")])
def test_a_story_has_the_results_of_a_session_that_compiles_each_size(name: str, side, monkeypatch):
    facts, again = worker.run(side, name, ["small"])
    assert facts["programs"] >= 1
    assert again()["new_size"] is not None
    session = sg.Session
    monkeypatch.setattr(sg, "Session", lambda open_sizes, device: session(open_sizes=False, device=device))
    with sg.Graph().as_default():
        closed, _ = worker.run(side, name, ["small"])
    np.testing.assert_allclose(
        np.hstack(facts["results"]), np.hstack(closed["results"]), rtol=2e-4, atol=2e-5
    )


@pytest.mark.parametrize("name", ["unet", *less_often("mobilenet")])
def test_a_first_step(name: str, side):
    facts, again = worker.run(side, name, ["small"])
    assert np.isfinite(facts["results"]).all() and 0 < facts["results"][0][0] < 5
    assert facts["programs"] == 1 and again()["new_size"] is None


def test_a_net_of_two_losses_trains_the_weights_of_each(side):
    net = STORIES["dcgan"].small[0]()
    assert {name[:2] for name in net.weights} == {"d.", "g."}
    rng = np.random.default_rng(0)
    batch, step = net.batch(rng, 4), side.step_of(net)
    losses = np.array([step(*batch) for _ in range(30)])
    assert np.isfinite(losses).all() and losses[-1, 1] < losses[0, 1]  # the generator learns faster


@pytest.mark.parametrize("name", ["lenet", "embedding", *less_often("mlp", "norm_softmax")])
def test_rows_of_the_readme_with_open_sizes_compute_the_same(name: str, monkeypatch):
    work, found = WORKLOADS[name], []
    for opened in (False, True):
        monkeypatch.setattr(staticgraph_row, "opened", opened)
        with sg.Graph().as_default():
            step = getattr(staticgraph_row, work.make.__name__)(work.data(small=True))
            found.append([summary(step()) for _ in range(3)])
    assert difference(*found) < 1e-3


def facts(wall: float, **more) -> dict:
    some = {"first": 0.1, "rest": 0.5, "peak": 100.0, "new_size": 1e-4, "programs": None, "agrees": True}
    return {"wall": wall, **some, **more}


def test_the_report_tells_losses_and_failures():
    rows = {
        peers.OURS: facts(2.0, programs=1, peak_of_largest=80.0),
        "PyTorch": facts(4.0, agrees=False),
        "TensorFlow": facts(1.0),
        "JAX": {"failure": "not ready after 120 s"},
    }
    opened = {"closed": 1e-3, "open": 1.2e-3, "ratio": 1.2, "failure": None}
    text = group.markdown(
        {
            "date": "2026-01-02",
            "machine": {"cpu": "C", "cores": 2},
            "threads": 2,
            "rounds": 3,
            "versions": {peers.OURS: "staticgraph 1"},
            "stories": {"cnn_39": rows},
            "open": {"mlp": opened, "lenet": {**opened, "ratio": 1.01}},
        }
    )
    lines = {line.split(" | ")[0]: line for line in text.splitlines()}
    assert "2 s |  | 100 ms | 500 ms | 100 µs | 1 | 100 MB | 1.2 |" in lines["| staticgraph"]
    assert "**2, slower**" in lines["| TensorFlow"] and "0.5" in lines["| PyTorch ≠"]
    assert "not ready after 120 s" in lines["| JAX"]
    assert "**1.20, slower**" in lines["| mlp"] and "slower" not in lines["| lenet"]


def test_a_story_runs_in_a_process_of_its_own(capsys, monkeypatch, tmp_path):
    command = ["benchmark", "--group", "sizes", "--work", "cnn_39", "--rows", peers.OURS, "--rounds", "1"]
    monkeypatch.setattr(sys, "argv", [*command, "--list"])
    benchmark.main()
    assert "cnn_39" in capsys.readouterr().out
    found = group.once(peers.Row(peers.OURS, sys.executable), "cnn_39", 1, 60, "small")
    assert found["programs"] == 1 and found["wall"] > found["first"] > 0
