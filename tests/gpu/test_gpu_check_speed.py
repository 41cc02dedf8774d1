"""Stages of the tool for machines with a GPU that take times which were never measured, without one."""

from __future__ import annotations

import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from benchmarks.nets import group
from benchmarks.nets.table import NETS
from gpu_stages import changing, generated, halves, loops, nets, peer, peers, starts, training
from gpu_stages.findings import Finding, Findings, missed, read
from gpu_stages.setting import Setting
from gpu_stages.sizes import STEPS

pytestmark = pytest.mark.takes_long


@pytest.fixture
def setting(tmp_path: Path, host: str) -> Setting:
    return Setting("standin", 300, tmp_path, Findings("test", tmp_path / "test.jsonl"), time.monotonic())


def told(setting: Setting) -> dict[str, Finding]:
    """The findings by name, all of which hold."""
    found = read(setting.folder / "test.jsonl")
    assert not [finding for finding in found if finding.ok is False]
    return {finding.name: finding for finding in found}


def test_rounds_of_loops_are_timed(setting):
    loops.run(setting)
    found = told(setting)
    assert len(found) == 8 and all(f.value > 0 for f in found.values() if f.ok is None)


def test_tokens_are_made(setting):
    generated.run(setting)
    found = told(setting)
    assert {"a token of GPT-2 small, float32", "a token of GPT-2 small, bfloat16"} <= found.keys()


def test_sizes_change(setting):
    changing.run(setting)
    found = told(setting)
    assert found["dense layers: one program"].ok and found["a recurrent layer: one program"].ok
    assert found["dense layers: two runs of a new size"].unit == "ms"


def test_a_second_process_finds_what_the_first_has_left(setting, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", ":".join(sys.path))
    starts.run(setting)
    found = told(setting)
    assert found["lenet: losses are the same"].ok
    cold, warm = (
        found[f"lenet: first step after import, {how}"].value for how in ("cold", "programs on disk")
    )
    assert 0 < warm < cold


def test_rounded_rows_are_rows_of_both(setting, monkeypatch):
    asked: dict[str, Any] = {}
    monkeypatch.setattr(peers, "several", lambda setting, work: asked.update(work))
    monkeypatch.setattr(halves.importlib.util, "find_spec", lambda name: name)
    halves.run(setting)
    assert asked.keys() == {"transformer", "resnet18"} <= STEPS.keys()
    rows = asked["transformer"]
    assert [peer.parts(row) for row in rows] == [
        *((name, "bfloat16") for name in (peers.OURS, *halves.OTHERS)),
        *((name, "float16") for name in (peers.OURS, halves.OTHERS[0])),
    ]


def test_our_rounded_row_trains(monkeypatch):
    made: list[Any] = []
    monkeypatch.setattr("gpu_stages.training.ours", lambda *given, **switches: made.append(switches))
    peer.maker("staticgraph, bfloat16", "small_mlp", "standin")()
    peer.maker("staticgraph", "small_mlp", "standin")()
    assert made == [{"matmul_precision": "bfloat16"}, {"matmul_precision": "float32"}]


def test_a_step_with_operands_of_float16_has_nearly_our_losses():
    step = STEPS["small_mlp"]
    whole, half = (training.ours(step, step.data(small=True), "cpu", cast=c) for c in (None, "float16"))
    losses = [[float(made()) for _ in range(3)] for made in (whole, half)]
    assert losses[0] != losses[1]
    np.testing.assert_allclose(*losses, rtol=2e-2)


def test_nets_prepare_themselves_side_by_side_and_are_compared(setting, monkeypatch):
    """A row that fails is told, and those that are right are compared with the fastest peer."""
    began = threading.Barrier(6)  # all rows of two nets, before the first is ready

    class Worker:
        def __init__(self, row, command, patience, environment):
            assert 0 < patience <= nets.PATIENCE and "JAX_COMPILATION_CACHE_DIR" in environment
            self.row, self.process = row, SimpleNamespace(returncode=0)
            began.wait(30)
            ready = {"first": 1.0, "results": [[(1.0, 1.0)]]}
            self.facts = {"failure": "broken"} if row.name == "torch.compile graphs" else ready

        def visit(self, seconds):
            return [{"staticgraph": 3e-6, "JAX": 2e-6}[self.row.name]]

    rows = [SimpleNamespace(name=name) for name in ("staticgraph", "PyTorch", *nets.OTHERS)]
    monkeypatch.setattr(Setting, "small", property(lambda setting: False))
    monkeypatch.setattr(group, "installed", lambda folder, device: rows)
    monkeypatch.setattr(nets.os, "cpu_count", lambda: 4)
    monkeypatch.setattr("benchmarks.turns.started", Worker)
    monkeypatch.setattr("benchmarks.turns.difference", lambda one, other: 0.0)
    nets.run(setting)
    found = {finding.name: finding for finding in read(setting.folder / "test.jsonl")}
    assert len(found) == 5 * len(NETS) + 1
    ahead = found["nets ahead of all peers"]
    assert (ahead.value, ahead.target) == (0, nets.AHEAD) and missed(ahead)
    assert found["gpt: torch.compile graphs"].text == "broken"
    assert found["gpt: staticgraph agrees"].ok and found["gpt: JAX agrees"].ok
    ours = found["gpt: staticgraph"]
    assert (ours.value, ours.target) == pytest.approx((3.0, 2.0 * nets.MOST)) and missed(ours)


def test_our_row_of_a_net_runs(setting, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", ":".join(sys.path))
    monkeypatch.setattr(nets, "SECONDS", 0.01)
    nets.run(setting)
    found = told(setting)
    assert [*found] == ["gpt: staticgraph agrees", "gpt: staticgraph"]


def test_without_the_group_there_is_a_note(setting, monkeypatch):
    monkeypatch.setattr(nets.importlib.util, "find_spec", lambda name: None)
    nets.run(setting)
    assert "does not have the group" in told(setting)["nets"].text
