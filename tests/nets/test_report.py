"""The benchmark of nets shows no time of a net at which rows compute different numbers, and tells losses."""

import sys

import benchmark
import pytest

from benchmarks.nets import group
from benchmarks.nets.table import NETS
from benchmarks.peers import OURS, Row


def report(found: dict) -> str:
    results = {"size": "cpu", "work": {"gpt": group.checked(found)}}
    return group.markdown(results).splitlines()[-1]


def facts(median: float, **more) -> dict:
    return {"median": median, "agrees": True, "last": 0.5} | more


def test_a_ratio_is_that_to_the_fastest_peer_and_a_slower_row_is_told():
    title = NETS["gpt"].title
    row = report({OURS: facts(1e-3), "PyTorch": facts(4e-3), "JAX": facts(2e-3)})
    assert row == f"| {title} | 1 ms | 4 ms | 2 ms | 0.5 | 0.5 |"
    assert "**1.5, slower**" in report({OURS: facts(3e-3), "JAX": facts(2e-3)})


def test_rows_that_differ_have_no_times():
    row = report(
        {OURS: facts(1e-3), "JAX": facts(2e-3, agrees=False, difference=0.1), "PyTorch": facts(3e-3)}
    )
    assert "ms" not in row and "differs by 1.0e-01" in row


def test_a_row_that_fails_is_told():
    assert "failed: not ready" in report({OURS: facts(1e-3), "JAX": {"failure": "not ready"}})


@pytest.mark.parametrize("device", ["cpu", "gpu"])
def test_rows_of_a_device(device: str, capsys, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["benchmark", "--group", "nets", "--device", device, "--list"])
    benchmark.main()
    told = capsys.readouterr().out.split()
    assert OURS in told and set(NETS) <= set(told)


def test_a_net_runs_in_a_process_of_its_own():
    results = {"size": "small", "threads": 1, "rounds": 1}
    rows = [Row(OURS, sys.executable)]
    for _ in group.measured(rows, ["k_means"], results, 0.01, 60, lambda text: None):
        pass
    found = results["work"]["k_means"][OURS]
    assert found["agrees"] and found["median"] > 0 and "failure" not in found
